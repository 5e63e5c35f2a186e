"""One episode's conversation within a limit. Invariant: the task is never dropped and never cut."""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.errors import ConfigurationError
from agentenv.transcript.formats import ChatFormat, Exchange

__all__ = ["Transcript"]


class Transcript:
    """One episode's conversation as ids, within a limit.

    Call `observe`, then `prompt_ids` and `pending`, then `act`, in turn. When a limit would be passed, the oldest
    turns are dropped whole, a short note in their place, and the prompt is built anew; the task (the first observation)
    is never dropped or cut. If that is not enough the newest observation is cut to head and tail.

    Args:
        format: How text becomes ids; None (policies that read text) gives empty ids.
        instructions: The environment's.
        max_prompt_tokens: Most ids of a prompt, checked with the newest observation in it; None for no limit.
        history_turns: Most past turns shown; None for all.
        max_observation_tokens: Cuts every observation after the first to head and tail; None for no limit.

    Raises:
        ConfigurationError: On a limit that cannot be kept.
    """

    def __init__(
        self,
        format: ChatFormat | None,
        instructions: str = "",
        *,
        max_prompt_tokens: int | None = None,
        history_turns: int | None = None,
        max_observation_tokens: int | None = None,
    ) -> None:
        for name, limit, least in (
            ("max_prompt_tokens", max_prompt_tokens, 1),
            ("history_turns", history_turns, 0),
            ("max_observation_tokens", max_observation_tokens, 1),
        ):
            if limit is not None and limit < least:
                raise ConfigurationError(f"{name} must be at least {least} or None, got {limit}")
        self.format = format
        self.instructions = instructions
        self._max_prompt = max_prompt_tokens
        self._history = history_turns
        self._max_observation = max_observation_tokens
        self._past: list[Exchange] = []
        self._dropped = 0
        self._ids: list[int] = []
        self._new: list[int] = []
        self._restart = False
        self._observation: str | None = None

    def observe(self, text: str) -> None:
        """Adds an observation; a prompt for the next action is then ready.

        Raises:
            ConfigurationError: If called twice without an action between, or the task alone passes the limit.
        """
        if self._observation is not None:
            raise ConfigurationError("observe() was called twice without act() between")
        self._observation = text
        chat = self.format
        if chat is None:
            return
        if self._past and self._max_observation is not None:
            text = self._observation = _cut(chat, text, self._max_observation)
        history = len(self._past) if self._history is None else min(self._history, len(self._past))
        keep_from = max(self._dropped, len(self._past) - history)
        if self._past and chat.append_only and keep_from == self._dropped:
            last = self._past[-1].action_ids
            self._new = chat.continuation(text, last[-1] if last else None)
            if self._fits(len(self._ids) + len(self._new)):
                self._ids, self._restart = self._ids + self._new, False
                return
            keep_from += 1
        self._rebuild(chat, keep_from)

    def prompt_ids(self) -> list[int]:
        """The whole context of the coming action."""
        self._expect_observation("prompt_ids")
        return list(self._ids)

    def pending(self) -> tuple[list[int], bool]:
        """What the coming turn records: `observation_ids` and `restart` of `Turn`."""
        self._expect_observation("pending")
        return list(self._new), self._restart

    def act(self, sample_ids: Sequence[int], text: str) -> None:
        """Adds the sampled action, as ids."""
        self._expect_observation("act")
        ids = tuple(int(token) for token in sample_ids)
        self._past.append(Exchange(self._observation or "", ids, text))
        self._ids += ids
        self._observation = None

    def _expect_observation(self, name: str) -> None:
        if self._observation is None:
            raise ConfigurationError(f"{name}() needs an observation first: call observe()")

    def _fits(self, length: int) -> bool:
        return self._max_prompt is None or length <= self._max_prompt

    def _rebuild(self, chat: ChatFormat, keep_from: int) -> None:
        text = self._observation or ""
        for dropped in range(min(keep_from, len(self._past)), len(self._past) + 1):
            ids = self._render(chat, dropped, text)
            if self._fits(len(ids)):
                break
        else:
            text, ids = self._shorten(chat, text)
        self._observation, self._dropped = text, dropped
        self._ids, self._new = ids, list(ids)
        self._restart = bool(self._past)

    def _render(self, chat: ChatFormat, dropped: int, text: str) -> list[int]:
        if not dropped:
            return chat.render(self.instructions, self._past, text)
        turns = "turn" if dropped == 1 else "turns"
        lead = f"{self._past[0].observation}\n[{dropped} earlier {turns} left out]\n"
        kept = self._past[dropped:]
        if not kept:
            return chat.render(self.instructions, [], lead + text)
        first = Exchange(lead + kept[0].observation, kept[0].action_ids, kept[0].action)
        return chat.render(self.instructions, [first, *kept[1:]], text)

    def _shorten(self, chat: ChatFormat, text: str) -> tuple[str, list[int]]:
        limit, dropped = self._max_prompt or 0, len(self._past)
        needed = len(self._render(chat, dropped, "" if dropped else text))
        room = limit - needed
        while room > 0:
            shorter = _cut(chat, text, room)
            ids = self._render(chat, dropped, shorter)
            if len(ids) <= limit:
                return shorter, ids
            room -= len(ids) - limit
        raise ConfigurationError(
            f"max_prompt_tokens={limit} leaves no room beside the {needed} tokens that the instructions and the task "
            "take, and the task is never cut: raise it"
        )


def _cut(chat: ChatFormat, text: str, room: int) -> str:
    """The text within `room` ids, its middle left out if it must be."""
    # A text this long is over any limit met in practice; encoding all of a flood would only cost time.
    if len(text) <= 32 * room and len(chat.encode(text)) <= room:
        return text
    low, high, best = 0, min(len(text), 32 * room), ""
    while low <= high:
        kept = (low + high) // 2
        head = (kept + 1) // 2
        note = f"\n[{len(text) - kept} characters left out]\n"
        shorter = text[:head] + note + text[len(text) - (kept - head) :]
        if len(chat.encode(shorter)) <= room:
            best, low = shorter, kept + 1
        else:
            high = kept - 1
    return best
