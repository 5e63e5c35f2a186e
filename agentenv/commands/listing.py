"""`agentenv list`: environments, their task sets, splits and families."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import tyro
from rich.table import Table

from agentenv.commands.console import environment_kwargs, output_console, parse, plain, print_json
from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.evaluation.environments import base_of, make_env
from agentenv.evaluation.families import family_of, family_of_id
from agentenv.registration import ENV_IDS
from agentenv.task import SPLITS, TaskSet

__all__ = ["main"]

_DESCRIPTION = """List environments, their task sets, splits and families.

Examples:
  agentenv list                        every environment
  agentenv list --ids test | head      task ids of a split, one a line, in the order that evaluation takes them
  agentenv list --json"""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv list`."""

    env: Annotated[str | None, tyro.conf.Positional] = None
    """Only this environment."""
    ids: str | None = None
    """Print the task ids of this split instead (train, val, test, ood)."""
    env_kwargs: str = "{}"
    """The environment's arguments, as a JSON object."""
    json: bool = False
    """Print as JSON."""


@dataclass(frozen=True)
class Listing:
    """What is told of an environment."""

    env: str
    tasks: str
    fingerprint: str
    max_turns: int
    splits: dict[str, int]
    families: dict[str, list[str]]


def main(argv: Sequence[str]) -> int:
    """Lists."""
    options = parse(Options, argv, "list", _DESCRIPTION)
    kwargs = environment_kwargs(options.env_kwargs, {})
    names = [options.env] if options.env else list(ENV_IDS)
    if options.ids is not None:
        if len(names) != 1:
            raise ConfigurationError(f"--ids needs one environment: agentenv list ENV --ids {options.ids}")
        return _print_ids(names[0], options.ids, kwargs)
    listings = [_describe(name, kwargs) for name in names]
    if options.json:
        print_json([asdict(listing) for listing in listings])
        return 0
    console = output_console()
    for listing in listings:
        console.print(plain(listing.env, "bold"))
        console.print(
            plain(f"tasks={listing.tasks!r}, fingerprint {listing.fingerprint[:12]}, max_turns={listing.max_turns}")
        )
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("split")
        table.add_column("tasks", justify="right")
        table.add_column("families")
        for split, count in listing.splits.items():
            table.add_row(split, str(count), plain(", ".join(listing.families[split])))
        console.print(table)
    return 0


def _task_set(env_id: str, kwargs: dict[str, Any]) -> tuple[TaskSet, int]:
    env = make_env(env_id, kwargs)
    try:
        base = base_of(env)
        return base.task_set, base.max_turns
    finally:
        env.close()


def _print_ids(env_id: str, split: str, kwargs: dict[str, Any]) -> int:
    if split not in SPLITS:
        raise ConfigurationError(f"split {split!r} is not one of {', '.join(SPLITS)}.{did_you_mean(split, SPLITS)}")
    task_set, _ = _task_set(env_id, kwargs)
    sys.stdout.writelines(f"{task_id}\n" for task_id in task_set.ids(split))
    return 0


def _describe(env_id: str, kwargs: dict[str, Any]) -> Listing:
    task_set, max_turns = _task_set(env_id, kwargs)
    families: dict[str, list[str]] = {}
    for split in SPLITS:
        # Ids that differ in their number only are of one family; making every task of a set would take minutes.
        one_of_each = {family_of_id(task_id): task_id for task_id in reversed(task_set.ids(split))}
        families[split] = sorted({family_of(task_set.task(task_id)) for task_id in one_of_each.values()})
    splits = {split: len(task_set.ids(split)) for split in SPLITS}
    return Listing(env_id, task_set.name, task_set.fingerprint, max_turns, splits, families)
