"""What a code task is made of: files, public tests that the agent may see and run, and hidden tests that decide.

Invariant: a test is data. Inputs go to the submission, one at a time; expected values never leave the grader, which
compares plain values of exact types, with the leniency that the test itself declares and no other.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from agentenv.errors import ConfigurationError
from agentenv.task import SPLITS, GraderData, Task, TaskSet

__all__ = [
    "ANYTHING",
    "EXACT",
    "BANDS",
    "Calls",
    "Case",
    "CodeTask",
    "CodeTasks",
    "Compare",
    "Files",
    "Harness",
    "Keep",
    "NodeTest",
    "Program",
    "Raises",
    "Ref",
    "Step",
    "TestCase",
    "call",
    "raises",
]

Files = Mapping[str, str]

#: Difficulty bands, easiest first.
BANDS = ("1", "2", "3", "4", "5")


class _Anything:
    """The type of `ANYTHING`."""

    def __repr__(self) -> str:
        return "ANYTHING"

    def __reduce__(self) -> str:
        return "ANYTHING"


#: As a step's expected value: it must return, whatever it returns (an object that is no plain value, too).
ANYTHING = _Anything()


@dataclass(frozen=True)
class Ref:
    """As an argument: the object that an earlier step of the same test kept under this name."""

    name: str


@dataclass(frozen=True)
class Keep:
    """Where a step's result goes instead of coming back: an object to use in later steps."""

    name: str


@dataclass(frozen=True)
class Raises:
    """As an expected value: the step raises an exception of this class, or of a class derived from it, by name.

    Args:
        name: The class's name without its module: "ValueError", or that of a class which the submission defines.
        contains: A text that its message (`str(error)`) must hold; "" for any message.

    >>> Raises("KeyError")
    Raises(name='KeyError', contains='')
    """

    name: str
    contains: str = ""


@dataclass(frozen=True)
class Step:
    """One thing done to the submission.

    Args:
        target: What: a name in the module, dotted if need be ("mean", "Stack", "Stack.of"), or what an earlier step
            kept, with a dollar sign, and what hangs on it ("$s", "$s.push", "$s.size"). Python's own operations have
            names too: "len", "str", "repr", "list", "iter", "next", "bool", "hash", "operator.eq", "operator.getitem",
            "operator.setitem", "operator.delitem", "operator.contains", "operator.add" and so on; the module's own
            names go before.
        args: Plain values, and `Ref`s (at any depth of lists, tuples and dicts).
        kwargs: The same, by name.
        expected: A plain value, a `Raises`, `ANYTHING`, or a `Keep`, which keeps the result instead of comparing it.
        get: Whether the target is read and not called ("$s.size" as an attribute or property; "$s" for itself, so that
            what a call did to an argument can be seen).

    A plain value is None, a bool, int, float, complex, str, bytes, or a list, tuple, dict, set or frozenset of such.
    """

    target: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = ANYTHING
    get: bool = False


@dataclass(frozen=True)
class Calls:
    """A script of steps on one module, which is imported once for a whole suite; kept objects are the test's own.

    The test passes if every step gives what it expects. The target "=" keeps or gives back its one argument as it is:
    `Step("=", ([3, 1, 2],), expected=Keep("xs"))` makes a list that a later step passes as `Ref("xs")`.
    """

    module: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Program:
    """A program that reads stdin (and arguments) and writes stdout, run in a fresh process, in the workspace.

    Args:
        path: The file, as `python path args...` runs it.
        stdin: What it reads.
        expected: What it must print; exit code 0 is required too (see `exit_code`).
        args: Command-line arguments.
        rule: "lines": trailing white space of lines and of the whole is ignored. "exact": nothing is. "tokens": all
            white space counts as one blank. "numbers": as "lines", and lines whose blank-separated words are equal
            decimal numbers count as equal (LiveCodeBench's rule).
        exit_code: The exit code it must end with.
    """

    path: str
    stdin: str
    expected: str
    args: tuple[str, ...] = ()
    rule: Literal["lines", "exact", "tokens", "numbers"] = "lines"
    exit_code: int = 0


