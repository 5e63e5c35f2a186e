"""Episodes as data. Invariant: a saved trajectory loads back equal, and its ids are the ids that were sampled.

One JSON object a line (strict: no NaN, no infinity), or Parquet with the same fields. Nothing here knows the grader.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError, TrajectoryFormatError

__all__ = ["SCHEMA_VERSION", "Trajectory", "Turn", "dump_line", "read_trajectories", "write_trajectories"]

SCHEMA_VERSION = 1


@dataclass
class Turn:
    """One turn: what the policy saw, what it sampled, what came of it.

    Attributes:
        observation: Text shown before the action.
        action: The sampled text, raw.
        observation_ids: Ids put in front of this turn's action since the previous action (glue tokens included); the
            whole prompt when `restart` is set.
        action_ids: The ids as sampled, a sampled stop token included.
        logprobs: Log-probability of each action id under the distribution it was sampled from.
        reward: The turn's reward; the sum of `reward_parts`.
        reward_parts: By source ("outcome", and one per shaping wrapper).
        progress: Verified progress after the action.
        checks: Check scores after the action.
        valid_action: Whether the action was in the grammar.
        state_hash: Of the state after the action.
        policy_version: Number of updates the policy had seen when it sampled.
        restart: Whether the prompt was built anew for this turn (then it trains as a row of its own).
        action_stop: Why sampling ended: "stop" or "length" (cut).
        parsed_action: What an action parser took out of `action` ("" when no parser ran).
    """

    observation: str
    action: str
    observation_ids: list[int] = field(default_factory=list)
    action_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    reward: float = 0.0
    reward_parts: dict[str, float] = field(default_factory=dict)
    progress: float = 0.0
    checks: dict[str, float] = field(default_factory=dict)
    valid_action: bool = True
    state_hash: str = ""
    policy_version: int = 0
    restart: bool = False
    action_stop: str = "stop"
    parsed_action: str = ""


@dataclass
class Trajectory:
    """One episode. `start_progress` and `start_hash` belong to the start state, before the first action."""

    task_id: str
    turns: list[Turn] = field(default_factory=list)
    group_id: str = ""
    env_spec: str = ""
    seed: int | None = None
    success: bool = False
    terminated: bool = False
    truncated: bool = False
    stop_reason: str = ""
    final_observation: str = ""
    start_progress: float = 0.0
    start_checks: dict[str, float] = field(default_factory=dict)
    start_hash: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def episode_return(self) -> float:
        """The undiscounted sum of turn rewards."""
        return math.fsum(turn.reward for turn in self.turns)

    @property
    def final_progress(self) -> float:
        """Progress of the last verified state."""
        return self.turns[-1].progress if self.turns else self.start_progress

    @property
    def outcome(self) -> float:
        """The outcome part of the reward, summed over turns."""
        return math.fsum(turn.reward_parts.get("outcome", 0.0) for turn in self.turns)

    def to_json(self) -> dict[str, Any]:
        """The trajectory as JSON values.

        Raises:
            TrajectoryFormatError: If a turn's ids and log-probs differ in number.
        """
        for index, turn in enumerate(self.turns):
            if turn.logprobs and len(turn.logprobs) != len(turn.action_ids):
                raise TrajectoryFormatError(
                    f"task {self.task_id!r}, turn {index}: {len(turn.logprobs)} logprobs for {len(turn.action_ids)} ids"
                )
        return {"schema": SCHEMA_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Trajectory:
        """The inverse of `to_json`.

        Raises:
            TrajectoryFormatError: On another schema version, or missing or unknown keys.
        """
        if not isinstance(values, dict):
            raise TrajectoryFormatError(f"a trajectory is a JSON object, got {type(values).__name__}")
        values = dict(values)
        version = values.pop("schema", None)
        if version != SCHEMA_VERSION:
            raise TrajectoryFormatError(f"trajectory schema {version!r} is not the supported {SCHEMA_VERSION}")
        turns = values.pop("turns", [])
        if not isinstance(turns, list):
            raise TrajectoryFormatError(f"'turns' must be a list, got {type(turns).__name__}")
        return _build(cls, {**values, "turns": [_build(Turn, turn) for turn in turns]})


def _build(cls: type[Any], values: dict[str, Any]) -> Any:
    if not isinstance(values, dict):
        raise TrajectoryFormatError(f"a {cls.__name__} is a JSON object, got {type(values).__name__}")
    names = {f.name for f in fields(cls)}
    unknown, missing = sorted(set(values) - names), sorted(names - set(values))
    if unknown:
        raise TrajectoryFormatError(f"{cls.__name__} has unknown keys {unknown}")
    if missing:
        raise TrajectoryFormatError(f"{cls.__name__} lacks the keys {missing}")
    return cls(**values)


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory]) -> int:
    """Writes `.jsonl` or `.parquet`, by the path's suffix; returns how many.

    Raises:
        TrajectoryFormatError: If a number is not finite.
        ConfigurationError: On another suffix.
    """
    path = Path(path)
    if path.suffix == ".jsonl":
        count = 0
        with path.open("w", encoding="utf-8") as out:
            for trajectory in trajectories:
                out.write(dump_line(trajectory) + "\n")
                count += 1
        return count
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Dictionaries have keys of their own in every row, so each turn is one JSON string beside flat columns.
        lines = [dump_line(trajectory) for trajectory in trajectories]
        rows = [json.loads(line) for line in lines]
        table = pa.table(
            {
                "task_id": pa.array([row["task_id"] for row in rows], pa.string()),
                "group_id": pa.array([row["group_id"] for row in rows], pa.string()),
                "success": pa.array([row["success"] for row in rows], pa.bool_()),
                "turns": pa.array([len(row["turns"]) for row in rows], pa.int64()),
                "trajectory": pa.array(lines, pa.string()),
            }
        )
        pq.write_table(table, path)
        return len(rows)
    raise ConfigurationError(f"{path.name!r}: trajectories are written as .jsonl or .parquet")


def read_trajectories(path: str | Path) -> Iterator[Trajectory]:
    """Reads what `write_trajectories` wrote, one at a time.

    Raises:
        TrajectoryFormatError: Naming the file and line that is not a trajectory.
    """
    path = Path(path)
    for number, line in enumerate(_lines(path), start=1):
        try:
            yield Trajectory.from_json(json.loads(line, parse_constant=_refuse_constant, parse_float=_finite))
        except (json.JSONDecodeError, TrajectoryFormatError) as error:
            raise TrajectoryFormatError(f"{path}:{number}: {error}") from error


def _lines(path: Path) -> Iterator[str]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(columns=["trajectory"], batch_size=256):
            yield from batch.column(0).to_pylist()
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield line


def dump_line(trajectory: Trajectory) -> str:
    """The trajectory as one line of strict JSON, without the newline.

    Raises:
        TrajectoryFormatError: If a number is not finite, or a value is not JSON's.
    """
    try:
        return json.dumps(trajectory.to_json(), allow_nan=False, ensure_ascii=True)
    except (TypeError, ValueError) as error:
        raise TrajectoryFormatError(f"task {trajectory.task_id!r}: {error}") from error


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise TrajectoryFormatError(f"{digits[:40]} is beyond what a float holds")
    return value


def _refuse_constant(name: str) -> float:
    raise TrajectoryFormatError(f"{name} is not a number that a trajectory may hold")
