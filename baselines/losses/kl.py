"""Estimators of KL(policy || reference) from sampled tokens. Invariant: value and gradient are always finite.

With `d = logp_ref - logp`: k1 is `-d` (unbiased, high variance, may be negative), k3 is `exp(d) - d - 1` (never
negative). k3 overflows where the reference finds likely what the policy finds all but impossible, and its gradient
before its value. So `d` is clamped to [-20, 20] in k3: beyond that the value stays, with zero gradient.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from agentenv.baselines.losses.averages import Average, masked, masked_average
from agentenv.errors import ConfigurationError

__all__ = ["MAX_DIFFERENCE", "k1", "k3", "kl_loss"]

MAX_DIFFERENCE = 20.0


def k1(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """`logp - logp_ref`, per token."""
    return logprobs - ref_logprobs.detach()


def k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """`exp(d) - d - 1` with `d = logp_ref - logp` clamped, per token.

    >>> import torch
    >>> k3(torch.tensor([-1.0, -1e4]), torch.tensor([-1.0, -1.0])).tolist()[0]
    0.0
    """
    difference = (ref_logprobs.detach() - logprobs).clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE)
    # expm1 keeps the digits that exp(d) - 1 would lose where the two policies are close.
    return difference.expm1() - difference


def kl_loss(
    logprobs: Tensor,
    ref_logprobs: Tensor,
    mask: Tensor,
    *,
    kind: Literal["k1", "k3"] = "k3",
    average: Average = "token",
    weight: float | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The mean estimate over sampled tokens, and it as the metric `kl_ref`.

    Args:
        logprobs: [B, T]; of the policy being trained.
        ref_logprobs: [B, T]; of the reference; no gradient flows into it.
        mask: bool [B, T]; True at sampled tokens.
        kind: "k1" or "k3".
        average: "token" or "sequence".
        weight: As in `masked_average`.

    Raises:
        ConfigurationError: On another kind.
    """
    if kind not in ("k1", "k3"):
        raise ConfigurationError(f"kind={kind!r} is not 'k1' or 'k3'")
    estimate = k1 if kind == "k1" else k3
    per_token = estimate(masked(logprobs, mask), masked(ref_logprobs, mask))
    loss = masked_average(per_token, mask, average, weight)
    return loss, {"kl_ref": loss.item()}
