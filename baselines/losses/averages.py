"""Averages over sampled tokens. Invariant: masked positions are in neither the sum nor the count."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from agentenv.errors import ConfigurationError

__all__ = ["Average", "masked", "masked_average", "weight_of"]

Average = Literal["token", "sequence"]


def masked(values: Tensor, mask: Tensor) -> Tensor:
    """Values with exactly 0 at masked positions, whatever stood there; the gradient there is exactly 0 too."""
    # A product would turn NaN * 0 into NaN; `where` chooses.
    return torch.where(mask, values, torch.zeros_like(values))


def weight_of(mask: Tensor, average: Average = "token") -> float:
    """What a batch weighs in an average: its sampled tokens, or its rows that have any."""
    if average == "token":
        return float(mask.sum())
    if average == "sequence":
        return float(mask.any(dim=1).sum())
    raise ConfigurationError(f"average={average!r} is not 'token' or 'sequence'")


def masked_average(values: Tensor, mask: Tensor, average: Average = "token", weight: float | None = None) -> Tensor:
    """The mean over sampled tokens, or over rows of each row's mean; 0 where there are none.

    Args:
        values: [B, T].
        mask: bool [B, T].
        average: "token" or "sequence".
        weight: What to divide by instead of `weight_of(mask, average)`: the weight of a whole minibatch, when this is
            one of the pieces whose gradients are added up.

    Raises:
        ConfigurationError: On another `average`, or shapes that differ.

    >>> values, mask = torch.tensor([[1.0, 9.0], [3.0, 5.0]]), torch.tensor([[True, False], [True, True]])
    >>> masked_average(values, mask).item(), masked_average(values, mask, "sequence").item()
    (3.0, 2.5)
    """
    if values.shape != mask.shape:
        raise ConfigurationError(f"values {tuple(values.shape)} and mask {tuple(mask.shape)} differ in shape")
    total = weight_of(mask, average) if weight is None else weight
    kept = masked(values, mask)
    if average == "sequence":
        kept = kept.sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    return kept.sum() / max(total, 1.0)
