"""`LimitObservation`: cuts long observations to their head and tail, and says how much is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.errors import ConfigurationError
from agentenv.wrappers._base import TextWrapper

__all__ = ["LimitObservation"]

_LEAST = 64
Spans = Callable[[str], list[tuple[int, int]]]


class LimitObservation(TextWrapper, RecordConstructorArgs):
    """Shortens observations to at most `max_chars` characters or `max_tokens` tokens, the note included.

    Guarantee: what is kept is a prefix and a suffix of the observation with one line between them that counts what was
    left out; an observation within the limit is unchanged.

    Args:
        env: A text environment.
        max_chars: Most characters (64 or more), or None.
        max_tokens: Most tokens (64 or more), or None. Exactly one of the two is given.
        tokenizer: For `max_tokens`: a directory with a `tokenizer.json`, or a name that transformers can load.

    Raises:
        ConfigurationError: If not exactly one limit is given, it is too small, or the tokenizer is missing.

    >>> import agentenv, gymnasium as gym
    >>> env = LimitObservation(gym.make("agentenv/Terminal-v0", difficulty="easy"), max_chars=80)
    >>> observation, info = env.reset(seed=0)
    >>> observation, *_ = env.step("seq 1 1000")
    >>> len(observation) <= 80, "characters left out" in observation
    (True, True)
    >>> env.close()
    """

    stateless = True

    def __init__(
        self,
        env: gym.Env[str, str],
        max_chars: int | None = None,
        max_tokens: int | None = None,
        tokenizer: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, max_chars=max_chars, max_tokens=max_tokens, tokenizer=tokenizer)
        gym.Wrapper.__init__(self, env)
        if (max_chars is None) == (max_tokens is None):
            raise ConfigurationError(f"give max_chars or max_tokens, not both (got {max_chars} and {max_tokens})")
        limit = max_chars if max_chars is not None else max_tokens
        if limit is None or limit < _LEAST:
            raise ConfigurationError(f"the limit must be at least {_LEAST}, got {limit}")
        if max_tokens is not None and tokenizer is None:
            raise ConfigurationError("max_tokens needs tokenizer=: a directory with tokenizer.json, or a model's name")
        self.limit = limit
        self._unit = "characters" if max_tokens is None else "tokens"
        self._spans: Spans | None = None if tokenizer is None or max_tokens is None else _token_spans(tokenizer)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode; the task text obeys the limit too."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.shorten(observation), info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays a turn."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.shorten(observation), float(reward), terminated, truncated, info

    def shorten(self, text: str) -> str:
        """The text within the limit: unchanged, or head, note and tail."""
        if self._spans is None:
            return _head_and_tail(text, len(text), self.limit, self._unit, lambda n: n, lambda n: len(text) - n)
        spans = self._spans(text)
        keep = self.limit
        while True:
            cut = _head_and_tail(
                text, len(spans), keep, self._unit, lambda n: spans[n - 1][1] if n else 0, lambda n: spans[-n][0]
            )
            size = len(self._spans(cut))
            if size <= self.limit:
                return cut
            keep -= size - self.limit  # the note, and new token borders at the cuts, take tokens too


def _head_and_tail(
    text: str, size: int, limit: int, unit: str, head_end: Callable[[int], int], tail_start: Callable[[int], int]
) -> str:
    if size <= limit:
        return text
    note = f"\n[... {size} {unit} left out ...]\n"  # the longest the note can be
    kept = max(2, limit - (len(note) if unit == "characters" else 0))
    tail = kept // 2
    head = kept - tail
    return f"{text[: head_end(head)]}\n[... {size - kept} {unit} left out ...]\n{text[tail_start(tail) :]}"


def _token_spans(name: str) -> Spans:
    """Maps a text to the character span of each of its tokens."""
    file = Path(name) / "tokenizer.json"
    try:
        if file.is_file():
            from tokenizers import Tokenizer

            plain = Tokenizer.from_file(str(file))
            return lambda text: plain.encode(text, add_special_tokens=False).offsets
        from transformers import AutoTokenizer

        loaded = AutoTokenizer.from_pretrained(name)
    except ImportError as error:
        raise ConfigurationError(f"max_tokens needs {error.name}: pip install 'agentenv-gym[train]'") from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"tokenizer={name!r} cannot be loaded: {error}") from error
    if not loaded.is_fast:
        raise ConfigurationError(f"tokenizer={name!r} tells no offsets (it is not a fast tokenizer); use max_chars")
    return lambda text: loaded(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
