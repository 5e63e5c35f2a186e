"""What every family of generated tasks must hold: imported by the test module of each group of families."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from agentenv.errors import IsolationUnavailableError
from agentenv.progress import Progress, verify_checks
from agentenv.sandbox.base import FileEntry
from agentenv.sandbox.local import LocalSandbox
from agentenv.tasks.terminal.scenario import Family, Scenario
from tests.tasks.terminal.fake_view import FakeBox, replay

WORDS = {"easy": 40, "medium": 80, "hard": 120}
RUN_WHAT_WAS_LEFT = ("shell_scripts", "cron_scripts", "services", "broken_builds")  # families whose checks do
STEPS = {"easy": (1, 2), "medium": (2, 4), "hard": (4, 8)}


def build(family: Family, difficulty: str, seed: int) -> Scenario:
    key = zlib.crc32(f"{family.name}/{difficulty}".encode())
    return family.build(np.random.default_rng([key, seed]), difficulty)


def progress(scenario: Scenario, box: FakeBox) -> Progress:
    return verify_checks(scenario.checks, box.view())


def assert_shape(scenario: Scenario, difficulty: str) -> None:
    low, high = STEPS[difficulty]
    assert low <= len(scenario.oracle) <= high, scenario.oracle
    assert len(scenario.instruction.split()) < WORDS[difficulty], scenario.instruction
    assert 3 <= len(scenario.checks) <= 8
    assert len(scenario.alternatives) >= 1
    assert len(scenario.near_misses) >= 2
    for entry in scenario.files:
        if isinstance(entry.content, str):
            assert entry.content.count("\n") <= 40, entry.path


def assert_oracle_climbs(scenario: Scenario, root: Path) -> None:
    box = FakeBox.of(scenario, root)
    start = progress(scenario, box)
    assert start.value == 0, start.checks
    assert not start.success
    values = [0.0]
    for action in scenario.oracle:
        box.act(action)
        values.append(progress(scenario, box).value)
    assert values == sorted(values), (values, scenario.oracle)
    done = progress(scenario, box)
    assert done.success, (scenario.instruction, scenario.oracle, done.evidence)


def assert_ways(scenario: Scenario, root: Path) -> None:
    for number, actions in enumerate(scenario.alternatives):
        done = progress(scenario, replay(scenario, actions, root / f"way{number}"))
        assert done.success, (scenario.instruction, actions, done.evidence)
    for number, actions in enumerate(scenario.near_misses):
        done = progress(scenario, replay(scenario, actions, root / f"miss{number}"))
        assert not done.success, (scenario.instruction, actions)
        assert done.value < 1


def assert_survives_hostile_state(scenario: Scenario, root: Path) -> None:
    """No check crashes when an empty file, a directory, a FIFO, ... stands in place of any path of the solved state."""
    box = replay(scenario, scenario.oracle, root)
    trees = (root / "workspace", root / "home/agent")
    for path in [path for tree in trees for path in sorted(tree.rglob("*")) if not path.is_dir() or path.is_symlink()]:
        for spoil in (_empty, _binary, _directory, _fifo, _dangling):
            if not os.path.lexists(path) or path.is_dir():
                continue
            kept = path.with_name(path.name + ".kept")
            path.rename(kept)
            spoil(path)
            progress(scenario, box)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            kept.rename(path)
    for tree in trees:
        shutil.rmtree(tree)
    assert not progress(scenario, box).success


def assert_oracle_climbs_in_sandbox(scenario: Scenario) -> None:
    """The same as `assert_oracle_climbs`, in the real sandbox and its session."""
    entries = [
        FileEntry(e.path, e.content.encode() if isinstance(e.content, str) else e.content, e.mode, e.link)
        for e in scenario.files
    ]
    with LocalSandbox() as box:
        try:
            box.start(entries)
        except IsolationUnavailableError as reason:
            pytest.skip(str(reason))
        if scenario.setup:
            assert box.run(scenario.setup).exit_code == 0
        values = [verify_checks(scenario.checks, box.view()).value]
        for action in scenario.oracle:
            box.session().run(action)
            values.append(verify_checks(scenario.checks, box.view()).value)
    assert values[0] == 0
    assert values == sorted(values)
    assert values[-1] == 1, (scenario.instruction, scenario.oracle, values)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _binary(path: Path) -> None:
    path.write_bytes(b"\x00\xff\x1f\x8b" * 500)


def _directory(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def assert_enough_variety(family: Family, difficulty: str) -> None:
    """At least 200 of 300 seeds give instructions of their own."""
    said: set[str] = set()
    for seed in range(300):
        said.add(build(family, difficulty, seed).instruction)
        if len(said) >= 200:
            return
    raise AssertionError(f"300 seeds of {family.name} gave {len(said)} instructions")


def missing_programs(scenario: Scenario) -> list[str]:
    return [name for name in scenario.requires if shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") is None]


def skip_without_programs(scenario: Scenario) -> None:
    if missing := missing_programs(scenario):
        pytest.skip(f"needs {missing}")
