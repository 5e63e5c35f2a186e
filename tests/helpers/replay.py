"""A third-party environment (no `AgentEnv`) that fills the info contract from a script, for tests of wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from agentenv import UnicodeText


@dataclass(frozen=True)
class Beat:
    """What one turn reports."""

    progress: float
    outcome: float = 0.0
    valid: bool = True
    terminated: bool = False
    truncated: bool = False


class ReplayEnv(gym.Env[str, str]):
    """Episode after episode of beats; each episode starts at its first beat. The last info is kept for inspection."""

    def __init__(self, *episodes: Sequence[Beat], leave_out: Sequence[str] = ()) -> None:
        self.observation_space = self.action_space = UnicodeText()
        self.episodes, self.leave_out = list(episodes), set(leave_out)
        self.episode, self.turn = -1, 0
        self.actions: list[str] = []
        self.given: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.turn = self.episode + 1, 0
        return "start", self._info(self._beat())

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        self.actions.append(action)
        beat = self._beat()
        return f"turn {self.turn}", beat.outcome, beat.terminated, beat.truncated, self._info(beat)

    def _beat(self) -> Beat:
        return self.episodes[self.episode % len(self.episodes)][self.turn]

    def _info(self, beat: Beat) -> dict[str, Any]:
        info = {
            "progress": beat.progress,
            "checks": {"c": beat.progress},
            "success": beat.outcome == 1.0,
            "task_id": f"episode-{self.episode}",
            "turn": self.turn,
            "valid_action": beat.valid,
            "stop_reason": "over" if beat.terminated or beat.truncated else "",
            "reward_parts": {"outcome": beat.outcome},
            "state_hash": f"{self.episode}/{self.turn}",
        }
        self.given = {key: value for key, value in info.items() if key not in self.leave_out}
        return self.given


def play_out(env: gym.Env[str, str], actions: Sequence[str]) -> list[tuple[str, float, bool, bool, dict[str, Any]]]:
    """Plays the actions until they or the episode end; what each step returned."""
    steps = []
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps
