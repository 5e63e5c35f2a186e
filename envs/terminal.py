"""`agentenv/Terminal-v0`: shell tasks in a sandbox. Actions are run as typed; checks read the state they leave.

Invariant: nothing that the agent does in its sandbox changes what the checks see except the state it leaves.
"""

from __future__ import annotations

import base64
import shutil
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentenv.env import AgentEnv, Reply
from agentenv.envs import scripts
from agentenv.errors import ConfigurationError, InfrastructureError, ResetNeededError
from agentenv.progress import Check, StateView
from agentenv.sandbox.base import FileEntry, Limits, SandboxSnapshot, SessionReply
from agentenv.sandbox.local import LocalSandbox
from agentenv.scripts import Scripts
from agentenv.task import Task
from agentenv.tasks.terminal import load

__all__ = ["TerminalEnv"]

_SUBMIT = "submit"
_SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"
_OBSERVATION_BYTES = 1 << 18
# Working directory, notes and exit code, beside the output.
_AROUND_OUTPUT_BYTES = 1 << 14
_CACHED_STARTS = 32
_LARGE_START_FILES = 64


class TerminalEnv(AgentEnv, RecordConstructorArgs):
    """A persistent bash in a sandbox, a task to do there, and acceptance checks after every turn.

    An action is shell text, of any length, run as typed; the action `submit` ends the episode. The observation is the
    command's output, its exit code when not 0, and the working directory, as a prompt. The state at the turn limit is
    graded as if submitted.

    Args:
        tasks: The task set ("generated").
        split: "train", "val", "test" or "ood".
        difficulty: Only tasks of this difficulty ("easy", "medium", "hard"); None for all.
        families: Only these task families; None for all.
        max_turns: Turns, the `submit` included, after which the episode is cut.
        command_timeout_s: Wall-clock seconds for one command.
        output_bytes: Bytes of a command's output shown (head + tail).
        memory_bytes: Memory of the sandbox.
        sandbox: The backend ("local").
        render_mode: None or "ansi".

    Raises:
        ConfigurationError: On an unknown task set, family, difficulty, split or backend.
        IsolationUnavailableError: At reset, where the host forbids isolation.

    >>> import agentenv, gymnasium as gym
    >>> env = gym.make("agentenv/Terminal-v0", split="train", difficulty="easy")
    >>> observation, info = env.reset(seed=1)
    >>> info["progress"], info["turn"]
    (0.0, 0)
    >>> observation, reward, terminated, truncated, info = env.step("echo hello; false")
    >>> print(observation)
    hello
    [exit code 1]
    /workspace$
    >>> env.close()
    """

    instructions: ClassVar[str] = (
        "You work in a Linux terminal, in the directory /workspace, to complete the task that you are given.\n"
        "Reply with shell commands only: the whole reply is run as typed in one bash session that lasts for the "
        "episode. You then see the output, the exit code when it is not 0, and the working directory.\n"
        "Commands that read from the terminal get end-of-file. There is no network.\n"
        "When the task is done, reply with the single word: submit"
    )
    tool_schema: ClassVar[dict[str, Any]] = {
        "name": "terminal",
        "description": "Runs shell text in the episode's bash session, or ends the episode with 'submit'.",
        "parameters": {
            "type": "object",
            "properties": {"action": {"type": "string", "description": "Shell text, or 'submit'."}},
            "required": ["action"],
        },
    }
    scripts: ClassVar[Scripts] = scripts.TERMINAL

    def __init__(
        self,
        *,
        tasks: str = "generated",
        split: str = "train",
        difficulty: str | None = None,
        families: Sequence[str] | None = None,
        max_turns: int = 12,
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
            families=families,
            max_turns=max_turns,
            command_timeout_s=command_timeout_s,
            output_bytes=output_bytes,
            memory_bytes=memory_bytes,
            sandbox=sandbox,
            render_mode=render_mode,
        )
        if sandbox != "local":
            raise ConfigurationError(f"sandbox={sandbox!r} is not a known backend; known: 'local'")
        limits = {"command_timeout_s": command_timeout_s, "output_bytes": output_bytes, "memory_bytes": memory_bytes}
        for name, value in limits.items():
            if not value > 0:
                raise ConfigurationError(f"{name} must be positive, got {value}")
        task_set = load(tasks, families=families, difficulty=difficulty)
        max_bytes = max(_OBSERVATION_BYTES, output_bytes + _AROUND_OUTPUT_BYTES)
        super().__init__(task_set, split=split, max_turns=max_turns, render_mode=render_mode, max_bytes=max_bytes)
        self._limits = Limits(wall_s=command_timeout_s, output_bytes=output_bytes, memory_bytes=memory_bytes)
        self._box: LocalSandbox | None = None
        self._checks: tuple[Check, ...] = ()
        self._starts: OrderedDict[str, SandboxSnapshot] = OrderedDict()

    @property
    def sandbox(self) -> LocalSandbox:
        """The live episode's sandbox."""
        if self._box is None:
            raise ResetNeededError("there is no sandbox before reset()")
        return self._box

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Builds the start state, from the cache where it was built before."""
        _require_programs(task)
        self._replace_sandbox(None)
        kept = self._starts.get(task.id)
        if kept is not None:
            self._starts.move_to_end(task.id)
            self._replace_sandbox(kept)
        else:
            self._build_start(task)
        self._checks = self.task_set.grader(task.id).checks
        return f"{task.instruction}\n{_prompt(self.sandbox.session().cwd)}"

    def act(self, action: str) -> Reply:
        """Runs the action, or submits."""
        command = action.strip()
        if command == _SUBMIT:
            return Reply("Submitted.", done=True, stop_reason="submitted")
        if not command or "\0" in action:
            fault = "it is empty" if not command else "it holds a NUL byte"
            return Reply(
                f"Invalid action: {fault}. Valid: shell text, or the single word submit.\n"
                f"{_prompt(self.sandbox.session().cwd)}",
                valid=False,
            )
        return Reply(_observation(self.sandbox.session().run(action)))

    def checks(self) -> Sequence[Check]:
        """The current task's acceptance checks."""
        return self._checks

    def view(self) -> StateView:
        """The sandbox's files, read-only; scripts run on throw-away forks."""
        return self.sandbox.view()

    def save(self) -> SandboxSnapshot:
        """Files, working directory and exported variables; no processes."""
        return self.sandbox.snapshot()

    def load(self, saved: object) -> None:
        """A fresh sandbox at the saved state, and the checks of its task."""
        if not isinstance(saved, SandboxSnapshot):
            raise ConfigurationError(f"a terminal's saved state is a SandboxSnapshot, got {type(saved).__name__}")
        self._replace_sandbox(saved)

    def on_restore(self, task: Task) -> None:
        """Takes the restored task's checks from the grader (they are never part of a snapshot)."""
        self._checks = self.task_set.grader(task.id).checks

    def hash_state(self) -> str:
        """Covers paths, bytes, modes, links, working directory and exported variables."""
        return self.sandbox.state_hash()

    def hashes(self) -> tuple[str, str]:
        """The state's hash; and a key of what checks can see besides: /tmp, modification times."""
        return self.sandbox.hashes()

    def held(self) -> AbstractContextManager[None]:
        """Background jobs stand still, so that none can show each check what it wants to see."""
        return self.sandbox.held()

    def release(self) -> None:
        """Ends the sandbox and drops the cached start states."""
        self._replace_sandbox(None)
        for kept in self._starts.values():
            kept.close()
        self._starts.clear()

    def _build_start(self, task: Task) -> None:
        files = [_file_entry(entry) for entry in task.data.get("files", ())]
        self._box = LocalSandbox(self._limits)
        self._box.start(files)
        setup = task.data.get("setup", "")
        if setup:
            done = self._box.run(setup, timeout_s=60.0)
            if done.exit_code != 0:
                tail = (done.stderr or done.stdout).decode("utf-8", "replace")[-500:]
                raise InfrastructureError(f"the setup of task {task.id!r} ended with {done.exit_code}: {tail}")
        if setup or len(files) > _LARGE_START_FILES:
            kept = self._starts[task.id] = self._box.snapshot()
            if len(self._starts) > _CACHED_STARTS:
                self._starts.popitem(last=False)[1].close()
            # The first episode starts from the copy too: directories must list in the same order every time.
            self._replace_sandbox(kept)

    def _replace_sandbox(self, snapshot: SandboxSnapshot | None) -> None:
        old, self._box = self._box, None
        if old is not None:
            old.close()
        if snapshot is not None:
            self._box = LocalSandbox(self._limits)
            self._box.start(snapshot=snapshot)


