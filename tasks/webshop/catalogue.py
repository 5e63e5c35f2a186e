"""The generated catalogue: products in lots of eight, each with its traps. Invariant: seed and lot number decide all.

A lot holds a product and what is easily taken for it: one attribute less, one option value less, a price far above,
a cheap imitation, and an accessory whose title reads like the product. All that is true of a product is said on its
pages, and nothing else is, unless it is denied there.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from agentenv.errors import ConfigurationError
from agentenv.task import stable_rng
from agentenv.tasks.webshop.base import Product
from agentenv.tasks.webshop.vocabulary import BRAND_PARTS, CLOSINGS, DIMENSIONS, GROUPS, LINE_PARTS, OPENINGS, Group

__all__ = ["LOT", "Draws", "GeneratedCatalogue", "group_of_lot"]

T = TypeVar("T")

LOT = 8
"""Products in a lot."""

_VERSION = 1
_ATTRIBUTES = 5
_IN_TITLE = 2
_IN_BULLETS = 4
# Their titles are short, so that searches would put nearly all of them first.
_BOASTING_ACCESSORIES = 0.3
# Syllables, so that a small policy has few tokens to copy.
_ASIN_PARTS = tuple(consonant + vowel for consonant in "BCDFGHJKLMNPQRSTVWXZ" for vowel in "AEIOU")
_ASIN_SPACE = len(_ASIN_PARTS) ** 4
# Has no factor in common with the number of asins: different products get different ones.
_ASIN_STRIDE = 61_803_399
_REVIEWS = (
    ("Happy with it", "Arrived on time and looks like the pictures."),
    ("Okay for the price", "Does what it should, the packaging was dented."),
    ("Would buy again", "Second order from {brand}, same quality as before."),
    ("Not for me", "I had imagined something else and sent it back."),
    ("Good gift", "My sister has used hers for two months now."),
)


class Draws:
    """Random choices from one generator, drawn in blocks because a catalogue needs millions.

    >>> Draws(stable_rng("a")).pick("xyz") == Draws(stable_rng("a")).pick("xyz")
    True
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: list[float] = []

    def fraction(self) -> float:
        """Uniform in [0, 1)."""
        if not self._left:
            self._left = self._rng.random(128).tolist()
        return self._left.pop()

    def below(self, limit: int) -> int:
        """A number from 0 up to and without the limit."""
        return int(self.fraction() * limit)

    def between(self, low: float, high: float) -> float:
        """Uniform between two numbers."""
        return low + (high - low) * self.fraction()

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Some of the items, each at most once, in random order; all of them if there are not so many."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


@dataclass(frozen=True)
class _Draft:
    """A product before its texts: what is true of it, and how it is offered.

    `attributes` come in the order of where they are told: title, bullets, description.
    """

    group: Group
    brand: str
    line: str
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]] = field(hash=False)
    dollars: float
    denied: str = ""
    is_accessory: bool = False


@dataclass(frozen=True)
class GeneratedCatalogue:
    """A recipe for products: the same ones, in the same order, in every process.

    Args:
        size: How many products.
        seed: Which catalogue.

    Raises:
        ConfigurationError: If the size is not positive.

    >>> first = next(iter(GeneratedCatalogue(size=8)))
    >>> first == GeneratedCatalogue(size=1000).lot(0)[0], len(first.asin)
    (True, 10)
    """

    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigurationError(f"a catalogue needs at least 1 product, got size={self.size}")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over seed, size and the sources that decide the products."""
        digest = hashlib.sha256(f"catalogue {_VERSION} {self.seed} {self.size}\n".encode())
        for name in ("catalogue.py", "vocabulary.py"):
            digest.update((importlib.resources.files("agentenv.tasks.webshop") / name).read_bytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Product]:
        for number in range(-(-self.size // LOT)):
            yield from self.lot(number)[: self.size - number * LOT]

    def lot(self, number: int) -> tuple[Product, ...]:
        """The products of a lot, in random order. A small catalogue's last lot is sold in part only."""
        draws = Draws(stable_rng("webshop lot", _VERSION, self.seed, number))
        drafts = draws.sample(_drafts(group_of_lot(number), draws), LOT)
        return tuple(_product(draft, self._asin(number * LOT + place), draws) for place, draft in enumerate(drafts))

    def _asin(self, position: int) -> str:
        value = (position * _ASIN_STRIDE + 7_919 * self.seed + 1_000_000_007) % _ASIN_SPACE
        parts = ""
        for _ in range(4):
            value, part = divmod(value, len(_ASIN_PARTS))
            parts = _ASIN_PARTS[part] + parts
        return f"B0{parts}"


