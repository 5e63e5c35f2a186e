"""Reads an agent's files from the host. Invariant: no path, link, FIFO or device leads a reader out of the sandbox.

A sandbox's tree is a few directories on the host (one per mount point inside), each an upper directory and maybe a
read-only lower one. Paths are walked component by component on directory descriptors; links are resolved by hand,
inside the sandbox's own root, so that an absolute link means what it means to the agent.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentenv.errors import NotInStateError, UnsafePathError
from agentenv.progress import FileStat
from agentenv.sandbox.base import WORKSPACE

__all__ = ["MAX_DEPTH", "Layers", "Tree", "is_opaque", "is_whiteout", "make_searchable", "open_locked", "open_unseen"]

_MAX_LINKS = 40
# Deeper directories are neither copied nor hashed: every level costs descriptors on the host.
MAX_DEPTH = 128
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Layers:
    """The host directories of one mount point: what the agent wrote, and the read-only base below it, if any."""

    upper: Path
    lower: Path | None = None


def is_whiteout(found: os.stat_result) -> bool:
    """Whether an upper entry marks the lower one of the same name as removed."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def is_opaque(folder_fd: int) -> bool:
    """Whether an upper directory hides the lower one below it."""
    try:
        return os.getxattr(f"/proc/self/fd/{folder_fd}", "user.overlay.opaque") == b"y"
    except OSError:
        return False


class _Folder:
    """An open directory: descriptors of its upper and lower halves; or a virtual one (/, /home)."""

    def __init__(self, name: bytes, fds: tuple[int, ...]) -> None:
        self.name = name
        self.fds = fds

    def find(self, name: bytes) -> tuple[int, os.stat_result] | None:
        """The descriptor of the half that holds the entry, and its status."""
        for number, folder_fd in enumerate(self.fds):
            try:
                found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            return None if number == 0 and is_whiteout(found) else (folder_fd, found)
        return None

    def enter(self, name: bytes) -> _Folder:
        """The subdirectory of that name."""
        opened: list[int] = []
        for number, folder_fd in enumerate(self.fds):
            try:
                found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    break
                opened.append(os.open(name, _DIRECTORY, dir_fd=folder_fd))
            except FileNotFoundError:
                continue
            except OSError:
                for opened_fd in opened:
                    os.close(opened_fd)
                raise
            if number == 0 and len(self.fds) > 1 and is_opaque(opened[0]):
                break
        if not opened:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return _Folder(name, tuple(opened))

    def names(self) -> list[bytes]:
        """Names of all entries."""
        seen: dict[bytes, bool] = {}
        for number, folder_fd in enumerate(self.fds):
            listing_fd = _reopen(folder_fd, os.O_RDONLY | os.O_DIRECTORY)
            try:
                for name in os.listdir(listing_fd):
                    key = os.fsencode(name)
                    if key in seen:
                        continue
                    hidden = number == 0 and is_whiteout(os.stat(key, dir_fd=folder_fd, follow_symlinks=False))
                    seen[key] = not hidden
            finally:
                os.close(listing_fd)
        return [name for name, shown in seen.items() if shown]

    def close(self) -> None:
        for folder_fd in self.fds:
            os.close(folder_fd)
        self.fds = ()


