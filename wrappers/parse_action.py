"""`ParseAction`: takes the action out of a model's chatter."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.actions import InvalidAction, parser
from agentenv.wrappers._base import TextWrapper

__all__ = ["ParseAction"]


class ParseAction(TextWrapper, RecordConstructorArgs):
    """Parses each action text and plays what it holds; text without a complete action is an invalid action.

    The first complete action wins; whatever follows it is ignored, a fake tool output included. An invalid action
    reaches the environment as `InvalidAction`: the observation tells the reason and the valid form, the state is
    unchanged, and the turn counts against the limit. The parsed text is in ``info["parsed_action"]`` ("" if invalid).

    Args:
        env: A text environment.
        format: "raw" (the whole text), "fenced" (a block between lines of three backticks), "xml"
            (``<tag>...</tag>``), "json" (``{"name": tool, "arguments": {argument: ...}}``) or "react"
            (``Action: ...``).
        tag: The tag's name, for "xml".
        tool: The tool's name, for "json"; "" accepts any.
        argument: The argument's name, for "json".

    Raises:
        ConfigurationError: On an unknown format or a bad tag.

    >>> import agentenv, gymnasium as gym
    >>> env = ParseAction(gym.make("agentenv/Terminal-v0", difficulty="easy"), format="xml", tag="bash")
    >>> observation, info = env.reset(seed=0)
    >>> print(env.step("Let me see. <bash>echo hi</bash> It printed 42.")[0])
    hi
    /workspace$
    >>> print(env.step("echo hi")[0])
    Invalid action: there is no <bash>. Reply with <bash>the action</bash>.
    >>> env.close()
    """

    stateless = True

    def __init__(
        self,
        env: gym.Env[str, str],
        format: str = "raw",
        tag: str = "action",
        tool: str = "",
        argument: str = "action",
    ) -> None:
        RecordConstructorArgs.__init__(self, format=format, tag=tag, tool=tool, argument=argument)
        gym.Wrapper.__init__(self, env)
        self._parse = parser(format, tag=tag, tool=tool, argument=argument)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "parsed_action": ""}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Parses the text and plays the action in it."""
        parsed = self._parse(action)
        played = InvalidAction(parsed.reason) if parsed.action is None else parsed.action
        observation, reward, terminated, truncated, info = self.env.step(played)
        return observation, float(reward), terminated, truncated, {**info, "parsed_action": parsed.action or ""}
