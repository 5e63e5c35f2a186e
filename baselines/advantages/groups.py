"""Normalising over groups. Invariant: a group's numbers depend on its own members only, and not on their order.

Sums are exact (`math.fsum`), so permuting members permutes results to the bit, and equal members give exactly 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from agentenv.errors import ConfigurationError

__all__ = ["EPS", "Std", "centre", "members", "normalise", "znorm"]

EPS = 1e-6
Std = Literal["population", "sample"]


def members(group: Tensor) -> list[Tensor]:
    """Row indices of each group [B], in order of first appearance."""
    rows: dict[int, list[int]] = {}
    for row, number in enumerate(group.tolist()):
        rows.setdefault(number, []).append(row)
    return [torch.tensor(indices, dtype=torch.int64) for indices in rows.values()]


def centre(values: Sequence[float], eps: float = EPS) -> list[float]:
    """Values less their mean; exactly 0 for a set of one, or one whose spread is below `eps`.

    >>> centre([0.1, 0.1, 0.1]), centre([5.0]), centre([0.0, 1.0])
    ([0.0, 0.0, 0.0], [0.0], [-0.5, 0.5])
    """
    if len(values) <= 1 or max(values) - min(values) < eps:
        return [0.0] * len(values)
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def znorm(values: Sequence[float], std: Std = "population", eps: float = EPS) -> list[float]:
    """`(x - mean) / (std + eps)`; exactly 0 for a set of one, or one whose standard deviation is below `eps`.

    Args:
        values: Any numbers.
        std: Divide the squares by n ("population") or by n - 1 ("sample", as `torch.std` does).
        eps: Added to the standard deviation.

    Raises:
        ConfigurationError: On another `std`.

    >>> [round(z, 4) for z in znorm([0.0, 0.0, 1.0, 1.0])]
    [-1.0, -1.0, 1.0, 1.0]
    >>> [round(z, 4) for z in znorm([0.0, 1.0], std="sample")]
    [-0.7071, 0.7071]
    """
    if std not in ("population", "sample"):
        raise ConfigurationError(f"std={std!r} is not 'population' or 'sample'")
    if len(values) <= 1:
        return [0.0] * len(values)
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - (std == "sample")))
    if deviation < eps:
        return [0.0] * len(values)
    return [(value - mean) / (deviation + eps) for value in values]


def normalise(values: Tensor, group: Tensor, std: Std = "population", eps: float = EPS) -> Tensor:
    """`znorm` of [B] values within each group."""
    out = torch.zeros_like(values, dtype=torch.float64)
    for rows in members(group):
        out[rows] = torch.tensor(znorm(values[rows].tolist(), std, eps), dtype=torch.float64)
    return out
