"""Task sets of the web shop by name, and what a shop environment needs of them."""

from __future__ import annotations

import abc

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.task import TaskSet
from agentenv.tasks.webshop.base import Goal
from agentenv.tasks.webshop.shop import Catalogue

__all__ = ["GoalSet", "load"]

_GENERATED = "generated"
_ORIGINAL = {"webshop-human": "human", "webshop-synthetic": "synthetic"}
_KNOWN = (_GENERATED, *_ORIGINAL)
_MOST_DIGITS = 10


class GoalSet(TaskSet, abc.ABC):
    """Tasks that are goals of customers of one catalogue."""

    @property
    @abc.abstractmethod
    def catalogue(self) -> Catalogue:
        """The products that the shop sells."""

    @abc.abstractmethod
    def goal(self, task_id: str) -> Goal:
        """What the customer of a task wants. Its attributes and asin are for the grader only."""


def load(tasks: str, *, difficulty: str | None = None) -> GoalSet:
    """The goals that a string names.

    Args:
        tasks: "generated" for 10,000 generated products, "generated:1000" for another number of them;
            "webshop-human:DIR" or "webshop-synthetic:DIR" for the original data files in a directory.
        difficulty: Only this difficulty, of generated goals; the original ones have none.

    Raises:
        UnknownTaskError: If no task set has this name.
        ConfigurationError: If the string or the difficulty cannot be used.
    """
    name, colon, where = tasks.partition(":")
    if name == _GENERATED:
        from agentenv.tasks.webshop.generated import GeneratedGoals

        if not colon:
            return GeneratedGoals(difficulty=difficulty)
        if not (where.isascii() and where.isdigit() and len(where) < _MOST_DIGITS):
            raise ConfigurationError(f"tasks={tasks!r}: {where!r} is not a number of products; example: generated:1000")
        return GeneratedGoals(int(where), difficulty=difficulty)
    if name in _ORIGINAL:
        from agentenv.tasks.webshop.originals import OriginalGoals

        if not where:
            raise ConfigurationError(f"tasks={tasks!r} names no directory; example: {name}:data/webshop")
        if difficulty is not None:
            raise ConfigurationError(f"difficulty={difficulty!r}: the goals of {name!r} have no difficulties")
        return OriginalGoals(where, kind=_ORIGINAL[name])
    raise UnknownTaskError(
        f"tasks={tasks!r} is not a known task set.{did_you_mean(name, _KNOWN)} Known: {', '.join(_KNOWN)}"
    )
