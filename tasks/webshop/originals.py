"""Goals of the original data files, counted and split as usual. Invariant: a task's number is the original's.

The original shuffles all goals once, and its users call goals 0 to 499 the test set; the order here is the same. What
it draws anew on every start is fixed here by a seed: prices within a range, and price limits.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, overload

from agentenv.errors import UnknownTaskError
from agentenv.task import GraderData, Task, stable_rng
from agentenv.tasks.webshop.base import Goal, Product
from agentenv.tasks.webshop.goals import drawn_limit, price_text
from agentenv.tasks.webshop.loading import GoalSet
from agentenv.tasks.webshop.readers import WebShopFiles, open_store
from agentenv.tasks.webshop.reward import checks_for, price_of
from agentenv.tasks.webshop.store import GoalRow, ProductStore

__all__ = ["OriginalGoals", "splits_of"]

_VERSION = 1
_KEPT_GOALS = 4096
_TEST, _VAL = 500, 1000
_FEWEST_FOR_OFFICIAL_SPLITS = 3000


class OriginalGoals(GoalSet):
    """Goals of customers of the original products. They know no oracle, and no split `ood`.

    Args:
        directory: Where the data files lie, under their original names.
        kind: "human" for the instructions that people wrote, "synthetic" for the products' own with every
            combination of options.
        num_products: Only so many products, the first ones; None reads all.
        seed: Decides prices within ranges, and price limits.
        cache: Where the store is kept once made; see `agentenv.tasks.search.storage.cache_root`.

    Raises:
        ConfigurationError: On an argument that cannot be used.
        DataFileError: Where a file breaks its format.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        kind: str = "human",
        num_products: int | None = None,
        seed: int = 0,
        cache: str | Path | None = None,
    ) -> None:
        self.name = f"webshop-{kind}"
        self._kind, self._seed = kind, seed
        files = WebShopFiles.find(directory)
        self._store = open_store(files, kind=kind, num_products=num_products, seed=seed, cache=cache)
        self._ranges = splits_of(self._store.goals)
        self._read = lru_cache(maxsize=_KEPT_GOALS)(self._read_goal)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the products and goals that were read."""
        return hashlib.sha256(f"{self.name} {_VERSION} {self._seed} {self._store.fingerprint}".encode()).hexdigest()

    @property
    def catalogue(self) -> ProductStore:
        """The products."""
        return self._store

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split, in the original's order."""
        return _Numbered(self._kind, self._ranges.get(split, range(0)))

    def task(self, task_id: str) -> Task:
        """The task of an id."""
        goal = self.goal(task_id)
        return Task(task_id, goal.instruction, {}, goal.split, goal.difficulty)

    def goal(self, task_id: str) -> Goal:
        """What the customer of a task wants."""
        return self._read(task_id)[0]

    def grader(self, task_id: str) -> GraderData:
        """The terms of the strict reward, and the purchase, as checks."""
        goal, target = self._read(task_id)
        return GraderData(checks_for(goal, target), {"goal": goal, "target": target})

    def unknown(self, task_id: str, split_hint: str = "") -> UnknownTaskError:
        """The error for an id that is not in the set, with the ids that are."""
        return UnknownTaskError(
            f"task {task_id[:100]!r} is not in {self.name!r}; known: {self._kind}-0 to "
            f"{self._kind}-{self._store.goals - 1}"
        )

    def _read_goal(self, task_id: str) -> tuple[Goal, Product]:
        kind, _, number = task_id.partition("-")
        plain = len(number) < 12 and number.isascii() and number.isdigit() and str(int(number)) == number
        if kind != self._kind or not plain or int(number) >= self._store.goals:
            raise self.unknown(task_id)
        row, place = self._store.goal_row(int(self._store.goal_order[int(number)]))
        target = self._store.product(row["asin"])
        if target is None:
            raise self.unknown(task_id)
        split = next(split for split, numbers in self._ranges.items() if int(number) in numbers)
        if kind == "human":
            return self._human(task_id, split, row, target), target
        return self._synthetic(task_id, split, row, target, place), target

    def _human(self, task_id: str, split: str, row: GoalRow, target: Product) -> Goal:
        values = row["options"]
        variants = [price for (_, value), price in target.option_prices.items() if value in values]
        limit = self._limit(row, max([target.price, *variants]))
        return Goal(
            id=task_id,
            asin=target.asin,
            instruction=row["instruction"] + price_text(limit),
            attributes=tuple(row["attributes"]),
            options={str(number): value for number, value in enumerate(values)},
            price_upper=limit,
            split=split,
            options_are_named=False,
        )

    def _synthetic(self, task_id: str, split: str, row: GoalRow, target: Product, place: int) -> Goal:
        names = sorted(target.options)
        combinations = itertools.product(*(target.options[name] for name in names))
        options = dict(zip(names, next(itertools.islice(combinations, place, None)), strict=True))
        limit = self._limit(row, max(target.price, price_of(target, options)))
        chosen = ", and ".join(f"{name}: {value}" for name, value in options.items())
        return Goal(
            id=task_id,
            asin=target.asin,
            instruction=row["instruction"] + (f" with {chosen}" if chosen else "") + price_text(limit),
            attributes=tuple(row["attributes"]),
            options=options,
            price_upper=limit,
            split=split,
        )

    def _limit(self, row: GoalRow, price: float) -> float:
        return drawn_limit(price, stable_rng("webshop limit", self._seed, row["asin"], row["number"]))


def splits_of(goals: int) -> dict[str, range]:
    """Which goals are whose, by their number.

    The published splits, where there are enough goals (3,000) for all: test 0 to 499, val 500 to 1,499, train the
    rest. Of fewer goals a tenth is test and a tenth val.

    >>> splits_of(12_087)["val"], splits_of(20)
    (range(500, 1500), {'test': range(0, 2), 'val': range(2, 4), 'train': range(4, 20)})
    """
    test, val = (_TEST, _VAL) if goals >= _FEWEST_FOR_OFFICIAL_SPLITS else (goals // 10, goals // 10)
    return {"test": range(test), "val": range(test, test + val), "train": range(test + val, goals)}


class _Numbered(Sequence[str]):
    """Ids that are not held in memory: there may be millions."""

    def __init__(self, kind: str, numbers: range) -> None:
        self._kind, self._numbers = kind, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: Any) -> Any:
        found = self._numbers[index]
        return _Numbered(self._kind, found) if isinstance(index, slice) else f"{self._kind}-{found}"
