"""`RecordTrajectory` writes every episode that was played, whole, whoever else writes to the file."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import gymnasium as gym
import pytest

import agentenv
from agentenv import Trajectory, read_trajectories
from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.wrappers import ParseAction, ProgressReward, RecordTrajectory
from tests.helpers.keys import ENV_ID, KeysEnv
from tests.helpers.replay import Beat, ReplayEnv, play_out

TASK = {"task_id": "keys-train-1"}


def written(path: Path) -> list[Trajectory]:
    return list(read_trajectories(path)) if path.exists() else []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "episodes.jsonl"


def test_an_episode_is_written_as_it_was_played(path: Path) -> None:
    env = RecordTrajectory(ParseAction(ProgressReward(gym.make(ENV_ID)), format="xml"), path=str(path))
    start, start_info = env.reset(seed=4, options=TASK)
    actions = ["I do. <action>set a 1</action>", "set b", "<action>submit</action>"]
    steps = play_out(env, actions)
    [episode] = written(path)
    assert (episode.task_id, episode.seed, episode.success, episode.stop_reason) == (
        TASK["task_id"],
        4,
        False,
        "submitted",
    )
    assert (episode.terminated, episode.truncated, episode.meta) == (True, False, {})
    assert (episode.start_progress, episode.start_checks) == (start_info["progress"], start_info["checks"])
    assert episode.start_hash == start_info["state_hash"]
    assert [turn.action for turn in episode.turns] == actions
    assert [turn.parsed_action for turn in episode.turns] == ["set a 1", "", "submit"]
    assert [turn.valid_action for turn in episode.turns] == [True, False, True]
    assert [turn.observation for turn in episode.turns] + [episode.final_observation] == [start, *[s[0] for s in steps]]
    assert [turn.reward for turn in episode.turns] == [step[1] for step in steps]
    for key in ("reward_parts", "progress", "checks", "state_hash"):
        assert [getattr(turn, key) for turn in episode.turns] == [step[4][key] for step in steps]


def test_the_recorded_spec_rebuilds_the_environment(path: Path) -> None:
    env = RecordTrajectory(ProgressReward(gym.make(ENV_ID, max_turns=2), scale=3.0), path=str(path))
    env.reset(seed=0)
    env.step("submit")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(written(path)[0].env_spec))
    assert isinstance(again, ProgressReward)
    assert (again.scale, again.unwrapped.max_turns) == (3.0, 2)


def test_an_episode_is_in_the_file_as_soon_as_it_ends_and_once(path: Path) -> None:
    env = RecordTrajectory(KeysEnv(), path=str(path))
    for count in (1, 2, 3):
        env.reset(seed=count)
        env.step("submit")
        assert len(written(path)) == count
    env.close()
    env.close()
    assert len(written(path)) == 3


def test_an_episode_left_by_reset_or_close_is_written_as_unfinished(path: Path) -> None:
    env = RecordTrajectory(KeysEnv(), path=str(path))
    env.reset(seed=0)
    env.step("say x")
    env.reset(seed=1)
    env.reset(seed=2)
    env.step("say y")
    env.close()
    first, second = written(path)
    assert [turn.action for turn in first.turns + second.turns] == ["say x", "say y"]
    assert [(e.meta, e.terminated, e.truncated) for e in (first, second)] == [({"unfinished": True}, False, False)] * 2


def test_an_episode_that_the_platform_broke_is_never_written_as_ended(path: Path) -> None:
    env = RecordTrajectory(KeysEnv(), path=str(path))
    env.reset(seed=0)
    env.step("say x")
    with pytest.raises(InfrastructureError):
        env.step("crash")
    env.close()
    [episode] = written(path)
    assert episode.meta == {"unfinished": True}
    assert len(episode.turns) == 1


@pytest.mark.parametrize("text", ["日本 😀", "\ud800", "line\nline\r\n\u2028", "\x00", '"\\'])
def test_any_text_is_written_on_one_line_and_loads_back_equal(path: Path, text: str) -> None:
    env = RecordTrajectory(KeysEnv(), path=str(path))
    env.reset(seed=0)
    env.step("say " + text)
    env.step("submit")
    [episode] = written(path)
    assert episode.turns[0].action == "say " + text
    assert len(path.read_bytes().splitlines()) == 1


def test_a_fork_carries_the_episode_so_far_and_both_are_written_whole(path: Path) -> None:
    env = RecordTrajectory(gym.make(ENV_ID), path=str(path))
    env.reset(seed=0, options=TASK)
    env.step("set a 1")
    twin = agentenv.fork(env)
    play_out(env, ["say x", "submit"])
    play_out(twin, ["submit"])
    assert [[turn.action for turn in episode.turns] for episode in written(path)] == [
        ["set a 1", "say x", "submit"],
        ["set a 1", "submit"],
    ]


def test_a_restored_episode_is_recorded_from_where_it_was_kept(path: Path) -> None:
    env = RecordTrajectory(gym.make(ENV_ID), path=str(path))
    env.reset(seed=0, options=TASK)
    env.step("set a 1")
    kept = agentenv.snapshot(env)
    env.step("say never recorded")
    for last in ("say one", "say two"):
        agentenv.restore(env, kept)
        play_out(env, [last, "submit"])
    assert [episode.turns[1].action for episode in written(path)] == ["say one", "say two"]
    assert all(len(episode.turns) == 3 for episode in written(path))


def _record(path: str, name: int) -> None:
    env = RecordTrajectory(KeysEnv(max_turns=100), path=path)
    for _ in range(10):
        env.reset(seed=name)
        for _ in range(3):
            env.step(f"say {name} " + "x" * 9_000)
        env.step("submit")


def test_processes_that_share_a_file_do_not_tear_each_others_lines(path: Path) -> None:
    workers = [multiprocessing.get_context("fork").Process(target=_record, args=(str(path), n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    episodes = written(path)
    assert len(episodes) == 40
    assert all(len({turn.action for turn in episode.turns[:3]}) == 1 for episode in episodes)


def test_an_environment_without_the_contract_is_refused(path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"RecordTrajectory needs info\['state_hash'\]"):
        RecordTrajectory(ReplayEnv([Beat(0.0)], leave_out=["state_hash"]), path=str(path)).reset()
