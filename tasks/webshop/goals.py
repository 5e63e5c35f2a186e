"""What customers want: goals drawn from generated lots, and the price limits of all goals. Invariant: pure functions.

A generated goal is met by the product that it was drawn from, at the price of the wanted variant, under either reward.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np

from agentenv.tasks.webshop.base import Goal, Product
from agentenv.tasks.webshop.catalogue import Draws
from agentenv.tasks.webshop.reward.score import NO_LIMIT, price_of
from agentenv.tasks.webshop.vocabulary import Group

__all__ = ["DIFFICULTIES", "draw_goal", "drawn_limit", "keywords_of", "price_text", "requirement_bucket"]

DIFFICULTIES = ("easy", "medium", "hard")

_IN_TITLE = 2
_LIMITS = tuple(10.0 * tens for tens in range(1, 100))
_NEAREST_LIMITS = 4
_OPENINGS = (
    "i am looking for {}",
    "i need {}",
    "find me {}",
    "i want to buy {}",
    "please get me {}",
    "can you help me find {}",
    "i would like {}",
    "looking for {}",
)
_ATTRIBUTE_COUNTS = {"easy": 1, "medium": 2, "hard": 3}


def draw_goal(
    task_id: str, split: str, difficulty: str, group: Group, target: Product, lot: Sequence[Product], draws: Draws
) -> Goal:
    """A goal that a product meets.

    Easy goals want one attribute that the title tells and at most one option, at a loose price. Medium ones want an
    attribute that only the page tells as well. Hard ones want three attributes (two of a product with few) and every
    option, at a tight price, and prefer what the rest of the lot lacks.

    Args:
        task_id: The goal's id.
        split: Its split.
        difficulty: One of `DIFFICULTIES`.
        group: What kind of product is wanted.
        target: The product that the goal is made from, of that group.
        lot: The products that are easily taken for it.
        draws: Decides the rest.
    """
    wanted = [draws.pick(target.attributes[:_IN_TITLE])]
    rest = [attribute for attribute in target.attributes[_IN_TITLE:] if attribute not in wanted]
    if difficulty == "hard":
        rest = _contested_first(draws.sample(rest, len(rest)), [set(other.attributes) for other in lot])
    else:
        rest = draws.sample(rest, len(rest))
    wanted += rest[: _ATTRIBUTE_COUNTS[difficulty] - 1]
    options = _options(target, difficulty, lot, draws)
    # The original reward reads the product's own price, the strict one the variant's.
    price = max(target.price, price_of(target, options))
    steps = {"easy": 1 + draws.below(3), "medium": draws.below(3), "hard": 0}[difficulty]
    limit = 10.0 * (int(price // 10) + 1 + steps)
    return Goal(
        id=task_id,
        asin=target.asin,
        instruction=_instruction(group, wanted, options, draws) + price_text(limit),
        attributes=tuple(wanted),
        options=options,
        price_upper=limit,
        split=split,
        difficulty=difficulty,
    )


def requirement_bucket(query: str, goal: Goal) -> int:
    """One of ten buckets, by what is wanted and neither by wording nor price.

    Splits own buckets, so that no two of them want the same.
    """
    requirement = json.dumps([query, sorted(goal.attributes), sorted(goal.options.items())])
    return int.from_bytes(hashlib.sha256(requirement.encode()).digest()[:8], "big") % 10


def keywords_of(query: str, goal: Goal) -> list[str]:
    """What customers type who copy from the instruction, in its order: all that is wanted; without options; attributes.

    >>> goal = Goal("g", "B0", "bar stools that are foldable, color: red", ("foldable",), {"color": "red"}, 20.0)
    >>> keywords_of("bar stools", goal)
    ['bar stools foldable red', 'bar stools foldable', 'bar stools red']
    """
    described = " ".join(sorted([*goal.attributes, query], key=goal.instruction.find))
    options = " ".join(goal.options.values())
    tried = (f"{described} {options}", described, f"{query} {options}")
    return list(dict.fromkeys(keywords.strip() for keywords in tried))


def drawn_limit(price: float, rng: np.random.Generator) -> float:
    """The original's price limit: the larger of two of the four nearest multiples of ten above the price.

    Only multiples up to 990 exist; where fewer than two are left there is no limit.

    >>> drawn_limit(979.0, np.random.default_rng(0)), drawn_limit(985.0, np.random.default_rng(0))
    (990.0, 1000000)
    >>> {drawn_limit(12.5, np.random.default_rng(seed)) for seed in range(50)} == {30.0, 40.0, 50.0}
    True
    """
    above = [limit for limit in _LIMITS if limit > price][:_NEAREST_LIMITS]
    if len(above) < 2:
        return NO_LIMIT
    return max(above[int(place)] for place in rng.choice(len(above), size=2, replace=False))


def price_text(limit: float) -> str:
    """How an instruction tells its price limit.

    >>> price_text(40.0), price_text(NO_LIMIT)
    (', and price lower than 40.00 dollars', '')
    """
    return "" if limit >= NO_LIMIT else f", and price lower than {limit:.2f} dollars"


def _contested_first(attributes: Sequence[str], others: Sequence[set[str]]) -> list[str]:
    return sorted(attributes, key=lambda attribute: all(attribute in known for known in others))


def _options(target: Product, difficulty: str, lot: Sequence[Product], draws: Draws) -> dict[str, str]:
    names = list(target.options)
    if difficulty == "easy":
        names = draws.sample(names, draws.below(2))
    elif difficulty == "medium":
        names = draws.sample(names, 1 + draws.below(len(names)))
    chosen = {}
    for name in (name for name in target.options if name in names):
        values = target.options[name]
        rare = [value for value in values if any(value not in other.options.get(name, ()) for other in lot)]
        chosen[name] = draws.pick(rare if rare and difficulty == "hard" else values)
    return chosen


def _instruction(group: Group, wanted: Sequence[str], options: Mapping[str, str], draws: Draws) -> str:
    are = [attribute for attribute in wanted if attribute in group.are]
    have = [attribute for attribute in wanted if attribute in group.have]
    form = draws.below(3)
    if form == 0 or not are:
        kind = f"{', '.join(are)} {group.query}".strip()
        text = f"{kind} with {' and '.join(have)}" if have else kind
    else:
        is_, comes = ("are", "come") if group.is_plural else ("is", "comes")
        also = f" and {comes} with {' and '.join(have)}" if have else ""
        text = f"{group.query} that {is_} {' and '.join(are)}{also}"
    text = draws.pick(_OPENINGS).format(text)
    if not options:
        return text
    if draws.below(2):
        return f"{text}. {', and '.join(f'the {name} should be {value}' for name, value in options.items())}"
    return f"{text}, {', and '.join(f'{name}: {value}' for name, value in options.items())}"
