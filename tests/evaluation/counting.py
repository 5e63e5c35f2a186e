"""A text counter: the smallest environment with checks, for tests of evaluation. Importing registers it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from agentenv.env import AgentEnv, Reply
from agentenv.errors import InfrastructureError
from agentenv.progress import Check
from agentenv.task import GraderData, Task, TaskSet

ENV_ID = "tests/EvaluatedCounting-v0"  # tests.counting registers another counter


class CountingTasks(TaskSet):
    """Reach a number by adding; families `up` and `far`."""

    name = "counting"
    fingerprint = "counting-1"

    def ids(self, split: str) -> Sequence[str]:
        return [f"{family}-{split}-{n}" for n in range(8) for family in ("up", "far")]

    def task(self, task_id: str) -> Task:
        family, split, number = task_id.split("-") if task_id.count("-") == 2 else ("", "", "")
        if family not in ("up", "far") or not number.isdigit() or int(number) >= 8:
            raise self.unknown(task_id)
        goal = int(number) % 4 + (1 if family == "up" else 4)
        return Task(task_id, f"Reach {goal}.", {"family": family, "goal": goal}, split, "easy")

    def grader(self, task_id: str) -> GraderData:
        goal = self.task(task_id).data["goal"]
        return GraderData([Check(f"at {n}", 1, lambda view, n=n: float(view >= n)) for n in range(1, goal + 1)])

    def oracle(self, task_id: str) -> list[str]:
        return ["add"] * self.task(task_id).data["goal"] + ["submit"]


class CountingEnv(AgentEnv):
    """Actions: `add`, `chance` (a state that does not repeat), `crash` (the platform fails), `submit`."""

    chances = 0

    def __init__(
        self, *, split: str = "train", max_turns: int = 6, step_s: float = 0.0, tasks: str = "counting"
    ) -> None:
        super().__init__(CountingTasks(), split=split, max_turns=max_turns)
        self.total = 0
        self.salt = ""

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        self.total, self.salt = 0, ""
        return task.instruction

    def act(self, action: str) -> Reply:
        if action == "add":
            self.total += 1
            return Reply(f"now {self.total}")
        if action == "submit":
            return Reply("done", done=True, stop_reason="submitted")
        if action == "chance":
            CountingEnv.chances += 1
            self.salt = str(CountingEnv.chances)
            return Reply("a date was written")
        if action == "crash":
            raise InfrastructureError("the sandbox died")
        return Reply("Invalid action; valid: add, submit", valid=False)

    def checks(self) -> Sequence[Check]:
        return self.task_set.grader(self.task.id).checks

    def view(self) -> Any:
        return self.total

    def save(self) -> object:
        return self.total, self.salt

    def load(self, saved: Any) -> None:
        self.total, self.salt = saved

    def hash_state(self) -> str:
        return hashlib.sha256(f"{self.total}/{self.salt}".encode()).hexdigest()[:16]


if ENV_ID not in gym.registry:
    gym.register(ENV_ID, entry_point="tests.evaluation.counting:CountingEnv")
