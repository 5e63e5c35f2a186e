"""Hashes a sandbox's files. Invariant: equal trees have equal hashes, whatever layers and order they were made in.

The hash of a tree is a sum (modulo 2**256) of one SHA-256 per entry, and one per group of hard links, so that a tree
over a read-only base costs only what was changed: entries of the base that are hidden are subtracted, entries of the
upper layer added. Modification times are summed apart: they do not tell states from each other, but a check can see
them.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentenv.sandbox.files import MAX_DEPTH, is_opaque, is_whiteout, make_searchable, open_unseen
from agentenv.sandbox.git_index import canonical_index

__all__ = ["FileHashes", "Sums", "TreeIndex", "hash_layers", "index_tree"]

_MODULUS = 1 << 256
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20
_RACY_NS = 50_000_000
_KEPT_HASHES = 200_000


class FileHashes:
    """Content hashes by (device, inode, change time, size), so that an unchanged file is read once.

    Attributes:
        trusting: Whether the change time is believed. A process that has a file mapped writes to it without a sign.
    """

    def __init__(self) -> None:
        self.trusting = True
        self._known: dict[tuple[int, int, int, int], bytes] = {}

    def of(self, name: bytes, folder: int, found: os.stat_result) -> bytes:
        """The hash of a regular file's bytes."""
        key = (found.st_dev, found.st_ino, found.st_ctime_ns, found.st_size)
        known = self._known.get(key)
        if known is not None and self.trusting:
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
        file_fd = open_unseen(name, flags, folder)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o400)
            try:
                file_fd = open_unseen(f"/proc/self/fd/{handle}", flags & ~os.O_NOFOLLOW)
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
            content = os.pread(file_fd, _BLOCK, 0)
            index = canonical_index(content) if name == b"index" else None
            if index is not None:
                return hashlib.sha256(b"git index\0" + index).digest()
            digest.update(content)
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


@dataclass(frozen=True)
class Sums:
    """The sums over a tree: what the state is, and when each entry was modified."""

    state: int = 0
    times: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums((self.state + other.state) % _MODULUS, (self.times + other.times) % _MODULUS)

    def __sub__(self, other: Sums) -> Sums:
        return Sums((self.state - other.state) % _MODULUS, (self.times - other.times) % _MODULUS)


_NOTHING = Sums()


def _number(line: bytes) -> int:
    return int.from_bytes(hashlib.sha256(line).digest(), "big")


def _entry(path: bytes, found: os.stat_result, content: bytes) -> Sums:
    kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
    state = _number(b"%d\0%s\0%o\0%o\0%s" % (len(path), path, kind, mode, content))
    return Sums(state, _number(b"%d\0%s\0%d" % (len(path), path, found.st_mtime_ns)))


def _top_entry(found: os.stat_result) -> Sums:
    # Only its mode: a mount point's own times change with every temporary file.
    return Sums(_number(b"top\0%o" % stat.S_IMODE(found.st_mode)))


def _linked(names: Iterable[bytes]) -> Sums:
    """What a group of hard links adds; a file of one name adds nothing."""
    group = sorted(names)
    return Sums(_number(b"links\0" + b"\0".join(group))) if len(group) > 1 else _NOTHING


def _content(name: bytes, folder: int, found: os.stat_result, hashes: FileHashes) -> bytes:
    if stat.S_ISREG(found.st_mode):
        return hashes.of(name, folder, found)
    if stat.S_ISLNK(found.st_mode):
        return os.readlink(name, dir_fd=folder)
    return b""


def _open_folder(name: bytes | Path, folder: int | None) -> int:
    try:
        opened = open_unseen(name, _FOLDER, folder)
        make_searchable(opened)
        return opened
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
            return open_unseen(f"/proc/self/fd/{handle}", _FOLDER & ~os.O_NOFOLLOW)
        finally:
            os.close(handle)


class TreeIndex:
    """The entries of a read-only base: their sum, what lies at and below each path, and which names are one file."""

    def __init__(self, entries: dict[bytes, Sums], groups: Iterable[list[bytes]]) -> None:
        self.entries = entries
        self.paths = sorted(entries)
        self.group_of = {path: tuple(group) for group in groups if len(group) > 1 for path in group}
        self.total = _NOTHING
        for value in entries.values():
            self.total += value
        for group in set(self.group_of.values()):
            self.total += _linked(group)

    def below(self, path: bytes) -> list[bytes]:
        """All entries strictly below a directory."""
        first = bisect.bisect_left(self.paths, path + b"/")
        last = bisect.bisect_left(self.paths, path + b"0")  # "0" follows "/"
        return self.paths[first:last]


class _Walk:
    """One pass over a directory tree, with or without a base below it."""

    def __init__(self, hashes: FileHashes, base: TreeIndex | None) -> None:
        self._hashes = hashes
        self._base = base
        self.entries: dict[bytes, Sums] = {}
        self.groups: dict[tuple[int, int], list[bytes]] = {}
        self.hidden: set[bytes] = set()

    def top(self, top: Path) -> None:
        """Takes in a mount point's directory, which the agent may have locked."""
        found = os.lstat(top)
        self.entries[b""] = _top_entry(found)
        self._hide(b"")
        top_fd = _open_folder(top, None)
        try:
            self._folder(top_fd, b"")
        finally:
            if os.fstat(top_fd).st_mode != found.st_mode:
                os.chmod(top_fd, stat.S_IMODE(found.st_mode))
            os.close(top_fd)

    def _folder(self, folder: int, prefix: bytes) -> None:
        for text in os.listdir(folder):
            name = os.fsencode(text)
            with contextlib.suppress(FileNotFoundError):
                self._one(folder, name, prefix + name)

    def _one(self, folder: int, name: bytes, path: bytes) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        self._hide(path)
        if stat.S_ISDIR(found.st_mode):
            if path.count(b"/") >= MAX_DEPTH:
                return
            self.entries[path] = _entry(path, found, b"")
            inner = _open_folder(name, folder)
            try:
                if self._base is not None and is_opaque(inner):
                    self._hide_below(path)
                self._folder(inner, path + b"/")
            finally:
                if os.fstat(inner).st_mode != found.st_mode:
                    os.chmod(inner, stat.S_IMODE(found.st_mode))
                os.close(inner)
            return
        self._hide_below(path)
        if is_whiteout(found):
            return
        self.entries[path] = _entry(path, found, _content(name, folder, found, self._hashes))
        if found.st_nlink > 1:
            self.groups.setdefault((found.st_dev, found.st_ino), []).append(path)

    def _hide(self, path: bytes) -> None:
        if self._base is not None and path in self._base.entries:
            self.hidden.add(path)

    def _hide_below(self, path: bytes) -> None:
        if self._base is not None:
            self.hidden.update(self._base.below(path))


def index_tree(top: Path, hashes: FileHashes) -> TreeIndex:
    """Reads a whole tree once."""
    walk = _Walk(hashes, None)
    walk.top(top)
    return TreeIndex(walk.entries, walk.groups.values())


def hash_layers(upper: Path, base: TreeIndex | None, hashes: FileHashes) -> Sums:
    """The sums of an upper directory merged over a base."""
    walk = _Walk(hashes, base)
    walk.top(upper)
    total = _NOTHING
    for value in walk.entries.values():
        total += value
    for group in walk.groups.values():
        total += _linked(group)
    if base is None:
        return total
    total += base.total
    for path in walk.hidden:
        total -= base.entries[path]
    for names in {base.group_of[path] for path in walk.hidden if path in base.group_of}:
        total += _linked(name for name in names if name not in walk.hidden)
        total -= _linked(names)
    return total
