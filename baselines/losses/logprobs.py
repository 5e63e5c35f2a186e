"""Log-probs of given ids. Invariant: logits are made at the chosen positions only, so no other can have a gradient."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from agentenv.errors import ConfigurationError

__all__ = ["gather_logprobs", "token_logprobs"]


def token_logprobs(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probs [N] of ids [N] under logits [N, V] divided by the temperature, computed in float32 at least.

    >>> token_logprobs(torch.zeros(1, 4), torch.tensor([2])).exp().item()
    0.25
    """
    scaled = (logits if logits.dtype == torch.float64 else logits.float()) / temperature
    return scaled.gather(1, ids[:, None])[:, 0] - scaled.logsumexp(dim=1)


def gather_logprobs(
    hidden: Tensor,
    head: Callable[[Tensor], Tensor],
    ids: Tensor,
    mask: Tensor,
    *,
    temperature: float = 1.0,
    chunk: int = 4096,
) -> Tensor:
    """Log-probs [B, T] of the ids at masked-in positions, 0 elsewhere.

    The id at position t is predicted by the hidden state at t - 1. At most `chunk` rows of logits exist at a time; with
    gradients on, they are made again in the backward pass rather than kept.

    Args:
        hidden: [B, T, C]; the last hidden states.
        head: Hidden states [N, C] to logits [N, V].
        ids: int64 [B, T].
        mask: bool [B, T]; True at the ids whose log-prob is wanted; never at position 0, which nothing predicts.
        temperature: What the ids were sampled at.
        chunk: Rows of logits at a time.

    Raises:
        ConfigurationError: If the mask holds position 0, or the temperature is not positive.
    """
    if mask.numel() and bool(mask[:, 0].any()):
        raise ConfigurationError("the first id of a row is predicted by nothing: it cannot be a sampled one")
    if not temperature > 0:
        raise ConfigurationError(f"temperature must be positive to train on, got {temperature}")
    predicted = mask[:, 1:]
    states, targets = hidden[:, :-1][predicted], ids[:, 1:][predicted]

    def part(states: Tensor, targets: Tensor) -> Tensor:
        return token_logprobs(head(states), targets, temperature)

    parts = []
    for start in range(0, len(targets), chunk):
        piece = states[start : start + chunk], targets[start : start + chunk]
        # One chunk gains nothing from being made twice.
        again = len(targets) > chunk and torch.is_grad_enabled()
        parts.append(checkpoint(part, *piece, use_reentrant=False) if again else part(*piece))
    out = torch.zeros(mask.shape, dtype=parts[0].dtype if parts else torch.float32, device=hidden.device)
    return out.masked_scatter(mask, torch.cat(parts)) if parts else out
