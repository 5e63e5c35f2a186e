"""Grades a workspace: hidden inputs go in one at a time, plain results come out, and are compared here.

Invariant: no expected value ever leaves this process, and every test that was asked for is reported, once. All that a
submission can do is make its own tests fail: it is given an input, and what it gives back, by whatever means, is the
expected value or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentenv.envs.code import wire
from agentenv.envs.code.compare import same, same_output, shown
from agentenv.envs.code.harness import instrument
from agentenv.envs.code.nodes import run_nodes
from agentenv.envs.code.pool import GRACE_S, Box, Pool, start
from agentenv.errors import SandboxLostError
from agentenv.progress import RunResult
from agentenv.tasks.code.base import (
    ANYTHING,
    Calls,
    Compare,
    Harness,
    Keep,
    NodeTest,
    Program,
    Raises,
    Ref,
    Step,
    TestCase,
)

__all__ = ["Grader", "Limits", "Result", "Run", "written"]

#: Runs a shell command on a throw-away copy of the workspace (`StateView.run`).
Run = Callable[[str, float], RunResult]
_PROGRAM_OUTPUT = 1 << 20
_TRUSTED = {"readme.txt": b"Test code runs here; no submission does.\n"}


@dataclass(frozen=True)
class Limits:
    """What a suite may use.

    Args:
        test_s: Seconds for one test, where it has no limit of its own; importing the module is bounded by it apart.
        suite_s: Seconds for all; tests that are not run by then fail.
        memory_bytes: Memory of all processes of the suite.
    """

    test_s: float = 2.0
    suite_s: float = 20.0
    memory_bytes: int = 512 << 20


@dataclass(frozen=True)
class Result:
    """How one test went.

    Attributes:
        passed: Whether it passed.
        reason: "passed", "wrong", "raised", "timeout", "died", "flood", "noise" (it answered out of turn), "broken"
            (the module cannot be imported), "unplain" (the result is no plain value), "exit code", "suite limit",
            "not reported" (by a repository's runner).
        detail: What happened, in a line, expected values included: for public tests only.
    """

    passed: bool
    reason: str
    detail: str = ""


class _Failed(Exception):
    """Why a test fails."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class Grader:
    """Grades workspaces, from any thread or process; one may be shared.

    Args:
        pool: Where sandboxes come from; None for one of its own.

    >>> from agentenv.tasks.code.base import call
    >>> with Grader() as grader:
    ...     results = grader.grade({"solution.py": b"def double(x): return x * 2"}, [
    ...         call("two", "double", 2, expected=4), call("text", "double", "a", expected="b")])
    >>> {name: (result.passed, result.reason) for name, result in results.items()}
    {'two': (True, 'passed'), 'text': (False, 'wrong')}
    """

    def __init__(self, pool: Pool | None = None) -> None:
        self._pool = pool if pool is not None else Pool()
        self._owns_pool = pool is None

    def grade(
        self,
        files: Mapping[str, bytes],
        tests: Sequence[TestCase],
        limits: Limits | None = None,
        run: Run | None = None,
    ) -> dict[str, Result]:
        """The result of every test, by its id, in the tests' order.

        Args:
            files: The workspace.
            tests: What to run. Their ids differ.
            limits: What the suite may use.
            run: Runs a command on a copy of the workspace: needed where there are `NodeTest`s.

        Raises:
            InfrastructureError: If the platform failed: nothing is known of the submission.
        """
        limits = limits if limits is not None else Limits()
        for last in (False, True):
            try:
                with _Suite(self._pool, files, limits, blame_all=last) as suite:
                    return suite.results(tests, run)
            except SandboxLostError:
                if last:
                    raise
        raise SandboxLostError("a grading sandbox was lost twice")

    def close(self) -> None:
        """Ends the sandboxes that it keeps started; idempotent, never raises."""
        if self._owns_pool:
            self._pool.close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Suite:
    """One run of tests on one workspace, and the sandboxes that it uses."""

    def __init__(self, pool: Pool, files: Mapping[str, bytes], limits: Limits, *, blame_all: bool) -> None:
        self.pool = pool
        self.files = dict(files)
        self.limits = limits
        # Whether a sandbox killed from outside is the submission's fault: twice in a row is no accident.
        self.blame_all = blame_all
        self.box: Box | None = None
        self.trusted: Box | None = None
        self.imported: set[str] = set()
        self.broken: dict[str, _Failed] = {}
        self.serial = 0
        self.deadline = 0.0

    def __enter__(self) -> _Suite:
        return self

    def __exit__(self, *exc: object) -> None:
        for box in (self.box, self.trusted):
            if box is not None:
                box.close()
        self.box = self.trusted = None

    def results(self, tests: Sequence[TestCase], run: Run | None) -> dict[str, Result]:
        """The result of every test."""
        found = {test.id: Result(False, "suite limit") for test in tests}
        self.deadline = time.monotonic() + self.limits.suite_s
        found |= run_nodes(
            [test for test in tests if isinstance(test.case, NodeTest)], self.limits.suite_s, run, Result
        )
        harnesses: dict[Harness, dict[int, Result]] = {}
        for test in tests:
            if isinstance(test.case, NodeTest):
                continue
            limit_s = self.limits.test_s if test.limit_s is None else test.limit_s
            try:
                if self._left() <= 0:
                    raise _Failed("suite limit")
                if isinstance(test.case, Calls):
                    self._calls(test.case, test.compare, limit_s)
                elif isinstance(test.case, Program):
                    self._program(test.case, limit_s)
                else:
                    whole = replace(test.case, part=-1)
                    if whole not in harnesses:
                        harnesses[whole] = self._harness(whole, limit_s)
                    found[test.id] = harnesses[whole].get(test.case.part, Result(False, "wrong"))
                    continue
                found[test.id] = Result(True, "passed")
            except _Failed as why:
                found[test.id] = Result(False, why.reason, why.detail)
        return found

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    # The submission's sandbox.

    def _send(self, request: list[Any], limit_s: float) -> tuple[str, bytes]:
        """Asks the submission's sandbox, started if need be; a dead one is given up."""
        if self.box is None:
            self.box = start(self.pool, self.files, self.limits.memory_bytes)
            self.imported.clear()
        kind, answer = self.box.ask(request, limit_s + GRACE_S)
        if kind == "lost":
            box, self.box = self.box, None
            outside = not self.blame_all and answer == b"died" and box.killed_from_outside()
            box.close()
            if outside:
                raise SandboxLostError("a grading sandbox was killed from outside")
            raise _Failed(answer.decode(), "the sandbox ended")
        if kind == "over":
            self.imported.clear()
            reason, _, status = answer.decode("ascii", "replace").partition(" ")
            raise _Failed(reason, _end(reason, status, limit_s))
        return kind, answer

    def _ask(self, message: list[Any], limit_s: float) -> list[Any]:
        """Has the submission's process do one thing."""
        limit_s = min(limit_s, self._left())
        if limit_s <= 0:
            raise _Failed("timeout" if self._left() > 0 else "suite limit", "the time limit was hit")
        body = wire.encode(message, _MOST_MESSAGE)
        kind, answer = self._send(["ask", body, limit_s, wire.MAX_BYTES + 256], limit_s)
        try:
            heard = wire.decode(answer, max_bytes=wire.MAX_BYTES + 256, remotes=True, numpy=True)
        except wire.WireError as fault:
            raise _Failed("unplain", f"the result is refused: {fault}") from None
        if kind != "answer" or type(heard) is not list or not heard or heard[0] not in _SHAPES:
            raise _Failed("noise", "something else answered")
        if [type(part) for part in heard[1:]] != _SHAPES[heard[0]] and heard[0] != "value":
            raise _Failed("noise", "something else answered")
        if heard[0] == "value" and len(heard) != 2:
            raise _Failed("noise", "something else answered")
        return heard

    def _import(self, module: str, limit_s: float) -> None:
        """Imports a module in the submission's process; what cannot be imported is not tried again."""
        if module in self.broken:
            raise _Failed(*self.broken[module].args)
        if self.box is not None and module in self.imported:
            return
        try:
            heard = self._ask(["import", module], limit_s)
            if heard[0] == "broken":
                raise _Failed("broken", f"importing {module} raised {_error(heard)}")
        except _Failed as why:
            self.broken[module] = why
            raise
        self.imported.add(module)

    # Kinds of tests. Each returns, or raises why it fails.

    def _calls(self, case: Calls, rule: Compare, limit_s: float) -> None:
        self._import(case.module, limit_s)
        self.serial += 1
        ends = time.monotonic() + limit_s
        for step in case.steps:
            self._step(case.module, step, rule, ends)

    def _step(self, module: str, step: Step, rule: Compare, ends: float) -> None:
        target = step.target
        if target.startswith("$"):
            name, dot, rest = target[1:].partition(".")
            target = f"${name}_{self.serial}{dot}{rest}"
        keep = f"{step.expected.name}_{self.serial}" if isinstance(step.expected, Keep) else ""
        args, kwargs = self._named(list(step.args)), self._named(dict(step.kwargs))
        ours = "unplain" if step.expected is ANYTHING else ""
        try:
            heard = self._ask(["call", module, target, args, kwargs, step.get, keep, ours], ends - time.monotonic())
        except _Failed as why:
            raise _Failed(why.reason, f"{written(step)}: {why.detail}") from None
        self._judge(step, heard, rule)

    def _judge(self, step: Step, heard: list[Any], rule: Compare) -> None:
        expected = step.expected
        if heard[0] == "raised":
            if isinstance(expected, Raises) and expected.name in heard[1] and expected.contains in heard[2]:
                return
            wanted = f"; expected {_wanted(expected)}" if not _is_free(expected) else ""
            raise _Failed("raised", f"{written(step)} raised {_error(heard)}{wanted}")
        if heard[0] == "unplain":
            raise _Failed("unplain", f"{written(step)} gave no plain value: {heard[1]}")
        if (heard[0] == "done") != isinstance(expected, Keep):
            raise _Failed("noise", "something else answered")
        if _is_free(expected):
            return
        got = heard[1]
        if isinstance(expected, Raises):
            raise _Failed("wrong", f"{written(step)} gave {shown(got)}; expected {_wanted(expected)}")
        if isinstance(got, wire.Remote):
            raise _Failed("unplain", f"{written(step)} gave no plain value")
        if not same(got, expected, rule):
            more = "" if rule.accepts is None else " (or another right answer)"
            raise _Failed("wrong", f"{written(step)} gave {shown(got)}; expected {shown(expected)}{more}")

    def _named(self, value: Any) -> Any:
        """The value with its references as names in the submission's process."""
        if isinstance(value, Ref):
            return wire.Remote(f"{value.name}_{self.serial}")
        if type(value) in (list, tuple):
            return type(value)(self._named(item) for item in value)
        if type(value) is dict:
            return {key: self._named(item) for key, item in value.items()}
        return value

    def _program(self, case: Program, limit_s: float) -> None:
        limit_s = min(limit_s, self._left())
        stdin = case.stdin.encode("utf-8", "surrogatepass")
        most = _PROGRAM_OUTPUT + 2 * len(case.expected.encode("utf-8", "surrogatepass"))
        self.imported.clear()
        kind, answer = self._send(["run", case.path, list(case.args), stdin, limit_s, most], limit_s)
        try:
            heard = wire.decode(answer, max_bytes=most + 8192)
        except wire.WireError:
            heard = None
        if kind != "ended" or type(heard) is not list or [type(part) for part in heard] != [int, bytes, bytes]:
            raise _Failed("noise", "something else answered")
        code, out, err = heard
        given = f"stdin {shown(case.stdin)}"
        if code != case.exit_code:
            told = f": {err.decode('utf-8', 'replace').strip()[-300:]}" if err else ""
            raise _Failed("exit code", f"{given}: exit code {code}, expected {case.exit_code}{told}")
        output = out.decode("utf-8", "replace")
        if not same_output(output, case.expected, case.rule):
            raise _Failed("wrong", f"{given}: printed {shown(output)}; expected {shown(case.expected)}")

    def _harness(self, case: Harness, limit_s: float) -> dict[int, Result]:
        """Runs test code in a sandbox of its own, and what it asks for in the submission's."""
        code, count = instrument(case.code)
        self.serial += 1
        try:
            self._import(case.module, limit_s)
        except _Failed as why:
            return dict.fromkeys(range(-1, count), Result(False, why.reason, why.detail))
        if self.trusted is None:
            self.trusted = start(self.pool, _TRUSTED, self.limits.memory_bytes)
        message: list[Any] = ["harness", case.setup, code, list(case.names)]
        ends = time.monotonic() + limit_s
        worst = _Worst()
        while True:
            left = max(0.05, ends - time.monotonic())
            ask = ["ask", wire.encode(message, _MOST_MESSAGE), left, _MOST_MESSAGE]
            kind, answer = self.trusted.ask(ask, left + GRACE_S)
            if kind != "answer":
                self.trusted.close()
                self.trusted = None
                return dict.fromkeys(range(-1, count), Result(False, "timeout", "the tests took too long"))
            heard = wire.decode(answer, max_bytes=_MOST_MESSAGE, remotes=True)
            if heard[0] != "wants":
                break
            message = self._on_behalf(case.module, heard, ends, worst)
        notes, error = (heard[1], heard[2]) if heard[0] == "done" else ({}, f"{heard[1:]}")
        failed = Result(False, worst.reason or "wrong", worst.detail or error or "an assertion does not hold")
        fine = not error and not worst.fatal
        # An assert that the code never came to is what the benchmark makes of it: no reason to fail.
        held = {-1: fine, **{at: notes.get(at, fine) for at in range(count)}}
        return {at: Result(True, "passed") if ok else failed for at, ok in held.items()}

    def _on_behalf(self, module: str, wants: list[Any], ends: float, worst: _Worst) -> list[Any]:
        """Asks the submission what test code wants to know; what to tell it."""
        _, target, args, kwargs, get = wants
        worst.calls += 1
        name = f"h{self.serial}_{worst.calls}"
        try:
            self._import(module, ends - time.monotonic())
            heard = self._ask(["call", module, target, args, kwargs, get, "", name], ends - time.monotonic())
        except _Failed as why:
            worst.note(why, fatal=True)
            return ["raised", ["SubmissionFailed", "Exception"], why.reason]
        if heard[0] == "value":
            return ["value", heard[1]]
        if heard[0] == "raised":
            worst.note(_Failed("raised", f"{target} raised {_error(heard)}"))
            return ["raised", heard[1], heard[2]]
        worst.note(_Failed("unplain", f"{target} gave no plain value"))
        return ["raised", ["SubmissionFailed", "Exception"], heard[0]]


@dataclass
class _Worst:
    """What went wrong first while test code was served. `fatal`: the submission's process was lost."""

    reason: str = ""
    detail: str = ""
    fatal: bool = False
    calls: int = field(default=0)

    def note(self, why: _Failed, *, fatal: bool = False) -> None:
        self.fatal = self.fatal or fatal
        if not self.reason:
            self.reason, self.detail = why.reason, why.detail


_MOST_MESSAGE = 32 << 20
# What may follow each kind of answer.
_SHAPES: dict[str, list[type]] = {
    "done": [],
    "value": [],
    "unplain": [str],
    "raised": [list, str, str],
    "broken": [list, str, str],
}


def _is_free(expected: Any) -> bool:
    return expected is ANYTHING or isinstance(expected, Keep)


def _wanted(expected: Any) -> str:
    return f"{expected.name} to be raised" if isinstance(expected, Raises) else shown(expected)


def written(step: Step) -> str:
    """The step as it would stand in a program."""
    if step.get:
        return step.target
    parts = [_argument(value) for value in step.args]
    parts += [f"{name}={_argument(value)}" for name, value in step.kwargs.items()]
    return f"{step.target}({', '.join(parts)})"


def _argument(value: Any) -> str:
    return value.name if isinstance(value, Ref) else shown(value)


def _error(heard: list[Any]) -> str:
    name = heard[1][0] if heard[1] and type(heard[1][0]) is str else "an exception"
    said = f": {heard[2]}" if heard[2] else ""
    where = f" (at {heard[3]})" if heard[3] else ""
    return f"{name[:100]}{said[:300]}{where[:200]}"


def _end(reason: str, status: str, limit_s: float) -> str:
    if reason == "timeout":
        return f"the time limit of {limit_s:.2g} s was hit"
    if reason == "died":
        return f"the process ended by itself{f' with {status}' if status else ''}"
    return {"flood": "it gave back too much", "noise": "something answered out of turn"}.get(reason, reason)
