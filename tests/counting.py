"""A tiny environment for tests of rollouts and trainers: count to a number, one `+` at a time, then `submit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentenv import AgentEnv, Check, GraderData, Reply, Task, TaskSet
from agentenv.errors import SandboxLostError

ENV_ID = "tests/Counting-v0"


@dataclass
class CountView:
    """What the checks read."""

    count: int


class CountTasks(TaskSet):
    name = "counting"
    fingerprint = "counting-1"

    def __init__(self, most: int = 3) -> None:
        self.most = most

    def ids(self, split: str) -> Sequence[str]:
        return [f"{split}-{number}-{1 + number % self.most}" for number in range(40)]

    def task(self, task_id: str) -> Task:
        split, _, target = task_id.split("-")
        return Task(task_id, f"count to {target}", {"target": int(target), "family": f"f{target}"}, split)

    def grader(self, task_id: str) -> GraderData:
        target = self.task(task_id).data["target"]
        milestones = [Check(f"at least {n}", 1, lambda view, n=n: float(view.count >= n)) for n in range(1, target + 1)]
        return GraderData([*milestones, Check("not more", 1, lambda view: float(view.count <= target))])

    def oracle(self, task_id: str) -> list[str]:
        return ["+"] * self.task(task_id).data["target"] + ["submit"]


class CountingEnv(AgentEnv, RecordConstructorArgs):
    instructions: ClassVar[str] = "Reply with + or submit."

    def __init__(self, *, split: str = "train", max_turns: int = 5, most: int = 3) -> None:
        RecordConstructorArgs.__init__(self, split=split, max_turns=max_turns, most=most)
        super().__init__(CountTasks(most), split=split, max_turns=max_turns)
        self.count = 0
        self.released = 0

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        self.count = 0
        return task.instruction

    def act(self, action: str) -> Reply:
        if action == "submit":
            return Reply("bye", done=True)
        if action == "crash":
            raise SandboxLostError("the sandbox was killed")
        if "+" not in action:
            return Reply("say + or submit", valid=False)
        self.count += action.count("+")
        return Reply(str(self.count))

    def checks(self) -> Sequence[Check]:
        return self.task_set.grader(self.task.id).checks

    def view(self) -> Any:
        return CountView(self.count)

    def save(self) -> object:
        return self.count

    def load(self, saved: object) -> None:
        assert isinstance(saved, int)
        self.count = saved

    def hash_state(self) -> str:
        return f"count:{self.count}"

    def release(self) -> None:
        self.released += 1


def register() -> None:
    """Makes `gym.make(ENV_ID)` work; registering twice changes nothing."""
    if ENV_ID not in gym.registry:
        gym.register(ENV_ID, entry_point="tests.counting:CountingEnv")


register()
