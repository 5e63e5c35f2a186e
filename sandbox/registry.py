"""Host directories, ids and user ids of sandboxes. Invariant: what a dead process owned can be told from what lives.

Everything a sandbox holds on the host carries its id, and the id carries its owner: process id and the process's start
time, so that a reused process id is never mistaken for the owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from agentenv.errors import InfrastructureError

__all__ = ["UidLease", "host_root", "lease_uid", "new_id", "owner_alive", "process_start", "remove_tree"]

_UID_SPAN = 20_000
_PREFERRED_UIDS = (200_000, 100_000, 65_536 * 8, 20_000)


def process_start(pid: int) -> str:
    """The start time of a process in clock ticks since boot, or "" if there is no such process.

    >>> process_start(os.getpid()) != ""
    True
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def new_id(kind: str) -> str:
    """A fresh id: kind, owner's process id, owner's start time, random part.

    >>> owner_alive(new_id("box"))
    True
    """
    pid = os.getpid()
    return f"{kind}-{pid}-{process_start(pid)}-{secrets.token_hex(6)}"


def owner_alive(identity: str) -> bool:
    """Whether the process named in an id still runs. Ids that are not ours count as alive: nothing foreign is reaped.

    >>> owner_alive("box-1-0-abcdef")
    False
    """
    parts = identity.split("-")
    if len(parts) != 4 or not parts[1].isdigit():
        return True
    return process_start(int(parts[1])) == parts[2]


def host_root(parent: Path | None = None) -> Path:
    """The private directory below which this user's sandboxes live; made if missing.

    Raises:
        InfrastructureError: If something else sits at its place.
    """
    root = (parent or Path(tempfile.gettempdir())) / f"agentenv-{os.getuid()}"
    # Started by root, bubblewrap runs as another user, who must be able to pass through (not to list).
    mode = 0o711 if os.getuid() == 0 else 0o700
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=mode)
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise InfrastructureError(f"{root} is not a directory of this user: remove it, or set TMPDIR elsewhere")
    if stat.S_IMODE(found.st_mode) != mode:
        root.chmod(mode)
    return root


class UidLease:
    """A user id held by a lock on a file, so that it is free again when the holder dies. Not root: the user's own."""

    def __init__(self, uid: int, lock_fd: int | None) -> None:
        self.uid = uid
        self._lock_fd = lock_fd

    def release(self) -> None:
        """Frees the id; idempotent."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None


def lease_uid(root: Path) -> UidLease:
    """An unprivileged user id that no other live sandbox of this host uses (the own one when not root).

    Raises:
        InfrastructureError: If every id of the range is taken.
    """
    if os.getuid() != 0:
        return UidLease(os.getuid(), None)
    folder = root / "uids"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    first = _first_uid()
    start = secrets.randbelow(_UID_SPAN)
    for step in range(_UID_SPAN):
        uid = first + (start + step) % _UID_SPAN
        lock_fd = os.open(folder / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock_fd)
            continue
        return UidLease(uid, lock_fd)
    raise InfrastructureError(f"all {_UID_SPAN} sandbox user ids from {first} are in use: run `agentenv gc`")


def _first_uid() -> int:
    """The start of a range of ids that this host's user namespace maps."""
    mapped: list[tuple[int, int]] = []
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        inside, _, count = (int(word) for word in line.split())
        mapped.append((inside, inside + count))
    for first in _PREFERRED_UIDS:
        if any(low <= first and first + _UID_SPAN <= high for low, high in mapped):
            return first
    raise InfrastructureError(
        "this user namespace maps too few user ids to give each sandbox its own: not run as root?"
    )


def remove_tree(path: Path) -> None:
    """Removes a directory tree whatever its modes, however deep; never follows links; never raises."""
    if os.getuid() != 0:
        _open_directories(path)
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        # Deeper than Python's recursion or descriptors go: these tools walk without either.
        for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([*tool, "--", path], stderr=subprocess.DEVNULL, timeout=120, check=False)


def _open_directories(path: Path) -> None:
    """Gives the owner access to every directory below, so that what a plain user's agent locked can be removed."""
    pending = [os.fspath(path)]
    while pending:
        here = pending.pop()
        with contextlib.suppress(OSError):
            if stat.S_IMODE(os.lstat(here).st_mode) & 0o700 != 0o700:
                os.chmod(here, 0o700)
            with os.scandir(here) as entries:
                pending.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
