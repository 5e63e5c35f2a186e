"""Equal work trees have equal canonical indexes; anything that git acts on still tells them apart."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.sandbox.git_index import canonical_index

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def repository(where: Path, files: dict[str, str], stamp: int) -> bytes:
    """The index of a repository with these files staged, all with one mtime."""
    where.mkdir()
    subprocess.run(["git", "init", "-q", str(where)], check=True)
    for name, text in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (stamp, stamp))
    subprocess.run(["git", "-C", str(where), "add", "-A"], check=True)
    return (where / ".git" / "index").read_bytes()


def test_times_and_inodes_do_not_count_but_content_paths_and_modes_do(tmp_path: Path) -> None:
    files = {"a.txt": "one\n", "deep/er/name-of-some-length.txt": "two\n", "b": ""}
    first = repository(tmp_path / "1", files, 1_000_000_000)
    again = repository(tmp_path / "2", files, 1_500_000_000)
    assert first != again
    assert canonical_index(first) == canonical_index(again) is not None
    for number, other in enumerate(({**files, "a.txt": "ONE\n"}, {**files, "c": ""}, {"a.txt": "one\n"})):
        assert canonical_index(repository(tmp_path / f"o{number}", other, 1_000_000_000)) != canonical_index(first)


def test_a_flag_of_an_entry_counts(tmp_path: Path) -> None:
    plain = repository(tmp_path / "1", {"a.txt": "one\n"}, 1_000_000_000)
    subprocess.run(["git", "-C", str(tmp_path / "1"), "update-index", "--assume-unchanged", "a.txt"], check=True)
    flagged = (tmp_path / "1" / ".git" / "index").read_bytes()
    assert canonical_index(flagged) != canonical_index(plain)


@given(st.binary(max_size=200))
def test_hostile_bytes_are_left_to_the_caller(noise: bytes) -> None:
    for content in (noise, b"DIRC\0\0\0\x02\0\0\0\x01" + noise, b"DIRC\0\0\0\x02\xff\xff\xff\xff" + noise):
        canonical_index(content)
