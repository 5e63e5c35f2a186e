"""Sandbox files on the host: places, bases and snapshots. Invariant: what a snapshot or base holds never changes.

A place holds one directory per mount point. Large start states become a *base*: read-only, shared, and mounted below
an empty upper directory, so that snapshots and forks cost what was changed. Small ones are simply copied.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentenv.errors import ConfigurationError, NotInStateError, SnapshotError
from agentenv.sandbox.base import FIXED_TIME, WORKSPACE, FileEntry, SandboxSnapshot
from agentenv.sandbox.bwrap import HOME
from agentenv.sandbox.copying import Copied
from agentenv.sandbox.files import Layers, Tree
from agentenv.sandbox.hashing import FileHashes, TreeIndex, index_tree
from agentenv.sandbox.registry import UidLease, lease_uid, new_id, remove_tree

__all__ = ["MOUNTS", "Base", "LocalSnapshot", "Place", "is_large", "write_entries"]

MOUNTS: Mapping[str, str] = {WORKSPACE: "workspace", HOME: "home", "/tmp": "tmp"}
_LARGE_FILES = 256
_LARGE_BYTES = 4 << 20
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_large(counts: Copied) -> bool:
    """Whether a state is worth a base."""
    return counts.files > _LARGE_FILES or counts.size > _LARGE_BYTES


class Place:
    """A private directory on the host that is removed with its holder, or by gc when its process died."""

    def __init__(self, root: Path, kind: str, owner: int | None) -> None:
        self.identity = new_id(kind)
        self.path = root / self.identity
        self.path.mkdir(mode=0o700)
        if owner is not None:
            os.chown(self.path, -1, owner)
            self.path.chmod(0o710)
        self._remove = weakref.finalize(self, _remove_own, self.path, os.getpid())

    def close(self) -> None:
        """Removes it; idempotent."""
        self._remove()


def _remove_own(path: Path, pid: int) -> None:
    # A forked child inherits the finalizers but not the directories.
    if os.getpid() == pid:
        remove_tree(path)


class Base:
    """A read-only tree that sandboxes share as their lower layer; lives as long as anyone refers to it."""

    def __init__(self, place: Place, lease: UidLease) -> None:
        self.place = place
        self.lease = lease
        self._indexes: dict[str, TreeIndex] = {}
        weakref.finalize(self, lease.release)

    def lower(self, mount: str) -> Path:
        """The tree of a mount point."""
        return self.place.path / MOUNTS[mount]

    def index(self, mount: str, hashes: FileHashes) -> TreeIndex:
        """The entries of a mount point's tree, read once."""
        if mount not in self._indexes:
            self._indexes[mount] = index_tree(self.lower(mount), hashes)
        return self._indexes[mount]


@dataclass
class _Kept:
    place: Place
    base: Base | None


class LocalSnapshot(SandboxSnapshot):
    """A copy of a sandbox's upper directories over the base it shares, its directory and its exported variables."""

    def __init__(
        self,
        root: Path,
        place: Place,
        base: Base | None,
        counts: Copied,
        cwd: bytes,
        exports: Mapping[bytes, bytes],
    ) -> None:
        self._root = root
        self._kept: _Kept | None = _Kept(place, base)
        self.large = is_large(counts)
        self.cwd = cwd
        self.exports = dict(exports)

    def close(self) -> None:
        """See `SandboxSnapshot.close`. Sandboxes that were started from it live on."""
        self._kept = None

    def parts(self) -> tuple[Place, Base | None]:
        """Its files, and the base below them. A large one without base becomes one at first use."""
        if self._kept is None:
            raise SnapshotError("the snapshot is closed")
        return self._kept.place, self._kept.base

    def as_base(self, overlay: bool) -> Base | None:
        """A base made of this snapshot, if it is large and stands on none."""
        place, base = self.parts()
        if not (self.large and overlay and base is None):
            return None
        lease = lease_uid(self._root)
        made = Base(place, lease)
        if os.getuid() == 0:
            give_tree(place.path, lease.uid)
            os.chown(place.path, -1, lease.uid)
            place.path.chmod(0o710)
        empty = Place(self._root, "snap", None)
        for name in MOUNTS.values():
            (empty.path / name).mkdir(mode=0o755)
            _like(place.path / name, empty.path / name)
        self._kept = _Kept(empty, made)
        return made


def _like(model: Path, folder: Path) -> None:
    found = model.stat()
    folder.chmod(stat.S_IMODE(found.st_mode))
    os.utime(folder, ns=(found.st_atime_ns, found.st_mtime_ns))


def give_tree(top: Path, owner: int) -> None:
    """Gives all entries below a directory that nothing runs on to a user."""
    for _folder, folders, files, folder_fd in os.fwalk(top, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, owner, owner, dir_fd=folder_fd, follow_symlinks=False)