def _observation(reply: SessionReply) -> str:
    parts = [reply.output.rstrip("\n")] if reply.output.strip("\n") else []
    if reply.exit_code != 0:
        parts.append(f"[exit code {reply.exit_code}]")
    if reply.note:
        parts.append(f"[{reply.note}]")
    parts.append(_prompt(reply.cwd))
    return "\n".join(parts)


def _prompt(cwd: str) -> str:
    # A directory may be named anything; as `ls` does, what is no printable character shows as "?".
    return "".join(character if character.isprintable() else "?" for character in cwd) + "$"


def _file_entry(entry: Mapping[str, Any]) -> FileEntry:
    content: bytes | None = None
    if "text" in entry:
        content = entry["text"].encode("utf-8")
    elif "base64" in entry:
        content = base64.b64decode(entry["base64"])
    return FileEntry(entry["path"], content, entry.get("mode"), entry.get("link"))


def _require_programs(task: Task) -> None:
    missing = [name for name in task.data.get("requires", ()) if shutil.which(name, path=_SANDBOX_PATH) is None]
    if missing:
        raise InfrastructureError(
            f"task {task.id!r} needs {', '.join(missing)}, absent from {_SANDBOX_PATH}: install it, or leave the "
            f"family {task.data.get('family', '')!r} out with families=[...]"
        )
