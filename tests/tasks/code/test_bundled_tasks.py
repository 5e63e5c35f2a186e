"""Every bundled code task is what its file promises, checked by running our own trusted solutions in this process."""

from __future__ import annotations

import sys

import pytest

from agentenv.tasks.code.base import CodeTask
from agentenv.tasks.code.bundled.loading import CATEGORIES, read_draft, task_of, task_paths
from agentenv.tasks.code.bundled.trusted import passed

TASKS = [task_of(read_draft(path)) for category in CATEGORIES for path in task_paths(category)]


def progress(task: CodeTask, files: dict[str, str]) -> float:
    """The share of hidden tests passed; 0 while a test that passed before fails."""
    results = list(zip(task.hidden, passed({**task.files, **files}, task.hidden), strict=True))
    if not all(held for test, held in results if test.keeps):
        return 0.0
    fixed = [held for test, held in results if not test.keeps]
    return sum(fixed) / len(fixed)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_scores_of_reference_start_and_wrong_solutions(task: CodeTask) -> None:
    assert all(passed({**task.files, **task.solution}, task.public))
    assert progress(task, dict(task.solution)) == 1.0
    assert progress(task, {}) == 0.0
    for other in task.alternatives:
        assert progress(task, dict(other)) == 1.0
    assert len(task.wrong) >= 2
    for why, files in zip(task.extra["why_wrong"], task.wrong, strict=True):
        assert 0.0 < progress(task, dict(files)) < 1.0, why


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_form(task: CodeTask) -> None:
    assert 2 <= len(task.public) <= 4
    assert len(task.hidden) >= 10
    shown = {repr(test.case) for test in task.public}
    hidden = [repr(test.case) for test in task.hidden]
    assert len(set(hidden)) == len(hidden), "two hidden tests are the same"
    assert not shown & set(hidden), "a public test is hidden, too"
    assert 80 <= len(task.statement) <= 1500
    names = {path.split("/")[0].removesuffix(".py") for path in task.entry}
    assert not names & set(sys.stdlib_module_names), "a file hides a module of the standard library"