@dataclass(frozen=True)
class Harness:
    """Test code of a benchmark that is code, not data (HumanEval's `check`, MBPP's asserts).

    It is run by the grader in a process that never loads the submission; there, `names` are stand-ins whose calls go
    out to the submission and come back as plain values. Every assert statement is one test, in the order of the text;
    it passes if it ran, and held each time it ran.

    Args:
        module: The submission's module.
        names: Names of the submission that the code uses.
        code: The test code.
        part: Which assert (from 0) this test is; -1 for "the code ended without an exception".
        setup: Code run before, without the submission (helper functions, imports).
    """

    module: str
    names: tuple[str, ...]
    code: str
    part: int = -1
    setup: str = ""


@dataclass(frozen=True)
class NodeTest:
    """A test of the repository's own runner, by the id in its report ("tests/test_a.py::test_b").

    Such tests run in the submission's process: use them only where the benchmark leaves no choice (SWE-bench).

    Args:
        id: The test's id.
        command: The shell command that runs the tests and prints pytest's short summary of all (`-rA`).
        files: Test files that are put back as they were before the command is run.
    """

    id: str
    command: str
    files: Files = field(default_factory=dict, hash=False)


Case = Calls | Program | Harness | NodeTest


@dataclass(frozen=True)
class Compare:
    """What counts as the expected value. The default: equal values of the very same types, at every depth.

    nan equals nan; 0.0 and -0.0 differ only in `signed_zeros`. A bool is never a number, whatever is set. Order never
    counts in dicts and sets. numpy scalars and arrays arrive as plain numbers and lists, where `numpy` allows them.

    Args:
        rel_tol: Relative tolerance for floats (and parts of complex numbers).
        abs_tol: Absolute tolerance for the same.
        int_float: Whether an int is the float of its value.
        sequences: Whether a tuple is the list of its items.
        unordered: Whether the order of the items of the outermost list or tuple does not count.
        numpy: Whether numpy's scalars and arrays count as the plain numbers and lists that they convert to.
        signed_zeros: Whether -0.0 is not 0.0.
        accepts: For tests with several right answers: tells of the plain result whether it is one (the expected value
            is then an example, and not compared). Raising is a no.
    """

    rel_tol: float = 0.0
    abs_tol: float = 0.0
    int_float: bool = False
    sequences: bool = False
    unordered: bool = False
    numpy: bool = False
    signed_zeros: bool = False
    accepts: Callable[[Any], bool] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("rel_tol", "abs_tol"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigurationError(f"{name} must be finite and at least 0, got {value}")


EXACT = Compare()


@dataclass(frozen=True)
class TestCase:
    """One test.

    Args:
        id: Unique in its suite; never starts with "_".
        case: What is done.
        compare: What counts as the expected value (for `Calls`).
        weight: Its share of progress, relative to the others.
        keeps: Whether it passes on the start files and must go on passing (PASS_TO_PASS): it then earns nothing, and
            while it fails progress is 0. Otherwise it must fail on the start files (FAIL_TO_PASS).
        limit_s: Seconds for it alone; None for the task's.
    """

    __test__ = False  # no test class of pytest's

    id: str
    case: Case
    compare: Compare = EXACT
    weight: float = 1.0
    keeps: bool = False
    limit_s: float | None = None

    def __post_init__(self) -> None:
        if not self.id or self.id.startswith("_"):
            raise ConfigurationError(f"test id {self.id!r} must be non-empty and must not start with '_'")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigurationError(f"test {self.id!r}: weight must be positive and finite, got {self.weight}")


def call(
    id: str, target: str, *args: Any, expected: Any, module: str = "solution", compare: Compare = EXACT, **kwargs: Any
) -> TestCase:
    """A test that calls one function once: `call("empty", "mean", [], expected=0.0)`.

    >>> call("empty", "mean", [], expected=0.0).case.steps[0].args
    ([],)
    """
    return TestCase(id, Calls(module, (Step(target, args, kwargs, expected),)), compare)


def raises(id: str, target: str, *args: Any, error: str, module: str = "solution", **kwargs: Any) -> TestCase:
    """A test that calls one function once and wants an exception: `raises("none", "mean", None, error="TypeError")`."""
    return TestCase(id, Calls(module, (Step(target, args, kwargs, Raises(error)),)))


@dataclass(frozen=True)
class CodeTask:
    """A programming task with all that decides it. Only `id`, `statement`, `files`, `entry` and `public` are shown.

    Args:
        id: Unique in its task set.
        statement: What to do, complete and unambiguous: whatever a hidden test wants is said in it or follows from it.
        files: The start files, by path relative to /workspace.
        entry: The files that the agent is expected to write or change. With exactly one, a bare fenced block writes it.
        public: Tests that the agent sees and that `<test/>` runs.
        hidden: Tests that decide; other inputs than the public ones.
        solution: The reference solution: files to write (all of `entry`). It passes every test.
        alternatives: Other right solutions.
        wrong: Plausible wrong solutions: each passes some hidden tests, and not all.
        split: "train", "val", "test" or "ood".
        difficulty: One of `BANDS`, or the data's own word.
        tags: Kinds: "strings", "data-structures", "algorithms", "parsing", "numerics", "classes", "bug-fixing",
            "refactoring", "package".
        limit_s: Seconds for one test (module import included, the first time).
        suite_limit_s: Seconds for all tests together.
        memory_bytes: Memory of all processes of a suite.
        protected: Paths that are put back as they were before tests are run (those of `files` with these prefixes).
        extra: What official metrics need besides.

    Raises:
        ConfigurationError: On test ids that repeat, paths that leave the workspace, or no hidden test that can fail.
    """

    id: str
    statement: str
    files: Files = field(hash=False)
    entry: tuple[str, ...]
    public: tuple[TestCase, ...]
    hidden: tuple[TestCase, ...]
    solution: Files = field(default_factory=dict, hash=False, repr=False)
    alternatives: tuple[Files, ...] = field(default=(), hash=False, repr=False)
    wrong: tuple[Files, ...] = field(default=(), hash=False, repr=False)
    split: str = "train"
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    limit_s: float = 2.0
    suite_limit_s: float = 20.0
    memory_bytes: int = 512 << 20
    protected: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ConfigurationError(f"task {self.id!r}: split {self.split!r} is not one of {SPLITS}")
        for tests in (self.public, self.hidden):
            ids = [test.id for test in tests]
            twice = sorted({name for name in ids if ids.count(name) > 1})
            if twice:
                raise ConfigurationError(f"task {self.id!r}: test ids must differ, {twice} repeat")
        if all(test.keeps for test in self.hidden):
            raise ConfigurationError(f"task {self.id!r} has no hidden test that its start files fail")
        for path in [
            *self.files,
            *self.entry,
            *self.solution,
            *(p for f in (*self.alternatives, *self.wrong) for p in f),
        ]:
            if not _is_inside(path):
                raise ConfigurationError(f"task {self.id!r}: path {path!r} is not a plain one below the workspace")


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts and str(pure) == path and "\0" not in path


class CodeTasks(TaskSet):
    """A task set of code: what `CodeEnv` needs besides the public `Task`."""

    @abc.abstractmethod
    def code(self, task_id: str) -> CodeTask:
        """The whole task, hidden tests and reference solution included: for graders only."""

    def task(self, task_id: str) -> Task:
        """What may be shown: the statement, the start files and which of them to write. No test is in it."""
        code = self.code(task_id)
        data = {"files": dict(code.files), "entry": list(code.entry)}
        return Task(code.id, code.statement, data, code.split, code.difficulty)

    def grader(self, task_id: str) -> GraderData:
        """The whole task as "code"; the environment, which has the grader, makes the checks of it."""
        return GraderData((), {"code": self.code(task_id)})

    def oracle(self, task_id: str) -> list[str]:
        """Writes the reference solution, a file an action, and submits.

        Raises:
            ConfigurationError: If the task has none.
        """
        solution = self.code(task_id).solution
        return _written(solution) if solution else super().oracle(task_id)

    def alternatives(self, task_id: str) -> list[list[str]]:
        """The other right solutions, written and submitted."""
        return [_written(files) for files in self.code(task_id).alternatives]

    def near_misses(self, task_id: str) -> list[list[str]]:
        """The start files submitted as they are; each wrong solution."""
        return [["<submit/>"], *(_written(files) for files in self.code(task_id).wrong)]


def _written(files: Files) -> list[str]:
    return [*(f'<write path="{path}">\n{text}</write>' for path, text in files.items()), "<submit/>"]
