"""Task sets of the web shop by name, and what a shop environment needs of them."""

from __future__ import annotations

import abc

from agentenv.errors import UnknownTaskError, did_you_mean
from agentenv.task import TaskSet
from agentenv.tasks.webshop.base import Goal
from agentenv.tasks.webshop.shop import Catalogue

__all__ = ["GoalSet", "load"]

_KNOWN = ("generated",)


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
        tasks: "generated".
        difficulty: Only this difficulty.

    Raises:
        UnknownTaskError: If no task set has this name.
    """
    if tasks != "generated":
        raise UnknownTaskError(
            f"tasks={tasks!r} is not a known task set.{did_you_mean(tasks, _KNOWN)} Known: {', '.join(_KNOWN)}"
        )
    from agentenv.tasks.webshop.generated import GeneratedGoals

    return GeneratedGoals(difficulty=difficulty)
