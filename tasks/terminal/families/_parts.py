"""Scenarios put together from independent parts. Invariant: parts share no path, so they can be done in any order.

A part is one thing to do: how it is asked for, what it needs, ways to do it right and wrong, and the checks that tell.
An easy scenario is one part; harder ones join several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentenv.errors import ConfigurationError, NotInStateError
from agentenv.progress import Check, StateView
from agentenv.tasks.terminal.families._draw import Draw
from agentenv.tasks.terminal.scenario import Scenario, StartFile

__all__ = ["Part", "directory", "file", "files_in", "join"]

MAX_CHECKS = 8


@dataclass(frozen=True)
class Part:
    """One thing to do.

    Args:
        ask: An imperative phrase without capital or full stop: "move a/b.txt to c/d.txt".
        files: Its start files.
        do: Its oracle commands.
        instead: Another right way.
        wrong: Plausible mistakes, each a whole replacement of `do`.
        goals: Its checks; all fail at the start.
        requires: See `Scenario.requires`.
        setup: See `Scenario.setup`.
    """

    ask: str
    files: tuple[StartFile, ...]
    do: tuple[str, ...]
    instead: tuple[str, ...]
    wrong: tuple[tuple[str, ...], ...]
    goals: tuple[Check, ...]
    requires: tuple[str, ...] = ()
    setup: str = ""


def file(path: str, content: str | bytes = "", mode: int | None = None) -> StartFile:
    """A start file."""
    return StartFile(path, content, mode)


def files_in(where: str, names: Sequence[str], bodies: Sequence[str]) -> tuple[StartFile, ...]:
    """Start files of one directory: names and their contents, pairwise."""
    return tuple(file(f"{where}/{name}", body) for name, body in zip(names, bodies, strict=True))


def directory(path: str, mode: int | None = None) -> StartFile:
    """An empty start directory."""
    return StartFile(path, None, mode)


def join(draw: Draw, parts: Sequence[Part], opening: str = "") -> Scenario:
    """The scenario that asks for all the parts.

    Its alternatives do the parts the other way, in reverse order. Its near-misses do one part wrong, or leave one out.

    Raises:
        ConfigurationError: If two parts share a start path.
    """
    files = tuple(entry for part in parts for entry in part.files)
    paths = [entry.path for entry in files]
    if len(set(paths)) != len(paths):
        raise ConfigurationError(f"parts share a start path: {sorted(paths)}")
    misses = [_with_one(parts, place, wrong) for place, part in enumerate(parts) for wrong in part.wrong]
    if len(parts) > 1:
        misses = [*draw.some(misses, 3), _with_one(parts, draw.number(0, len(parts) - 1), ())]
    return Scenario(
        instruction=_wording(draw, [part.ask for part in parts], opening),
        files=files,
        checks=_at_most(MAX_CHECKS, parts),
        oracle=tuple(command for part in parts for command in part.do),
        alternatives=(tuple(command for part in reversed(parts) for command in part.instead),),
        near_misses=tuple(misses),
        setup="\n".join(part.setup for part in parts if part.setup),
        requires=tuple(dict.fromkeys(program for part in parts for program in part.requires)),
    )


def _with_one(parts: Sequence[Part], place: int, commands: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(command for index, part in enumerate(parts) for command in (commands if index == place else part.do))


def _wording(draw: Draw, asks: Sequence[str], opening: str) -> str:
    sentences = [ask[0].upper() + ask[1:] + "." for ask in asks]
    if len(sentences) == 1:
        return (f"{opening} " if opening else draw.one(("", "In /workspace: ", "Task: "))) + sentences[0]
    numbered = " ".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, start=1))
    listed = "\n".join(f"- {sentence}" for sentence in sentences)
    opening = f"{opening} " if opening else ""
    return opening + draw.one((numbered, f"Do all of this:\n{listed}", " ".join(sentences)))


def _at_most(limit: int, parts: Sequence[Part]) -> tuple[Check, ...]:
    goals = [list(part.goals) for part in parts]
    while sum(map(len, goals)) > limit:
        longest = max(range(len(goals)), key=lambda place: len(goals[place]))
        goals[longest] = [_merged(goals[longest])]
    checks = [goal for group in goals for goal in group]
    names = [goal.name for goal in checks]
    return tuple(
        replace(goal, name=f"{goal.name} {names[:place].count(goal.name) + 1}") if goal.name in names[:place] else goal
        for place, goal in enumerate(checks)
    )


def _merged(goals: Sequence[Check]) -> Check:
    """One check that scores 1.0 when all goals do, else 0.0."""

    def score(view: StateView) -> float:
        try:
            return 1.0 if all(goal.score(view) == 1.0 for goal in goals) else 0.0
        except NotInStateError:
            return 0.0

    return Check(goals[-1].name, 1, score)
