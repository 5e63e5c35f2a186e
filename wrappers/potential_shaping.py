"""`PotentialShaping`: potential-based shaping, which leaves the optimal policies as they are."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.errors import ConfigurationError
from agentenv.wrappers._base import TextWrapper, needed_number, with_part

__all__ = ["PotentialShaping"]


class PotentialShaping(TextWrapper, RecordConstructorArgs):
    """Adds ``gamma * phi(s') - phi(s)`` to every turn's reward, as the part "shaping".

    ``phi = scale * info[potential]``; it is 0 at a terminated state and the true value at a truncated one, so that a
    learner that bootstraps there sees a consistent value.

    Source: Ng, Harada and Russell, "Policy invariance under reward transformations" (ICML 1999).

    Guarantee: with the learner's own discount `gamma`, the discounted sum of an episode's parts is
    ``-phi(s_0)`` when it terminates and ``gamma^T * phi(s_T) - phi(s_0)`` when it is truncated after T turns, so no
    policy's value changes by anything but a constant of the start state.

    Args:
        env: An environment that fills the info contract.
        gamma: The learner's discount, in (0, 1].
        potential: The key of `info` that holds the potential, a float.
        scale: Multiplies the potential.

    Raises:
        ConfigurationError: If `gamma` or `scale` is out of range, or the potential is absent or not finite.

    >>> import agentenv, gymnasium as gym
    >>> env = PotentialShaping(gym.make("agentenv/Terminal-v0"), gamma=0.99)
    >>> env.gamma
    0.99
    """

    def __init__(self, env: gym.Env[str, str], gamma: float, potential: str = "progress", scale: float = 1.0) -> None:
        RecordConstructorArgs.__init__(self, gamma=gamma, potential=potential, scale=scale)
        gym.Wrapper.__init__(self, env)
        if not 0 < gamma <= 1:
            raise ConfigurationError(f"gamma must lie in (0, 1], got {gamma}")
        if not math.isfinite(scale):
            raise ConfigurationError(f"scale must be finite, got {scale}")
        self.gamma, self.potential, self.scale = float(gamma), potential, float(scale)
        self._phi = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode at its own potential: nothing of the last episode is left."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._phi = self._potential_of(info)
        return observation, with_part(self, info, "shaping", 0.0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays a turn and pays the discounted change in potential."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        phi = 0.0 if terminated else self._potential_of(info)
        paid = self.gamma * phi - self._phi
        self._phi = phi
        return observation, float(reward) + paid, terminated, truncated, with_part(self, info, "shaping", paid)

    def save(self) -> float:
        """The last potential."""
        return self._phi

    def load(self, saved: float) -> None:
        """The inverse of `save`."""
        self._phi = saved

    def _potential_of(self, info: dict[str, Any]) -> float:
        return self.scale * needed_number(self, info, self.potential)
