"""Makes terminals and plays them, for the tests of the environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym

import agentenv  # noqa: F401  (registers the environments)

FILES = "files_and_folders-easy-train-0"
LINKS = "links-easy-train-0"


class Turned(NamedTuple):
    """What one step gave."""

    text: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def terminal(**kwargs: Any) -> gym.Env[str, str]:
    return gym.make("agentenv/Terminal-v0", **{"max_turns": 60, "command_timeout_s": 10.0, **kwargs})


def begin(env: gym.Env[str, str], task_id: str = FILES) -> dict[str, Any]:
    return env.reset(options={"task_id": task_id})[1]


def play(env: gym.Env[str, str], *actions: str) -> Turned:
    """Plays actions; what the last of them gave."""
    for action in actions:
        turned = Turned(*env.step(action))  # type: ignore[arg-type]
    return turned


def oracle(env: gym.Env[str, str], task_id: str = FILES) -> Sequence[str]:
    """The actions that solve a task, without the closing `submit`."""
    return env.unwrapped.task_set.oracle(task_id)[:-1]  # type: ignore[attr-defined]
