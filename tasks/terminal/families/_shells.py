"""Conditions on what files do when a clean shell uses them. Invariant: all runs are on forks."""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c

__all__ = ["acts", "says"]


def says(script: str, expected: str) -> c.Condition:
    """A script, run by a clean shell on a fork, prints exactly this (white space at the ends apart)."""

    def holds(view: StateView) -> bool:
        done = view.run(script)
        return done.exit_code == 0 and done.stdout.strip() == expected

    return holds


def acts(path: str, start: str, known: Sequence[str], behaves: c.Condition) -> c.Condition:
    """A changed file that behaves right. What is known to be right needs no run, and neither does what it was."""

    def holds(view: StateView) -> bool:
        found = c.text_of(view, path)
        return found in known or (found != start and behaves(view))

    return holds