def group_of_lot(number: int) -> Group:
    """What a lot sells, accessories apart: groups take turns."""
    return GROUPS[number % len(GROUPS)]


def _drafts(group: Group, draws: Draws) -> list[_Draft]:
    base = _fresh(group, draws)
    absent = [attribute for attribute in group.attributes if attribute not in base.attributes]
    swapped, place = draws.pick(absent), draws.below(_ATTRIBUTES)
    other = list(base.attributes)
    other[place] = swapped
    lost = base.attributes[place]
    # "Not no added oil" is no English.
    denied = lost if draws.fraction() < 0.5 and not lost.startswith("no ") else ""
    names = list(base.options)
    return [
        base,
        replace(base, attributes=tuple(other), denied=denied, dollars=base.dollars * draws.between(0.85, 1.0)),
        replace(base, options=_other_values(base, names[0], draws), dollars=base.dollars * draws.between(0.85, 1.0)),
        replace(base, options=_fewer_values(base, names[-1], draws), dollars=base.dollars * draws.between(0.9, 1.05)),
        replace(base, dollars=base.dollars * draws.between(1.9, 2.6) + 20),
        replace(
            _fresh(group, draws),
            attributes=tuple(draws.sample(base.attributes, _ATTRIBUTES - 2)),
            options=base.options,
            dollars=base.dollars * draws.between(0.5, 0.8),
        ),
        replace(base, attributes=base.attributes[:_IN_TITLE], dollars=draws.between(4, 14), is_accessory=True),
        _fresh(group, draws),
    ]


def _fresh(group: Group, draws: Draws) -> _Draft:
    options = {}
    for key in group.dimensions:
        dimension = DIMENSIONS[key]
        kept = set(draws.sample(dimension.values, 3 + draws.below(4)))
        options[dimension.name] = tuple(value for value in dimension.values if value in kept)
    return _Draft(
        group,
        brand="".join(draws.pick(part) for part in BRAND_PARTS),
        line="".join(draws.pick(part) for part in LINE_PARTS),
        attributes=tuple(draws.sample(group.attributes, _ATTRIBUTES)),
        options=options,
        dollars=draws.between(*group.dollars),
    )


def _other_values(draft: _Draft, name: str, draws: Draws) -> dict[str, tuple[str, ...]]:
    """The options with one value of a name replaced by another, where there is another."""
    known = _values(draft.group, name)
    values = draft.options[name]
    lost = draws.pick(values)
    gained = draws.sample([value for value in known if value not in values], 1)
    kept = {*values, *gained} - {lost}
    return {**draft.options, name: tuple(value for value in known if value in kept)}


def _fewer_values(draft: _Draft, name: str, draws: Draws) -> dict[str, tuple[str, ...]]:
    """The options with one or two values of a name sold out."""
    values = draft.options[name]
    lost = set(draws.sample(values, min(1 + draws.below(2), len(values) - 1)))
    return {**draft.options, name: tuple(value for value in values if value not in lost)}


def _values(group: Group, name: str) -> tuple[str, ...]:
    return next(DIMENSIONS[key].values for key in group.dimensions if DIMENSIONS[key].name == name)


