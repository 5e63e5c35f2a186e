"""Removes what killed runs left behind. Invariant: nothing of a living process is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentenv.sandbox import processes
from agentenv.sandbox.isolation.limits import controllers
from agentenv.sandbox.registry import host_root, owner_alive, remove_tree

__all__ = ["Reaped", "reap"]

_KINDS = ("box-", "fork-", "snap-", "probe-", "root-", "bwrap-")


@dataclass(frozen=True)
class Reaped:
    """How much was removed."""

    directories: int = 0
    processes: int = 0
    groups: int = 0


def reap(root: Path | None = None) -> Reaped:
    """Kills and removes what dead owners left: processes, control groups, directories.

    Args:
        root: Where to look; None: below the temporary directory.

    >>> isinstance(reap().directories, int)
    True
    """
    top = host_root(root)
    killed = _kill_leftovers(top)
    groups = sum(_remove_group(place) for place in _dead_groups())
    removed = 0
    for place in list(top.iterdir()):
        if place.name.startswith(_KINDS) and not owner_alive(place.name):
            remove_tree(place)
            removed += not place.exists()
    return Reaped(removed, killed, groups)


def _kill_leftovers(top: Path) -> int:
    """Kills bubblewrap processes that serve directories of dead owners."""
    prefix = os.fsencode(top) + b"/"
    killed = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            if not words[0].endswith(b"bwrap"):
                continue
            owners = {
                word[len(prefix) :].split(b"/")[0].decode("ascii", "replace")
                for word in words
                if word.startswith(prefix)
            }
            if any(owner.startswith(("box-", "fork-", "probe-")) and not owner_alive(owner) for owner in owners):
                for pid in (*processes.descendants(int(name)), int(name)):
                    processes.send(pid, signal.SIGKILL)
                    killed += 1
    return killed


def _dead_groups() -> Iterator[Path]:
    for parent in set(controllers().parents.values()):
        for place in parent.glob("agentenv-*-*-*-*"):
            if not owner_alive(place.name.removeprefix("agentenv-")):
                yield place


def _remove_group(place: Path) -> int:
    for _ in range(200):
        with contextlib.suppress(OSError):
            (place / "freezer.state").write_text("THAWED", encoding="ascii")
        with contextlib.suppress(OSError):
            (place / "cgroup.freeze").write_text("0", encoding="ascii")
        with contextlib.suppress(OSError, ValueError):
            for word in (place / "cgroup.procs").read_text(encoding="ascii").split():
                processes.send(int(word), signal.SIGKILL)
        try:
            place.rmdir()
        except FileNotFoundError:
            return 0
        except OSError:
            time.sleep(0.01)
        else:
            return 1
    return 0
