"""What a training run writes beside its checkpoints. Invariant: one line per update, never two for one update.

`metrics.jsonl` (strict JSON, one object an update), the same numbers for TensorBoard, `config.json`, and sampled
episodes with their advantages. After a resume the metrics file is cut to where the checkpoint left it.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

import agentenv
from agentenv.baselines.checkpoint import write_durably
from agentenv.errors import CheckpointError
from agentenv.trajectory import Trajectory, write_trajectories

__all__ = ["RunLog", "describe_run", "read_metrics"]


class RunLog:
    """The log of one run. A context manager.

    Args:
        out: The run's directory.
        offset: Bytes of `metrics.jsonl` that a checkpoint accounts for; what is behind them is dropped.
        step: The step that comes next.
        tensorboard: Whether to write `tensorboard/` too.

    Raises:
        CheckpointError: If the directory cannot be written, another process trains in it, or the file is shorter than
            `offset`.
    """

    def __init__(self, out: Path, *, offset: int = 0, step: int = 0, tensorboard: bool = True) -> None:
        self.out = out
        path = out / "metrics.jsonl"
        try:
            out.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
        except OSError as error:
            raise CheckpointError(f"{path} cannot be written: {error.strerror or error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise CheckpointError(f"another process trains in {out}: wait for it, or give another --out") from error
        if self._file.tell() < offset:
            self._file.close()
            raise CheckpointError(f"{path} has {path.stat().st_size} bytes and the checkpoint {offset}: it was cut")
        self._file.truncate(offset)
        self._file.seek(offset)
        self._board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(out / "tensorboard"), purge_step=step or None)

    @property
    def offset(self) -> int:
        """Bytes of `metrics.jsonl` so far."""
        return self._file.tell()

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Adds one line, and waits until it is on the disk.

        Raises:
            CheckpointError: If it cannot be written.
        """
        line = json.dumps({"step": step, **metrics}, allow_nan=False) + "\n"
        try:
            self._file.write(line.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CheckpointError(f"metrics in {self.out} cannot be written: {error.strerror or error}") from error
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(name, value, step)

    def save_episodes(self, step: int, episodes: Iterable[Trajectory]) -> None:
        """Writes `trajectories-000010.jsonl`, whole or not at all.

        Raises:
            CheckpointError: If it cannot be written.
        """
        final = self.out / f"trajectories-{step:06d}.jsonl"
        partial = self.out / f".partial-{step:06d}.jsonl"
        try:
            write_trajectories(partial, episodes)
            partial.replace(final)
        except OSError as error:
            raise CheckpointError(f"{final} cannot be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Closes the files; idempotent."""
        self._file.close()
        if self._board is not None:
            self._board.close()
            self._board = None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def describe_run(out: Path, args: Mapping[str, Any]) -> None:
    """Writes `config.json`: the arguments, the versions, and the source's git revision where there is one.

    Raises:
        CheckpointError: If it cannot be written.
    """
    description = {
        "args": args,
        "git": _git_revision(),
        "versions": {
            "agentenv": agentenv.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "platform": platform.machine(),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        partial = out / ".partial-config.json"
        write_durably(partial, (json.dumps(description, indent=1, sort_keys=True) + "\n").encode())
        partial.replace(out / "config.json")
    except OSError as error:
        raise CheckpointError(f"{out} cannot be written: {error.strerror or error}. Give another --out") from error


def read_metrics(out: Path) -> list[dict[str, Any]]:
    """The lines of a run's `metrics.jsonl`; a last line cut by a crash is left out."""
    path = out / "metrics.jsonl"
    if not path.is_file():
        return []
    complete = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in complete.splitlines()]


def _git_revision() -> str:
    where = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(where), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
