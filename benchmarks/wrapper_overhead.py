"""What a wrapper stack costs per step, on an environment that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
from rich.table import Table

from agentenv import UnicodeText
from agentenv.wrappers import (
    InvalidActionPenalty,
    LimitObservation,
    ParseAction,
    PotentialShaping,
    ProgressReward,
)
from benchmarks.timing import interleaved_ms

STEPS = 200


class NullEnv(gym.Env[str, str]):
    """Fills the info contract and does nothing else."""

    observation_space = UnicodeText()
    action_space = UnicodeText()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts nothing."""
        super().reset(seed=seed)
        return "start", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Does nothing."""
        return "observation", 0.0, False, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {
            "progress": 0.5,
            "checks": {"a": 1.0, "b": 0.0, "c": 0.5, "d": 1.0},
            "success": False,
            "task_id": "null",
            "turn": 1,
            "valid_action": True,
            "stop_reason": "",
            "reward_parts": {"outcome": 0.0},
            "state_hash": "0",
        }


def table() -> Table:
    """Microseconds per step: bare, one wrapper at a time, and the whole stack."""
    stacks: dict[str, Callable[[gym.Env[str, str]], gym.Env[str, str]]] = {
        "null environment": lambda env: env,
        "+ gymnasium.Wrapper (does nothing)": gym.Wrapper,
        "+ ProgressReward": ProgressReward,
        "+ PotentialShaping": lambda env: PotentialShaping(env, gamma=0.99),
        "+ InvalidActionPenalty": InvalidActionPenalty,
        "+ ParseAction (fenced)": lambda env: ParseAction(env, format="fenced"),
        "+ LimitObservation": lambda env: LimitObservation(env, max_chars=2000),
        "all five": lambda env: LimitObservation(
            ParseAction(InvalidActionPenalty(PotentialShaping(ProgressReward(env), gamma=0.99)), format="fenced"),
            max_chars=2000,
        ),
    }
    action = "Let me look.\n```bash\nls -la\n```\n"
    built = {name: make(NullEnv()) for name, make in stacks.items()}
    for env in built.values():
        env.reset(seed=0)

    def stepper(env: gym.Env[str, str]) -> Callable[[], None]:
        def steps() -> None:
            for _ in range(STEPS):
                env.step(action)

        return steps

    medians = interleaved_ms({name: stepper(env) for name, env in built.items()}, repeats=30)
    out = Table(title="Wrapper overhead on a null environment")
    for column in ("stack", "us / step", "x null"):
        out.add_column(column, justify="left" if column == "stack" else "right")
    bare = medians["null environment"]
    for name, ms in medians.items():
        out.add_row(name, f"{1000 * ms / STEPS:.2f}", f"{ms / bare:.1f}")
    return out
