"""A terminal whose sandbox is killed from outside in every third episode."""

from __future__ import annotations

import itertools
import os
import signal
from typing import Any

import gymnasium as gym
import numpy as np

from agentenv.env import Reply
from agentenv.envs.terminal import TerminalEnv
from agentenv.task import Task

ENV_ID = "tests/KilledTerminal-v0"
DOOMED = "(doomed)"


def kill(env: TerminalEnv, *, first_process: bool = False) -> None:
    """What an operator, or a host out of memory, does to a sandbox."""
    box = env.sandbox.session().box  # type: ignore[attr-defined]
    os.kill(box.init_pid if first_process else box.process.pid, signal.SIGKILL)
    box.process.wait()


class KilledTerminal(TerminalEnv):
    """Says in the first observation that its episode is doomed, and is killed at the second turn."""

    episodes = itertools.count()

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        self.doomed = next(self.episodes) % 3 == 1
        return super().begin(task, rng) + (DOOMED if self.doomed else "")

    def act(self, action: str) -> Reply:
        if self.doomed and self._episode is not None and self._episode.turn == 1:
            kill(self)
        return super().act(action)


def register() -> dict[str, Any]:
    """Makes `gym.make(ENV_ID)` work; returns arguments for short episodes."""
    if ENV_ID not in gym.registry:
        gym.register(ENV_ID, entry_point="tests.envs.killed:KilledTerminal")
    return {"families": ["files_and_folders"], "max_turns": 3, "command_timeout_s": 1.0}
