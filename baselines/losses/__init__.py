"""Loss terms over token log-probs [B, T]: each returns a scalar and its metrics, as detached floats.

Invariant: what stands at a masked position (any number, NaN and infinity included) changes neither value nor gradient.
"""

from agentenv.baselines.losses.averages import Average, masked_average
from agentenv.baselines.losses.kl import k1, k3, kl_loss
from agentenv.baselines.losses.logprobs import gather_logprobs
from agentenv.baselines.losses.ppo_clip import ppo_clip_loss

__all__ = ["Average", "gather_logprobs", "k1", "k3", "kl_loss", "masked_average", "ppo_clip_loss"]
