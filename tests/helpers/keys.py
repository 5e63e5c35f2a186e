"""A small deterministic environment for tests: the state is a dictionary, and a task asks for some of its entries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentenv import AgentEnv, Check, GraderData, Reply, Task, TaskSet
from agentenv.errors import SandboxLostError
from agentenv.task import stable_rng

ENV_ID = "tests/Keys-v0"
_PER_SPLIT = 30


def _holds(key: str, value: str) -> Any:
    return lambda state: float(state.get(key) == value)


class KeyTasks(TaskSet):
    """Tasks `keys-SPLIT-N`: give one to four keys the values that the instruction names."""

    name = "keys"
    fingerprint = "keys-1"  # type: ignore[assignment]

    def ids(self, split: str) -> Sequence[str]:
        return [f"keys-{split}-{number}" for number in range(_PER_SPLIT)]

    def task(self, task_id: str) -> Task:
        name, _, rest = task_id.partition("-")
        split, _, number = rest.partition("-")
        if task_id not in (self.ids(split) if name == "keys" else ()):
            raise self.unknown(task_id)
        rng = stable_rng("keys", split, number)
        wanted = {key: str(rng.integers(10)) for key in "abcd"[: 1 + int(number) % 4]}
        return Task(
            task_id, "set " + " ".join(f"{k}={v}" for k, v in wanted.items()), {"wanted": wanted}, split, "easy"
        )

    def grader(self, task_id: str) -> GraderData:
        wanted = self.task(task_id).data["wanted"]
        checks = [Check(f"{key} is set", weight, _holds(key, v)) for weight, (key, v) in enumerate(wanted.items(), 1)]
        tidy = Check("nothing else", 1, lambda s: float(len(s) > 0 and set(s) <= set(wanted)), required=False)
        return GraderData([*checks, tidy])

    def oracle(self, task_id: str) -> list[str]:
        return [f"set {key} {value}" for key, value in self.task(task_id).data["wanted"].items()] + ["submit"]

    def near_misses(self, task_id: str) -> list[list[str]]:
        return [["set a ten", "submit"], [*self.oracle(task_id)[1:]]]


class KeysEnv(AgentEnv, RecordConstructorArgs):
    """Actions: `set KEY VALUE`, `del KEY`, `say TEXT`, `hang` (a time limit), `crash` (the platform), `submit`."""

    instructions: ClassVar[str] = "Reply with: set KEY VALUE, del KEY, say TEXT, or submit."

    def __init__(
        self,
        *,
        split: str = "train",
        max_turns: int = 8,
        max_bytes: int = 1 << 14,
        start: str = "",
        render_mode: str | None = None,
    ) -> None:
        common: dict[str, Any] = {"max_turns": max_turns, "max_bytes": max_bytes, "render_mode": render_mode}
        RecordConstructorArgs.__init__(self, split=split, start=start, **common)
        super().__init__(KeyTasks(), split=split, **common)
        self.state: dict[str, str] = {}
        self.views = 0
        self.releases = 0
        self.start = start

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        self.state = {}
        return task.instruction + self.start

    def act(self, action: str) -> Reply:
        words = action.split(" ", 1) if action.startswith("say ") else action.split()
        match words:
            case ["set", key, value]:
                self.state[key] = value
                return Reply(f"{key}={value}")
            case ["del", key] if key in self.state:
                del self.state[key]
                return Reply("gone")
            case ["say", text]:
                return Reply(text)
            case ["hang"]:
                return Reply("timed out", stop_reason="time_limit", truncated=True)
            case ["crash"]:
                raise SandboxLostError("the sandbox was killed")
            case ["submit"]:
                return Reply("bye", done=True, stop_reason="submitted")
        return Reply(f"Invalid action. {self.instructions}", valid=False)

    def checks(self) -> Sequence[Check]:
        return self.task_set.grader(self.task.id).checks

    def view(self) -> Any:
        self.views += 1
        return dict(self.state)

    def save(self) -> object:
        return dict(self.state)

    def load(self, saved: object) -> None:
        assert isinstance(saved, dict)
        self.state = dict(saved)

    def hash_state(self) -> str:
        return hashlib.sha256(json.dumps(self.state, sort_keys=True).encode()).hexdigest()[:16]

    def release(self) -> None:
        self.releases += 1


if ENV_ID not in gym.registry:
    gym.register(ENV_ID, entry_point="tests.helpers.keys:KeysEnv")
