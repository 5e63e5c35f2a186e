"""What a started sandbox holds on the host: files, a user id, control groups, processes. Invariant: it ends as a whole.

It also tells what its processes do: whether any run, which limit stopped them, who brought them down; and it can hold
them still.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentenv.sandbox import processes, store
from agentenv.sandbox.base import Limits
from agentenv.sandbox.files import Tree
from agentenv.sandbox.isolation.limits import ControlGroups
from agentenv.sandbox.isolation.watchdog import Activity, Watch
from agentenv.sandbox.registry import UidLease
from agentenv.sandbox.supervisor import Supervised

__all__ = ["Live"]

_IDLE_PROCESSES = 2
# bubblewrap, the supervisor, the shell.
_IDLE_IN_GROUP = 3


@dataclass
class Live:
    """What a started sandbox holds on the host."""

    limits: Limits
    place: store.Place
    base: store.Base | None
    lease: UidLease | None  # None: the base's
    groups: ControlGroups
    tree: Tree
    pid: int
    box: Supervised | None = None
    watch: Watch | None = None
    activity: Activity = field(default_factory=Activity)
    oom_kills: int = 0
    fork_failures: int = 0
    init_limits: str = ""
    tampered: bool = False
    held: bool = False

    def look_at_init(self, init: int | None) -> None:
        """Notes when the agent changed the limits of the first process, by which it can have the kernel kill it."""
        with contextlib.suppress(OSError):
            limits = Path(f"/proc/{init}/limits").read_text(encoding="ascii", errors="replace") if init else ""
            if limits and self.init_limits and limits != self.init_limits:
                self.tampered = True
            self.init_limits = limits or self.init_limits

    @property
    def init_pid(self) -> int | None:
        """The host's process id of the first process inside; None when there is none."""
        return self.box.init_pid if self.box is not None else None

    @property
    def uid(self) -> int:
        """The user that its processes run as."""
        return (
            self.lease.uid if self.lease is not None else self.base.lease.uid if self.base is not None else os.getuid()
        )

    @property
    def owner(self) -> int | None:
        """Whom its files are given to; None where only one user is."""
        return self.uid if os.getuid() == 0 else None

    def blames_agent(self, code: int) -> bool:
        """Whether the agent brought its sandbox down: out of memory, or by making the first process inside exit.

        A negative code is bubblewrap's own death, 137 a SIGKILL of the first process: neither comes from inside, but
        for the kernel's own at a limit of processor time that the agent put on it.
        """
        oom = self.groups.oom_kills() > self.oom_kills
        return oom or (code >= 0 and (self.tampered or code != 128 + signal.SIGKILL))

    def end(self) -> None:
        """Kills and removes everything; in a forked child, nothing (it is the parent's)."""
        if os.getpid() != self.pid:
            return
        if self.box is not None:
            self.groups.thaw()
            self.box.end()
            self.box = None
        self.watch = None
        self.groups.remove()
        self.place.close()
        if self.lease is not None:
            self.lease.release()

    def crowded(self) -> bool:
        """Whether most of the processes that are allowed are there."""
        count = self.groups.process_count()
        if count is None:
            init = self.init_pid
            count = len(processes.descendants(init)) if init is not None else 0
        return count >= max(4, self.limits.processes * 3 // 4)

    def limit_that_fired(self) -> str:
        """A note on the limit that stopped the running command; "" if none did."""
        self.activity.running = True
        self.look_at_init(self.init_pid)
        return self.watch.fired if self.watch is not None else ""

    def note_limits(self, status: int) -> str:
        """A note on the limits that a command ran into, for the agent."""
        self.activity.running = self.jobs_run()
        self.look_at_init(self.init_pid)
        notes = []
        if self.watch is not None and self.watch.fired:
            notes.append(self.watch.fired)
            self.watch.fired = ""
        oom_kills, fork_failures = self.groups.oom_kills(), self.groups.fork_failures()
        if oom_kills > self.oom_kills:
            notes.append(
                f"the memory limit of {self.limits.memory_bytes / (1 << 20):g} MiB was hit: a process was killed"
            )
        if fork_failures > self.fork_failures:
            notes.append(f"the limit of {self.limits.processes} processes was hit")
        if status == 128 + signal.SIGXFSZ:
            notes.append(f"the file size limit of {self.limits.file_bytes / (1 << 20):g} MiB was hit")
        self.oom_kills, self.fork_failures = oom_kills, fork_failures
        return "; ".join(notes)

    @contextlib.contextmanager
    def frozen(self, idle_too: bool = False) -> Iterator[None]:
        """Holds still whatever runs besides the idle shell (`idle_too`: and that, where it leaves no trace)."""
        init = self.init_pid
        if self.held or init is None or not (idle_too or _busy(init)):
            yield
            return
        if self.groups.freeze():
            try:
                yield
            finally:
                self.groups.thaw()
            return
        if not _busy(init):
            yield
            return
        stopped = processes.freeze_tree(init)
        try:
            yield
        finally:
            processes.thaw_tree(stopped)

    def jobs_run(self) -> bool:
        """Whether anything but the idle shell is there."""
        count = self.groups.process_count()
        if count is not None:
            return count > _IDLE_IN_GROUP
        init = self.init_pid
        return init is not None and _busy(init)


def _busy(init: int) -> bool:
    found = processes.descendants(init)
    # A program in the shell's place may only look idle.
    return len(found) >= _IDLE_PROCESSES or any(not processes.is_bash(one) for one in found)