def write_entries(tops: Mapping[str, Path], entries: Sequence[FileEntry], owner: int | None) -> Copied:
    """Writes entries below the mount points' directories, with fixed times; never through a link.

    Raises:
        ConfigurationError: If a path lies outside of the mount points, or passes through a link or a file.
    """
    counts = Copied()
    touched: dict[Path, set[tuple[bytes, ...]]] = {top: set() for top in tops.values()}
    for entry in entries:
        top, parts = _split(entry.path, tops)
        counts.files += 1
        counts.size += len(entry.content or b"")
        folder = os.open(top, _OPEN_FOLDER)
        try:
            for depth, part in enumerate(parts[:-1]):
                folder = _step_into(folder, part, entry.path, owner)
                touched[top].add(tuple(parts[: depth + 1]))
            if parts:
                _write_one(folder, parts[-1], entry, owner)
                if entry.content is None and entry.link is None:
                    touched[top].add(tuple(parts))
        finally:
            os.close(folder)
    for top, folders in touched.items():
        for parts_below in sorted(folders, key=len, reverse=True):
            os.utime(os.path.join(os.fsencode(top), *parts_below), (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
        os.utime(top, (FIXED_TIME, FIXED_TIME))
    return counts


def pack_entries(tree: Tree, entries: Sequence[FileEntry]) -> bytes:
    """The same as a tar archive, for a sandbox whose files only its own processes may write.

    Raises:
        ConfigurationError: If a path lies outside of the mount points, or passes through a link or a file.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            parts = _inside(entry.path)
            for depth in range(1, len(parts)):
                with contextlib.suppress(NotInStateError):
                    if tree.stat("/" + "/".join(parts[:depth])).kind != "directory":
                        raise ConfigurationError(f"file entry {entry.path!r} passes through {parts[depth - 1]!r}")
            info = tarfile.TarInfo("/" + "/".join(parts))
            info.mtime, info.uid, info.gid = FIXED_TIME, 1000, 1000
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            elif entry.content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755 if entry.mode is None else entry.mode
            else:
                info.size, info.mode = len(entry.content), 0o644 if entry.mode is None else entry.mode
            archive.addfile(info, io.BytesIO(entry.content or b""))
    return packed.getvalue()


def _inside(path: str) -> list[str]:
    _, below = _split(path, {mount: Path(mount) for mount in MOUNTS})
    mount = next(m for m in MOUNTS if (path if path.startswith("/") else f"{WORKSPACE}/{path}").startswith(m))
    return [*mount.strip("/").split("/"), *(os.fsdecode(part) for part in below)]


def _split(path: str, tops: Mapping[str, Path]) -> tuple[Path, list[bytes]]:
    whole = path if path.startswith("/") else f"{WORKSPACE}/{path}"
    parts = [part for part in whole.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in path:
        raise ConfigurationError(f"file entry {path!r}: '..' and NUL are not allowed")
    for mount, top in tops.items():
        head = mount.strip("/").split("/")
        if parts[: len(head)] == head:
            return top, [os.fsencode(part) for part in parts[len(head) :]]
    raise ConfigurationError(f"file entry {path!r} lies outside of {', '.join(tops)}")


def _step_into(folder: int, name: bytes, path: str, owner: int | None) -> int:
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        made = False
    else:
        made = True
    try:
        inner = os.open(name, _OPEN_FOLDER, dir_fd=folder)
    except OSError as fault:
        raise ConfigurationError(f"file entry {path!r} passes through {name!r}, which is no directory") from fault
    if made:
        os.fchmod(inner, 0o755)
        if owner is not None:
            os.fchown(inner, owner, owner)
    os.close(folder)
    return inner


def _write_one(folder: int, name: bytes, entry: FileEntry, owner: int | None) -> None:
    if entry.content is None and entry.link is None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder)
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            raise ConfigurationError(f"file entry {entry.path!r} is a directory, but something else is there")
        opened = os.open(name, _OPEN_FOLDER, dir_fd=folder)
        mode = 0o755 if entry.mode is None else entry.mode
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        if entry.link is not None:
            os.symlink(os.fsencode(entry.link), name, dir_fd=folder)
            if owner is not None:
                os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
            os.utime(name, (FIXED_TIME, FIXED_TIME), dir_fd=folder, follow_symlinks=False)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(name, flags, 0o600, dir_fd=folder)
        mode = 0o644 if entry.mode is None else entry.mode
    try:
        if entry.content:
            data = memoryview(entry.content)
            while data:
                data = data[os.write(opened, data) :]
        if owner is not None:
            os.fchown(opened, owner, owner)
        os.fchmod(opened, mode)
        os.utime(opened, (FIXED_TIME, FIXED_TIME))
    finally:
        os.close(opened)


def make_tops(place: Place, owner: int | None) -> dict[str, Path]:
    """Empty directories for the mount points."""
    tops: dict[str, Path] = {}
    for mount, name in MOUNTS.items():
        top = place.path / name
        top.mkdir(mode=0o755)
        top.chmod(0o1777 if mount == "/tmp" else 0o755)
        if owner is not None:
            os.chown(top, owner, owner)
        os.utime(top, (FIXED_TIME, FIXED_TIME))
        tops[mount] = top
    return tops


def layers(place: Place, base: Base | None) -> dict[str, Layers]:
    """The layers of each mount point. Only /workspace and the home can stand on a base."""
    return {
        mount: Layers(place.path / name, base.lower(mount) if base is not None else None)
        for mount, name in MOUNTS.items()
    }