class Tree:
    """A sandbox's files, as its agent names them; read-only.

    Args:
        mounts: The layers of each mount point ("/workspace", "/home/agent", "/tmp").
    """

    def __init__(self, mounts: Mapping[str, Layers]) -> None:
        self.mounts = dict(mounts)
        self._points = {tuple(os.fsencode(place).strip(b"/").split(b"/")): layers for place, layers in mounts.items()}

    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        """See `StateView.read`."""
        with self._walk(path, follow=True) as (folder, name, found):
            if not stat.S_ISREG(found.st_mode):
                raise UnsafePathError(f"{path!r} is {_kind_words(found)}, not a regular file")
            if found.st_size > max_bytes:
                raise NotInStateError(f"{path!r} holds {found.st_size} bytes, over the limit of {max_bytes}")
            holder = folder.find(name)
            if holder is None:
                raise NotInStateError(f"{path!r} does not exist")
            file_fd = open_locked(name, holder[0], _FILE, found)
            try:
                if not stat.S_ISREG(os.fstat(file_fd).st_mode):
                    raise UnsafePathError(f"{path!r} is not a regular file")
                return _read_up_to(file_fd, max_bytes, path)
            finally:
                os.close(file_fd)

    def text(self, path: str, max_bytes: int = 4 << 20) -> str:
        """See `StateView.text`."""
        try:
            return self.read(path, max_bytes).decode("utf-8")
        except UnicodeDecodeError as fault:
            raise NotInStateError(f"{path!r} is not UTF-8 text: {fault.reason} at byte {fault.start}") from fault

    def stat(self, path: str) -> FileStat:
        """See `StateView.stat`."""
        with self._walk(path, follow=False) as (folder, name, found):
            kind, target = "other", ""
            if stat.S_ISREG(found.st_mode):
                kind = "file"
            elif stat.S_ISDIR(found.st_mode):
                kind = "directory"
            elif stat.S_ISLNK(found.st_mode):
                kind = "link"
                holder = folder.find(name)
                target = os.readlink(name, dir_fd=holder[0]).decode("utf-8", "replace") if holder else ""
            return FileStat(
                kind=kind,  # type: ignore[arg-type]
                mode=stat.S_IMODE(found.st_mode),
                size=found.st_size,
                target=target,
                inode=found.st_ino,
                device=found.st_dev,
                links=found.st_nlink,
            )

    def listdir(self, path: str) -> list[str]:
        """See `StateView.listdir`."""
        with self._walk(path, follow=True) as (folder, name, found):
            if not stat.S_ISDIR(found.st_mode):
                raise NotInStateError(f"{path!r} is {_kind_words(found)}, not a directory")
            inner = folder if name == b"." else folder.enter(name)
            try:
                return sorted(entry.decode("utf-8", "replace") for entry in inner.names())
            finally:
                if inner is not folder:
                    inner.close()

    def exists(self, path: str) -> bool:
        """See `StateView.exists`."""
        try:
            self.stat(path)
        except UnsafePathError:
            raise
        except NotInStateError:
            return False
        return True

    @contextlib.contextmanager
    def _walk(self, path: str, follow: bool) -> Iterator[tuple[_Folder, bytes, os.stat_result]]:
        """The folder that holds the last component, its name there (b"." for a mount point), and its status."""
        stack = [_Folder(b"", ())]
        try:
            yield self._resolve(path, follow, stack)
        except UnicodeEncodeError as fault:
            raise NotInStateError(f"{path!r} is not a path: {fault}") from fault
        except NotInStateError:
            raise
        except OSError as fault:
            raise NotInStateError(f"{path!r}: {fault.strerror or fault}") from fault
        finally:
            for folder in stack:
                folder.close()

    def _resolve(self, path: str, follow: bool, stack: list[_Folder]) -> tuple[_Folder, bytes, os.stat_result]:
        if "\0" in path or not path:
            raise NotInStateError(f"{path!r} is not a path")
        pending = deque(_components(os.fsencode(path if path.startswith("/") else f"{WORKSPACE}/{path}")))
        links = 0
        while pending:
            name = pending.popleft()
            if name == b"..":
                if len(stack) > 1:
                    stack.pop().close()
                continue
            folder = stack[-1]
            if not folder.fds:
                self._enter_virtual(path, name, stack)
                continue
            entry = folder.find(name)
            if entry is None:
                raise NotInStateError(f"{path!r} does not exist")
            holder, found = entry
            if stat.S_ISLNK(found.st_mode) and (pending or follow or path.endswith("/")):
                links += 1
                if links > _MAX_LINKS:
                    raise UnsafePathError(f"{path!r} goes through more than {_MAX_LINKS} links")
                target = os.readlink(name, dir_fd=holder)
                if target.startswith(b"/"):
                    while len(stack) > 1:
                        stack.pop().close()
                pending.extendleft(reversed(_components(target)))
                continue
            if not pending and not stat.S_ISDIR(found.st_mode):
                return folder, name, found
            if not stat.S_ISDIR(found.st_mode):
                raise NotInStateError(f"{path!r} does not exist: {name.decode('utf-8', 'replace')!r} is no directory")
            stack.append(folder.enter(name))
        last = stack[-1]
        if not last.fds:
            raise UnsafePathError(f"{path!r} is outside of {', '.join(self.mounts)}")
        return last, b".", os.stat(f"/proc/self/fd/{last.fds[0]}")

    def _enter_virtual(self, path: str, name: bytes, stack: list[_Folder]) -> None:
        here = (*(folder.name for folder in stack[1:]), name)
        if here in self._points:
            layers = self._points[here]
            opened = [os.open(layers.upper, _DIRECTORY)]
            stack.append(_Folder(name, (opened[0],)))
            if layers.lower is not None:
                stack[-1].fds = (opened[0], os.open(layers.lower, _DIRECTORY))
        elif any(point[: len(here)] == here for point in self._points):
            stack.append(_Folder(name, ()))
        else:
            raise UnsafePathError(
                f"{path!r} leads to /{b'/'.join(here).decode('utf-8', 'replace')}, out of the sandbox"
            )


def _components(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]


def open_locked(name: bytes, folder: int | None, flags: int, found: os.stat_result) -> int:
    """Opens an entry; one that its owner locked (mode 000) is unlocked for a moment. Root needs no such thing."""
    try:
        opened = open_unseen(name, flags, folder)
        if stat.S_ISDIR(found.st_mode):
            make_searchable(opened)
        return opened
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            place = f"/proc/self/fd/{handle}"
            os.chmod(place, stat.S_IMODE(found.st_mode) | (0o700 if stat.S_ISDIR(found.st_mode) else 0o400))
            try:
                return open_unseen(place, flags & ~os.O_NOFOLLOW)
            finally:
                # A directory must stay open to lookups while it is copied: the descriptor needs search permission.
                if not stat.S_ISDIR(found.st_mode):
                    os.chmod(place, stat.S_IMODE(found.st_mode))
        finally:
            os.close(handle)


def open_unseen(name: bytes | str | os.PathLike[str], flags: int, folder: int | None = None) -> int:
    """Opens an entry to read it without a trace in its access time, where it is the caller's to decide."""
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=folder)
    except PermissionError:
        return os.open(name, flags, dir_fd=folder)


def make_searchable(folder_fd: int) -> None:
    """Lets a directory that its owner may list, but not enter, be walked; the caller restores its mode."""
    mode = stat.S_IMODE(os.fstat(folder_fd).st_mode)
    if not mode & 0o100 and os.geteuid() != 0:
        os.fchmod(folder_fd, mode | 0o700)


def _reopen(path_fd: int, flags: int) -> int:
    return open_unseen(f"/proc/self/fd/{path_fd}", flags | os.O_CLOEXEC)


def _read_up_to(file_fd: int, max_bytes: int, path: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(file_fd, 1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise NotInStateError(f"{path!r} is over the limit of {max_bytes} bytes")
    return b"".join(pieces)


def _kind_words(found: os.stat_result) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(found.st_mode), "a special file")
