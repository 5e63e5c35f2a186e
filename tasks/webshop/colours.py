"""Colour words, as the original reward looks for them. Invariant: alphabetical, lower case, one word each.

The original reduces an option to the first word of such a list that occurs anywhere in it, so that the order decides
("light grey" holds only "grey", but "rose gold" becomes "gold"). The list here is our own, of common colour words;
the original's exact list is not shipped. `original(..., colours=...)` takes any other.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["COLOURS", "normalise_colour"]

COLOURS: tuple[str, ...] = (
    *("amber", "apricot", "aqua", "auburn", "azure"),
    *("beige", "black", "blonde", "blue", "blush", "bronze", "brown", "brunette", "burgundy"),
    *("camel", "caramel", "cerise", "cerulean", "champagne", "charcoal", "chartreuse", "cherry", "chestnut"),
    *("chocolate", "cinnamon", "cobalt", "cocoa", "coffee", "copper", "coral", "cream", "crimson", "cyan"),
    *("denim", "ebony", "ecru", "eggplant", "emerald", "espresso", "fawn", "fuchsia"),
    *("gold", "graphite", "gray", "green", "grey", "gunmetal", "hazel", "indigo", "ivory", "jade", "khaki"),
    *("lavender", "lemon", "lilac", "lime", "magenta", "mahogany", "maroon", "mauve", "mint", "mustard"),
    *("navy", "ochre", "olive", "orange", "orchid", "peach", "pearl", "periwinkle", "pink", "plum", "purple"),
    *("red", "rose", "ruby", "rust", "saffron", "sage", "salmon", "sapphire", "scarlet", "sepia", "sienna", "silver"),
    *("slate", "tan", "taupe", "teal", "terracotta", "turquoise", "ultramarine", "umber", "vanilla", "vermilion"),
    *("violet", "white", "wine", "yellow"),
)
"""The words, in the order in which they are looked for."""


def normalise_colour(option: str | tuple[str, str], colours: Sequence[str] = COLOURS) -> str | tuple[str, str]:
    """The first colour word that occurs in an option, borders of words ignored; without one, the option itself.

    The original also hands over (name, value) pairs, in which `in` means that one of the two *is* the colour word.

    >>> normalise_colour("light grey"), normalise_colour("infrared"), normalise_colour("standard")
    ('grey', 'red', 'tan')
    >>> normalise_colour("x-large"), normalise_colour(("color", "sky blue")), normalise_colour(("color", "blue"))
    ('x-large', ('color', 'sky blue'), 'blue')
    """
    for colour in colours:
        if colour in option:
            return colour
    return option
