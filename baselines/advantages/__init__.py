"""From rewards to advantages: pure functions `TurnBatch -> Tensor [B, K]`, one published estimator a module.

Invariant: float64 on the reward side, and exactly 0 where there is nothing to learn (equal returns, groups of one,
turns that were not played), so that no cast to a smaller type turns rounding dust into a gradient.
"""

from agentenv.baselines.advantages.broadcast import broadcast_to_tokens
from agentenv.baselines.advantages.outcome import outcome_advantages
from agentenv.baselines.advantages.procredit import procredit_advantages
from agentenv.baselines.advantages.turn_batch import TurnBatch

__all__ = ["TurnBatch", "broadcast_to_tokens", "outcome_advantages", "procredit_advantages"]
