"""`agentenv/Code-v0`: programming tasks in a sandbox. Actions write, edit, run, test; hidden tests decide.

Invariant: hidden tests and what they expect never enter the workspace, a process that runs the agent's code, or an
observation; every turn they are run on a copy of the files, outside the reach of what is graded.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentenv.env import AgentEnv, Reply
from agentenv.envs import scripts
from agentenv.envs.code import actions, pages
from agentenv.envs.code.grader import Grader, Limits, Result
from agentenv.envs.code.workspace import collect, digest
from agentenv.errors import ConfigurationError, InfrastructureError, NotInStateError, ResetNeededError, did_you_mean
from agentenv.progress import Check
from agentenv.sandbox import base as sandboxes
from agentenv.sandbox.base import WORKSPACE, Completed, FileEntry, SandboxSnapshot
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.text import clean, shorten
from agentenv.scripts import Scripts
from agentenv.task import Task
from agentenv.tasks.code.base import CodeTask, NodeTest, TestCase
from agentenv.tasks.code.loading import load
from agentenv.tasks.code.weights import WEIGHTS, weights_of

__all__ = ["CodeEnv", "CodeView"]

_OBSERVATION_BYTES = 1 << 18
_AROUND_OUTPUT_BYTES = 1 << 14
_EDITABLE_BYTES = 1 << 20


@dataclass
class CodeView:
    """What the checks read: how each hidden test went on the files as they are, run once for all checks.

    Args:
        grade: Runs the tests. Its `NotInStateError` means that the workspace cannot be graded.
    """

    grade: Callable[[], Mapping[str, Result]]
    _results: Mapping[str, Result] | None = field(default=None, repr=False)

    def results(self) -> Mapping[str, Result]:
        """The result of every hidden test, by its id."""
        if self._results is None:
            self._results = self.grade()
        return self._results


class CodeEnv(AgentEnv, RecordConstructorArgs):
    """Files in a sandbox, public tests to run, and hidden tests that are run on a copy after every turn.

    Actions are `<write path="...">text</write>`, `<edit path="..."><find>old</find><replace>new</replace></edit>`,
    `<run>shell</run>`, `<test/>` (the public tests) and `<submit/>`; the first complete one counts. A fenced block
    writes the one file of a task that has one to write. The state at the turn limit is graded as if submitted.

    Args:
        tasks: The task set ("bundled"; see `agentenv.tasks.code.loading`).
        split: "train", "val", "test" or "ood".
        difficulty: Only tasks of this difficulty, a word of the task set's own; None for all.
        max_turns: Turns, the `<submit/>` included, after which the episode is cut.
        weights: How hidden tests are weighed in progress: "equal", or "verpo" (see `agentenv.tasks.code.weights`).
        command_timeout_s: Wall-clock seconds for one `<run>`.
        output_bytes: Bytes of its output shown (head + tail).
        memory_bytes: Memory of the sandbox in which `<run>` works; a task says what its tests may use.
        sandbox: The backend ("local").
        render_mode: None or "ansi".

    Raises:
        ConfigurationError: On an argument that cannot be used.
        IsolationUnavailableError: At reset, where the host forbids isolation.

    >>> env = CodeEnv(tasks="bundled?category=strings")
    >>> observation, info = env.reset(options={"task_id": "strings-slug"})
    >>> info["progress"], info["turn"]
    (0.0, 0)
    >>> observation, *_ = env.step("<run>ls; exit 3</run>")
    >>> print(observation)
    slug.py
    [exit code 3]
    >>> env.close()
    """

    instructions: ClassVar[str] = (
        "Solve the programming task in the directory /workspace. Reply with one action:\n"
        '<write path="FILE">text</write> writes a whole file.\n'
        '<edit path="FILE"><find>old</find><replace>new</replace></edit> replaces a text that stands in the file '
        "exactly once.\n"
        "<run>shell</run> runs shell commands in /workspace and shows their output; nothing goes on running.\n"
        "<test/> runs the public tests.\n"
        "<submit/> ends the episode. Hidden tests, of which the public ones are examples, then decide.\n"
        "Only the first complete action of a reply counts. If there is one file to write, a fenced code block writes "
        "it. There is no network."
    )
    stop: ClassVar[tuple[str, ...]] = ("</write>", "</edit>", "</run>", "<test/>", "<submit/>")
    tool_schema: ClassVar[dict[str, Any]] = {
        "name": "code",
        "description": "Writes or edits a file, runs a command or the public tests, or submits: one action, with tags.",
        "parameters": {
            "type": "object",
            "properties": {"action": {"type": "string", "description": actions.FORMS}},
            "required": ["action"],
        },
    }
    scripts: ClassVar[Scripts] = scripts.CODE

    def __init__(
        self,
        *,
        tasks: str = "bundled",
        split: str = "train",
        difficulty: str | None = None,
        max_turns: int = 12,
        weights: str = "equal",
        command_timeout_s: float = 20.0,
        output_bytes: int = 16 << 10,
        memory_bytes: int = 512 << 20,
        sandbox: str = "local",
        render_mode: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            tasks=tasks,
            split=split,
            difficulty=difficulty,
            max_turns=max_turns,
            weights=weights,
            command_timeout_s=command_timeout_s,
            output_bytes=output_bytes,
            memory_bytes=memory_bytes,
            sandbox=sandbox,
            render_mode=render_mode,
        )
        if sandbox != "local":
            raise ConfigurationError(f"sandbox={sandbox!r} is not a known backend; known: 'local'")
        if weights not in WEIGHTS:
            raise ConfigurationError(
                f"weights={weights!r} is not one of {', '.join(WEIGHTS)}.{did_you_mean(weights, WEIGHTS)}"
            )
        limits = {"command_timeout_s": command_timeout_s, "output_bytes": output_bytes, "memory_bytes": memory_bytes}
        for name, value in limits.items():
            if not value > 0:
                raise ConfigurationError(f"{name} must be positive, got {value}")
        self._tasks = load(tasks, difficulty=difficulty)
        max_bytes = max(_OBSERVATION_BYTES, output_bytes + _AROUND_OUTPUT_BYTES)
        super().__init__(self._tasks, split=split, max_turns=max_turns, render_mode=render_mode, max_bytes=max_bytes)
        self._limits = sandboxes.Limits(wall_s=command_timeout_s, output_bytes=output_bytes, memory_bytes=memory_bytes)
        self._weights = weights
        self._grader: Grader | None = _shared_grader()
        self._box: LocalSandbox | None = None
        self._code: CodeTask | None = None
        self._checks: tuple[Check, ...] = ()

    @property
    def sandbox(self) -> LocalSandbox:
        """The live episode's sandbox."""
        if self._box is None:
            raise ResetNeededError("there is no sandbox before reset()")
        return self._box

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        """The start files in a fresh sandbox."""
        self._replace_sandbox(None)
        self.on_restore(task)
        self._box = LocalSandbox(self._limits)
        self._box.start([FileEntry(path, text.encode()) for path, text in self._task().files.items()])
        return pages.first_page(self._task())

    def act(self, action: str) -> Reply:
        """Plays the first complete action."""
        parsed = actions.parse(action, self._task().entry)
        if isinstance(parsed, actions.Submit):
            return Reply("Submitted.", done=True, stop_reason="submitted")
        if isinstance(parsed, actions.Test):
            return Reply(self._public_tests())
        if isinstance(parsed, actions.Run):
            return Reply(_output(self.sandbox.run(f"exec 2>&1\n{parsed.script}"), self._limits))
        fault = parsed.reason if isinstance(parsed, actions.Invalid) else self._change(parsed)
        if isinstance(parsed, actions.Invalid) or fault:
            return Reply(f"Invalid action: {fault}. {actions.FORMS}", valid=False)
        return Reply(f"{'Wrote' if isinstance(parsed, actions.Write) else 'Edited'} {parsed.path}.")

    def checks(self) -> Sequence[Check]:
        """One for each hidden test that the start files fail."""
        return self._checks

    def view(self) -> CodeView:  # type: ignore[override]
        """The hidden tests' results on the files as they are."""
        return CodeView(lambda: self._grade(self._task().hidden))

    def save(self) -> SandboxSnapshot:
        """The files."""
        return self.sandbox.snapshot()

    def load(self, saved: object) -> None:
        """A fresh sandbox at the saved state."""
        if not isinstance(saved, SandboxSnapshot):
            raise ConfigurationError(f"a code task's saved state is a SandboxSnapshot, got {type(saved).__name__}")
        self._replace_sandbox(saved)

    def on_restore(self, task: Task) -> None:
        """The task with its tests, which are never part of a snapshot."""
        code = self._tasks.grader(task.id).hidden["code"]
        if not isinstance(code, CodeTask):
            raise ConfigurationError(f"task {task.id!r} is no code task")
        self._code = code
        self._checks = _checks_of(code, weights_of(code, self._weights))

    def hash_state(self) -> str:
        """Covers paths, bytes, modes and links."""
        return self.sandbox.state_hash()

    def hashes(self) -> tuple[str, str]:
        """The state's hash; and what is graded: names and bytes of the files, or all where a repository's tests run."""
        state, seen = self.sandbox.hashes()
        if any(isinstance(test.case, NodeTest) for test in self._task().hidden):
            return state, seen
        try:
            return state, digest(collect(self.sandbox.view()))
        except NotInStateError as fault:
            return state, str(fault)

    def submission(self) -> dict[str, Any]:
        """The files that the task asks for, as text; a missing one is left out."""
        found = {}
        for path in self._task().entry:
            try:
                found[path] = self.sandbox.read(f"{WORKSPACE}/{path}").decode("utf-8", "replace")
            except NotInStateError:
                continue
        return {"files": found}

    def release(self) -> None:
        """Ends the sandbox, and the graders that wait, if no other environment needs them."""
        self._replace_sandbox(None)
        self._grader = None

    # -- inside ---------------------------------------------------------------------------------------------------

    def _task(self) -> CodeTask:
        if self._code is None:
            raise ResetNeededError("there is no task before reset()")
        return self._code

    def _grade(self, tests: Sequence[TestCase]) -> Mapping[str, Result]:
        task, view = self._task(), self.sandbox.view()
        if self._grader is None:
            raise ResetNeededError("the environment is closed")
        files = collect(view)
        kept = {path: text.encode() for path, text in task.files.items() if path.startswith(task.protected)}
        limits = Limits(task.limit_s, task.suite_limit_s, task.memory_bytes)
        return self._grader.grade({**files, **kept}, tests, limits, view.run)

    def _public_tests(self) -> str:
        try:
            return pages.report_of(self._grade(self._task().public))
        except NotInStateError as fault:
            return f"The tests were not run: {fault}."

    def _change(self, action: actions.Write | actions.Edit) -> str:
        """Changes a file; why not, if it cannot be done."""
        place, text, mode = f"{WORKSPACE}/{action.path}", "", None
        try:
            self._way_to(action.path)
            if self.sandbox.exists(place):
                found = self.sandbox.stat(place)
                if found.kind != "file":
                    return f"{action.path!r} is a {found.kind}, not a file"
                mode = found.mode & 0o777
            if isinstance(action, actions.Edit):
                text = self.sandbox.text(place, _EDITABLE_BYTES)
                times = text.count(action.find)
                if times != 1:
                    return f"the text to find stands {times} times in {action.path!r}, not once"
        except NotInStateError as fault:
            return str(fault)
        new = action.text if isinstance(action, actions.Write) else text.replace(action.find, action.replace)
        try:
            self.sandbox.write([FileEntry(action.path, new.encode(), mode)])
        except InfrastructureError as fault:
            if isinstance(fault.__cause__, PermissionError):  # the agent locked its own folders
                return f"{action.path!r} cannot be written: permission denied"
            raise
        return ""

    def _way_to(self, path: str) -> None:
        """Refuses paths that pass through anything but folders."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = f"{WORKSPACE}/{'/'.join(parts[:depth])}"
            if not self.sandbox.exists(folder):
                return
            if self.sandbox.stat(folder).kind != "directory":
                raise NotInStateError(f"{'/'.join(parts[:depth])!r} is not a directory")

    def _replace_sandbox(self, snapshot: SandboxSnapshot | None) -> None:
        old, self._box = self._box, None
        if old is not None:
            old.close()
        if snapshot is not None:
            self._box = LocalSandbox(self._limits)
            self._box.start(snapshot=snapshot)


def _checks_of(task: CodeTask, weights: Mapping[str, float]) -> tuple[Check, ...]:
    """A check for each hidden test to fix: it holds while that test, and every test that passed before, passes."""
    kept = [test.id for test in task.hidden if test.keeps]

    def score(test_id: str) -> Callable[[Any], float]:
        def scored(view: CodeView) -> float:
            results = view.results()
            return float(results[test_id].passed and all(results[name].passed for name in kept))

        return scored

    return tuple(Check(test.id, weights[test.id], score(test.id)) for test in task.hidden if not test.keeps)


def _output(done: Completed, limits: sandboxes.Limits) -> str:
    text, _ = shorten(clean(done.stdout).rstrip("\n"), limits.output_bytes)
    parts = [text] if text.strip("\n") else []
    if done.dropped_bytes:
        parts.append(f"[{done.dropped_bytes} bytes of output were dropped]")
    if done.timed_out:
        parts.append(f"[stopped at the time limit of {limits.wall_s:g} s]")
    elif done.exit_code != 0:
        parts.append(f"[exit code {done.exit_code}]")
    if note := clean(done.stderr).strip():
        parts.append(f"[{note[:500]}]")
    return "\n".join(parts) or "[no output]"


# The graders of a process share their started sandboxes, for as long as an environment holds them.
_GRADERS: weakref.WeakValueDictionary[str, Grader] = weakref.WeakValueDictionary()
_GRADERS_LOCK = threading.Lock()


def _shared_grader() -> Grader:
    with _GRADERS_LOCK:
        grader = _GRADERS.get("")
        if grader is None:
            grader = _GRADERS[""] = Grader()
        return grader
