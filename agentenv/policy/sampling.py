"""Drawing tokens. Invariant: a log-prob is that of the very distribution the token was drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from agentenv.errors import InfrastructureError

__all__ = ["draw", "uniforms"]


def uniforms(seeds: Sequence[int], count: int) -> np.ndarray:
    """Random numbers in [0, 1) as [len(seeds), count]; row i depends on `seeds[i]` only, not on its companions."""
    rows = [np.random.Generator(np.random.Philox(seed % 2**64)).random(count) for seed in seeds]
    return np.stack(rows) if rows else np.zeros((0, count))


def draw(logits: torch.Tensor, numbers: np.ndarray, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """One token a row, by inverting the cumulative distribution at the given numbers.

    Args:
        logits: [B, V].
        numbers: [B], in [0, 1).
        temperature: Divides the logits before the softmax; 0 takes the largest logit, with log-prob 0.

    Returns:
        Token ids [B] and their log-probs [B] (float64), on the CPU.

    Raises:
        InfrastructureError: If a logit is not finite.

    >>> ids, logprobs = draw(torch.tensor([[0.0, 0.0]]), np.array([0.7]), 1.0)
    >>> int(ids), round(float(logprobs), 4)
    (1, -0.6931)
    """
    if not bool(torch.isfinite(logits).all()):
        raise InfrastructureError("the model gave logits that are not finite: its weights or its engine are broken")
    if temperature == 0:
        return logits.argmax(-1).cpu(), torch.zeros(len(logits), dtype=torch.float64)
    logprobs = torch.log_softmax(logits.cpu().double() / temperature, dim=-1)
    steps = logprobs.exp().cumsum(-1)
    targets = torch.from_numpy(np.asarray(numbers, dtype=np.float64))[:, None] * steps[:, -1:]
    ids = torch.searchsorted(steps, targets, right=True).clamp_(max=logits.shape[-1] - 1)
    return ids[:, 0], logprobs.gather(1, ids)[:, 0]
