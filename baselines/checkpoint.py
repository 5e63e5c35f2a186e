"""Checkpoints of a training run. Invariant: a checkpoint is there whole or not at all, whenever the process dies.

A checkpoint is a directory `checkpoint-000012` with the state and its SHA-256. It is written beside its final place,
flushed to disk, and renamed; only then are older ones removed. A damaged one is passed over for the one before it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agentenv.errors import CheckpointError

__all__ = ["Checkpoints", "random_state", "restore_random_state", "write_durably"]

_LOG = logging.getLogger(__name__)
_STATE, _MANIFEST = "state.pt", "manifest.json"


class Checkpoints:
    """The checkpoints of one run, in one directory.

    Args:
        directory: Where they are.
        keep: How many of the latest stay.
    """

    def __init__(self, directory: str | Path, *, keep: int = 2) -> None:
        self.directory = Path(directory)
        self._keep = max(1, keep)

    def save(self, step: int, state: dict[str, Any]) -> Path:
        """Writes a checkpoint and removes the oldest; saving a step again replaces nothing and is quick.

        Args:
            step: Its number; larger is later.
            state: Tensors, numbers, strings, and lists, tuples and dictionaries of them.

        Raises:
            CheckpointError: If it cannot be written (a full disk, a directory that is not writable). Older checkpoints
                are then untouched.
        """
        final = self.directory / f"checkpoint-{step:06d}"
        if final.is_dir() and _is_sound(final):
            return final
        temporary = self.directory / f".partial-{step:06d}"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.rmtree(final, ignore_errors=True)  # only ever a damaged one
            temporary.mkdir()
            buffer = io.BytesIO()
            torch.save(state, buffer)
            content = buffer.getbuffer()
            manifest = {"step": step, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            write_durably(temporary / _STATE, content)
            write_durably(temporary / _MANIFEST, json.dumps(manifest).encode())
            _sync_directory(temporary)
            temporary.rename(final)
            _sync_directory(self.directory)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise CheckpointError(
                f"checkpoint {final} cannot be written: {error.strerror or error}. Earlier checkpoints are intact: "
                "free some space and resume"
            ) from error
        for old in self._all()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)
        return final

    def latest(self) -> dict[str, Any] | None:
        """The state of the latest sound checkpoint, or None when there is none at all.

        Raises:
            CheckpointError: If there are checkpoints and every one is damaged.
        """
        found = self._all()
        for path in reversed(found):
            if not _is_sound(path):
                _LOG.warning("checkpoint %s is damaged and passed over", path)
                continue
            # weights_only: a checkpoint holds data, and loading one never runs code.
            state: dict[str, Any] = torch.load(path / _STATE, map_location="cpu", weights_only=True)
            return state
        if found:
            raise CheckpointError(f"every checkpoint in {self.directory} is damaged: start afresh in another directory")
        return None

    def _all(self) -> list[Path]:
        return sorted(self.directory.glob("checkpoint-*"))


def random_state() -> dict[str, Any]:
    """The state of the process's random generators (Python's, NumPy's, torch's), as plain data."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return {
        "python": random.getstate(),
        "numpy": (str(kind), [int(key) for key in keys], int(position), int(has_gauss), float(gauss)),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_state(state: dict[str, Any]) -> None:
    """The inverse of `random_state`."""
    random.setstate(state["python"])
    kind, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, np.asarray(keys, dtype=np.uint32), position, has_gauss, gauss))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Writes a file and waits until it is on the disk."""
    with path.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _is_sound(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        with (path / _STATE).open("rb") as content:
            return bool(hashlib.file_digest(content, "sha256").hexdigest() == manifest["sha256"])
    return False


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
