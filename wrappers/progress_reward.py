"""`ProgressReward`: pays the change in verified progress."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.errors import ConfigurationError
from agentenv.wrappers._base import TextWrapper, needed_number, with_part

__all__ = ["ProgressReward"]


class ProgressReward(TextWrapper, RecordConstructorArgs):
    """Adds ``scale * (progress_t - progress_{t-1})`` to every turn's reward, as the part "progress".

    Guarantee: the parts of an episode telescope to ``scale * (final progress - start progress)``. Regress pays back, so
    breaking a check and mending it again earns nothing, however often.

    Args:
        env: An environment that fills the info contract.
        scale: Reward for going from no progress to all of it.

    Raises:
        ConfigurationError: If `scale` is not finite, or the environment reports no progress.

    >>> import agentenv, gymnasium as gym
    >>> env = ProgressReward(gym.make("agentenv/Terminal-v0"), scale=0.5)
    >>> env.spec.additional_wrappers[-1].kwargs
    {'scale': 0.5}
    """

    def __init__(self, env: gym.Env[str, str], scale: float = 1.0) -> None:
        RecordConstructorArgs.__init__(self, scale=scale)
        gym.Wrapper.__init__(self, env)
        if not math.isfinite(scale):
            raise ConfigurationError(f"scale must be finite, got {scale}")
        self.scale = float(scale)
        self._progress = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode; its start progress is the baseline."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._progress = needed_number(self, info, "progress")
        return observation, with_part(self, info, "progress", 0.0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays a turn and pays the change in progress."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        progress = needed_number(self, info, "progress")
        paid = self.scale * (progress - self._progress)
        self._progress = progress
        return observation, float(reward) + paid, terminated, truncated, with_part(self, info, "progress", paid)

    def save(self) -> float:
        """The last progress."""
        return self._progress

    def load(self, saved: float) -> None:
        """The inverse of `save`."""
        self._progress = saved
