"""A sandbox's processes, seen from the host.

Invariant: only descendants of the sandbox's own first process are touched.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_KERNEL_LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")

__all__ = [
    "children",
    "descendants",
    "freeze_tree",
    "is_bash",
    "is_stopped",
    "kill_all",
    "resident_bytes",
    "send",
    "thaw_tree",
]


def children(pid: int) -> list[int]:
    """The direct children of a process, in the order they were made."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            text = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
        except FileNotFoundError:
            if not _KERNEL_LISTS_CHILDREN:
                return _search_children(pid)
        except OSError:
            continue
        else:
            found.extend(int(word) for word in text.split())
    return found


def _search_children(pid: int) -> list[int]:
    """The same on kernels without CONFIG_PROC_CHILDREN."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
            if int(text.rpartition(")")[2].split()[1]) == pid:
                found.append(int(name))
    return sorted(found)


def descendants(pid: int) -> list[int]:
    """Every process below one, parents before children."""
    found: list[int] = []
    pending = children(pid)
    while pending:
        here = pending.pop(0)
        found.append(here)
        pending.extend(children(here))
    return found


def send(pid: int, number: int) -> None:
    """A signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] == "T"


def is_bash(pid: int) -> bool:
    """Whether a process runs the system's bash, in one thread."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", "/bin/bash") and len(os.listdir(f"/proc/{pid}/task")) == 1
    except OSError:
        return False


def freeze_tree(pid: int) -> list[int]:
    """Stops a process's descendants, parents first; repeats until no new one appears."""
    stopped: list[int] = []
    for _ in range(50):
        new = [one for one in descendants(pid) if one not in stopped]
        if not new:
            break
        for one in new:
            send(one, signal.SIGSTOP)
        stopped.extend(new)
    return stopped


def thaw_tree(stopped: list[int]) -> None:
    """Lets them go on, children first, so that no shell sees a stopped job."""
    for one in reversed(stopped):
        send(one, signal.SIGCONT)


def kill_all(pid: int) -> None:
    """Kills every descendant of a process, itself excepted, also those that fork while it works."""
    for _ in range(200):
        found = freeze_tree(pid)
        if not found:
            return
        for one in found:
            send(one, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process's descendants."""
    total = 0
    for one in descendants(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1])
    return total * os.sysconf("SC_PAGE_SIZE")
