"""How a conversation becomes ids. Invariant: past actions keep the ids they were sampled as, where a format can."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agentenv.errors import ConfigurationError, TokenMismatchError

__all__ = ["COMPACT_SPECIALS", "ChatFormat", "CompactFormat", "Exchange", "without_special", "without_stop"]

COMPACT_SPECIALS = ("<pad>", "<bos>", "<obs>", "<act>", "<end>")


@dataclass(frozen=True)
class Exchange:
    """A past turn: what was shown, the ids sampled on it, and their text."""

    observation: str
    action_ids: tuple[int, ...]
    action: str


@runtime_checkable
class ChatFormat(Protocol):
    """How a conversation becomes ids.

    Attributes:
        append_only: Whether a later prompt always begins with the earlier one and the ids sampled on it.
        stop_ids: Ids that end an action.
    """

    append_only: bool
    stop_ids: frozenset[int]

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; special markers in it are ordinary text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of sampled ids, a closing stop token left out."""
        ...

    def render(self, instructions: str, past: Sequence[Exchange], observation: str) -> list[int]:
        """The whole prompt, up to where the next action begins."""
        ...

    def continuation(self, observation: str, last_id: int | None) -> list[int]:
        """What follows an action that ended with `last_id`, up to the next action (append-only formats)."""
        ...


class CompactFormat:
    """A few special tokens and nothing else: `<bos> <obs> text <act> action <end> <obs> text <act> ...`.

    For policies trained on one environment's grammar: the instructions are left out, so prompts stay short.

    Args:
        tokenizer: A `tokenizers.Tokenizer` with the five tokens `<pad> <bos> <obs> <act> <end>`.

    Raises:
        ConfigurationError: If one of them is missing.
    """

    append_only = True

    def __init__(self, tokenizer: Any) -> None:
        ids = [tokenizer.token_to_id(token) for token in COMPACT_SPECIALS]
        missing = [token for token, token_id in zip(COMPACT_SPECIALS, ids, strict=True) if token_id is None]
        if missing:
            raise ConfigurationError(f"the tokenizer lacks the tokens {missing} that the compact format is made of")
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.pad_id, self.bos_id, self.obs_id, self.act_id, self.stop_id = ids
        self.stop_ids = frozenset({self.stop_id})
        self._special = frozenset(ids)

    def encode(self, text: str) -> list[int]:
        """Ids of plain text."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return without_special(ids, self._special, text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of sampled ids, a closing stop token left out."""
        return str(self.tokenizer.decode(without_stop(ids, self.stop_ids), skip_special_tokens=False))

    def render(self, instructions: str, past: Sequence[Exchange], observation: str) -> list[int]:
        """The whole prompt; `instructions` are left out."""
        shown = [turn.observation for turn in past] + [observation]
        ids = [self.bos_id, self.obs_id, *self.encode(shown[0]), self.act_id]
        for turn, following in zip(past, shown[1:], strict=True):
            ids += turn.action_ids
            ids += self.continuation(following, turn.action_ids[-1] if turn.action_ids else None)
        return ids

    def continuation(self, observation: str, last_id: int | None) -> list[int]:
        """Closes the action where sampling did not, then shows the observation."""
        close = [] if last_id == self.stop_id else [self.stop_id]
        return [*close, self.obs_id, *self.encode(observation), self.act_id]


def without_stop(ids: Sequence[int], stop_ids: frozenset[int]) -> list[int]:
    """Sampled ids without a closing stop token."""
    return list(ids[:-1] if ids and ids[-1] in stop_ids else ids)


def without_special(ids: list[int], special: Container[int], text: str) -> list[int]:
    """The ids of plain text, checked.

    Raises:
        TokenMismatchError: If one of them is special.
    """
    for token in ids:
        if token in special:
            raise TokenMismatchError(f"plain text was encoded with the special id {token}: {text[:80]!r}")
    return ids
