"""What a purchase is worth, term by term. Invariant: all lie in [0, 1], and the total is 1.0 only if every term is.

The total is `(attributes met + options met + price met) / (all that was wanted) * type`, in the original's own order of
operations, so that its scores come out equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentenv.tasks.webshop.base import Product

__all__ = ["NO_LIMIT", "Score", "Terms", "price_of"]

NO_LIMIT = 1_000_000
"""The `price_upper` of a goal that sets no price."""


@dataclass(frozen=True)
class Terms:
    """The parts of a score; a part of which nothing is wanted stands at 1.0.

    Args:
        type: How far the product is of the wanted kind.
        attributes_met: For each wanted attribute, in the goal's order, whether it is met.
        options_met: For each wanted option, in the goal's order, whether it is met.
        price_met: Whether the price is within the limit; None where no limit counts.
    """

    type: float
    attributes_met: tuple[bool, ...]
    options_met: tuple[bool, ...]
    price_met: bool | None

    @property
    def attributes(self) -> float:
        """Share of the wanted attributes that are met."""
        return _share(self.attributes_met)

    @property
    def options(self) -> float:
        """Share of the wanted options that are met."""
        return _share(self.options_met)

    @property
    def price(self) -> float:
        """1.0 within the limit, or without one."""
        return 0.0 if self.price_met is False else 1.0

    @property
    def counts(self) -> dict[str, int]:
        """How many of each part are met, and how many are wanted."""
        return {
            "attributes_met": sum(self.attributes_met),
            "attributes_wanted": len(self.attributes_met),
            "options_met": sum(self.options_met),
            "options_wanted": len(self.options_met),
            "price_met": int(self.price_met is True),
            "price_wanted": int(self.price_met is not None),
        }

    @property
    def total(self) -> float:
        """The score.

        >>> Terms(1.0, (True, True), (False,), True).total
        0.75
        """
        price = () if self.price_met is None else (self.price_met,)
        return _share((*self.attributes_met, *self.options_met, *price)) * self.type


@dataclass(frozen=True)
class Score:
    """A purchase's score under one rule.

    Args:
        rule: "original" or "strict".
        terms: The parts.
        tagger: What found the nouns of titles; empty where the rule reads none.
        details: What the type was decided from, under the original's own names where it has them.
    """

    rule: str
    terms: Terms
    tagger: str = ""
    details: Mapping[str, float | bool] = field(default_factory=dict, hash=False)

    @property
    def total(self) -> float:
        """The score, in [0, 1]."""
        return self.terms.total


def price_of(product: Product, options: Mapping[str, str]) -> float:
    """What a product costs with these options: the highest price that one of them sets, else the product's own.

    >>> mug = Product("B1", "Mug", "", (), "garden", "", "mugs", (), (9.5,), 9.5,
    ...     {"size": ("small", "large")}, {("size", "large"): 12.0})
    >>> price_of(mug, {"size": "large"}), price_of(mug, {})
    (12.0, 9.5)
    """
    set_prices = [product.option_prices[chosen] for chosen in options.items() if chosen in product.option_prices]
    return max(set_prices, default=product.price)


def _share(met: Sequence[bool]) -> float:
    return sum(met) / len(met) if met else 1.0
