"""What the wrappers share: strict reading of the info contract, and adding a part to the reward."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import gymnasium as gym

from agentenv.errors import ConfigurationError

__all__ = ["TextWrapper", "needed", "needed_number", "with_part"]

TextWrapper = gym.Wrapper[str, str, str, str]


def needed(wrapper: gym.Wrapper[Any, Any, Any, Any], info: dict[str, Any], key: str) -> Any:
    """`info[key]`, or an error that says which wrapper wants it.

    Raises:
        ConfigurationError: If the environment below does not fill the key.
    """
    if key not in info:
        raise ConfigurationError(
            f"{type(wrapper).__name__} needs info[{key!r}], which {type(wrapper.unwrapped).__name__} does not fill"
        )
    return info[key]


def needed_number(wrapper: gym.Wrapper[Any, Any, Any, Any], info: dict[str, Any], key: str) -> float:
    """`info[key]` as a float.

    Raises:
        ConfigurationError: If the key is absent, or its value is no finite number: one NaN would spoil a whole batch.
    """
    value = needed(wrapper, info, key)
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ConfigurationError(f"{type(wrapper).__name__} needs a finite number in info[{key!r}], got {value!r:.80}")
    return float(value)


def with_part(
    wrapper: gym.Wrapper[Any, Any, Any, Any], info: dict[str, Any], name: str, amount: float
) -> dict[str, Any]:
    """A copy of `info` whose `reward_parts` holds `amount` more under `name`; the inner dicts stay untouched."""
    parts = dict(needed(wrapper, info, "reward_parts"))
    parts[name] = parts.get(name, 0.0) + amount
    return {**info, "reward_parts": parts}
