"""The files that are graded. Invariant: what is read is what the agent left, bounded, in its workspace alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.sandbox.base import WORKSPACE

__all__ = ["MOST_BYTES", "MOST_FILES", "collect", "digest"]

MOST_FILES = 5000
MOST_BYTES = 32 << 20
_MOST_DEPTH = 32
# Made by programs, not written by the agent: compiled forms, histories, caches of test runners.
_LEFT_OUT = frozenset({"__pycache__", ".git", ".pytest_cache", ".mypy_cache"})


def collect(view: StateView) -> dict[str, bytes]:
    """The workspace's files by relative path. Compiled files, histories and links to folders are left out.

    Raises:
        NotInStateError: If there are more than `MOST_FILES` files, or more than `MOST_BYTES` in them.
    """
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    for path in _paths(view, "", 0):
        if len(files) >= MOST_FILES:
            raise NotInStateError(f"the workspace holds more than {MOST_FILES} files")
        try:
            files[path] = view.read(f"{WORKSPACE}/{path}", MOST_BYTES)
        except NotInStateError:
            continue  # a FIFO, a link that leads nowhere, a name that is no text
        left -= len(files[path])
        if left < 0:
            raise NotInStateError(f"the workspace holds more than {MOST_BYTES >> 20} MiB")
    return files


def digest(files: Mapping[str, bytes]) -> str:
    """A hash of names and contents."""
    hashed = hashlib.sha256()
    for path in sorted(files):
        name = path.encode("utf-8", "surrogatepass")
        hashed.update(len(name).to_bytes(4, "little") + name + len(files[path]).to_bytes(8, "little") + files[path])
    return hashed.hexdigest()


def _paths(view: StateView, folder: str, depth: int) -> Iterator[str]:
    for name in view.listdir(f"{WORKSPACE}/{folder}" if folder else WORKSPACE):
        path = f"{folder}/{name}" if folder else name
        try:
            found = view.stat(f"{WORKSPACE}/{path}")
        except NotInStateError:
            continue
        if found.kind == "directory":
            if name not in _LEFT_OUT and depth < _MOST_DEPTH:
                yield from _paths(view, path, depth + 1)
        elif found.kind in ("file", "link"):
            yield path
