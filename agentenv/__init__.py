"""Gymnasium environments for language agents, with verified progress at every turn.

>>> import agentenv, gymnasium as gym
>>> "agentenv/Terminal-v0" in gym.registry
True
"""

from agentenv.env import AgentEnv, Reply, Snapshot
from agentenv.errors import AgentEnvError, InfrastructureError
from agentenv.progress import Check, Progress
from agentenv.registration import register_all
from agentenv.spaces import UnicodeText
from agentenv.stack import fork, restore, snapshot
from agentenv.task import GraderData, Task, TaskSet
from agentenv.trajectory import Trajectory, Turn, read_trajectories, write_trajectories
from agentenv.vector import unbatch_info

__all__ = [
    "AgentEnv",
    "AgentEnvError",
    "Check",
    "GraderData",
    "InfrastructureError",
    "Progress",
    "Reply",
    "Snapshot",
    "Task",
    "TaskSet",
    "Trajectory",
    "Turn",
    "UnicodeText",
    "fork",
    "gc",
    "read_trajectories",
    "register_all",
    "restore",
    "snapshot",
    "unbatch_info",
    "write_trajectories",
]

__version__ = "0.1.0"

register_all()


def gc() -> dict[str, int]:
    """Removes what runs that were killed left behind (sandbox directories, processes, control groups); counts it."""
    from dataclasses import asdict
    from importlib import import_module

    return asdict(import_module("agentenv.sandbox.gc").reap())
