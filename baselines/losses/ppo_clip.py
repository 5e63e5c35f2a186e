"""PPO's clipped objective on token ratios. Invariant: masked positions change neither its value nor its gradient.

`-min(rho A, clip(rho, 1 - low, 1 + high) A)` with `rho = exp(logp - logp_old)`, averaged over sampled tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from agentenv.baselines.losses.averages import Average, masked, masked_average

__all__ = ["MAX_LOG_RATIO", "ppo_clip_loss"]

#: Log-ratios are clamped to this size, so that no ratio overflows; a policy that far from its samples has diverged.
MAX_LOG_RATIO = 20.0


def ppo_clip_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    average: Average = "token",
    weight: float | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The loss and its metrics.

    Args:
        logprobs: [B, T]; of the sampled ids under the policy being trained.
        old_logprobs: [B, T]; of the same ids when they were sampled.
        advantages: [B, T].
        mask: bool [B, T]; True at sampled tokens.
        clip_low: The ratio is clipped below at `1 - clip_low`.
        clip_high: And above at `1 + clip_high`.
        average: "token" or "sequence".
        weight: As in `masked_average`.

    Returns:
        The loss; and `policy_loss`, `mean_ratio`, `approx_kl` (k3 of old to new, from the same samples) and
        `clipfrac` (share of tokens whose ratio is outside the range), averaged alike.
    """
    # The clamp has no gradient beyond its ends; a plain exp() would have an infinite one.
    log_ratio = masked(logprobs - old_logprobs.detach(), mask).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    ratio = log_ratio.exp()
    gain = masked(advantages.detach().to(ratio.dtype), mask)
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    loss = masked_average(-torch.minimum(ratio * gain, clipped * gain), mask, average, weight)
    with torch.no_grad():
        outside = ((ratio < 1 - clip_low) | (ratio > 1 + clip_high)).to(ratio.dtype)
        metrics = {
            "policy_loss": loss.item(),
            "mean_ratio": masked_average(ratio, mask, average, weight).item(),
            "approx_kl": masked_average(ratio - 1 - log_ratio, mask, average, weight).item(),
            "clipfrac": masked_average(outside, mask, average, weight).item(),
        }
    return loss, metrics