def _product(draft: _Draft, asin: str, draws: Draws) -> Product:
    group = draft.group
    use = draws.pick(group.uses)
    price, option_prices = _prices(draft)
    highest = max(option_prices.values(), default=price)
    reviews = draws.sample(_REVIEWS, draws.below(3))
    words = {"noun": group.query, "brand": draft.brand, "line": draft.line}
    return Product(
        asin=asin,
        title=_title(draft, use, draws),
        description=" ".join(
            [
                draws.pick(OPENINGS).format(**words),
                *(_told(group, attribute) for attribute in draft.attributes[_IN_BULLETS:]),
                draws.pick(CLOSINGS).format(**words),
            ]
        ),
        bullets=_bullets(draft, use),
        category=group.category,
        product_category=_accessory_path(group) if draft.is_accessory else group.path,
        query=group.accessory if draft.is_accessory else group.query,
        attributes=draft.attributes,
        prices=(price,) if highest == price else (price, highest),
        price=price,
        options=draft.options,
        option_prices=option_prices,
        reviews=tuple(
            (title, text.format(**words), float(5 - _REVIEWS.index((title, text)) % 4)) for title, text in reviews
        ),
    )


def _accessory_path(group: Group) -> str:
    return f"{group.path.partition(' › ')[0]} › Accessories › {string.capwords(group.accessory)}"


def _title(draft: _Draft, use: str, draws: Draws) -> str:
    group, brand, line = draft.group, draft.brand, draft.line
    told = [string.capwords(attribute) for attribute in draft.attributes[:_IN_TITLE]]
    noun, use = string.capwords(group.query), string.capwords(use)
    if draft.is_accessory:
        boast = f", {', '.join(told)}" if draws.fraction() < _BOASTING_ACCESSORIES else ""
        return f"{string.capwords(group.accessory)} for {brand} {line} {noun}{boast}"
    are = [text for text, attribute in zip(told, draft.attributes, strict=False) if attribute in group.are]
    have = [text for text in told if text not in are]
    match draws.below(4):
        case 0:
            tail = f" with {' and '.join(have)}" if have else ""
            return f"{brand} {line} {''.join(f'{text} ' for text in are)}{noun}{tail} for {use}"
        case 1:
            return f"{noun} for {use}, {', '.join(told)}, by {brand} {line}"
        case 2:
            return f"{brand} {noun} {line} - {' - '.join(told)} - {use}"
        case _:
            return f"{brand} {line} {noun}, {', '.join(told)}, {use}"


def _bullets(draft: _Draft, use: str) -> tuple[str, ...]:
    group = draft.group
    bullets = [f"Great for {use}: {draft.brand} takes care of every detail."]
    first = 0 if draft.is_accessory else _IN_TITLE
    bullets += [_told(group, attribute) for attribute in draft.attributes[first:_IN_BULLETS]]
    bullets += [f"Choose your {name} from {len(values)} choices." for name, values in draft.options.items()]
    if draft.denied:
        bullets.append(f"Please note: {'not' if draft.denied in group.are else 'without'} {draft.denied}.")
    return tuple(bullets)


def _told(group: Group, attribute: str) -> str:
    return f"{attribute.capitalize()} by design." if attribute in group.are else f"Comes with {attribute}."


def _prices(draft: _Draft) -> tuple[float, dict[tuple[str, str], float]]:
    """The lowest price, and by option what costs more. One option has prices, the one with the largest steps."""
    price = _rounded(draft.dollars)
    priced = max((DIMENSIONS[key] for key in draft.group.dimensions), key=lambda dimension: dimension.step)
    values = draft.options[priced.name]
    if not priced.step or draft.is_accessory:
        return price, {}
    first = priced.values.index(values[0])
    raised = {
        (priced.name, value): _rounded(draft.dollars * (1 + priced.step * (priced.values.index(value) - first)))
        for value in values
    }
    return price, {key: value for key, value in raised.items() if value != price}


def _rounded(dollars: float) -> float:
    """A price as shops write them, ending in .49 or .99."""
    return (max(1, round(dollars * 2)) * 50 - 1) / 100
