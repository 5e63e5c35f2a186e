"""The sound reward. Invariant: the total is 1.0 exactly when the product, its attributes, options and price are right.

It mends the faults of the original that an agent can earn from: titles decide nothing, options match by name and value
and each at most once, numbers and sizes are exact, nothing matches inside a word, and the variant's price counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward.score import NO_LIMIT, Score, Terms
from agentenv.tasks.webshop.reward.words import Phrase, spaced, words

__all__ = ["strict"]

_RELATED = 0.5
_SHARED_PARTS = 2


def strict(goal: Goal, target: Product, purchase: Purchase) -> Score:
    """The strict score of a purchase.

    Args:
        goal: What was wanted.
        target: The product that the goal was made from; buying it meets type and attributes by definition.
        purchase: What was bought, at the price of the chosen variant.
    """
    product = purchase.product
    type_, details = _type(target, product)
    terms = Terms(
        type=type_,
        attributes_met=_attributes_met(goal, target, product),
        options_met=_options_met(goal, purchase),
        price_met=purchase.price <= goal.price_upper if goal.price_upper < NO_LIMIT else None,
    )
    return Score("strict", terms, details=details)


def _type(target: Product, bought: Product) -> tuple[float, dict[str, float | bool]]:
    """1.0 for the same kind of product, 0.5 for a neighbouring kind, else 0.0.

    A kind is what customers search for, unless the categories contradict it; where a product names no query, its
    whole category path. Titles are advertising.
    """
    wanted, found = _kind(target.query), _kind(bought.query)
    same_query = bool(wanted) and wanted == found
    path, other = _parts(target), _parts(bought)
    same_path = bool(path) and path == other
    shared = len(set(path) & set(other))
    near = shared >= min(_SHARED_PARTS, len(set(path)), len(set(other)))
    known = bool(path) and bool(other)
    if bought.asin == target.asin:
        value = 1.0
    elif wanted and found:
        value = 1.0 if same_query and (near or not known) else _RELATED if same_query or (known and near) else 0.0
    else:
        value = 1.0 if same_path else _RELATED if known and near else 0.0
    return value, {"same_query": same_query, "same_category": same_path}


def _kind(query: str) -> tuple[str, ...]:
    """The words of a query, without the plural's s and without regard to order."""
    found = words(query)
    return tuple(sorted(w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in found))


def _parts(product: Product) -> tuple[tuple[str, ...], ...]:
    parts = (words(part) for part in product.product_category.split("›"))
    return tuple(part for part in parts if part)


def _attributes_met(goal: Goal, target: Product, product: Product) -> tuple[bool, ...]:
    if product.asin == target.asin:
        return (True,) * len(goal.attributes)
    known = [spaced(attribute) for attribute in product.attributes]
    texts = [spaced(text) for text in (product.title, *product.bullets, product.description)]
    return tuple(_attribute_met(Phrase(wanted), known, texts) for wanted in goal.attributes)


def _attribute_met(wanted: Phrase, known: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether it is among what is known, or the product's texts affirm it somewhere and deny it nowhere."""
    if any(claim for attribute in known for claim in wanted.claims_in(attribute)):
        return True
    claims = [claim for text in texts for claim in wanted.claims_in(text)]
    return bool(claims) and all(claims)


def _options_met(goal: Goal, purchase: Purchase) -> tuple[bool, ...]:
    """Each wanted option is met by one equal chosen option of the same name, which then meets no other."""
    left = Counter(_key(goal, name, value) for name, value in purchase.options.items())
    met = []
    for name, value in goal.options.items():
        wanted = _key(goal, name, value)
        met.append(left[wanted] > 0)
        left[wanted] -= 1
    return tuple(met)


def _key(goal: Goal, name: str, value: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What must be equal; a text without any word stands for itself."""
    return words(name) if goal.options_are_named else (), words(value) or (value.strip(),)
