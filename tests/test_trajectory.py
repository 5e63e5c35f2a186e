"""Trajectories load back equal, and files that are not ours are refused by line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv import Trajectory, Turn, read_trajectories, write_trajectories
from agentenv.errors import ConfigurationError, TrajectoryFormatError

real_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    ids = draw(st.lists(st.integers(0, 1000), max_size=4))
    return Turn(
        observation=draw(real_text),
        action=draw(real_text),
        observation_ids=draw(st.lists(st.integers(0, 1000), max_size=4)),
        action_ids=ids,
        logprobs=[draw(number) for _ in ids],
        reward=draw(number),
        reward_parts=draw(st.dictionaries(real_text, number, max_size=2)),
        progress=draw(st.floats(0, 1)),
        checks=draw(st.dictionaries(real_text, number, max_size=2)),
        restart=draw(st.booleans()),
    )


trajectories = st.builds(
    Trajectory,
    task_id=real_text,
    turns=st.lists(turns(), max_size=3),
    group_id=real_text,
    seed=st.none() | st.integers(0, 2**63),
    success=st.booleans(),
    final_observation=real_text,
    meta=st.dictionaries(real_text, st.none() | number | real_text, max_size=2),
)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@settings(max_examples=25)
@given(data=st.data())
def test_a_saved_file_loads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject
) -> None:
    kept = data.draw(st.lists(trajectories, max_size=3))
    path = tmp_path_factory.mktemp("t") / f"episodes.{suffix}"
    assert write_trajectories(path, kept) == len(kept)
    assert list(read_trajectories(path)) == kept


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_does_not_have_are_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(TrajectoryFormatError):
        write_trajectories(tmp_path / "t.jsonl", [Trajectory("t", [Turn("o", "a", reward=value)])])


def test_ids_and_logprobs_must_agree() -> None:
    with pytest.raises(TrajectoryFormatError, match="1 logprobs for 2 ids"):
        Trajectory("t", [Turn("o", "a", action_ids=[1, 2], logprobs=[-0.5])]).to_json()


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"schema": 2, "task_id": "t"}',
        '{"schema": 1}',
        '{"schema": 1, "task_id": "t", "surprise": 1}',
        '{"schema": 1, "task_id": "t", "turns": [{"observation": "o"}]}',
        '{"schema": 1, "task_id": "t", "turns": 3}',
        '{"schema": 1, "task_id": "t", "start_progress": NaN}',
    ],
)
def test_a_line_that_is_no_trajectory_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(Trajectory("t").to_json()) + "\n" + line + "\n")
    with pytest.raises(TrajectoryFormatError, match=r"t\.jsonl:2"):
        list(read_trajectories(path))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"schema": 1', '"schema": 2', "schema 2"),
        ('"reward": 0.0', '"reward": NaN', "NaN"),
        ('"reward": 0.0', '"reward": -Infinity', "-Infinity"),
        ('"reward": 0.0', '"reward": 1e999', "1e999"),
        ('"reward": 0.0, ', "", r"Turn lacks the keys \['reward'\]"),
        ('"reward"', '"rewards": 1, "reward"', r"Turn has unknown keys \['rewards'\]"),
        ('"group_id": "", ', "", r"Trajectory lacks the keys \['group_id'\]"),
        ('"group_id"', '"group": 1, "group_id"', r"Trajectory has unknown keys \['group'\]"),
    ],
)
def test_one_fault_in_a_line_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    line = json.dumps(Trajectory("t", [Turn("o", "a")]).to_json())
    assert line.count(old) == 1
    path = tmp_path / "t.jsonl"
    path.write_text(line.replace(old, new))
    with pytest.raises(TrajectoryFormatError, match=rf"t\.jsonl:1: .*{told}"):
        list(read_trajectories(path))


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes"])
def test_a_value_that_json_does_not_have_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(TrajectoryFormatError, match="task 't'"):
        write_trajectories(tmp_path / "t.jsonl", [Trajectory("t", meta={"value": value})])


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="csv"):
        write_trajectories(tmp_path / "t.csv", [])


def test_returns_and_outcome_are_sums_over_turns() -> None:
    kept = Trajectory(
        "t",
        [
            Turn("o", "a", reward=0.5, reward_parts={"outcome": 0.0, "progress": 0.5}, progress=0.5),
            Turn("o", "b", reward=1.25, reward_parts={"outcome": 1.0, "progress": 0.25}, progress=0.75),
        ],
    )
    assert (kept.episode_return, kept.outcome, kept.final_progress) == (1.75, 1.0, 0.75)
    assert Trajectory("t", start_progress=0.25).final_progress == 0.25
