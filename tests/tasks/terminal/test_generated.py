"""The generated set: splits that share nothing, the same task in any process, and no answer in what agents see."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.task import SPLITS, Task
from agentenv.tasks.terminal import load
from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.generated import GeneratedTasks
from agentenv.tasks.terminal.scenario import DIFFICULTIES
from agentenv.tasks.terminal.table import table

TASKS = GeneratedTasks()
DOCS = Path(__file__).parents[3] / "docs" / "tasks-terminal.md"


def one_of_each() -> Iterator[str]:
    """An id of every family and difficulty."""
    for family in FAMILIES:
        for difficulty in DIFFICULTIES:
            yield f"{family.name}-{difficulty}-{'ood' if family.ood else 'train'}-7"


def test_at_least_sixteen_families_train_and_four_never_do() -> None:
    assert sum(not family.ood for family in FAMILIES) >= 16
    assert sum(family.ood for family in FAMILIES) >= 4


def test_family_names_differ_and_fit_into_ids() -> None:
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)
    assert not any("-" in name for name in names)


def test_splits_have_their_sizes() -> None:
    trained, ood = (sum(family.ood == flag for family in FAMILIES) for flag in (False, True))
    sizes = {split: len(TASKS.ids(split)) for split in SPLITS}
    assert sizes == {"train": trained * 3000, "val": trained * 150, "test": trained * 300, "ood": ood * 300}
    assert len(TASKS) == sum(sizes.values())


def test_ids_of_all_splits_differ() -> None:
    ids = [task_id for split in SPLITS for task_id in TASKS.ids(split)]
    assert len(set(ids)) == len(ids)


def test_a_prefix_of_ids_mixes_all_families_and_difficulties() -> None:
    kinds = {tuple(task_id.split("-")[:2]) for task_id in TASKS.ids("test")[: 3 * len(FAMILIES)]}
    assert len(kinds) == 3 * sum(not family.ood for family in FAMILIES)


@pytest.mark.parametrize("family", [family for family in FAMILIES if not family.ood], ids=lambda family: family.name)
def test_train_val_and_test_share_no_instruction(family: object) -> None:
    tasks = GeneratedTasks(families=[family.name], difficulty="easy")  # type: ignore[attr-defined]
    said = [
        {tasks.task(task_id).instruction for task_id in tasks.ids(split)[:12]} for split in ("train", "val", "test")
    ]
    assert len(set.union(*said)) == sum(map(len, said))


def test_ood_split_holds_ood_families_only() -> None:
    ood = {family.name for family in FAMILIES if family.ood}
    assert {task_id.split("-")[0] for task_id in TASKS.ids("ood")} == ood
    assert not ood & {task_id.split("-")[0] for split in ("train", "val", "test") for task_id in TASKS.ids(split)}


_PRINT_TASKS = """
import hashlib, json, sys
from agentenv.tasks.terminal.generated import GeneratedTasks
tasks = GeneratedTasks()
for task_id in sys.argv[1:]:
    kept = (tasks.task(task_id).to_json(), tasks.oracle(task_id), tasks.alternatives(task_id),
            tasks.near_misses(task_id), [check.name for check in tasks.grader(task_id).checks])
    print(task_id, hashlib.sha256(json.dumps(kept).encode()).hexdigest())
"""


def test_tasks_are_the_same_in_processes_with_different_hash_seeds() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_TASKS, *one_of_each()],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    }
    assert len(printed) == 1
    assert printed.pop().count("\n") == 3 * len(FAMILIES)


@pytest.mark.parametrize("task_id", list(one_of_each()))
def test_task_is_json_and_comes_back_equal(task_id: str) -> None:
    task = TASKS.task(task_id)
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize("task_id", list(one_of_each()))
def test_task_holds_nothing_of_the_grader(task_id: str) -> None:
    task = TASKS.task(task_id)
    assert set(task.data) == {"family", "files", "setup", "requires"}
    shown = json.dumps(task.to_json())
    for actions in (TASKS.oracle(task_id), *TASKS.near_misses(task_id)):
        assert not all(json.dumps(action)[1:-1] in shown for action in actions[:-1])
    assert "checks" not in task.to_json()


def test_grader_refuses_to_be_pickled_and_shows_nothing() -> None:
    grader = TASKS.grader("links-easy-test-0")
    assert repr(grader) == "GraderData(hidden)"
    with pytest.raises(ConfigurationError, match="never serialised"):
        pickle.dumps(grader)


def test_every_list_of_actions_ends_in_submit() -> None:
    task_id = "links-hard-val-3"
    ways = [TASKS.oracle(task_id), *TASKS.alternatives(task_id), *TASKS.near_misses(task_id)]
    assert all(way[-1] == "submit" and "submit" not in way[:-1] for way in ways)


def test_filters_do_not_change_a_task_or_the_fingerprint() -> None:
    narrow = GeneratedTasks(families=["links"], difficulty="hard")
    assert narrow.ids("train")[:2] == ("links-hard-train-0", "links-hard-train-1")
    assert narrow.task("links-hard-train-1") == TASKS.task("links-hard-train-1")
    assert narrow.fingerprint == TASKS.fingerprint
    assert narrow.ids("ood") == ()


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "links",
        "links-easy-train",
        "links-easy-train-1000",
        "links-easy-train--1",
        "links-easy-train-01",
        "links-easy-train-٣",
        "links-easy-ood-1",
        "disk_usage-easy-train-1",
        "links-trivial-train-1",
        "nothing-easy-train-1",
        "links-easy-train-1-2",
        "links-easy-train-" + "9" * 5000,
    ],
)
def test_unknown_id_is_refused_by_every_method(task_id: str) -> None:
    for method in (TASKS.task, TASKS.grader, TASKS.oracle, TASKS.alternatives, TASKS.near_misses):
        with pytest.raises(UnknownTaskError, match="generated"):
            method(task_id)


def test_near_unknown_names_are_answered_with_a_suggestion() -> None:
    with pytest.raises(UnknownTaskError, match="Did you mean 'links-easy-train-"):
        TASKS.task("link-easy-train-7")
    with pytest.raises(ConfigurationError, match="Did you mean 'archives'"):
        GeneratedTasks(families=["archive"])
    with pytest.raises(ConfigurationError, match="easy, medium, hard"):
        GeneratedTasks(difficulty="eassy")
    with pytest.raises(UnknownTaskError, match="Did you mean 'generated'"):
        load("generate")


def test_load_passes_its_filters_on() -> None:
    assert load("generated", families=["links"], difficulty="easy").ids("val")[0] == "links-easy-val-0"


def test_documented_table_is_the_one_that_the_command_prints() -> None:
    assert table() in DOCS.read_text(), "paste the output of: python -m agentenv.tasks.terminal.table"
