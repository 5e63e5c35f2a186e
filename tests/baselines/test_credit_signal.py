"""The figures of `benchmarks/credit_signal.py` on episodes small enough to work out by hand."""

from __future__ import annotations

import math

import pytest

from agentenv.trajectory import Trajectory, Turn, write_trajectories
from benchmarks.credit_signal import groups_of, main, signal


def episode(group: str, met: list[float], success: bool) -> Trajectory:
    """One check that is half met or met, turn by turn."""
    turns = [
        Turn("", "x", progress=share, checks={"a": float(share >= 0.5), "b": float(share == 1.0)}) for share in met
    ]
    turns[-1].reward = float(success)
    turns[-1].reward_parts = {"outcome": float(success)}
    return Trajectory(
        "t", turns, group_id=group, success=success, terminated=True, start_checks={"a": 0.0, "b": 0.0}, start_hash="s"
    )


def test_groups_without_a_difference_in_outcome_are_counted_and_so_are_those_with_progress_credit():
    failed_alike = [episode("g", [0.0], False), episode("g", [0.0], False)]
    failed_apart = [episode("g", [0.0], False), episode("g", [0.5], False)]
    found = signal([failed_alike, failed_apart])
    assert (found.groups, found.silent, found.silent_heard) == (2, 2, 1)
    assert math.isnan(found.correlation)


def test_one_turn_episodes_have_no_credit_between_turns_and_both_kinds_agree():
    found = signal([[episode("g", [1.0], True), episode("g", [0.0], False)]])
    assert found.silent == 0
    assert (found.correlation, found.agreement, found.turn_share) == (pytest.approx(1.0), 1.0, 0.0)


def test_credit_between_turns_is_told():
    # Scores 1.5 and 0: advantages of the whole +-1. Turn returns 1.5, 1.25 | 0, 0 with mean 0.6875: turns of the first
    # get 1.8125 and 1.5625, those of the second -1.6875. Around their means +-0.125, 0. (An epsilon stands beside the
    # deviation.)
    found = signal([[episode("g", [0.5, 1.0], True), episode("g", [0.0, 0.0], False)]])
    square = (1.8125**2 + 1.5625**2 + 2 * 1.6875**2) / 4
    assert found.turn_share == pytest.approx(
        2 * 0.125**2 / 4 / square, rel=1e-5
    )  # an epsilon stands beside the deviation


def test_groups_are_read_from_all_runs_below_a_directory(tmp_path, capsys):
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        group = [episode("0-0", [1.0], True), episode("0-0", [0.0], False)]
        assert write_trajectories(tmp_path / run / "trajectories-000000.jsonl", group) == 2
    assert [len(group) for group in groups_of(tmp_path)] == [2, 2]
    main(tmp_path)
    assert "2 groups; in 0 all members" in capsys.readouterr().out
