"""What every sandbox backend offers. Invariant: nothing that runs inside can change what the host reads or scores.

A sandbox is a small machine for untrusted commands: its own files (/workspace, /home/agent, /tmp), its own processes,
no network, none of the host's files, variables or processes. Backends: `agentenv.sandbox.local`.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from agentenv.progress import FileStat, RunResult

__all__ = [
    "FIXED_TIME",
    "WORKSPACE",
    "Completed",
    "FileEntry",
    "Limits",
    "Sandbox",
    "SandboxSnapshot",
    "Session",
    "SessionReply",
]

WORKSPACE = "/workspace"
# Of everything that a start state holds: observations repeat.
FIXED_TIME = 1_700_000_000


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use. A limit named in `required` that this host cannot enforce is refused at `start`.

    Args:
        wall_s: Seconds for one command.
        memory_bytes: Memory of all processes together.
        processes: Processes and threads at once.
        file_bytes: Size of one file.
        disk_bytes: Bytes of all files the agent wrote, together.
        output_bytes: Bytes of a command's output kept for the observation (head + tail).
        required: Names of the fields above that must be enforceable here.
    """

    wall_s: float = 20.0
    memory_bytes: int = 512 << 20
    processes: int = 128
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    output_bytes: int = 16 << 10
    required: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileEntry:
    """One path of a start state: a file (`content`), a link (`link`) or, with neither, a directory.

    `path` is relative to /workspace, or absolute below /workspace or /home/agent. Parents are made. `mode` holds
    permission bits; None means 0644 for files and 0755 for directories.
    """

    path: str
    content: bytes | None = None
    mode: int | None = None
    link: str | None = None


@dataclass(frozen=True)
class Completed:
    """A finished command: exit code, output (bytes beyond the limit dropped and counted), whether it timed out."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    dropped_bytes: int = 0


@dataclass(frozen=True)
class SessionReply:
    """What a session tells after one command.

    Attributes:
        output: Valid text, control sequences removed, shortened to head + tail.
        exit_code: The command's own exit code (128 + signal when a signal ended it).
        cwd: The working directory after it.
        note: "" or one line for the agent: which limit cut it, or that the shell ended and was started anew.
        timed_out: Whether the wall-clock limit fired.
        dropped_bytes: Bytes of output left out.
    """

    output: str
    exit_code: int
    cwd: str
    note: str = ""
    timed_out: bool = False
    dropped_bytes: int = 0


class Session(abc.ABC):
    """A persistent bash on a pty, in the sandbox. It never loses its place (DESIGN section 4)."""

    @abc.abstractmethod
    def run(self, command: str, *, timeout_s: float | None = None) -> SessionReply:
        """Runs a command of any length and content as typed, and returns as soon as it ends.

        Raises `SandboxLostError` if the sandbox died under it.
        """

    @abc.abstractmethod
    def exported(self) -> dict[str, str]:
        """The shell's exported variables after the last command (the shell's own bookkeeping ones left out)."""

    @property
    @abc.abstractmethod
    def cwd(self) -> str:
        """The shell's working directory after the last command."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends the shell and its jobs; idempotent, never raises."""


class SandboxSnapshot(abc.ABC):
    """A kept state (files with modes and links, working directory, exported variables; never processes).

    It holds disk space until `close`d or garbage-collected, and is independent of the sandbox it came from.
    """

    @abc.abstractmethod
    def close(self) -> None:
        """Frees what it holds; idempotent."""


class Sandbox(abc.ABC):
    """A sandbox's life: `start`, use, `close`. Also a context manager, and a `StateView` (read-only methods)."""

    limits: Limits

    @abc.abstractmethod
    def start(self, files: Sequence[FileEntry] = (), snapshot: SandboxSnapshot | None = None) -> None:
        """Makes the sandbox, with these files (fixed mtimes) or at a snapshot's state.

        Raises:
            IsolationUnavailableError: When the host forbids isolation: names the sysctl and the alternatives.
            LimitUnenforceableError: When a required limit cannot be enforced.
        """

    @abc.abstractmethod
    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout_s: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Runs a bash script (str) or a program (argv) on the sandbox's own files, in a fresh clean process."""

    @abc.abstractmethod
    def session(self) -> Session:
        """The sandbox's one persistent shell, opened at first use."""

    @abc.abstractmethod
    def write(self, entries: Sequence[FileEntry]) -> None:
        """Writes entries as the agent's user, refusing paths that leave the sandbox through a link."""

    @abc.abstractmethod
    def snapshot(self) -> SandboxSnapshot:
        """Freezes the processes, copies what changed, thaws: the live state is untouched."""

    @abc.abstractmethod
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """Puts the sandbox at a snapshot's state, with a fresh shell in the same place; kills what ran before."""

    @abc.abstractmethod
    def fork(self) -> Sandbox:
        """An independent sandbox at this very state."""

    @abc.abstractmethod
    def state_hash(self) -> str:
        """A hash of paths, bytes, modes, links, working directory and exported variables; mtimes do not count."""

    @abc.abstractmethod
    def hashes(self) -> tuple[str, str]:
        """`state_hash()`, and a key of all that a check can see: /tmp and modification times too."""

    @abc.abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """While it is open, no process inside runs: what is read in it is one state."""

    @abc.abstractmethod
    def close(self) -> None:
        """Kills everything inside and removes it from the host; idempotent, never raises."""

    # The StateView methods (see agentenv.progress): what checks read.

    @abc.abstractmethod
    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        """See `StateView.read`."""

    @abc.abstractmethod
    def stat(self, path: str) -> FileStat:
        """See `StateView.stat`."""

    @abc.abstractmethod
    def listdir(self, path: str) -> list[str]:
        """See `StateView.listdir`."""

    @abc.abstractmethod
    def run_on_fork(self, script: str, timeout_s: float = 10.0) -> RunResult:
        """See `StateView.run`: works on a throw-away copy of the files, in a fresh, clean sandbox."""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
