"""Watches what the kernel does not bound: disk use, and memory where there are no control groups.

Invariant: a sandbox over a limit is stopped whether or not a command is running, and one that deletes can go on.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentenv.sandbox import processes
from agentenv.sandbox.base import Limits
from agentenv.sandbox.files import MAX_DEPTH, open_unseen

__all__ = ["Activity", "Watch", "disk_use", "watch"]

_PERIOD_S = 0.2
_MOST_OF_THE_TIME = 20.0
_ENTRY_BYTES = 4096
_TOO_MUCH = 1 << 62


@dataclass
class Activity:
    """Whether anything may be running in a sandbox: a command, or jobs it left."""

    running: bool = False


@dataclass(eq=False)
class Watch:
    """What is watched: files below some directories, and the processes below one.

    Attributes:
        folders: Directories whose disk use counts.
        init: The host's process id of the sandbox's first process; None when it is gone.
        busy: Whether anything runs that could write.
        limits: The limits.
        memory: Whether memory is watched too.
        fired: "" or the limit that fired, as a note; the reader clears it.
    """

    folders: Sequence[Path]
    init: Callable[[], int | None]
    busy: Callable[[], bool]
    limits: Limits
    memory: bool
    fired: str = ""
    _accepted: int = field(default=0, repr=False)
    _next_s: float = field(default=0.0, repr=False)

    def look(self) -> None:
        """Measures once, and kills what runs if it is too much."""
        now = time.monotonic()
        if now < self._next_s or not self.busy():
            return
        used = sum(disk_use(folder) for folder in self.folders)
        self._next_s = time.monotonic() + _MOST_OF_THE_TIME * (time.monotonic() - now)
        init = self.init()
        if init is None:
            return
        if used > max(self.limits.disk_bytes, self._accepted):
            # What is there now is accepted, so that the agent can still run the command that deletes it.
            self._accepted = used + (used >> 4)
            self.fired = f"the disk limit of {_mib(self.limits.disk_bytes)} was exceeded: everything running was killed"
            processes.kill_all(init)
        elif used <= self.limits.disk_bytes:
            self._accepted = 0
        if self.memory and processes.resident_bytes(init) > self.limits.memory_bytes:
            self.fired = (
                f"the memory limit of {_mib(self.limits.memory_bytes)} was exceeded: everything running was killed"
            )
            processes.kill_all(init)


class _Watcher:
    """One thread per process that looks at every watch still referred to."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        self.lock = threading.Lock()
        threading.Thread(target=self._work, name="agentenv-watchdog", daemon=True).start()

    def _work(self) -> None:
        while True:
            time.sleep(_PERIOD_S)
            with self.lock:
                watches = list(self.watches)
            for one in watches:
                with contextlib.suppress(OSError):
                    one.look()
            del watches
            one = None  # type: ignore[assignment]


class _Holder:
    watcher: _Watcher | None = None
    lock = threading.Lock()


def watch(one: Watch) -> None:
    """Watches as long as the caller keeps a reference to the watch."""
    with _Holder.lock:
        if _Holder.watcher is None or _Holder.watcher.pid != os.getpid():
            _Holder.watcher = _Watcher()
        with _Holder.watcher.lock:
            _Holder.watcher.watches.add(one)


def _after_fork() -> None:
    _Holder.lock = threading.Lock()
    _Holder.watcher = None


os.register_at_fork(after_in_child=_after_fork)


def disk_use(top: Path) -> int:
    """Bytes that a tree takes on disk, and 4 KiB for each entry (empty files cost too); too deep a tree is too much.

    >>> import tempfile; disk_use(Path(tempfile.mkdtemp()))
    0
    """
    total = 0
    pending = [(os.fspath(top), 0)]
    while pending:
        place, depth = pending.pop()
        if depth > MAX_DEPTH:
            return _TOO_MUCH
        with contextlib.suppress(OSError), _listing(place) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks * 512 // max(1, found.st_nlink if not stat.S_ISDIR(found.st_mode) else 1)
                    total += _ENTRY_BYTES
                    if stat.S_ISDIR(found.st_mode):
                        pending.append((os.path.join(place, entry.name), depth + 1))
    return total


@contextlib.contextmanager
def _listing(place: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """A directory's entries, read without a trace in its access time."""
    folder = open_unseen(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(folder) as entries:
            yield entries
    finally:
        os.close(folder)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):g} MiB"
