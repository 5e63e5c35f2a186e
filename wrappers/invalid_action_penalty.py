"""`InvalidActionPenalty`: a small price for actions outside the grammar."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.errors import ConfigurationError
from agentenv.wrappers._base import TextWrapper, needed, with_part

__all__ = ["InvalidActionPenalty"]


class InvalidActionPenalty(TextWrapper, RecordConstructorArgs):
    """Takes `penalty` off the reward of every turn whose action was invalid, as the part "invalid".

    Guarantee: an episode's part is ``-penalty`` times the number of its invalid actions.

    Args:
        env: An environment that fills the info contract.
        penalty: The price, not negative.

    Raises:
        ConfigurationError: If `penalty` is negative or not finite.

    >>> import agentenv, gymnasium as gym
    >>> env = InvalidActionPenalty(gym.make("agentenv/Terminal-v0", difficulty="easy"), penalty=0.25)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step("")
    >>> reward, info["valid_action"], info["reward_parts"]
    (-0.25, False, {'outcome': 0.0, 'invalid': -0.25})
    >>> env.close()
    """

    stateless = True

    def __init__(self, env: gym.Env[str, str], penalty: float = 0.1) -> None:
        RecordConstructorArgs.__init__(self, penalty=penalty)
        gym.Wrapper.__init__(self, env)
        if not (math.isfinite(penalty) and penalty >= 0):
            raise ConfigurationError(f"penalty must be finite and not negative, got {penalty}")
        self.penalty = float(penalty)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, with_part(self, info, "invalid", 0.0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays a turn."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        paid = 0.0 if needed(self, info, "valid_action") else -self.penalty
        return observation, float(reward) + paid, terminated, truncated, with_part(self, info, "invalid", paid)
