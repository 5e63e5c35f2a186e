"""Runs tests on files in this very process: for our own solutions and their mutants only, never for an agent's files.

Invariant: nothing of the files outlives `workspace`: no module, no path, no directory.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import importlib
import math
import operator
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError
from agentenv.tasks.code.base import ANYTHING, Calls, Compare, Files, Keep, Program, Raises, Ref, Step, TestCase

__all__ = ["Outcome", "equal", "outcomes", "passed", "workspace"]

_PROGRAM_LIMIT_S = 10.0


class Outcome:
    """What a step gave: a value, or an exception."""

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error

    def fits(self, expected: Any, compare: Compare) -> bool:
        """Whether it is what the step expects."""
        if isinstance(expected, Raises):
            classes = [kind.__name__ for kind in type(self.error).__mro__] if self.error else []
            return expected.name in classes and expected.contains in str(self.error)
        if self.error is not None:
            return False
        return expected is ANYTHING or isinstance(expected, Keep) or equal(self.value, expected, compare)


@contextlib.contextmanager
def workspace(files: Files) -> Iterator[Path]:
    """A directory with the files, first on the import path; modules of the same names are set aside meanwhile."""
    names = {Path(path).parts[0].removesuffix(".py") for path in files}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in names}
    wrote, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield Path(folder)
        finally:
            sys.path.remove(folder)
            sys.path_importer_cache.pop(folder, None)
            for name in [name for name in sys.modules if name.split(".")[0] in names]:
                del sys.modules[name]
            sys.modules.update(aside)
            sys.dont_write_bytecode = wrote


def passed(files: Files, tests: Sequence[TestCase]) -> list[bool]:
    """Which tests the files pass."""
    with workspace(files) as folder:
        return [_passes(test, folder) for test in tests]


def outcomes(case: Calls) -> Iterator[Outcome]:
    """What each step gives, one after the other, in the workspace that is open now; a failed import is an outcome."""
    try:
        module = importlib.import_module(case.module)
    except Exception as error:
        yield Outcome(error=error)
        return
    kept: dict[str, Any] = {}
    for step in case.steps:
        try:
            outcome = Outcome(_take(step, module, kept))
        except Exception as error:
            outcome = Outcome(error=error)
        if isinstance(step.expected, Keep) and outcome.error is None:
            kept[step.expected.name] = outcome.value
        yield outcome


def printed(program: Program, folder: Path) -> tuple[str, int]:
    """What a program prints, and its exit code."""
    command = [sys.executable, "-B", program.path, *program.args]
    done = subprocess.run(
        command, cwd=folder, input=program.stdin, capture_output=True, text=True, timeout=_PROGRAM_LIMIT_S, check=False
    )
    return done.stdout, done.returncode


def equal(value: Any, expected: Any, compare: Compare) -> bool:
    """Whether a plain value is the expected one: the very same types at every depth, but for what `compare` allows."""
    if compare.int_float and {type(value), type(expected)} == {int, float}:
        value, expected = float(value), float(expected)
    if compare.sequences and {type(value), type(expected)} == {list, tuple}:
        value, expected = list(value), list(expected)
    if type(value) is not type(expected):
        return False
    if isinstance(expected, float):
        if math.isnan(value) or math.isnan(expected) or math.isinf(expected):
            return (math.isnan(value) and math.isnan(expected)) or value == expected
        return math.isclose(value, expected, rel_tol=compare.rel_tol, abs_tol=compare.abs_tol)
    if isinstance(expected, (list, tuple)):
        if len(value) != len(expected):
            return False
        return all(equal(one, other, compare) for one, other in zip(value, expected, strict=True))
    if isinstance(expected, dict):
        if len(value) != len(expected):
            return False
        return all(key in value and equal(value[key], item, compare) for key, item in expected.items())
    return bool(value == expected)


def _passes(test: TestCase, folder: Path) -> bool:
    if isinstance(test.case, Program):
        stdout, code = printed(test.case, folder)
        return code == test.case.exit_code and _lines(stdout) == _lines(test.case.expected)
    if not isinstance(test.case, Calls):
        raise ConfigurationError(f"test {test.id!r}: bundled tests are calls and programs only")
    steps = 0
    for step, outcome in zip(test.case.steps, outcomes(test.case), strict=False):
        if not outcome.fits(step.expected, test.compare):
            return False
        steps += 1
    return steps == len(test.case.steps)


def _take(step: Step, module: types.ModuleType, kept: Mapping[str, Any]) -> Any:
    args = [_filled(value, kept) for value in step.args]
    if step.target == "=":
        return args[0]
    target = _resolve(step.target, module, kept)
    return target if step.get else target(*args, **{name: _filled(value, kept) for name, value in step.kwargs.items()})


def _resolve(target: str, module: types.ModuleType, kept: Mapping[str, Any]) -> Any:
    first, *rest = target.split(".")
    if first.startswith("$"):
        found = kept[first[1:]]
    elif hasattr(module, first):
        found = getattr(module, first)
    elif first == "operator":
        found = operator
    else:
        found = getattr(builtins, first)
    for name in rest:
        found = getattr(found, name)
    return found


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    """An argument with its references filled in; everything else is a copy of its own."""
    if isinstance(value, Ref):
        return kept[value.name]
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, kept) for item in value)
    if isinstance(value, dict):
        return {key: _filled(item, kept) for key, item in value.items()}
    return copy.deepcopy(value)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
