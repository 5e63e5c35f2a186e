"""What a family of terminal tasks produces: a start state, checks of the final state, and ways to solve it.

A family is a module in `families/` holding one `FAMILY = Family(name, build, ...)`; `build(rng, difficulty)` returns a
`Scenario` and depends on nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from agentenv.progress import Check

__all__ = ["DIFFICULTIES", "Build", "Family", "Scenario", "StartFile"]

DIFFICULTIES = ("easy", "medium", "hard")


@dataclass(frozen=True)
class StartFile:
    """One path of the start state below /workspace: text or bytes, a link target, or (neither) a directory."""

    path: str
    content: str | bytes | None = None
    mode: int | None = None
    link: str | None = None


@dataclass(frozen=True)
class Scenario:
    """One parameterised task.

    Args:
        instruction: Complete and unambiguous: whatever a check wants is said in it. Compact (under 120 words; easy
            ones under 40), since a small model must read it.
        files: The start state.
        checks: 3 to 8 acceptance checks of the final state; all fail (score 0) at the start, so a no-op scores 0.
        oracle: Shell actions that solve it, one per turn, without the closing `submit`; at most 8.
        alternatives: At least one other correct way, as different from the oracle as people would be.
        near_misses: At least two plausible but wrong ways; each leaves some check below 1.
        setup: A bash script run once in the sandbox, as the agent's user in /workspace, to build what files cannot
            hold (a git history); deterministic (fixed dates and names).
        requires: Programs that the task needs beyond coreutils, bash, sed, awk, grep, find ("git", "python3", ...).
    """

    instruction: str
    files: tuple[StartFile, ...]
    checks: tuple[Check, ...]
    oracle: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...]
    near_misses: tuple[tuple[str, ...], ...]
    setup: str = ""
    requires: tuple[str, ...] = field(default=())


Build = Callable[[np.random.Generator, str], Scenario]


@dataclass(frozen=True)
class Family:
    """A family of tasks. `ood` families are never used for training."""

    name: str
    build: Build
    summary: str
    ood: bool = False
