"""Task sets of the terminal environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentenv.errors import UnknownTaskError, did_you_mean

if TYPE_CHECKING:
    from agentenv.task import TaskSet

__all__ = ["load"]

_KNOWN = ("generated",)


def load(tasks: str, *, families: Sequence[str] | None = None, difficulty: str | None = None) -> TaskSet:
    """The task set that a string names.

    Args:
        tasks: "generated".
        families: Only these families.
        difficulty: Only this difficulty.

    Raises:
        UnknownTaskError: If no task set has this name.

    >>> load("generated", difficulty="easy").name
    'generated'
    """
    if tasks != "generated":
        raise UnknownTaskError(
            f"tasks={tasks!r} is not a known task set.{did_you_mean(tasks, _KNOWN)} Known: {', '.join(_KNOWN)}"
        )
    from agentenv.tasks.terminal.generated import GeneratedTasks

    return GeneratedTasks(families=families, difficulty=difficulty)
