"""What the agent reads: a task, its files, public tests, how they went. Invariant: no hidden test is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentenv.envs.code.compare import shown
from agentenv.envs.code.grader import Result, written
from agentenv.tasks.code.base import ANYTHING, Calls, CodeTask, Harness, Keep, Program, Raises, Step, TestCase

__all__ = ["first_page", "shown_test", "report_of"]

_MOST_FILE_CHARS = 6000
_MOST_FILES_CHARS = 16_000
_MOST_TEST_CHARS = 600
_MOST_LISTED = 200


def first_page(task: CodeTask) -> str:
    """The statement, the files (long ones by name only), which to write, and the public tests."""
    parts = [task.statement.strip()]
    if task.files:
        parts.append("Files in /workspace:\n" + "\n".join(_listing(task.files)))
    if task.entry:
        parts.append(f"Yours to write: {', '.join(task.entry)}")
    if task.public:
        tests = [f"{test.id}: {shown_test(test)}" for test in task.public]
        parts.append("Public tests, which <test/> runs:\n" + "\n".join(tests))
    return "\n\n".join(parts)


def shown_test(test: TestCase) -> str:
    """A public test in a few lines.

    >>> from agentenv.tasks.code.base import call
    >>> shown_test(call("two", "double", 2, expected=4))
    'double(2) == 4'
    """
    case = test.case
    if isinstance(case, Calls):
        text = "; ".join(_step(step) for step in case.steps)
    elif isinstance(case, Program):
        words = " ".join(["python", case.path, *case.args])
        text = f"{words} reads {case.stdin!r} and prints {case.expected!r}"
    elif isinstance(case, Harness):
        text = case.code if case.part < 0 else f"assert {case.part + 1} of\n{case.code}"
    else:
        text = case.id
    return text if len(text) <= _MOST_TEST_CHARS else f"{text[: _MOST_TEST_CHARS - 3]}..."


def report_of(results: Mapping[str, Result]) -> str:
    """How public tests went, a line each.

    >>> print(report_of({"a": Result(True, "passed"), "b": Result(False, "wrong", "f(1) gave 2; expected 3")}))
    1 of 2 public tests passed
    a: passed
    b: failed (wrong): f(1) gave 2; expected 3
    """
    if not results:
        return "There are no public tests."
    passed = sum(result.passed for result in results.values())
    lines = [f"{passed} of {len(results)} public tests passed"]
    for name, result in results.items():
        told = f": {result.detail}" if result.detail else ""
        lines.append(f"{name}: passed" if result.passed else f"{name}: failed ({result.reason}){told}")
    return "\n".join(lines)


def _step(step: Step) -> str:
    expected, text = step.expected, written(step)
    if step.target == "=" and len(step.args) == 1 and isinstance(expected, Keep):
        return f"{expected.name} = {shown(step.args[0])}"
    if isinstance(expected, Keep):
        return f"{expected.name} = {text}"
    if isinstance(expected, Raises):
        return f"{text} raises {expected.name}"
    return text if expected is ANYTHING else f"{text} == {shown(expected)}"


def _listing(files: Mapping[str, str]) -> Sequence[str]:
    lines: list[str] = []
    left = _MOST_FILES_CHARS
    for number, (path, text) in enumerate(sorted(files.items())):
        if number >= _MOST_LISTED:
            lines.append(f"... and {len(files) - number} more")
            break
        if len(text) > min(left, _MOST_FILE_CHARS):
            lines.append(f"--- {path} ({len(text)} characters: read it with <run>)")
            continue
        left -= len(text)
        lines.append(f"--- {path}\n{text.rstrip()}" if text.strip() else f"--- {path} (empty)")
    return lines
