"""A benchmark's own score of an evaluation, beside ours. Invariant: every planned task counts, played or not."""

from __future__ import annotations

from pathlib import Path

from agentenv.errors import ConfigurationError
from agentenv.evaluation.results import Results
from agentenv.task import OfficialScore, TaskSet

__all__ = ["official_score", "predictions_path", "require_format"]


def require_format(task_set: TaskSet, format: str, episodes_per_task: int) -> None:
    """Refuses what cannot be scored, before anything is played.

    Raises:
        ConfigurationError: If the task set does not have the format, or tasks are played more than once.
    """
    if format not in task_set.official_formats:
        raise task_set.no_format(format)
    if episodes_per_task != 1:
        raise ConfigurationError(
            f"a {format} file holds one prediction for each question: play one episode of each, not {episodes_per_task}"
        )


def predictions_path(out: Path, task_set: TaskSet, format: str) -> Path:
    """Where an evaluation's predictions are written: next to its results file."""
    return out.with_name(f"{out.stem}-{format}{task_set.official_formats[format]}")


def official_score(results: Results, task_set: TaskSet, format: str, path: Path) -> OfficialScore:
    """Writes the predictions of an evaluation in a benchmark's own format, and scores them.

    Raises:
        ConfigurationError: On what `require_format` refuses.
        ResultsFileError: If a record is none of such episodes.
    """
    require_format(task_set, format, results.header.episodes_per_task)
    played = {record.task_id: record.submission for record in results.records}
    return task_set.write_official(format, path, {task: played.get(task) for task in results.header.task_ids})
