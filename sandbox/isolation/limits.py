"""Resource limits: control groups where writable, else rlimits. Invariant: a limit reported as enforced is enforced.

Control groups (v1, or v2 with delegated controllers) bound memory and processes of a whole sandbox and can freeze it.
Without them, memory is bounded per process (RLIMIT_AS) and for the sandbox by a watchdog, and processes by
RLIMIT_NPROC, set inside the sandbox's own user namespace.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agentenv.errors import LimitUnenforceableError
from agentenv.sandbox.base import Limits
from agentenv.sandbox.registry import new_id

__all__ = ["ControlGroups", "Controllers", "controllers", "enforcement", "find_controllers", "require"]

_GRACE_S = 2.0


@dataclass(frozen=True)
class Controllers:
    """Directories below which this process may make control groups, by controller; `version` is 1, 2 or 0 (none)."""

    version: int
    parents: dict[str, Path]


@lru_cache(maxsize=1)
def controllers() -> Controllers:
    """Finds where groups can really be made (tried by making one), once per process."""
    return find_controllers(Path("/proc/self"))


def find_controllers(process: Path) -> Controllers:
    """The same, for a process whose `cgroup` and `mountinfo` files are in a directory."""
    own = _own_groups(process / "cgroup")
    mounts = _cgroup_mounts(process / "mountinfo")
    first: dict[str, Path] = {}
    for name in ("memory", "pids", "freezer"):
        if name in mounts and (parent := _writable(mounts[name], own.get(name, "/"))):
            first[name] = parent
    if "memory" in first or "pids" in first:
        return Controllers(1, first)
    if "" in mounts:
        here = mounts[""] / own.get("", "/").lstrip("/")
        for parent in (here, here.parent):
            with contextlib.suppress(OSError):
                enabled = (parent / "cgroup.subtree_control").read_text(encoding="ascii").split()
                wanted = [name for name in ("memory", "pids") if name in enabled]
                # A process may move between two groups only if it may write to their common ancestor.
                if wanted and os.access(parent / "cgroup.procs", os.W_OK) and _makable(parent):
                    return Controllers(2, dict.fromkeys([*wanted, "freezer"], parent))
    return Controllers(0, {})


def _own_groups(file: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in file.read_text(encoding="utf-8").splitlines():
            _, names, path = line.split(":", 2)
            for name in names.split(","):
                found[name] = path
    return found


def _cgroup_mounts(file: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in file.read_text(encoding="utf-8").splitlines():
            left, _, right = line.partition(" - ")
            kind, _, options = right.split(" ", 2)
            place = Path(left.split(" ")[4])
            if kind == "cgroup2":
                found[""] = place
            elif kind == "cgroup":
                for name in options.split(","):
                    found.setdefault(name, place)
    return found


def _writable(mount: Path, own: str) -> Path | None:
    return next((place for place in (mount / own.lstrip("/"), mount) if place.is_dir() and _makable(place)), None)


def _makable(parent: Path) -> bool:
    probe = parent / f"agentenv-{new_id('probe')}"  # a name that `gc` knows, should this process be killed here
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


class ControlGroups:
    """The groups of one sandbox (none at all where the host has none)."""

    def __init__(self, identity: str, limits: Limits) -> None:
        found = controllers()
        self.version = found.version
        self.dirs: dict[str, Path] = {name: parent / f"agentenv-{identity}" for name, parent in found.parents.items()}
        for place in sorted(set(self.dirs.values())):
            place.mkdir(exist_ok=True)
        if "memory" in self.dirs:
            self._set_memory(limits.memory_bytes)
        if "pids" in self.dirs:
            # Two more for the sandbox's own processes.
            _put(self.dirs["pids"] / "pids.max", limits.processes + 2)

    def _set_memory(self, limit: int) -> None:
        place = self.dirs["memory"]
        if self.version == 2:
            _put(place / "memory.max", limit)
            with contextlib.suppress(OSError):
                _put(place / "memory.swap.max", 0)
            return
        _put(place / "memory.limit_in_bytes", limit)
        with contextlib.suppress(OSError):
            _put(place / "memory.memsw.limit_in_bytes", limit)

    def join_files(self) -> list[str]:
        """Files that a process writes "0" to, to join."""
        return [os.fspath(place / "cgroup.procs") for place in sorted(set(self.dirs.values()))]

    def oom_kills(self) -> int:
        """How many processes the kernel killed for memory."""
        if "memory" not in self.dirs:
            return 0
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return _counter(self.dirs["memory"] / name, "oom_kill")

    def fork_failures(self) -> int:
        """How many times a process could not be made because of the limit."""
        return _counter(self.dirs["pids"] / "pids.events", "max") if "pids" in self.dirs else 0

    def process_count(self) -> int | None:
        """Processes and threads now; None where no group counts them."""
        if "pids" not in self.dirs:
            return None
        try:
            return int((self.dirs["pids"] / "pids.current").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def freeze(self) -> bool:
        """Stops every process; whether it worked."""
        return self._set_frozen(True)

    def thaw(self) -> None:
        """Lets every process go on."""
        self._set_frozen(False)

    def _set_frozen(self, frozen: bool) -> bool:
        place = self.dirs.get("freezer")
        if place is None:
            return False
        if self.version == 2:
            control, value, state, wanted = "cgroup.freeze", str(int(frozen)), "cgroup.events", f"frozen {int(frozen)}"
        else:
            value = wanted = "FROZEN" if frozen else "THAWED"
            control = state = "freezer.state"
        deadline = time.monotonic() + _GRACE_S
        try:
            _put(place / control, value)
            while wanted not in (place / state).read_text(encoding="ascii"):
                if time.monotonic() > deadline:
                    _put(place / control, "0" if self.version == 2 else "THAWED")
                    return False
                time.sleep(0.0005)
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Removes the groups once their processes are gone; never raises."""
        deadline = time.monotonic() + _GRACE_S
        for place in set(self.dirs.values()):
            while place.exists():
                try:
                    place.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.001)


def _put(path: Path, value: object) -> None:
    path.write_text(str(value), encoding="ascii")


def _counter(path: Path, name: str) -> int:
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    except (OSError, ValueError):
        pass
    return 0


def enforcement() -> dict[str, str]:
    """How each field of `Limits` is enforced on this host; "" where it is not.

    >>> enforcement()["wall_s"]
    'clock of the host process, kill of the whole process group'
    """
    found = controllers()
    group = f"control group v{found.version}"
    return {
        "wall_s": "clock of the host process, kill of the whole process group",
        "memory_bytes": group if "memory" in found.parents else "RLIMIT_AS per process, and a watchdog over all",
        "processes": group if "pids" in found.parents else "RLIMIT_NPROC in the sandbox's own user namespace",
        "file_bytes": "RLIMIT_FSIZE",
        "disk_bytes": "watchdog that measures the sandbox's files while a command runs",
        "output_bytes": "counted by the host while it reads",
    }


def require(limits: Limits) -> None:
    """Refuses limits that a task requires and the host cannot enforce.

    Raises:
        LimitUnenforceableError: Names the limit.
    """
    known = enforcement()
    for name in limits.required:
        if not known.get(name):
            can = sorted(field for field in known if known[field])
            raise LimitUnenforceableError(f"limit {name!r} is required but cannot be enforced here; enforceable: {can}")
