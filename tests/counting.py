"""A tiny environment for tests of rollouts, trainers, evaluation and commands: count to a number, then `submit`.

Importing registers it twice: `ENV_ID` has tasks that a tiny policy learns, `FAR_ID` some that the turn limit forbids.
"""

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
FAR_ID = "tests/FarCounting-v0"


@dataclass
class CountView:
    """What the checks read."""

    count: int


class CountingTasks(TaskSet):
    """Tasks `FAMILY-SPLIT-N`: family `up` counts to at most `most`; `far` goes on from there, in `far` sets only."""

    name = "counting"
    fingerprint = "counting-1"

    def __init__(self, most: int = 3, *, far: bool = False) -> None:
        self.most = most
        self.families = ("up", "far") if far else ("up",)
        self.size = 8 if far else 40

    def ids(self, split: str) -> Sequence[str]:
        return [f"{family}-{split}-{number}" for number in range(self.size) for family in self.families]

    def task(self, task_id: str) -> Task:
        family, split, number = task_id.split("-") if task_id.count("-") == 2 else ("", "", "")
        if family not in self.families or not number.isdigit() or int(number) >= self.size:
            raise self.unknown(task_id)
        goal = int(number) % self.most + (1 if family == "up" else self.most)
        return Task(task_id, f"count to {goal}", {"goal": goal, "family": family}, split, "easy")

    def grader(self, task_id: str) -> GraderData:
        goal = self.task(task_id).data["goal"]
        milestones = [Check(f"at {n}", 1, lambda view, n=n: float(view.count >= n)) for n in range(1, goal + 1)]
        return GraderData([*milestones, Check("not more", 1, lambda view: float(view.count <= goal))])

    def oracle(self, task_id: str) -> list[str]:
        return ["+"] * self.task(task_id).data["goal"] + ["submit"]


def far_tasks() -> CountingTasks:
    """The tasks of `FAR_ID`: 16 a split, of which two (count to 7) take longer than its six turns."""
    return CountingTasks(4, far=True)


class CountingEnv(AgentEnv, RecordConstructorArgs):
    """Actions: `+` (also `+ + +`), `chance` (a state that never repeats), `crash` (the platform fails), `submit`."""

    instructions: ClassVar[str] = "Reply with + or submit."
    chances = 0

    def __init__(self, *, split: str = "train", max_turns: int = 5, most: int = 3, tasks: str = "near") -> None:
        RecordConstructorArgs.__init__(self, split=split, max_turns=max_turns, most=most, tasks=tasks)
        super().__init__(
            far_tasks() if tasks == "far" else CountingTasks(most),
            split=split,
            max_turns=max_turns,
        )
        self.count = 0
        self.chance = 0
        self.released = 0

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        self.count = self.chance = 0
        return task.instruction

    def act(self, action: str) -> Reply:
        if action == "submit":
            return Reply("bye", done=True, stop_reason="submitted")
        if action == "crash":
            raise SandboxLostError("the sandbox was killed")
        if action == "chance":
            CountingEnv.chances += 1
            self.chance = CountingEnv.chances
            return Reply("a date was written")
        if "+" not in action:
            return Reply("say + or submit", valid=False)
        self.count += action.count("+")
        return Reply(str(self.count))

    def checks(self) -> Sequence[Check]:
        return self.task_set.grader(self.task.id).checks

    def view(self) -> Any:
        return CountView(self.count)

    def save(self) -> object:
        return self.count, self.chance

    def load(self, saved: object) -> None:
        assert isinstance(saved, tuple)
        self.count, self.chance = saved

    def hash_state(self) -> str:
        return f"count:{self.count}" + (f"/{self.chance}" if self.chance else "")

    def release(self) -> None:
        self.released += 1


def register() -> None:
    """Makes `gym.make` work with both ids; registering twice changes nothing."""
    if ENV_ID not in gym.registry:
        gym.register(ENV_ID, entry_point="tests.counting:CountingEnv")
        gym.register(FAR_ID, entry_point="tests.counting:CountingEnv", kwargs={"tasks": "far", "max_turns": 6})


register()
