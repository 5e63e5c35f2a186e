"""Reward shaping, action parsing and observation limits: one idea a file, stackable in any order."""

from agentenv.wrappers.invalid_action_penalty import InvalidActionPenalty
from agentenv.wrappers.limit_observation import LimitObservation
from agentenv.wrappers.parse_action import ParseAction
from agentenv.wrappers.potential_shaping import PotentialShaping
from agentenv.wrappers.progress_reward import ProgressReward
from agentenv.wrappers.record_trajectory import RecordTrajectory

__all__ = [
    "InvalidActionPenalty",
    "LimitObservation",
    "ParseAction",
    "PotentialShaping",
    "ProgressReward",
    "RecordTrajectory",
]
