"""Chat templates of Hugging Face tokenizers. Invariant: glue is the template's own, texts are encoded as plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenv.errors import ConfigurationError, TokenMismatchError
from agentenv.transcript.formats import Exchange, without_special, without_stop

__all__ = ["ChatTemplateFormat"]


@dataclass(frozen=True)
class _Plain:
    """Text that is never read for special tokens."""

    text: str


class ChatTemplateFormat:
    """Any Hugging Face tokenizer with a chat template. System: instructions; user: observations; assistant: actions.

    The glue between the texts is taken from the template itself, by rendering conversations of placeholders. What the
    template puts after the assistant's stop token (often a newline) goes in front of the next observation. A template
    that rewrites earlier turns (drops reasoning, for one) is recognised here: `append_only` is then False and every
    prompt is rendered anew. Where there is no system role, the instructions open the first user message.

    Args:
        tokenizer: A fast tokenizer of transformers, or anything with the same four methods.
        template_kwargs: Passed to the template (`enable_thinking=False`, a fixed `date_string`).

    Raises:
        ConfigurationError: If the tokenizer has no usable chat template.
        TokenMismatchError: If texts encoded one by one do not give the ids of the template's whole conversation.
    """

    def __init__(self, tokenizer: Any, template_kwargs: Mapping[str, Any] | None = None) -> None:
        self.tokenizer = tokenizer
        self._kwargs = dict(template_kwargs or {})
        self._specials = _special_tokens(tokenizer)
        names = sorted(self._specials.values(), key=len, reverse=True)
        self._marker = re.compile("|".join(map(re.escape, names)) or r"(?!)")
        self._has_system = self._accepts_system()
        after = self._pieces("s", [("u", "a")], None, slot_actions=True)[-1]
        self._tail = self._glue_ids(str(after))
        eos = getattr(tokenizer, "eos_token_id", None)
        closing = [token for token in self._tail if token in self._specials][:1]
        self.stop_ids = frozenset([*closing, *([eos] if eos is not None else [])])
        if not self.stop_ids:
            raise ConfigurationError("the chat template closes an action with no special token, and there is no EOS")
        self.append_only = self._is_append_only()
        self._check_against_template()

    def encode(self, text: str) -> list[int]:
        """Ids of plain text."""
        ids = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return without_special(list(ids), self._specials, text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of sampled ids, a closing stop token left out."""
        return str(self.tokenizer.decode(without_stop(ids, self.stop_ids), skip_special_tokens=False))

    def render(self, instructions: str, past: Sequence[Exchange], observation: str) -> list[int]:
        """The whole prompt. An append-only template keeps past actions as they were sampled."""
        if self.append_only:
            first = past[0].observation if past else observation
            ids = self._opening(instructions, first)
            for index, exchange in enumerate(past):
                following = past[index + 1].observation if index + 1 < len(past) else observation
                ids += exchange.action_ids
                ids += self.continuation(following, exchange.action_ids[-1] if exchange.action_ids else None)
            return ids
        pieces = self._pieces(instructions, [(turn.observation, turn.action) for turn in past], observation)
        return self._ids_of(pieces)

    def continuation(self, observation: str, last_id: int | None) -> list[int]:
        """The rest of the template's turn ending, the observation, and the opening of the next action."""
        close = self._closing
        if last_id in self.stop_ids and last_id in close:
            close = close[close.index(last_id) + 1 :]
        return [*close, *self.encode(observation), *self._answer]

    # -- the template -------------------------------------------------------------------------------------------------

    def _opening(self, instructions: str, observation: str) -> list[int]:
        return self._ids_of(self._pieces(instructions, [], observation))

    def _template(self, messages: list[dict[str, str]], open_answer: bool) -> str:
        rendered = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=open_answer, **self._kwargs
        )
        return str(rendered)

    def _accepts_system(self) -> bool:
        probe = [{"role": "system", "content": "\ue000"}, {"role": "user", "content": "u"}]
        try:
            return "\ue000" in self._template(probe, True)
        except Exception as refusal:  # templates refuse a role by raising whatever they like
            try:
                self._template(probe[1:], True)
            except Exception as broken:
                raise ConfigurationError(f"the tokenizer has no usable chat template: {broken}") from refusal
            return False

    def _pieces(
        self, instructions: str, past: Sequence[tuple[str, str]], observation: str | None, slot_actions: bool = False
    ) -> list[_Plain | str]:
        """The rendered conversation as alternating glue (str) and plain text that stood in for a placeholder."""
        texts = [instructions, *(text for turn in past for text in turn), observation or ""]
        mark = "\ue000"
        while any(mark in text for text in texts):
            mark += "\ue001"
        plain: list[str] = []

        def slot(text: str) -> str:
            plain.append(text)
            return f"{mark}{len(plain) - 1}\ue002"

        messages: list[dict[str, str]] = []
        lead = ""
        if instructions and self._has_system:
            messages.append({"role": "system", "content": slot(instructions)})
        elif instructions:
            lead = f"{instructions}\n\n"
        for shown, action in past:
            messages.append({"role": "user", "content": slot(lead + shown)})
            content = slot(action) if slot_actions else self._marker.sub(lambda hit: slot(hit.group()), action)
            messages.append({"role": "assistant", "content": content})
            lead = ""
        if observation is not None:
            messages.append({"role": "user", "content": slot(lead + observation)})
        parts = re.split(f"{mark}(\\d+)\ue002", self._template(messages, observation is not None))
        return [_Plain(plain[int(part)]) if index % 2 else part for index, part in enumerate(parts)]

    def _glue_ids(self, glue: str) -> list[int]:
        return list(self.tokenizer(glue, add_special_tokens=False)["input_ids"]) if glue else []

    def _ids_of(self, pieces: Sequence[_Plain | str]) -> list[int]:
        ids: list[int] = []
        for piece in pieces:
            ids += self.encode(piece.text) if isinstance(piece, _Plain) else self._glue_ids(piece)
        return ids

    def _is_append_only(self) -> bool:
        for answer in ("ls", "<think>\nwhy\n</think>\n\nls"):
            past: list[tuple[str, str]] = []
            before = self._template(self._messages(past, "u0"), True)
            for turn in range(1, 3):
                past.append((f"u{turn - 1}", answer))
                after = self._template(self._messages(past, f"u{turn}"), True)
                if not after.startswith(before + answer):
                    return False
                before = after
        pieces = self._pieces("s", [("u0", "a0"), ("u1", "a1")], "u2", slot_actions=True)
        answer_glue, turn_glue = pieces[-5:-4] + pieces[-1:], pieces[-7:-6] + pieces[-3:-2]
        if len(set(map(str, answer_glue))) != 1 or len(set(map(str, turn_glue))) != 1:
            return False
        self._answer, self._closing = self._glue_ids(str(pieces[-1])), self._glue_ids(str(pieces[-3]))
        return True

    def _messages(self, past: Sequence[tuple[str, str]], observation: str) -> list[dict[str, str]]:
        messages = [{"role": "system", "content": "s"}] if self._has_system else []
        for shown, action in past:
            messages += [{"role": "user", "content": shown}, {"role": "assistant", "content": action}]
        return [*messages, {"role": "user", "content": observation}]

    def _check_against_template(self) -> None:
        past = [
            Exchange("Make a file.", tuple(self.encode("touch a")), "touch a"),
            Exchange("done", tuple(self.encode("ls")), "ls"),
        ]
        for count in range(len(past) + 1):
            messages = self._messages([(turn.observation, turn.action) for turn in past[:count]], "Now what?")
            whole = self._glue_ids(self._template(messages, True))
            ours = self.render("s" if self._has_system else "", past[:count], "Now what?")
            if ours != whole:
                at = next((i for i, (a, b) in enumerate(zip(ours, whole, strict=False)) if a != b), 0)
                raise TokenMismatchError(
                    f"texts encoded one by one do not give the chat template's ids: from position {at} ours are "
                    f"{ours[at : at + 8]}, the template's {whole[at : at + 8]}; this tokenizer joins texts across turns"
                )


def _special_tokens(tokenizer: Any) -> dict[int, str]:
    special = dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))
    added = getattr(tokenizer, "added_tokens_decoder", {})
    special.update({token_id: token.content for token_id, token in added.items() if token.special})
    return special
