"""Spares runs whose outcome is known. Invariant: what is called known here does in a run just what the check asks for.

A run costs tens of milliseconds at every step, a look at a few files next to nothing. So texts that a family knows to
be right (its own solutions, which tests do run) are recognised where nothing around them can change what they do.
Whatever else an agent writes is run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c

__all__ = ["folders_to", "holds_known", "never", "sure", "usable"]


def sure(view: StateView, condition: c.Condition) -> bool:
    """Whether a condition holds; where it cannot be told, it does not."""
    try:
        return condition(view)
    except NotInStateError:
        return False


def never(view: StateView) -> bool:
    """The condition of those who know nothing."""
    return False


def holds_known(where: str, known: Mapping[str, Collection[str]], beside: Collection[str] | None = None) -> c.Condition:
    """A directory in which each file has one of its known texts; nothing but `beside` lies there (None: anything)."""

    def holds(view: StateView) -> bool:
        if not all(usable(view, folder, 0o700) for folder in folders_to(where)):
            return False
        if beside is not None and not set(view.listdir(where)) <= {*known, *beside}:
            return False
        paths = {f"{where}/{name}" if where else name: texts for name, texts in known.items()}
        return all(usable(view, path, 0o400) and c.text_of(view, path) in texts for path, texts in paths.items())

    return holds


def usable(view: StateView, path: str, mode: int) -> bool:
    """Whether this is a file or a directory, not a link, and its owner has these rights."""
    found = view.stat(path)
    return found.kind in ("file", "directory") and found.mode & mode == mode


def folders_to(folder: str) -> list[str]:
    """/workspace and the directories from there to a folder in it, this included."""
    parts = folder.split("/") if folder else []
    return ["/workspace", *("/".join(parts[: place + 1]) for place in range(len(parts)))]
