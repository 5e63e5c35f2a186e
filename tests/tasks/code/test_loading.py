"""Task sets by name: what is shown, what is kept, and how the set is cut."""

from __future__ import annotations

import json

import pytest

from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.task import SPLITS
from agentenv.tasks.code.loading import load


def test_splits_share_no_task_and_hold_all() -> None:
    tasks = load("bundled")
    ids = [task_id for split in SPLITS for task_id in tasks.ids(split)]
    assert len(ids) == len(set(ids)) == len(tasks)
    assert all(tasks.task(task_id).split == split for split in SPLITS for task_id in tasks.ids(split))


def test_what_is_shown_holds_no_solution_and_no_test() -> None:
    tasks = load("bundled")
    for split in SPLITS:
        for task_id in tasks.ids(split):
            shown = tasks.task(task_id).to_json()
            json.dumps(shown)
            assert set(shown["data"]) == {"files", "entry"}
            code = tasks.grader(task_id).hidden["code"]
            assert all(text not in shown["data"]["files"].values() for text in code.solution.values())


def test_oracle_writes_the_solution_and_near_misses_do_not() -> None:
    tasks = load("bundled?category=strings")
    code = tasks.code("strings-slug")
    ((path, text),) = code.solution.items()
    oracle = tasks.oracle("strings-slug")
    assert oracle == [f'<write path="{path}">\n{text}</write>', "<submit/>"]
    misses = tasks.near_misses("strings-slug")
    assert misses[0] == ["<submit/>"]
    assert len(misses) == 1 + len(code.wrong)
    assert oracle not in misses


def test_difficulty_and_category_cut_the_set_and_change_its_fingerprint() -> None:
    whole, strings, easy = load("bundled"), load("bundled?category=strings"), load("bundled", difficulty="1")
    assert len({whole.fingerprint, strings.fingerprint, easy.fingerprint}) == 3
    assert 0 < len(strings) < len(whole)
    assert {easy.task(task_id).difficulty for split in SPLITS for task_id in easy.ids(split)} == {"1"}
    assert load("bundled?difficulty=1") is easy


@pytest.mark.parametrize(
    "tasks",
    ["bundled?kategory=strings", "bundled?category=", "bundled?category=string", "bundled?x", "bundled?a=1&a=2"],
)
def test_options_that_mean_nothing_are_refused(tasks: str) -> None:
    with pytest.raises(ConfigurationError):
        load(tasks)


def test_unknown_sets_and_tasks_are_refused() -> None:
    with pytest.raises(UnknownTaskError):
        load("humaneval")
    with pytest.raises(UnknownTaskError, match="Did you mean 'strings-slug'"):
        load("bundled").task("strings-slugs")
    with pytest.raises(ConfigurationError):
        load("bundled?difficulty=1", difficulty="2")
