"""Copies an agent's directory trees on the host. Invariant: nothing is followed or opened but regular files.

Kept: bytes (holes stay holes), modes, modification times, links as they are, hard links among the copied files, FIFOs,
the names of sockets, user extended attributes. Left out: devices, directories nested deeper than `MAX_DEPTH`. An
overlay's whiteouts are kept. Entries are made in the order of their names, so that copies list alike.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from agentenv.sandbox.files import MAX_DEPTH, is_whiteout, open_locked

__all__ = ["Copied", "copy_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


@dataclass
class Copied:
    """How much was copied."""

    files: int = 0
    size: int = 0
    # (device, inode) of a source with several names -> its first copy, as path below the root.
    links: dict[tuple[int, int], bytes] = field(default_factory=dict, repr=False)


def copy_tree(source: Path, target: Path, owner: int | None = None, seen: Copied | None = None) -> Copied:
    """Copies a tree into a directory that does not exist yet.

    Args:
        source: The tree's top; a directory.
        target: The directory to make.
        owner: Give everything to this user (only root can).
        seen: Counts to add to.

    Returns:
        The counts.
    """
    counts = seen if seen is not None else Copied()
    counts.links.clear()
    os.mkdir(target, 0o700)
    before = os.lstat(source)
    source_fd = open_locked(os.fsencode(source), None, _FOLDER, before)
    try:
        target_fd = os.open(target, _FOLDER)
        try:
            _copy_folder(source_fd, target_fd, target_fd, b"", owner, counts)
            _settle_open(source_fd, target_fd, before, owner)
            if os.fstat(source_fd).st_mode != before.st_mode:
                os.chmod(source_fd, stat.S_IMODE(before.st_mode))
        finally:
            os.close(target_fd)
    finally:
        os.close(source_fd)
    return counts


def _copy_folder(source: int, target: int, root: int, prefix: bytes, owner: int | None, counts: Copied) -> None:
    for name in sorted(os.fsencode(text) for text in os.listdir(source)):
        try:
            found = os.stat(name, dir_fd=source, follow_symlinks=False)
        except FileNotFoundError:
            continue
        kind = stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFDIR:
            if prefix.count(b"/") >= MAX_DEPTH:
                continue
            with contextlib.suppress(FileNotFoundError):
                inner = open_locked(name, source, _FOLDER, found)
                try:
                    os.mkdir(name, 0o700, dir_fd=target)
                    copy = os.open(name, _FOLDER, dir_fd=target)
                    try:
                        counts.files += 1
                        _copy_folder(inner, copy, root, prefix + name + b"/", owner, counts)
                        _settle_open(inner, copy, found, owner)
                    finally:
                        os.close(copy)
                finally:
                    if os.fstat(inner).st_mode != found.st_mode:
                        os.chmod(inner, stat.S_IMODE(found.st_mode))
                    os.close(inner)
            continue
        if found.st_nlink > 1:
            first = counts.links.get((found.st_dev, found.st_ino))
            if first is not None:
                os.link(first, name, src_dir_fd=root, dst_dir_fd=target, follow_symlinks=False)
                counts.files += 1
                continue
            counts.links[found.st_dev, found.st_ino] = prefix + name
        if kind == stat.S_IFREG:
            with contextlib.suppress(FileNotFoundError):
                counts.size += _copy_file(name, source, target, found, owner)
        elif kind == stat.S_IFLNK:
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
            _settle_by_name(name, target, found, owner)
        elif kind in (stat.S_IFIFO, stat.S_IFSOCK):
            os.mknod(name, kind | 0o600, dir_fd=target)
            os.chmod(name, stat.S_IMODE(found.st_mode), dir_fd=target)
            _settle_by_name(name, target, found, owner)
        elif is_whiteout(found):
            os.mknod(name, stat.S_IFCHR, 0, dir_fd=target)
        else:
            counts.links.pop((found.st_dev, found.st_ino), None)
            continue
        counts.files += 1


def _copy_file(name: bytes, source: int, target: int, found: os.stat_result, owner: int | None) -> int:
    reading = open_locked(name, source, _SOURCE, found)
    try:
        now = os.fstat(reading)
        if not stat.S_ISREG(now.st_mode):
            return 0
        writing = os.open(name, _TARGET, 0o600, dir_fd=target)
        try:
            if now.st_blocks * 512 < now.st_size:
                _copy_sparse(reading, writing, now.st_size)
            else:
                while os.sendfile(writing, reading, None, _PIECE):
                    pass
            _settle_open(reading, writing, found, owner)
        finally:
            os.close(writing)
        return now.st_blocks * 512
    finally:
        os.close(reading)


def _copy_sparse(reading: int, writing: int, size: int) -> None:
    position = 0
    while position < size:
        try:
            start = os.lseek(reading, position, os.SEEK_DATA)
        except OSError:  # no data after this
            break
        position = os.lseek(reading, start, os.SEEK_HOLE)
        os.lseek(reading, start, os.SEEK_SET)
        os.lseek(writing, start, os.SEEK_SET)
        left = position - start
        while left > 0:
            piece = os.read(reading, min(left, _PIECE))
            if not piece:
                break
            os.write(writing, piece)
            left -= len(piece)
    os.ftruncate(writing, size)


def _settle_open(source: int, target: int, found: os.stat_result, owner: int | None) -> None:
    with contextlib.suppress(OSError):
        for attribute in os.listxattr(source):
            if attribute.startswith("user."):
                os.setxattr(target, attribute, os.getxattr(source, attribute))
    if owner is not None:
        os.chown(target, owner, owner)
    os.chmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _settle_by_name(name: bytes, folder: int, found: os.stat_result, owner: int | None) -> None:
    if owner is not None:
        os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
    os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder, follow_symlinks=False)
