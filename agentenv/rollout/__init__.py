"""Playing many episodes at once. Invariant: an episode's samples depend on the weights, its ids and its seed only."""

from agentenv.rollout.collector import Collected, EpisodeFailure, EpisodeRequest, collect
from agentenv.rollout.pool import EnvPool
from agentenv.rollout.seeds import derive_seed

__all__ = ["Collected", "EnvPool", "EpisodeFailure", "EpisodeRequest", "collect", "derive_seed"]
