"""How many mutants of each reference solution the hidden tests kill: `python -m agentenv.tasks.code.bundled.mutation`.

Each mutant runs in a forked process of its own, with limits on time and memory; one that runs out of either is killed,
like one that fails a test. Mutants that a task lists as equivalent do not count; listing one that a test kills is an
error.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from agentenv.errors import DataFileError
from agentenv.tasks.code.base import CodeTask, Files
from agentenv.tasks.code.bundled.format import Draft
from agentenv.tasks.code.bundled.loading import CATEGORIES, read_draft, task_of, task_paths
from agentenv.tasks.code.bundled.mutants import mutants
from agentenv.tasks.code.bundled.trusted import passed

__all__ = ["WANTED", "Score", "mutation_score"]

#: The share of mutants that the hidden tests of every task must kill.
WANTED = 0.9
_LIMIT_S = 2
_MEMORY_BYTES = 2 << 30
_SURVIVED = 0
_KILLED = 3


@dataclass(frozen=True)
class Score:
    """What became of a task's mutants: how many there were, not counting equivalent ones, and which survived."""

    task_id: str
    total: int
    survivors: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of mutants that were killed."""
        return 1 - len(self.survivors) / self.total


def mutation_score(draft: Draft) -> Score:
    """Runs every mutant of a task's reference solution against its hidden tests.

    Raises:
        DataFileError: If a mutant that the task lists as equivalent is killed, or is none.
    """
    task = task_of(draft)
    names: list[str] = []
    survivors: list[str] = []
    several = len(draft.reference) > 1
    for path in draft.reference:
        for mutant in mutants(draft.reference[path]):
            name = f"{path} {mutant.name}" if several else mutant.name
            names.append(name)
            if _survives(task, {**task.files, **task.solution, path: mutant.source}):
                survivors.append(name)
    false = [name for name in draft.equivalent if name not in survivors]
    if false:
        raise DataFileError(f"{draft.name}: not equivalent, or no mutant: {false}")
    left = tuple(name for name in survivors if name not in draft.equivalent)
    return Score(draft.name, len(names) - len(draft.equivalent), left)


def _survives(task: CodeTask, files: Files) -> bool:
    """Whether a mutant passes all hidden tests."""
    pid = os.fork()
    if pid == 0:
        code = _KILLED
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LIMIT_S)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = _SURVIVED if all(passed(files, task.hidden)) else _KILLED
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return status == _SURVIVED


def main(names: Sequence[str]) -> int:
    """Prints a line a task, for the named tasks (parts of ids) or all; exit code 1 if one kills too few."""
    low = 0
    total = killed = 0
    for path in [path for category in CATEGORIES for path in task_paths(category)]:
        draft = read_draft(path)
        if names and not any(name in draft.name for name in names):
            continue
        score = mutation_score(draft)
        total += score.total
        killed += score.total - len(score.survivors)
        low += score.share < WANTED
        mark = "" if score.share >= WANTED else "  TOO FEW"
        sys.stdout.write(f"{score.task_id:40} {score.total:4} mutants {score.share:7.1%}{mark}\n")
        for name in score.survivors:
            sys.stdout.write(f"    survives: {name}\n")
        sys.stdout.flush()
    if total:
        sys.stdout.write(f"all: {killed} of {total} mutants killed ({killed / total:.1%})\n")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
