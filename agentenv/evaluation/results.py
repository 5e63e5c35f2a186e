"""Results files. Invariant: whatever `read_results` returns is finite, typed, and counts every planned episode once.

A results file is one strict JSON object: what was run (environment spec, task set and its fingerprint, policy, seed,
sampling), one record per episode with the actions played, the platform's failures, and the aggregates. It holds enough
to replay every episode and nothing that only the grader may know. Files come from strangers, so nothing in them is
trusted: a field of the wrong type or range raises `ResultsFileError` with the file and the field.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentenv.errors import ResultsFileError
from agentenv.evaluation.fields import Fields, loads_strict
from agentenv.task import SPLITS

__all__ = [
    "MAX_EPISODES",
    "MAX_FILE_BYTES",
    "SCHEMA_VERSION",
    "EpisodeRecord",
    "Header",
    "PlatformFailure",
    "Results",
    "plan_faults",
    "read_results",
    "write_results",
]

FORMAT = "agentenv-results"
SCHEMA_VERSION = 1
MAX_FILE_BYTES = 1 << 30
MAX_EPISODES = 1_000_000
_MAX_COUNT = 1 << 53


@dataclass(frozen=True)
class Header:
    """What was run. Two results with equal headers measure the same thing.

    Attributes:
        env_spec: The environment stack as `gymnasium.envs.registration.EnvSpec` JSON.
        task_set: The task set's name.
        split: The split that the tasks come from.
        fingerprint: The task set's hash.
        max_turns: The environment's turn limit.
        task_ids: The planned tasks, in order.
        episodes_per_task: How often each is played.
        policy: The policy's name.
        seed: Decides every episode's seed.
        sampling: Temperature and limits that the policy sampled under.
        agentenv_version: Of the package that wrote the file.
    """

    env_spec: str
    task_set: str
    split: str
    fingerprint: str
    max_turns: int
    task_ids: tuple[str, ...]
    episodes_per_task: int
    policy: str
    seed: int
    sampling: dict[str, float | int | None]
    agentenv_version: str

    def to_json(self) -> dict[str, Any]:
        """The header as JSON values."""
        return {**asdict(self), "task_ids": list(self.task_ids)}

    @classmethod
    def from_fields(cls, values: Fields) -> Header:
        """Reads a header, checking every field.

        Raises:
            ResultsFileError: Naming the field that is missing, unknown, or of another type or range.
        """
        values.only(cls.__dataclass_fields__)
        task_ids = values.strings("task_ids")
        if len(set(task_ids)) != len(task_ids):
            raise values.error("task_ids", "holds a task twice")
        episodes_per_task = values.integer("episodes_per_task", 1, MAX_EPISODES)
        if len(task_ids) * episodes_per_task > MAX_EPISODES:
            planned = len(task_ids) * episodes_per_task
            raise values.error("episodes_per_task", f"plans {planned} episodes; at most {MAX_EPISODES} are read")
        split = values.string("split")
        if split not in SPLITS:
            raise values.error("split", f"{split!r:.80} is not one of {SPLITS}")
        sampling = values.object("sampling")
        return cls(
            env_spec=values.string("env_spec"),
            task_set=values.string("task_set"),
            split=split,
            fingerprint=values.string("fingerprint"),
            max_turns=values.integer("max_turns", 1, 1_000_000),
            task_ids=tuple(task_ids),
            episodes_per_task=episodes_per_task,
            policy=values.string("policy"),
            seed=values.integer("seed", 0, _MAX_COUNT),
            sampling={name: sampling.number_or_none(name) for name in sampling.values},
            agentenv_version=values.string("agentenv_version"),
        )


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode that was played to its end.

    `progress` and `state_hashes` hold the start state and then the state after each turn; `rewards` and `valid` one
    entry a turn. `outcome` is the graded score, `checks` the final check scores. Token counts are the policy's own and
    cannot be recomputed by a replay. `submission` is what benchmarks' own scripts ask of the episode
    (`AgentEnv.submission`), in environments that have such benchmarks.
    """

    task_id: str
    episode: int
    family: str
    seed: int
    actions: tuple[str, ...]
    progress: tuple[float, ...]
    rewards: tuple[float, ...]
    valid: tuple[bool, ...]
    state_hashes: tuple[str, ...]
    success: bool
    outcome: float
    stop_reason: str
    checks: dict[str, float] = field(default_factory=dict, hash=False)
    sampled_tokens: int = 0
    prompt_tokens: int = 0
    submission: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, int]:
        """What makes an episode one of the plan: its task and its number there."""
        return self.task_id, self.episode

    @property
    def turns(self) -> int:
        """Actions played."""
        return len(self.actions)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values; an empty `submission` is left out."""
        values = asdict(self)
        return values if self.submission else {name: value for name, value in values.items() if name != "submission"}

    @classmethod
    def from_fields(cls, values: Fields) -> EpisodeRecord:
        """Reads a record, checking every field and the lengths against each other.

        Raises:
            ResultsFileError: Naming the field.
        """
        values.only(cls.__dataclass_fields__)
        checks = values.object("checks")
        record = cls(
            task_id=values.string("task_id"),
            episode=values.integer("episode", 0, 1_000_000),
            family=values.string("family"),
            seed=values.integer("seed", 0, _MAX_COUNT),
            actions=tuple(values.strings("actions")),
            progress=tuple(values.numbers("progress", 0.0, 1.0)),
            rewards=tuple(values.numbers("rewards", -1e9, 1e9)),
            valid=tuple(values.booleans("valid")),
            state_hashes=tuple(values.strings("state_hashes")),
            success=values.boolean("success"),
            outcome=values.number("outcome", 0.0, 1.0),
            stop_reason=values.string("stop_reason"),
            checks={name: checks.number(name, 0.0, 1.0) for name in checks.values},
            sampled_tokens=values.integer("sampled_tokens", 0, _MAX_COUNT),
            prompt_tokens=values.integer("prompt_tokens", 0, _MAX_COUNT),
            submission=values.object("submission").values if "submission" in values.values else {},
        )
        turns = record.turns
        for name, wanted in (
            ("progress", turns + 1),
            ("rewards", turns),
            ("valid", turns),
            ("state_hashes", turns + 1),
        ):
            if len(getattr(record, name)) != wanted:
                raise values.error(name, f"has {len(getattr(record, name))} entries for {turns} actions, not {wanted}")
        return record


@dataclass(frozen=True)
class PlatformFailure:
    """An episode that the platform could not play: outside the success rate, inside the coverage."""

    task_id: str
    episode: int
    error: str

    @property
    def key(self) -> tuple[str, int]:
        """The episode of the plan that failed."""
        return self.task_id, self.episode

    def to_json(self) -> dict[str, Any]:
        """The failure as JSON values."""
        return asdict(self)

    @classmethod
    def from_fields(cls, values: Fields) -> PlatformFailure:
        """Reads a failure, checking every field."""
        values.only(cls.__dataclass_fields__)
        return cls(values.string("task_id"), values.integer("episode", 0, 1_000_000), values.string("error"))


@dataclass(frozen=True)
class Results:
    """An evaluation: what was run, every episode, the platform's failures and the aggregates.

    `summary` is `agentenv.evaluation.statistics.Summary` as JSON values; `agentenv verify` recomputes it.
    """

    header: Header
    records: tuple[EpisodeRecord, ...]
    failures: tuple[PlatformFailure, ...] = ()
    summary: dict[str, Any] = field(default_factory=dict, hash=False)

    def planned(self) -> Iterator[tuple[str, int]]:
        """Every episode of the plan, in order."""
        return ((task, n) for task in self.header.task_ids for n in range(self.header.episodes_per_task))

    def by_task(self) -> dict[str, list[EpisodeRecord]]:
        """The played episodes of each task, in the plan's order; tasks without any are left out."""
        found: dict[str, list[EpisodeRecord]] = {task: [] for task in self.header.task_ids}
        for record in self.records:
            found.setdefault(record.task_id, []).append(record)
        return {task: records for task, records in found.items() if records}


