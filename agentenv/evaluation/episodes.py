"""Choosing and trimming the episodes that a report steps through. Invariant: the page's size has a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentenv.trajectory import Trajectory, Turn, read_trajectories

__all__ = ["shown_episodes"]

_MOST_CHARACTERS = 4000
_MOST_TURNS = 60


def shown_episodes(sources: Sequence[tuple[str, Path]], most: int) -> list[dict[str, Any]]:
    """Up to `most` episodes an arm, from its last file: successes and failures in turn, the instructive ones first.

    Raises:
        TrajectoryFormatError: If a file is damaged.
    """
    last: dict[str, Path] = dict(sources)
    shown: list[dict[str, Any]] = []
    for arm, path in last.items():
        trajectories = [trajectory for trajectory in read_trajectories(path) if trajectory.turns]
        won = sorted((t for t in trajectories if t.success), key=_steps, reverse=True)
        lost = sorted((t for t in trajectories if not t.success), key=_steps, reverse=True)
        for trajectory in _in_turn(won, lost)[:most]:
            shown.append(_as_shown(arm, trajectory))
    return shown


def _steps(trajectory: Trajectory) -> tuple[int, float, int, str]:
    """How much there is to see: turns in which progress moved, progress reached, turns."""
    levels = [trajectory.start_progress, *(turn.progress for turn in trajectory.turns)]
    moved = sum(a != b for a, b in pairwise(levels))
    return moved, trajectory.final_progress, len(trajectory.turns), trajectory.task_id


def _in_turn(first: Sequence[Trajectory], second: Sequence[Trajectory]) -> list[Trajectory]:
    merged: list[Trajectory] = []
    for number in range(max(len(first), len(second))):
        merged += [*first[number : number + 1], *second[number : number + 1]]
    return merged


def _as_shown(arm: str, trajectory: Trajectory) -> dict[str, Any]:
    turns = trajectory.turns[:_MOST_TURNS]
    after = [turn.observation for turn in trajectory.turns[1:]] + [trajectory.final_observation]
    advantages = trajectory.meta.get("advantages")
    known = advantages if isinstance(advantages, list) else []
    return {
        "arm": arm,
        "task": trajectory.task_id,
        "group": trajectory.group_id,
        "success": bool(trajectory.success),
        "stop": trajectory.stop_reason,
        "instruction": _cut(trajectory.turns[0].observation),
        "progress": _finite(trajectory.start_progress),
        "checks": _numbers(trajectory.start_checks),
        "turns": [
            _turn(turn, reply, known[number] if number < len(known) else None)
            for number, (turn, reply) in enumerate(zip(turns, after, strict=False))
        ],
        "left_out": len(trajectory.turns) - len(turns),
    }


def _turn(turn: Turn, reply: str, advantage: Any) -> dict[str, Any]:
    return {
        "action": _cut(turn.action),
        "reply": _cut(reply),
        "progress": _finite(turn.progress),
        "checks": _numbers(turn.checks),
        "valid": bool(turn.valid_action),
        "reward": _finite(turn.reward),
        "parts": _numbers(turn.reward_parts),
        "advantage": _finite(advantage),
    }


def _numbers(values: dict[str, float]) -> dict[str, float | None]:
    return {str(name): _finite(value) for name, value in values.items()}


def _finite(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


def _cut(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
