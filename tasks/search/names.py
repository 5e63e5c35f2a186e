"""Invented names for the generated encyclopaedia. Invariant: a number gives one name, and no two numbers the same.

Blocks of a large world take disjoint ranges of numbers, so that they never share a name without knowing each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

__all__ = [
    "FIRST_NAMES",
    "NICKNAMES",
    "ORDINALS",
    "family_name",
    "region_name",
    "river_name",
    "series_name",
    "town_name",
    "work_title",
    "words",
]


def words(text: str) -> tuple[str, ...]:
    """The words of a text.

    >>> words("red green")
    ('red', 'green')
    """
    return tuple(text.split())


# Starts are prefix-free and end in a consonant, middles have two letters and start with a vowel, ends start with a
# consonant: a name reads back in one way only, however many middles it has.
_STARTS = words("""
    Bar Bel Bor Cal Cor Dal Dor Fal Fen Gar Gil Hal Hel Jor Kal Kel Lar Lin Mar Mel Nor Pal Pel Ral Ros Sal Sel Tal
    Tor Val Ver Wil
""")
_MIDDLES = words("ab ad al an ar av ed el en er et ik il in ir on or ov um ur")
_FAMILY_ENDS = words("by da dak din dov gren ka kin lund mas mo nes ric sen sky son ti ton vic zak")
_TOWN_ENDS = words("""
    berg bury combe dale ford gate ham haven holm low mere mouth port stad stead thorpe well wick
""")
_REGION_ENDS = words("dia gia land lia mark nia ria via")
_RIVER_ENDS = words("bourne brook mer tess")

FIRST_NAMES = words("""
    Ada Albin Alma Anton Asta Bela Bruno Cara Clem Cora Dario Della Edda Edwin Elias Elsa Emil Enno Erna Felix Flora
    Frida Georg Greta Hugo Ida Ilse Iris Ivo Jana Jonas Judit Karl Katja Klara Lars Lena Leo Lotte Lukas Magda Marek
    Mina Mirko Nadja Nils Nora Olga Oskar Otto Paula Petra Rasmus Rita Rolf Rosa Simon Stella Sven Tilda Ulla Vera
    Viktor Wanda
""")
NICKNAMES = words("""
    Badger Biscuit Captain Cricket Dusty Falcon Ginger Jolly Lucky Magpie Nimble Patch Pepper Rusty Sparrow Sunny
    Teddy Tinker Whistle Wren
""")
ORDINALS = ("First", "Second", "Third", "Fourth")

_ADJECTIVES = words("""
    Amber Ashen Bitter Blue Bold Brass Brittle Broken Clear Copper Crimson Distant Drowned Early Empty Faded Fallen
    Fearless Foreign Forgotten Frozen Gentle Gilded Golden Green Hidden Hollow Humble Idle Iron Ivory Last Late
    Lonely Long Lost Marble Misty Narrow Northern Painted Pale Patient Plain Quiet Red Restless Royal Salt Scarlet
    Secret Silent Silver Slow Southern Steep Stolen Strange Tall Tender Velvet Wandering White Winding
""")
_NOUNS = words("""
    Acrobat Anchor Apple Arrow Barge Beacon Bell Bridge Candle Carriage Castle Chimney Clock Compass Crown Curtain
    Dancer Door Drummer Engine Feather Ferry Fiddle Flute Fountain Garden Glove Harbour Harvest Hunter Island Kettle
    Ladder Lantern Letter Lighthouse Mill Mirror Orchard Organ Oven Piano Pilot Prince Raven Ribbon River Saddle
    Sailor Shadow Signal Sparrow Staircase Stranger Tailor Tower Train Trumpet Umbrella Violin Voyage Wagon Window
    Witness
""")
_TAILS = words("""
    April Arden August Autumn Avalon Babel Capri Carmel Clover Corfu Cyprus Dawn December Delft Dover Dusk Eden Elba
    February Fog Frost Ghent Goa Hail Hope January Java July June Kent Lent Lima Luck Malta March May Midnight Mist
    Monday Naples Night Noon November October Parma Peace Pisa Rain Rhodes Sand Saturday Sleet Smoke Snow Spring
    Summer Sunday Thunder Troy Tyre Winter Wind Ypres Zurich
""")
_GATHERINGS = words("Congress Fair Festival Forum Games Regatta Rally Salon")


def family_name(number: int) -> str:
    """The family name of a number.

    >>> family_name(0)
    'Barabby'
    """
    return _word(number, _FAMILY_ENDS)


def town_name(number: int) -> str:
    """The town's name of a number."""
    return _word(number, _TOWN_ENDS)


def region_name(number: int) -> str:
    """The region's name of a number."""
    return _word(number, _REGION_ENDS)


def river_name(number: int) -> str:
    """The river's name of a number."""
    return _word(number, _RIVER_ENDS)


def work_title(number: int) -> str:
    """The title of a number, for films and novels.

    >>> work_title(0)
    'The Amber Acrobat of April'
    """
    (adjective, noun, tail), lap = _lapped(number, (_ADJECTIVES, _NOUNS, _TAILS))
    return f"The {adjective} {noun} of {tail}{lap}"


def series_name(number: int) -> str:
    """The name of a number, for a series of events."""
    (adjective, noun, gathering), lap = _lapped(number, (_ADJECTIVES, _NOUNS, _GATHERINGS))
    return f"{adjective} {noun} {gathering}{lap}"


def _lapped(number: int, parts: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Past the last combination the words start again, with a number behind them."""
    lap, rest = divmod(number, math.prod(map(len, parts)))
    return _digits(rest, parts), f" {lap + 1}" if lap else ""


def _word(number: int, ends: Sequence[str]) -> str:
    parts: list[Sequence[str]] = [_STARTS, _MIDDLES, ends]
    count = len(_STARTS) * len(_MIDDLES) * len(ends)
    while number >= count:
        number -= count
        parts.insert(1, _MIDDLES)
        count *= len(_MIDDLES)
    return "".join(_digits(number, parts))


def _digits(number: int, parts: Sequence[Sequence[str]]) -> list[str]:
    count = math.prod(map(len, parts))
    rest = number * _stride(count) % count
    chosen = []
    for part in reversed(parts):
        rest, digit = divmod(rest, len(part))
        chosen.append(part[digit])
    return chosen[::-1]


@lru_cache(maxsize=64)
def _stride(count: int) -> int:
    """What spreads the first numbers evenly and meets every one: near the golden section, and coprime to the count."""
    stride = int(count * 0.6180339887)
    while math.gcd(stride, count) != 1:
        stride += 1
    return stride
