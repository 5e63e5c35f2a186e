"""A random tiny policy, for tests."""

from __future__ import annotations

import torch

from agentenv.policy.tiny import TinyPolicy
from agentenv.policy.tiny_model import TinyConfig, TinyLM
from tests.fake_tokenizers import compact_tokenizer


def random_policy(seed: int = 0, **options) -> TinyPolicy:
    """Two layers over bytes; weights large enough that contexts matter."""
    torch.manual_seed(seed)
    config = TinyConfig(
        vocab_size=261, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    model = TinyLM(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.mul_(4)
        model.model.embed_tokens.weight[4].mul_(3)  # the stop token is drawn often
    return TinyPolicy(model.eval(), compact_tokenizer(), **options)
