"""The bundled task set: practical Python tasks of our own, read from the text files beside this module.

Invariant: a task is decided by its file alone; its split by a hash of its id, but for the one category that is `ood`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from agentenv.errors import ConfigurationError, DataFileError, did_you_mean
from agentenv.tasks.code.base import BANDS, CodeTask, CodeTasks, Compare, TestCase
from agentenv.tasks.code.bundled.cases import WrittenCase, parse_cases
from agentenv.tasks.code.bundled.format import TESTS, Draft, read

__all__ = ["CATEGORIES", "BundledTasks", "compare_of", "module_of", "read_draft", "task_of", "task_paths"]

#: Folders of tasks, and the tag that their tasks carry.
CATEGORIES: Mapping[str, str] = {
    "strings": "strings",
    "structures": "data-structures",
    "algorithms": "algorithms",
    "parsing": "parsing",
    "numerics": "numerics",
    "classes": "classes",
    "bugs": "bug-fixing",
    "refactoring": "refactoring",
    "packages": "package",
}
_OOD = "numerics"
_ROOT = Path(__file__).resolve().parent
# Of 100 hash buckets: 60 train, 15 val, 25 test.
_BOUNDS = ((60, "train"), (75, "val"), (100, "test"))


class BundledTasks(CodeTasks):
    """Python tasks of our own, in nine categories and five difficulty bands.

    Args:
        category: Only tasks of this folder of `CATEGORIES`; None for all.
        difficulty: Only tasks of this band, "1" (easiest) to "5"; None for all.

    Raises:
        ConfigurationError: On an argument that cannot be used.

    >>> tasks = BundledTasks(category="strings")
    >>> tasks.task("strings-slug").difficulty
    '1'
    """

    name = "bundled"

    def __init__(self, category: str | None = None, difficulty: str | None = None) -> None:
        if category is not None and category not in CATEGORIES:
            raise ConfigurationError(
                f"category {category!r} is not one of {', '.join(CATEGORIES)}.{did_you_mean(category, CATEGORIES)}"
            )
        if difficulty is not None and difficulty not in BANDS:
            raise ConfigurationError(f"difficulty {difficulty!r} is not one of {', '.join(BANDS)}")
        self._categories = tuple(CATEGORIES) if category is None else (category,)
        self._difficulty = difficulty

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the chosen tasks' files."""
        digest = hashlib.sha256()
        for task_id in sorted(self._chosen):
            digest.update(task_id.encode() + b"\0" + _path(task_id).read_bytes() + b"\0")
        return digest.hexdigest()

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split, in the order of the categories and of their names."""
        return tuple(task_id for task_id, task in self._chosen.items() if task.split == split)

    def code(self, task_id: str) -> CodeTask:
        """The whole task, hidden tests and reference solution included: for graders only."""
        if task_id not in self._chosen:
            raise self.unknown(task_id)
        return self._chosen[task_id]

    @cached_property
    def _chosen(self) -> Mapping[str, CodeTask]:
        tasks = [task_of(read_draft(path)) for name in self._categories for path in task_paths(name)]
        return {task.id: task for task in tasks if self._difficulty in (None, task.difficulty)}


def task_paths(category: str) -> list[Path]:
    """The files of a category, in the order of their names."""
    return sorted((_ROOT / category).glob("*.txt"))


def read_draft(path: Path) -> Draft:
    """A task's file, as it stands."""
    draft = read(path)
    if draft.head["difficulty"] not in BANDS:
        raise DataFileError(f"{path.name}: difficulty {draft.head['difficulty']!r} is not one of {', '.join(BANDS)}")
    return Draft(**{**vars(draft), "name": f"{path.parent.name}-{path.stem.replace('_', '-')}"})


def module_of(draft: Draft) -> str:
    """The module in which a task's tests look for names, unless they say otherwise."""
    first = next(iter(draft.reference))
    return draft.head.get("module", first.removesuffix(".py").removesuffix("/__init__").replace("/", "."))


def compare_of(draft: Draft) -> Compare:
    """What counts as equal in a task's tests: ``compare: rel_tol=1e-9 int_float`` in its head."""
    settings: dict[str, object] = {}
    for word in draft.head.get("compare", "").split():
        name, given, value = word.partition("=")
        settings[name] = float(value) if given else True
    try:
        return Compare(**settings)  # type: ignore[arg-type]
    except TypeError as error:
        raise DataFileError(f"{draft.name}: compare: {draft.head['compare']!r} has a name that is not known") from error


def task_of(draft: Draft) -> CodeTask:
    """The task that a file describes.

    Raises:
        DataFileError: If a test has no expected value yet (run `agentenv.tasks.code.bundled.freeze`).
    """
    category = draft.name.partition("-")[0]
    compare = compare_of(draft)
    tests: dict[str, tuple[TestCase, ...]] = {}
    for section in TESTS:
        cases = parse_cases(draft.tests.get(section, ()), module_of(draft))
        if any(case.open for case in cases):
            raise DataFileError(f"{draft.name}: a {section} test has no expected value: freeze the task first")
        tests[section] = _cases(section, cases, compare)
    files = dict(draft.start)
    entry = tuple(sorted(path for path in {**files, **draft.reference} if path.endswith(".py")))
    return CodeTask(
        id=draft.name,
        statement=draft.instruction,
        files=files,
        entry=entry,
        public=tests["public"],
        hidden=tests["hidden"] + tests["kept"],
        solution=_whole(entry, files, draft.reference),
        alternatives=tuple(_whole(entry, files, {**draft.reference, **other}) for other in draft.alternatives),
        wrong=tuple(_whole(entry, files, changed) for _, changed in draft.wrong),
        split=_split_of(draft.name, category),
        difficulty=draft.head["difficulty"],
        tags=(CATEGORIES[category],),
        extra={"title": draft.head["title"], "why_wrong": [why for why, _ in draft.wrong]},
    )


def _cases(section: str, cases: Sequence[WrittenCase], compare: Compare) -> tuple[TestCase, ...]:
    keeps = section == "kept"
    return tuple(
        TestCase(f"{section}-{number}", case.case, compare, keeps=keeps) for number, case in enumerate(cases, start=1)
    )


def _whole(entry: Sequence[str], files: Mapping[str, str], changed: Mapping[str, str]) -> dict[str, str]:
    return {path: changed.get(path, files.get(path, "")) for path in entry}


def _split_of(task_id: str, category: str) -> str:
    if category == _OOD:
        return "ood"
    bucket = int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:4], "big") % 100
    return next(split for bound, split in _BOUNDS if bucket < bound)


def _path(task_id: str) -> Path:
    category, _, name = task_id.partition("-")
    return _ROOT / category / f"{name.replace('-', '_')}.txt"
