"""Hashes a sandbox's files. Invariant: equal trees have equal hashes, whatever layers and order they were made in.

The hash of a tree is a sum (modulo 2**256) of one SHA-256 per entry, so that a tree over a read-only base costs only
what was changed: entries of the base that are hidden are subtracted, entries of the upper layer added.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agentenv.sandbox.files import MAX_DEPTH, is_opaque, is_whiteout

__all__ = ["FileHashes", "TreeIndex", "hash_layers", "index_tree"]

_MODULUS = 1 << 256
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20
_RACY_NS = 50_000_000
_KEPT_HASHES = 200_000


class FileHashes:
    """Content hashes by (device, inode, change time, size), so that an unchanged file is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int, int], bytes] = {}

    def of(self, name: bytes, folder: int, found: os.stat_result) -> bytes:
        """The hash of a regular file's bytes."""
        key = (found.st_dev, found.st_ino, found.st_ctime_ns, found.st_size)
        known = self._known.get(key)
        if known is not None:
            return known
        digest = _hash_file(name, folder, found)
        # A file changed a moment ago may change again within the same tick of its change time.
        if time.time_ns() - found.st_ctime_ns > _RACY_NS:
            if len(self._known) >= _KEPT_HASHES:
                self._known.clear()
            self._known[key] = digest
        return digest


def _hash_file(name: bytes, folder: int, found: os.stat_result) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    digest = hashlib.sha256()
    try:
        file_fd = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o400)
            try:
                file_fd = os.open(f"/proc/self/fd/{handle}", flags & ~os.O_NOFOLLOW)
            finally:
                os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(found.st_mode))
        finally:
            os.close(handle)
    except OSError:
        return b"gone"
    try:
        size = os.fstat(file_fd).st_size
        if not stat.S_ISREG(os.fstat(file_fd).st_mode):
            return b"not regular"
        if size <= _BLOCK:
            digest.update(os.pread(file_fd, _BLOCK, 0))
        else:
            for number in _data_blocks(file_fd, size):
                block = os.pread(file_fd, _BLOCK, number * _BLOCK)
                # A block of zeros may be a hole in one copy and data in another: it counts in neither.
                if block.count(0) != len(block):
                    digest.update(b"%d:" % number)
                    digest.update(block)
        digest.update(b"%d" % size)
    finally:
        os.close(file_fd)
    return digest.digest()


def _data_blocks(file_fd: int, size: int) -> Iterator[int]:
    """Numbers of the blocks that are not holes: a sparse terabyte must not take a day to read."""
    number = 0
    while number * _BLOCK < size:
        try:
            start = os.lseek(file_fd, number * _BLOCK, os.SEEK_DATA)
        except OSError:
            return
        end = min(size, os.lseek(file_fd, start, os.SEEK_HOLE))
        number = max(number, start // _BLOCK)
        while number * _BLOCK < end:
            yield number
            number += 1


def _entry(path: bytes, found: os.stat_result, content: bytes) -> int:
    kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
    line = b"%d\0%s\0%o\0%o\0%s" % (len(path), path, kind, mode, content)
    return int.from_bytes(hashlib.sha256(line).digest(), "big")


def _content(name: bytes, folder: int, found: os.stat_result, hashes: FileHashes) -> bytes:
    if stat.S_ISREG(found.st_mode):
        return hashes.of(name, folder, found)
    if stat.S_ISLNK(found.st_mode):
        return os.readlink(name, dir_fd=folder)
    return b""


def _open_folder(name: bytes | Path, folder: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
            return os.open(f"/proc/self/fd/{handle}", _FOLDER & ~os.O_NOFOLLOW)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _opened_top(top: Path) -> Iterator[int]:
    """A mount point's own directory, which the agent may have locked."""
    mode = stat.S_IMODE(os.lstat(top).st_mode)
    top_fd = _open_folder(top, None)
    try:
        yield top_fd
    finally:
        if mode & 0o500 != 0o500:
            os.chmod(top_fd, mode)
        os.close(top_fd)


class TreeIndex:
    """The entries of a read-only base: their sum, and what lies at and below each path."""

    def __init__(self, entries: dict[bytes, int]) -> None:
        self.entries = entries
        self.paths = sorted(entries)
        self.total = sum(entries.values()) % _MODULUS

    def below(self, path: bytes) -> int:
        """The sum of all entries strictly below a directory."""
        first = bisect.bisect_left(self.paths, path + b"/")
        last = bisect.bisect_left(self.paths, path + b"0")  # "0" follows "/"
        return sum(self.entries[name] for name in self.paths[first:last])


def index_tree(top: Path, hashes: FileHashes) -> TreeIndex:
    """Reads a whole tree once."""
    entries: dict[bytes, int] = {}

    def add(path: bytes, value: int) -> None:
        entries[path] = value

    _visit(top, hashes, add)
    return TreeIndex(entries)


def _visit(top: Path, hashes: FileHashes, add: Callable[[bytes, int], None]) -> None:
    def walk(folder: int, prefix: bytes) -> None:
        for text in os.listdir(folder):
            name = os.fsencode(text)
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                path = prefix + name
                if stat.S_ISDIR(found.st_mode):
                    if path.count(b"/") >= MAX_DEPTH:
                        continue
                    add(path, _entry(path, found, b""))
                    inner = _open_folder(name, folder)
                    try:
                        walk(inner, path + b"/")
                    finally:
                        if stat.S_IMODE(found.st_mode) & 0o500 != 0o500:
                            os.chmod(inner, stat.S_IMODE(found.st_mode))
                        os.close(inner)
                elif not stat.S_ISSOCK(found.st_mode) and not stat.S_ISCHR(found.st_mode):
                    add(path, _entry(path, found, _content(name, folder, found, hashes)))

    with _opened_top(top) as top_fd:
        walk(top_fd, b"")


def hash_layers(upper: Path, base: TreeIndex | None, hashes: FileHashes) -> int:
    """The sum of an upper directory merged over a base."""
    if base is None:
        total = 0

        def add(_path: bytes, value: int) -> None:
            nonlocal total
            total += value

        _visit(upper, hashes, add)
        return total % _MODULUS
    with _opened_top(upper) as top_fd:
        return (base.total + _changes(top_fd, b"", base, hashes)) % _MODULUS


def _changes(folder: int, prefix: bytes, base: TreeIndex, hashes: FileHashes) -> int:
    """What an upper directory adds to, and takes from, the base's sum."""
    change = 0
    for text in os.listdir(folder):
        name = os.fsencode(text)
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        path = prefix + name
        change -= base.entries.get(path, 0)
        if stat.S_ISDIR(found.st_mode):
            if path.count(b"/") >= MAX_DEPTH:
                continue
            change += _entry(path, found, b"")
            inner = _open_folder(name, folder)
            try:
                if is_opaque(inner):
                    change -= base.below(path)
                change += _changes(inner, path + b"/", base, hashes)
            finally:
                if stat.S_IMODE(found.st_mode) & 0o500 != 0o500:
                    os.chmod(inner, stat.S_IMODE(found.st_mode))
                os.close(inner)
            continue
        change -= base.below(path)
        if not is_whiteout(found) and not stat.S_ISSOCK(found.st_mode):
            change += _entry(path, found, _content(name, folder, found, hashes))
    return change
