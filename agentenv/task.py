"""Tasks, and sets of them. Invariant: a `Task` may be shown to anyone; only `GraderData` knows the answer."""

from __future__ import annotations

import abc
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.progress import Check

__all__ = ["SPLITS", "GraderData", "OfficialScore", "Task", "TaskSet", "stable_rng"]

SPLITS = ("train", "val", "test", "ood")


@dataclass(frozen=True)
class Task:
    """What an agent is asked to do. JSON-able, and free of anything that only the grader may know.

    Args:
        id: Unique in its task set.
        instruction: The text that the agent reads first.
        data: JSON values an environment needs to build the start state.
        split: One of `SPLITS`.
        difficulty: A word of the task set's own ("easy", "medium", "hard").

    >>> Task("t-1", "Make a file.", {}, "train", "easy").to_json()["id"]
    't-1'
    """

    id: str
    instruction: str
    data: Mapping[str, Any] = field(hash=False)
    split: str = "train"
    difficulty: str = ""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ConfigurationError(f"task {self.id!r}: split {self.split!r} is not one of {SPLITS}")

    def to_json(self) -> dict[str, Any]:
        """The task as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Task:
        """The inverse of `to_json`."""
        return cls(**values)


class GraderData:
    """What only the grader may know. It refuses to be printed, pickled or turned into JSON by accident.

    >>> GraderData((Check("a", 1, lambda view: 1.0),))
    GraderData(hidden)
    """

    __slots__ = ("checks", "hidden")

    def __init__(self, checks: Sequence[Check], hidden: Mapping[str, Any] | None = None) -> None:
        self.checks = tuple(checks)
        self.hidden: Mapping[str, Any] = hidden or {}

    def __repr__(self) -> str:
        return "GraderData(hidden)"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise ConfigurationError(
            "GraderData is never serialised: take it from TaskSet.grader(task_id) where it is needed"
        )


@dataclass(frozen=True)
class OfficialScore:
    """What a benchmark's own script says of a prediction file.

    Args:
        metrics: As the script prints them, by its own names.
        questions: How many the means divide by.
        available: How many the benchmark's data file holds.
    """

    metrics: Mapping[str, float]
    questions: int
    available: int


class TaskSet(abc.ABC):
    """A set of tasks in up to four splits that never share a task.

    `val` and `test` hold unseen parameters of the training families; `ood` holds whole families that training never
    sees. Tasks are made on demand from their id, the same in every process.
    """

    name: str

    @property
    @abc.abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that decides the tasks and their grading; results files carry it."""

    @abc.abstractmethod
    def ids(self, split: str) -> Sequence[str]:
        """The task ids of a split, in a fixed order."""

    @abc.abstractmethod
    def task(self, task_id: str) -> Task:
        """The task of an id. Raises `UnknownTaskError` for an id that is not in the set."""

    @abc.abstractmethod
    def grader(self, task_id: str) -> GraderData:
        """What decides success of a task."""

    def __len__(self) -> int:
        return sum(len(self.ids(split)) for split in SPLITS)

    def elsewhere(self) -> str:
        """For errors: where there are tasks, if anywhere."""
        splits = [split for split in SPLITS if self.ids(split)]
        return f"; it has some in {', '.join(splits)}" if splits else ""

    def sample(self, rng: np.random.Generator, split: str = "train") -> str:
        """A task id of the split, drawn uniformly with the given generator."""
        ids = self.ids(split)
        if not ids:
            raise UnknownTaskError(f"task set {self.name!r} has no task in split {split!r}{self.elsewhere()}")
        return ids[int(rng.integers(len(ids)))]

    def oracle(self, task_id: str) -> list[str]:
        """Actions that solve the task (the closing `submit` included where there is one)."""
        raise ConfigurationError(f"task set {self.name!r} has no oracle for {task_id!r}")

    def alternatives(self, task_id: str) -> list[list[str]]:
        """Other correct ways: each must score 1."""
        return []

    def near_misses(self, task_id: str) -> list[list[str]]:
        """Plausible but wrong ways: each must score strictly below 1."""
        return []

    @property
    def official_formats(self) -> Mapping[str, str]:
        """The benchmarks whose own metrics this set computes, each with the suffix of its prediction files."""
        return {}

    def write_official(
        self, format: str, path: Path, submissions: Mapping[str, Mapping[str, Any] | None]
    ) -> OfficialScore:
        """Writes a benchmark's own prediction file and scores it as the benchmark's own script does.

        Args:
            format: One of `official_formats`.
            path: The file to write.
            submissions: For each task, `AgentEnv.submission` at its episode's end; None where none was played, which
                counts as wrong.

        Raises:
            ConfigurationError: On another format.
        """
        raise self.no_format(format)

    def no_format(self, format: str) -> ConfigurationError:
        """The error for a benchmark whose metrics this set does not compute."""
        known = ", ".join(self.official_formats)
        why = f"it has {known}.{did_you_mean(format, self.official_formats)}" if known else "it has no official format"
        return ConfigurationError(f"task set {self.name!r} is not scored in the format {format!r}: {why}")

    def unknown(self, task_id: str, split_hint: str = "") -> UnknownTaskError:
        """The error for an id that is not in the set, with the nearest that is."""
        known = [known_id for split in SPLITS for known_id in self.ids(split)]
        where = f" ({split_hint})" if split_hint else ""
        return UnknownTaskError(f"task {task_id!r} is not in {self.name!r}{where}.{did_you_mean(task_id, known)}")


def stable_rng(*key: object) -> np.random.Generator:
    """A generator that depends on nothing but the key: no process, no hash seed, no machine.

    The key is hashed as JSON (SHA-256), so it may hold strings, numbers, lists.

    >>> int(stable_rng("a", 1).integers(1000)) == int(stable_rng("a", 1).integers(1000))
    True
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
