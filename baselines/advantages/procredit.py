"""ProCredit: credit from acceptance checks, to the turn that met them (METHODS 36).

With Phi_t the share of the initially unmet checks that hold after turn t (Phi_0 = 0, it may fall) and R the outcome:

    S_i      = R_i + c Phi_T                      the episode's score
    A_traj   = (S_i - mean S) / (std S + eps)     population std, over the group
    G_t      = R_i + c (Phi_T - Phi_{t-1})        the turn's return, undiscounted
    A_turn   = G_t - mean G                       over all turns of all rows of the group, not scaled
    A_t      = A_traj + lam A_turn

Invariant: within an episode `A_t - A_{t+1} = lam c (Phi_t - Phi_{t-1})`, so turns that only look share the advantage of
the turn that follows, and breaking what is then mended nets nothing. An episode that a limit cut keeps its progress.
A group of one, or one without any spread, gives exactly 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from agentenv.baselines.advantages.groups import EPS, centre, members, normalise
from agentenv.baselines.advantages.turn_batch import TurnBatch

__all__ = ["procredit_advantages"]


def procredit_advantages(batch: TurnBatch, *, c: float = 0.5, lam: float = 1.0, eps: float = EPS) -> Tensor:
    """Advantages [B, K], 0 at turns that were not played.

    Args:
        batch: The episodes; `outcome` and `checks_met` are read.
        c: Weight of progress beside the outcome.
        lam: Weight of the turn's part.
        eps: Added to the standard deviation; a spread below it carries no signal.
    """
    final = batch.checks_met[:, -1]
    whole = normalise(batch.outcome + c * final, batch.group, "population", eps)
    returns = batch.outcome[:, None] + c * (final[:, None] - batch.checks_met[:, :-1])
    turn = torch.zeros_like(returns)
    for rows in members(batch.group):
        played = torch.zeros_like(batch.mask)
        played[rows] = batch.mask[rows]
        if len(rows) > 1:
            turn[played] = torch.tensor(centre(returns[played].tolist(), eps), dtype=torch.float64)
    return (whole[:, None] + lam * turn) * batch.mask
