"""A score's terms as checks on the state so far. Invariant: they succeed exactly when a purchase with total 1.0 stands.

Before the purchase they score what buying the product in view, with the options chosen so far, would meet. Every part
is multiplied by the type, as in the score, so that a cheap product of another kind is no progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from agentenv.progress import Check
from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward.score import Score, Terms, price_of

__all__ = ["Rule", "ShopView", "checks_of"]

Rule = Callable[[Purchase], Score]
_LONGEST_HINT = 60


class ShopView(Protocol):
    """What the checks read: where the customer stands."""

    @property
    def product_in_view(self) -> Product | None:
        """The product whose item page, or a page below it, is shown."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """The options chosen on that page, by name."""
        ...

    @property
    def purchase(self) -> Purchase | None:
        """What was bought, once it was."""
        ...


def checks_of(goal: Goal, rule: Rule, *, price_counts: bool) -> tuple[Check, ...]:
    """One check per part of the score, and one for the purchase itself; all of equal weight, all required.

    Args:
        goal: What is wanted; its instruction names it all, so hints may.
        rule: Scores a purchase.
        price_counts: Whether the rule scores the price of this goal.
    """
    meter = _Meter(rule)
    checks = [Check("type", 1, meter.type, hint="a product of the wanted kind is in view")]
    for index, attribute in enumerate(goal.attributes):
        checks.append(Check(f"attribute_{index}", 1, meter.attribute(index), hint=_hint("attribute", attribute)))
    for index, (name, value) in enumerate(goal.options.items()):
        wanted = f"{name}: {value}" if goal.options_are_named else value
        checks.append(Check(f"option_{index}", 1, meter.option(index), hint=_hint("option", wanted)))
    if price_counts:
        checks.append(Check("price", 1, meter.price, hint="within the price limit"))
    checks.append(Check("bought", 1, meter.bought, hint="bought, with everything right"))
    return tuple(checks)


class _Meter:
    """Scores a view once for all checks; remembers the last state scored, and nothing that changes an answer."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._last: tuple[Product, dict[str, str], Purchase | None, Terms] | None = None

    def type(self, view: Any) -> float:
        terms = self._terms(view)
        return 0.0 if terms is None else terms.type

    def price(self, view: Any) -> float:
        return self._times_type(view, lambda terms: terms.price_met is True)

    def attribute(self, index: int) -> Callable[[Any], float]:
        return lambda view: self._times_type(view, lambda terms: terms.attributes_met[index])

    def option(self, index: int) -> Callable[[Any], float]:
        return lambda view: self._times_type(view, lambda terms: terms.options_met[index])

    def bought(self, view: Any) -> float:
        terms = self._terms(view)
        return 1.0 if view.purchase is not None and terms is not None and terms.total == 1.0 else 0.0

    def _times_type(self, view: ShopView, is_met: Callable[[Terms], bool]) -> float:
        terms = self._terms(view)
        return terms.type if terms is not None and is_met(terms) else 0.0

    def _terms(self, view: ShopView) -> Terms | None:
        bought = view.purchase
        product = view.product_in_view if bought is None else bought.product
        if product is None:
            return None
        options = dict(view.options if bought is None else bought.options)
        last = self._last
        if last is not None and last[0] is product and last[1] == options and last[2] == bought:
            return last[3]
        terms = self._rule(bought or Purchase(product, options, price_of(product, options))).terms
        self._last = (product, options, bought, terms)
        return terms


def _hint(kind: str, text: str) -> str:
    shown = text if len(text) <= _LONGEST_HINT else f"{text[:_LONGEST_HINT]}..."
    return f"{kind} {shown!r}"
