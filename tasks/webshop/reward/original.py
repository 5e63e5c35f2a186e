"""The reward of the original WebShop, faults included. Invariant: equal to it, given the same colours and nouns.

What a customer of this rule should know (docs/webshop-reward.md shows each by example): titles decide the type,
options match under any name and by substring colours, one clicked option may serve several wanted ones, attributes
match inside words, and the price is the product's, not the variant's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rapidfuzz import fuzz, utils

from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.colours import COLOURS, normalise_colour
from agentenv.tasks.webshop.reward.score import Score, Terms
from agentenv.tasks.webshop.reward.tagger import Tagger, load_tagger

__all__ = ["original", "token_set_ratio"]

_THRESHOLD = 85
_NOT_ASCII = dict.fromkeys(range(128, 256))


def original(
    goal: Goal,
    target: Product,
    purchase: Purchase,
    tagger: Tagger | None = None,
    *,
    colours: Sequence[str] = COLOURS,
) -> Score:
    """The original score of a purchase.

    Args:
        goal: What was wanted.
        target: The product that the goal was made from.
        purchase: What was bought; its price is not read, because the original charges every variant the same.
        tagger: Finds the nouns of titles; None takes spaCy where it is installed, else `WordTagger`.
        colours: The list of colour words, in order.
    """
    tagger = tagger or load_tagger()
    product = purchase.product
    type_, details = _type(target, product, tagger)
    terms = Terms(
        type=type_,
        attributes_met=tuple(_attributes_met(goal, product)),
        options_met=tuple(_options_met(goal, purchase.options, colours)),
        price_met=product.price <= goal.price_upper,
    )
    return Score("original", terms, tagger.name, details | _verbose(terms))


def token_set_ratio(one: str, other: str) -> int:
    """thefuzz's `token_set_ratio` (0.20 and later) where it is above 85, the only ones that matter here; else 0.

    thefuzz deletes the characters 128 to 255 before anything else, and rounds at the end.

    >>> token_set_ratio("Non-Slip sole", "sole, non slip"), token_set_ratio("slip", "non slip")
    (100, 100)
    >>> token_set_ratio("blue", "black")
    0
    """
    prepared = (utils.default_process(text.translate(_NOT_ASCII)) for text in (one, other))
    ratio = round(fuzz.token_set_ratio(*prepared, score_cutoff=_THRESHOLD))
    return ratio if ratio > _THRESHOLD else 0


def _type(target: Product, bought: Product, tagger: Tagger) -> tuple[float, dict[str, float | bool]]:
    query_match = bought.query == target.query
    category_match = len(_parts(bought) & _parts(target)) >= 2
    wanted = tagger.nouns(target.title)
    shared = set(wanted) & set(tagger.nouns(bought.title))
    # A list below, a set above: titles that repeat a noun score under 1 against themselves, as in the original.
    title_score = len(shared) / len(wanted) if wanted else 0.2
    value = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score < 0.1:
        value = 0.1
    if title_score == 0:
        value = 0.0
    return value, {"query_match": query_match, "category_match": category_match, "title_score": title_score}


def _parts(product: Product) -> set[str]:
    return {part.strip() for part in product.product_category.split("›")}


def _attributes_met(goal: Goal, product: Product) -> list[bool]:
    texts = (product.title.lower(), " ".join(product.bullets).lower(), product.description.lower())
    return [
        any(token_set_ratio(known, wanted) for known in product.attributes) or any(wanted in text for text in texts)
        for wanted in goal.attributes
    ]


def _options_met(goal: Goal, chosen: Mapping[str, str], colours: Sequence[str]) -> list[bool]:
    items = goal.options.items() if goal.options_are_named else goal.options.values()
    wanted = [str(normalise_colour(item, colours)) for item in items]
    bought = [str(normalise_colour(value, colours)) for value in chosen.values()]
    return [any(token_set_ratio(value, option) for value in bought) for option in wanted]


def _verbose(terms: Terms) -> dict[str, float | bool]:
    """The rest of what the original tells in its verbose mode."""
    attributes, options = len(terms.attributes_met), len(terms.options_met)
    share = 1 / (attributes + options + 1)
    details: dict[str, float | bool] = {
        "r_type": terms.type,
        "r_att": terms.attributes,
        "w_att": attributes * share,
        "r_price": terms.price_met is True,
        "w_price": share,
    }
    if options:
        details |= {"r_option": terms.options, "w_option": options * share}
    return details
