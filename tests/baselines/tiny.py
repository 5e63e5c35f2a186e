"""A tiny random policy that can speak of counting, for tests of trainers."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from agentenv.policy.tiny import TinyPolicy
from agentenv.policy.tiny_model import TinyConfig, TinyLM
from agentenv.transcript.formats import COMPACT_SPECIALS

_WORDS = ("<unk>", "+", "submit", "count", "to", "1", "2", "3", "say", "or", "bye")


def counting_policy(seed: int = 0) -> TinyPolicy:
    vocabulary = {word: number for number, word in enumerate((*COMPACT_SPECIALS, *_WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(COMPACT_SPECIALS))
    torch.manual_seed(seed)
    config = TinyConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_attention_heads=2,
        num_hidden_layers=2,
        intermediate_size=64,
        max_position_embeddings=1024,
    )
    return TinyPolicy(TinyLM(config), tokenizer)


def saved_counting_policy(directory: Path) -> str:
    counting_policy().save(directory)
    return f"tiny:{directory}"
