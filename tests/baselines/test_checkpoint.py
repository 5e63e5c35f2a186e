from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from agentenv.baselines import checkpoint
from agentenv.baselines.checkpoint import Checkpoints, random_state, restore_random_state
from agentenv.errors import CheckpointError


def test_the_latest_is_read_back_and_older_ones_go(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "c", keep=2)
    assert kept.latest() is None
    for step in (1, 2, 10):
        kept.save(step, {"step": step, "weights": {"w": torch.full((3,), float(step))}, "order": (1, [2, "x"])})
    state = kept.latest()
    assert state is not None
    assert (state["step"], state["order"]) == (10, (1, [2, "x"]))
    assert torch.equal(state["weights"]["w"], torch.full((3,), 10.0))
    assert [path.name for path in sorted((tmp_path / "c").iterdir())] == ["checkpoint-000002", "checkpoint-000010"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "no manifest", "empty"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(1, {"step": 1})
    last = kept.save(2, {"step": 2})
    content = (last / "state.pt").read_bytes()
    if damage == "truncated":
        (last / "state.pt").write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        (last / "state.pt").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "no manifest":
        (last / "manifest.json").unlink()
    else:
        (last / "state.pt").write_bytes(b"")
    assert kept.latest() == {"step": 1}
    kept.save(2, {"step": 2})
    assert kept.latest() == {"step": 2}


def test_only_damaged_checkpoints_are_an_error(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    (kept.save(1, {}) / "state.pt").write_bytes(b"")
    with pytest.raises(CheckpointError, match="damaged"):
        kept.latest()


def test_what_a_killed_run_left_half_written_is_ignored(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(1, {"step": 1})
    (tmp_path / ".partial-000002").mkdir()
    (tmp_path / ".partial-000002" / "state.pt").write_bytes(b"half")
    assert kept.latest() == {"step": 1}
    kept.save(2, {"step": 2})
    assert kept.latest() == {"step": 2}
    assert not (tmp_path / ".partial-000002").exists()


@pytest.mark.parametrize("step", ["write", "sync"])
def test_a_full_disk_leaves_the_old_checkpoint_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    kept = Checkpoints(tmp_path, keep=1)
    kept.save(1, {"step": 1})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        if step == "write":
            patched.setattr(checkpoint, "write_durably", full)
        else:
            patched.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match="No space left on device"):
            kept.save(2, {"step": 2})
    assert kept.latest() == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]


def test_a_limit_on_file_size_met_in_mid_write_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    script = f"""
import resource, signal, torch
from agentenv.baselines.checkpoint import Checkpoints
from agentenv.errors import CheckpointError
kept = Checkpoints({str(tmp_path)!r}, keep=1)
kept.save(1, {{"w": torch.zeros(10)}})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    kept.save(2, {{"w": torch.zeros(100_000)}})
except CheckpointError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert "refused:" in done.stdout
    assert Checkpoints(tmp_path).latest() == {"w": pytest.approx(torch.zeros(10))}


def test_a_directory_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        Checkpoints(tmp_path / "file" / "c").save(1, {})


def test_random_generators_go_on_where_they_were(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(1, random_state())
    drawn = (random.random(), np.random.rand(), torch.rand(1).item())
    state = kept.latest()
    assert state is not None
    restore_random_state(state)
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == drawn
