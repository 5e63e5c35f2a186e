from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys

import pytest

from agentenv import Check, GraderData, Task, TaskSet
from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.task import SPLITS, stable_rng
from tests.helpers.keys import KeyTasks

SECRET = "the hidden answer"


def grader():
    return GraderData([Check("c", 1, lambda view: 1.0)], {"answer": SECRET})


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, lambda g: f"{[g]}", lambda g: f"{(g,)!s}"])
def test_grader_data_is_never_printed(show):
    assert SECRET not in show(grader())
    assert "hidden" in show(grader())


@pytest.mark.parametrize("leak", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars])
def test_grader_data_is_never_serialised_or_copied(leak):
    with pytest.raises((ConfigurationError, TypeError)):
        leak(grader())


def test_an_exception_that_holds_grader_data_does_not_show_it():
    with pytest.raises(ValueError) as caught:
        raise ValueError(grader())
    assert SECRET not in str(caught.value)


def test_a_task_is_json_and_comes_back_equal():
    task = Task("t", "do it", {"files": [{"path": "a", "text": "é"}]}, "ood", "hard")
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


def test_a_task_of_no_split_is_refused():
    with pytest.raises(ConfigurationError, match="dev"):
        Task("t", "do it", {}, "dev")


def test_len_counts_every_split_and_splits_share_nothing():
    tasks = KeyTasks()
    ids = [task_id for split in SPLITS for task_id in tasks.ids(split)]
    assert len(tasks) == len(ids) == len(set(ids))
    assert all(tasks.task(task_id).split == split for split in SPLITS for task_id in tasks.ids(split))


class NoTasks(KeyTasks):
    def ids(self, split):
        return []


def test_an_empty_split_cannot_be_sampled():
    with pytest.raises(UnknownTaskError, match="'keys' has no task in split 'val'"):
        NoTasks().sample(stable_rng(0), "val")


def test_a_set_without_an_oracle_says_so():
    with pytest.raises(ConfigurationError, match="no oracle"):
        TaskSet.oracle(KeyTasks(), "keys-train-0")


def test_a_stable_generator_depends_on_its_key_only():
    code = "from agentenv.task import stable_rng as r; print(r('a', 1, ['é']).integers(1 << 60, size=3))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("0", "7")
    }
    assert printed == {f"{stable_rng('a', 1, ['é']).integers(1 << 60, size=3)}\n"}
    assert stable_rng("a", 1).integers(1 << 60) != stable_rng("a", 2).integers(1 << 60)
    assert stable_rng("a1").integers(1 << 60) != stable_rng("a", 1).integers(1 << 60)
