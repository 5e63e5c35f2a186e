"""Memory-mapped strings and look-ups, and the directory that is made once. Invariant: a published directory is whole.

Documents and words lie in two files each, their bytes and where each begins, so that opening a corpus of any size costs
nothing and processes share what they read. A directory is written beside its place and renamed into it, under a lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import shutil
from array import array
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import numpy as np

from agentenv.errors import InfrastructureError

__all__ = ["BlobWriter", "Blobs", "Lookup", "cache_root", "made_once", "write_lookup"]


def cache_root() -> Path:
    """Where indexes are kept: `$AGENTENV_CACHE`, else `agentenv` in `$XDG_CACHE_HOME` or in `~/.cache`."""
    own = os.environ.get("AGENTENV_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentenv"


def made_once(place: Path, make: Callable[[Path], None]) -> Path:
    """`place`, filled by `make` unless it is there; of several processes one makes it and the others wait.

    Args:
        place: The directory.
        make: Fills an empty directory. What it leaves when it raises is removed.

    Raises:
        InfrastructureError: If the file system refuses.
    """
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place.with_name(place.name + ".lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                # Only a killed process leaves one: a living one would hold the lock.
                unfinished = place.with_name(place.name + ".unfinished")
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                try:
                    make(unfinished)
                    unfinished.rename(place)
                finally:
                    shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as fault:
        raise InfrastructureError(
            f"{place} cannot be written ({fault}); set AGENTENV_CACHE to another place"
        ) from fault
    return place


class BlobWriter:
    """Writes byte strings one after the other; `Blobs` reads them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._offsets_path = folder / f"{name}.offsets.npy"
        self._offsets = array("q", [0])
        self._file = open(folder / f"{name}.bytes", "wb")  # noqa: SIM115 (closed by __exit__)

    def append(self, blob: bytes) -> None:
        """Adds one at the end."""
        self._file.write(blob)
        self._offsets.append(self._offsets[-1] + len(blob))

    def __enter__(self) -> BlobWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            np.save(self._offsets_path, np.frombuffer(self._offsets, dtype=np.int64))


class Blobs:
    """A memory-mapped sequence of byte strings."""

    def __init__(self, folder: Path, name: str) -> None:
        self._offsets = mapped(folder / f"{name}.offsets.npy")
        with open(folder / f"{name}.bytes", "rb") as file:
            # An empty file cannot be mapped.
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._offsets[-1] else b""

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return self._bytes[int(self._offsets[index]) : int(self._offsets[index + 1])]


def write_lookup(folder: Path, name: str, hashes: np.ndarray) -> None:
    """Writes what `Lookup` reads: the hashes of the keys, `key_hash` of each in the order of their numbers."""
    order = np.argsort(hashes, kind="stable")
    np.save(folder / f"{name}.hashes.npy", hashes[order])
    np.save(folder / f"{name}.order.npy", order.astype(np.int64))


def key_hash(key: bytes) -> int:
    """64 bits of a key."""
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


class Lookup:
    """Numbers of keys by binary search in memory-mapped hashes; `key_of` tells keys with equal hashes apart."""

    def __init__(self, folder: Path, name: str, key_of: Callable[[int], bytes]) -> None:
        self._hashes = mapped(folder / f"{name}.hashes.npy")
        self._order = mapped(folder / f"{name}.order.npy")
        self._key_of = key_of

    def get(self, key: bytes) -> int | None:
        """The number of a key; None if there is none."""
        # A plain int would make numpy compare, and so copy, the whole array as floats.
        wanted = np.uint64(key_hash(key))
        at = int(np.searchsorted(self._hashes, wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            number = int(self._order[at])
            if self._key_of(number) == key:
                return number
            at += 1
        return None


def mapped(path: Path) -> np.ndarray:
    """An array that stays on disk."""
    loaded: np.ndarray = np.load(path, mmap_mode="r")
    return loaded.view(np.ndarray)
