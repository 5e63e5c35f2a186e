"""Tokenizers small enough to read: one with chat templates written in Python, one of bytes for the tiny policy."""

from __future__ import annotations

import re
from typing import ClassVar

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from agentenv.transcript.formats import COMPACT_SPECIALS


def CHATML(messages, open_answer):
    text = "".join(f"<s>{m['role']}\n{m['content']}</s>\n" for m in messages)
    return text + "<s>assistant\n" * open_answer


def STRIPS_REASONING(messages, open_answer):
    """Drops what earlier answers thought, as templates of reasoning models do."""
    kept = [{**m, "content": m["content"].split("</think>")[-1]} if m["role"] == "assistant" else m for m in messages]
    return CHATML(kept, open_answer)


def NO_SYSTEM(messages, open_answer):
    if messages[0]["role"] == "system":
        raise ValueError("System role not supported")
    return CHATML(messages, open_answer)


class FakeChatTokenizer:
    """One id a character, pairs of letters merged greedily, so that sampled ids need not re-encode to themselves."""

    SPECIAL: ClassVar = {1: "<s>", 2: "</s>", 3: "<eos>"}
    MERGES: ClassVar = {"ls": 10, "as": 11, "us": 12}

    def __init__(self, template):
        self.template = template
        self.all_special_ids = list(self.SPECIAL)
        self.all_special_tokens = list(self.SPECIAL.values())
        self.eos_token_id = 3
        self.stop = 2
        self.honours_split = True
        self.merges_newlines = False

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        return self.template(messages, add_generation_prompt)

    def __call__(self, text, add_special_tokens=False, split_special_tokens=False):
        names = {name: token for token, name in self.SPECIAL.items()}
        pattern = "|".join(map(re.escape, self.MERGES)) + "|.|\n"
        if not (split_special_tokens and self.honours_split):
            pattern = "|".join(map(re.escape, names)) + "|" + pattern
        if self.merges_newlines:
            pattern = "\nM|\n|" + pattern
        return {"input_ids": [self._id(piece, names) for piece in re.findall(pattern, text)]}

    def _id(self, piece, names):
        if piece == "\nM":
            return 20
        return names.get(piece) or self.MERGES.get(piece) or 100 + ord(piece)

    def decode(self, ids, skip_special_tokens=False):
        return "".join(self._text(token) for token in ids)

    def _text(self, token):
        merged = {value: key for key, value in self.MERGES.items()}
        return self.SPECIAL.get(token) or merged.get(token) or (chr(token - 100) if token >= 100 else "?")

    def show(self, ids):
        return "".join(f"[{self.SPECIAL[token]}]" if token in self.SPECIAL else self._text(token) for token in ids)

    def count_special(self, ids):
        return sum(token in self.SPECIAL for token in ids)


def compact_tokenizer():
    """256 bytes and the five special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate([*COMPACT_SPECIALS, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens(list(COMPACT_SPECIALS))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