def plan_faults(results: Results) -> list[str]:
    """How records and failures depart from the plan: episodes missing, counted twice, or never planned.

    An empty list means that each planned episode is there exactly once.
    """
    planned = set(results.planned())
    seen: set[tuple[str, int]] = set()
    faults: list[str] = []
    entries: Sequence[EpisodeRecord | PlatformFailure] = [*results.records, *results.failures]
    for entry in entries:
        where = f"task {entry.task_id!r:.120}, episode {entry.episode}"
        if entry.key not in planned:
            faults.append(f"{where}: not in the plan")
        elif entry.key in seen:
            faults.append(f"{where}: counted twice")
        seen.add(entry.key)
    faults += [f"task {task!r:.120}, episode {n}: missing" for task, n in results.planned() if (task, n) not in seen]
    return faults


def write_results(path: Path, results: Results) -> None:
    """Writes a results file; it is there whole or not at all.

    Raises:
        ResultsFileError: If a number is not finite, or the file cannot be written.
    """
    parts = [
        f'"format": {json.dumps(FORMAT)}',
        f'"schema": {SCHEMA_VERSION}',
        f'"header": {dumps_strict(results.header.to_json())}',
        f'"summary": {dumps_strict(results.summary)}',
        f'"failures": {_lines(failure.to_json() for failure in results.failures)}',
        f'"records": {_lines(record.to_json() for record in results.records)}',
    ]
    write_atomically(path, "{\n" + ",\n".join(parts) + "\n}\n")


