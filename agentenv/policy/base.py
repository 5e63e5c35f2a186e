"""The contract between a rollout and whatever acts in it. Invariant: ids are as sampled, never re-encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agentenv.errors import ConfigurationError

if TYPE_CHECKING:
    from agentenv.transcript import ChatFormat

__all__ = ["Policy", "Prompt", "Sample", "Sampling"]


@dataclass(frozen=True)
class Sampling:
    """How to sample. Log-probs are always those of the distribution sampled from (temperature applied before softmax).

    Args:
        temperature: 0 takes the most probable token (its log-prob is then 0: a point distribution).
        max_tokens: Most tokens of one action.

    Raises:
        ConfigurationError: On a negative or non-finite temperature, or fewer than one token.
    """

    temperature: float = 1.0
    max_tokens: int = 64

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ConfigurationError(f"temperature must be at least 0 and finite, got {self.temperature}")
        if self.max_tokens < 1:
            raise ConfigurationError(f"max_tokens must be at least 1, got {self.max_tokens}")


@dataclass(frozen=True)
class Prompt:
    """What a policy is asked to answer.

    Args:
        key: Names the episode, so that an engine may keep its KV cache from turn to turn.
        ids: The whole context as ids (empty for policies without a tokenizer).
        observation: The latest observation's text.
        task_id: The episode's task.
        turn: Actions taken so far in the episode.
        seed: Decides the sampled ids, together with the policy's weights and `ids`: the same in any batch.
    """

    key: str
    ids: Sequence[int] = field(default=(), repr=False)
    observation: str = field(default="", repr=False)
    task_id: str = ""
    turn: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """One sampled action. `ids` holds the stop token when (and only when) it was sampled; `text` leaves it out."""

    text: str
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    stop_reason: str = "stop"


@runtime_checkable
class Policy(Protocol):
    """A policy. `format` is None for policies that read text only (scripted ones)."""

    name: str
    version: int

    @property
    def format(self) -> ChatFormat | None:
        """How this policy's prompts are built."""
        ...

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        """One sample per prompt, in order."""
        ...

    def release(self, keys: Sequence[str]) -> None:
        """Episodes that ended: their caches may go."""
        ...
