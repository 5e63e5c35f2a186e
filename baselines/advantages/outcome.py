"""Plain GRPO: every turn of an episode gets the episode's outcome, normalised over its group.

`A_i = (R_i - mean_G R) / (std_G R + eps)` (METHODS 0). Invariant: groups of equal outcomes, and groups of one, give 0.
"""

from __future__ import annotations

from torch import Tensor

from agentenv.baselines.advantages.groups import EPS, Std, normalise
from agentenv.baselines.advantages.turn_batch import TurnBatch

__all__ = ["outcome_advantages"]


def outcome_advantages(batch: TurnBatch, *, std: Std = "population", eps: float = EPS) -> Tensor:
    """Advantages [B, K], the same at each turn that was played and 0 elsewhere.

    Args:
        batch: The episodes.
        std: "population" (as in METHODS 0) or "sample" (`torch.std`, as some trainers have it).
        eps: Added to the standard deviation; below it a group carries no signal.
    """
    return normalise(batch.outcome, batch.group, std, eps)[:, None] * batch.mask