def read_results(path: Path, *, check_plan: bool = True) -> Results:
    """Reads a results file of any origin.

    Args:
        path: The file.
        check_plan: Refuse a file whose episodes are not those of its plan (`verify` lists the faults instead).

    Raises:
        ResultsFileError: Naming the file and the field at fault.
    """
    path = Path(path)
    values = Fields.of(loads_strict(_read_text(path), str(path)), str(path))
    if values.values.get("format") != FORMAT:
        raise ResultsFileError(f"{path}: not an agentenv results file (its 'format' is not {FORMAT!r})")
    if values.values.get("schema") != SCHEMA_VERSION:
        raise ResultsFileError(
            f"{path}: results schema {values.values.get('schema')!r:.40}; this version reads schema {SCHEMA_VERSION}"
        )
    values.only(("format", "schema", "header", "summary", "failures", "records"))
    results = Results(
        header=Header.from_fields(values.object("header")),
        records=tuple(EpisodeRecord.from_fields(entry) for entry in values.objects("records")),
        failures=tuple(PlatformFailure.from_fields(entry) for entry in values.objects("failures")),
        summary=values.object("summary").values,
    )
    most = results.header.max_turns
    for number, record in enumerate(results.records):
        if record.turns > most:
            raise ResultsFileError(f"{path}: records[{number}].actions: {record.turns} turns; the limit is {most}")
    if check_plan and (faults := plan_faults(results)):
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ResultsFileError(f"{path}: records: {faults[0]}{more}")
    return results


def dumps_strict(values: Any) -> str:
    """JSON on one line, without NaN or infinity.

    Raises:
        ResultsFileError: If there is one.
    """
    try:
        return json.dumps(values, allow_nan=False, ensure_ascii=True)
    except ValueError as error:
        raise ResultsFileError(f"results hold a number that is not finite: {error}") from error


def write_atomically(path: Path, text: str) -> None:
    """Puts a text file in place in one step, durably.

    Raises:
        ResultsFileError: If it cannot be written; an older file at the path is then untouched.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True) if temporary else None
        raise ResultsFileError(f"{path} cannot be written: {error.strerror or error}") from error


def _lines(entries: Iterable[Any]) -> str:
    lines = [dumps_strict(entry) for entry in entries]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            fault = "that is a directory" if path.is_dir() else "there is no such file"
            raise ResultsFileError(f"{path}: {fault}")
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ResultsFileError(f"{path}: {size} bytes; a results file has at most {MAX_FILE_BYTES}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResultsFileError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ResultsFileError(f"{path}: not UTF-8 text ({error})") from error
