"""Which family a task belongs to."""

from __future__ import annotations

import re

from agentenv.task import Task

__all__ = ["family_of", "family_of_id"]


def family_of(task: Task) -> str:
    """`task.data["family"]` where the task set says it, else the id up to its number.

    >>> family_of(Task("log-rotate-9", "", {})), family_of(Task("t9", "", {"family": "links"}))
    ('log-rotate', 'links')
    """
    family = task.data.get("family")
    return family if isinstance(family, str) and family else family_of_id(task.id)


def family_of_id(task_id: str) -> str:
    """A task id up to its number.

    >>> family_of_id("csv/easy/17"), family_of_id("plain")
    ('csv/easy', 'plain')
    """
    return re.sub(r"[-_/:.]?\d+$", "", task_id) or task_id
