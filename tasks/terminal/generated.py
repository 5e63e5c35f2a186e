"""The generated task set: every family, at three difficulties, in any number, made on demand from the task's id.

Invariant: `train`, `val` and `test` never share an instruction. Each scenario's instruction is hashed into one of ten
buckets; a split accepts only its own buckets, and draws again otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.task import GraderData, Task, TaskSet, stable_rng
from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.scenario import DIFFICULTIES, Family, Scenario, StartFile

__all__ = ["GeneratedTasks"]

VERSION = 1
_SIZES = {"train": 1000, "val": 50, "test": 100}
_OOD_SIZE = 100
_BUCKETS = {"train": range(8), "val": range(8, 9), "test": range(9, 10), "ood": range(10)}
_ATTEMPTS = 1000
_KEPT_SCENARIOS = 1024
_MOST_SHOWN = 100


class GeneratedTasks(TaskSet):
    """Generated terminal tasks.

    Args:
        families: Names of the families to keep; None keeps all.
        difficulty: "easy", "medium" or "hard"; None keeps all three.

    Raises:
        ConfigurationError: On an unknown family or difficulty.

    >>> tasks = GeneratedTasks(families=["links"], difficulty="easy")
    >>> tasks.ids("test")[0]
    'links-easy-test-0'
    >>> tasks.task("links-easy-test-0").split
    'test'
    """

    name = "generated"

    def __init__(self, families: Sequence[str] | None = None, difficulty: str | None = None) -> None:
        known = {family.name: family for family in FAMILIES}
        for name in families or ():
            if name not in known:
                raise ConfigurationError(
                    f"family {name!r} is not known.{did_you_mean(name, known)} Known: {', '.join(known)}"
                )
        if difficulty is not None and difficulty not in DIFFICULTIES:
            raise ConfigurationError(f"difficulty {difficulty!r} is not one of {', '.join(DIFFICULTIES)}")
        self._known = known
        self._kept = tuple(family for family in FAMILIES if families is None or family.name in families)
        self._difficulties = DIFFICULTIES if difficulty is None else (difficulty,)
        self._scenario = lru_cache(maxsize=_KEPT_SCENARIOS)(self._build)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the generator's version and every source file that decides tasks and checks."""
        digest = hashlib.sha256(f"generated {VERSION}\n".encode())
        root = importlib.resources.files("agentenv.tasks.terminal")
        sources = [root / "generated.py", root / "scenario.py"]
        sources += sorted((root / "families").iterdir(), key=lambda entry: entry.name)
        for source in sources:
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
        return digest.hexdigest()

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split: families and difficulties take turns, so that any prefix is a fair mix."""
        return self._ids_by_split.get(split, ())

    def task(self, task_id: str) -> Task:
        """The task of an id, whatever the filters of this instance."""
        family, difficulty, split, _ = self._parse(task_id)
        scenario = self._scenario(task_id)
        data: dict[str, Any] = {
            "family": family.name,
            "files": [_file_json(file) for file in scenario.files],
            "setup": scenario.setup,
            "requires": list(scenario.requires),
        }
        return Task(task_id, scenario.instruction, data, split, difficulty)

    def grader(self, task_id: str) -> GraderData:
        """The scenario's checks."""
        self._parse(task_id)
        return GraderData(self._scenario(task_id).checks)

    def oracle(self, task_id: str) -> list[str]:
        """The scenario's own solution, then `submit`."""
        self._parse(task_id)
        return [*self._scenario(task_id).oracle, "submit"]

    def alternatives(self, task_id: str) -> list[list[str]]:
        """Other correct ways, each with `submit`."""
        self._parse(task_id)
        return [[*actions, "submit"] for actions in self._scenario(task_id).alternatives]

    def near_misses(self, task_id: str) -> list[list[str]]:
        """Plausible mistakes, each with `submit`."""
        self._parse(task_id)
        return [[*actions, "submit"] for actions in self._scenario(task_id).near_misses]

    def unknown(self, task_id: str, split_hint: str = "") -> UnknownTaskError:
        """The error for an id that is not in the set, with a near one that is (of its number, if there is one)."""
        number = task_id.rpartition("-")[2]
        near = [
            f"{name}-{difficulty}-{split}-{number if _in_split(number, split) else 0}"
            for name, family in self._known.items()
            for difficulty in DIFFICULTIES
            for split in _BUCKETS
            if family.ood == (split == "ood")
        ]
        shown = task_id if len(task_id) <= _MOST_SHOWN else f"{task_id[:_MOST_SHOWN]}..."
        where = f" ({split_hint})" if split_hint else ""
        return UnknownTaskError(f"task {shown!r} is not in {self.name!r}{where}.{did_you_mean(shown, near)}")

    @cached_property
    def _ids_by_split(self) -> dict[str, tuple[str, ...]]:
        return {split: tuple(self._list_ids(split)) for split in _BUCKETS}

    def _list_ids(self, split: str) -> Iterator[str]:
        families = [family for family in self._kept if family.ood == (split == "ood")]
        for index in range(_size(split)):
            for difficulty in self._difficulties:
                for family in families:
                    yield f"{family.name}-{difficulty}-{split}-{index}"

    def _parse(self, task_id: str) -> tuple[Family, str, str, int]:
        parts = task_id.split("-")
        if len(parts) != 4:
            raise self.unknown(task_id)
        name, difficulty, split, number = parts
        family = self._known.get(name)
        known_split = split in _BUCKETS and family is not None and family.ood == (split == "ood")
        if family is None or difficulty not in DIFFICULTIES or not known_split or not _in_split(number, split):
            raise self.unknown(task_id)
        return family, difficulty, split, int(number)

    def _build(self, task_id: str) -> Scenario:
        family, difficulty, split, index = self._parse(task_id)
        for attempt in range(_ATTEMPTS):
            rng = stable_rng("terminal", VERSION, family.name, difficulty, split, index, attempt)
            scenario = family.build(rng, difficulty)
            if _bucket(scenario.instruction) in _BUCKETS[split]:
                return scenario
        raise ConfigurationError(f"no scenario of {task_id!r} fell into the {split} split in {_ATTEMPTS} attempts")


def _size(split: str) -> int:
    return _OOD_SIZE if split == "ood" else _SIZES[split]


def _in_split(number: str, split: str) -> bool:
    """Whether a text is the number of one of the split's tasks, written in its one way."""
    plain = len(number) < 10 and number.isascii() and number.isdigit() and str(int(number)) == number
    return plain and int(number) < _size(split)


def _bucket(instruction: str) -> int:
    return int.from_bytes(hashlib.sha256(instruction.encode()).digest()[:8], "big") % 10


def _file_json(file: StartFile) -> dict[str, Any]:
    values: dict[str, Any] = {"path": file.path}
    if isinstance(file.content, str):
        values["text"] = file.content
    elif file.content is not None:
        values["base64"] = base64.b64encode(file.content).decode("ascii")
    if file.mode is not None:
        values["mode"] = file.mode
    if file.link is not None:
        values["link"] = file.link
    return values
