"""From turns to tokens. Invariant: a value reaches the sampled tokens of its own turn, by index, and no other token."""

from __future__ import annotations

import torch
from torch import Tensor

from agentenv.errors import ConfigurationError

__all__ = ["broadcast_to_tokens"]


def broadcast_to_tokens(values: Tensor, turn_index: Tensor) -> Tensor:
    """Copies each turn's value to its tokens.

    Args:
        values: [B, K], one a turn.
        turn_index: int64 [B, T]; the turn of a sampled token, -1 elsewhere.

    Returns:
        [B, T] of the type of `values`, exactly 0 where `turn_index` is -1.

    Raises:
        ConfigurationError: If the batch sizes differ, or an index lies outside [-1, K).

    >>> broadcast_to_tokens(torch.tensor([[0.5, -1.0]]), torch.tensor([[-1, 0, 0, -1, 1]])).tolist()
    [[0.0, 0.5, 0.5, 0.0, -1.0]]
    """
    if values.shape[0] != turn_index.shape[0]:
        raise ConfigurationError(f"values have {values.shape[0]} rows, turn_index {turn_index.shape[0]}")
    low, high = (int(turn_index.min()), int(turn_index.max())) if turn_index.numel() else (-1, -1)
    if low < -1 or high >= values.shape[1]:
        raise ConfigurationError(f"turn indices lie in [{low}, {high}]; values hold {values.shape[1]} turns")
    if values.shape[1] == 0:
        return values.new_zeros(turn_index.shape)
    taken = values.gather(1, turn_index.clamp(min=0))
    return torch.where(turn_index >= 0, taken, torch.zeros_like(taken))
