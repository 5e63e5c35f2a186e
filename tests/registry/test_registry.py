"""What holds of every registered environment. A new one is covered by being in `agentenv.registration.ENV_IDS`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import agentenv
from agentenv.env import INFO_KEYS, AgentEnv
from agentenv.registration import ENV_IDS, register_all
from agentenv.task import SPLITS, TaskSet
from tests.helpers.replay import play_out

SEEDS = (0, 1, 2)


@pytest.fixture(params=sorted(ENV_IDS))
def env_id(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def env(env_id: str) -> Iterator[gym.Env[str, str]]:
    made = gym.make(env_id)
    yield made
    made.close()


def base(env: gym.Env[str, str]) -> AgentEnv:
    assert isinstance(env.unwrapped, AgentEnv)
    return env.unwrapped


def start(env: gym.Env[str, str], seed: int) -> tuple[str, TaskSet, list[str]]:
    """Resets; the task's id, its set and the oracle's actions."""
    _, info = env.reset(seed=seed)
    tasks = base(env).task_set
    return info["task_id"], tasks, tasks.oracle(info["task_id"])


def test_the_checker_of_gymnasium_passes_without_warnings(env: gym.Env[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_it_teaches_its_grammar_and_offers_a_tool(env: gym.Env[str, str]) -> None:
    inner = base(env)
    assert inner.instructions.strip()
    assert inner.tool_schema["name"]
    assert json.loads(json.dumps(inner.tool_schema)) == inner.tool_schema


def test_every_split_has_tasks_of_its_own(env: gym.Env[str, str]) -> None:
    tasks = base(env).task_set
    ids = [task_id for split in SPLITS for task_id in tasks.ids(split)]
    assert all(tasks.ids(split) for split in SPLITS)
    assert len(ids) == len(set(ids)) == len(tasks)
    for split in SPLITS:
        task = tasks.task(tasks.ids(split)[0])
        assert task.split == split
        assert type(task).from_json(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize("seed", SEEDS)
def test_the_oracle_scores_one_and_progress_agrees_with_success_on_the_way(env: gym.Env[str, str], seed: int) -> None:
    _, _, actions = start(env, seed)
    steps = play_out(env, actions)
    for _, reward, terminated, truncated, info in steps[:-1]:
        assert set(info) == set(INFO_KEYS)
        assert 0 <= info["progress"] <= 1
        assert (reward, terminated, truncated, info["success"]) == (0.0, False, False, False)
        assert info["valid_action"]
    assert len(steps) == len(actions)
    _, reward, terminated, truncated, info = steps[-1]
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert (info["progress"], info["stop_reason"]) == (1.0, "success")


def test_an_agent_that_does_nothing_scores_zero(env_id: str) -> None:
    env = gym.make(env_id, max_turns=2)
    _, info = env.reset(seed=0)
    assert info["progress"] < 1
    before = info
    steps = play_out(env, ["", ""])
    for _, reward, _, _, info in steps:
        same = ("progress", "checks", "state_hash")
        assert (reward, info["valid_action"]) == (0.0, False)
        assert [info[key] for key in same] == [before[key] for key in same]
    assert steps[-1][2:4] == (False, True)
    assert (info["success"], info["stop_reason"]) == (False, "max_turns")
    env.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_near_misses_score_below_one(env: gym.Env[str, str], seed: int) -> None:
    task_id, tasks, _ = start(env, seed)
    for actions in tasks.near_misses(task_id):
        env.reset(options={"task_id": task_id})
        _, reward, terminated, truncated, info = play_out(env, actions)[-1]
        assert terminated or truncated
        assert reward < 1
        assert info["progress"] < 1


@pytest.mark.parametrize("seed", SEEDS)
def test_verification_leaves_no_trace(env: gym.Env[str, str], seed: int) -> None:
    task_id, _, actions = start(env, seed)
    unobserved = play_out(env, actions)
    env.reset(options={"task_id": task_id})
    for action, expected in zip(actions, unobserved, strict=True):
        first, second = base(env).verify(), base(env).verify()
        assert first == second
        assert env.step(action) == expected
        if not expected[2]:
            assert base(env).verify().checks == expected[4]["checks"]


@pytest.mark.parametrize("seed", SEEDS)
def test_snapshots_and_forks_continue_as_the_original(env: gym.Env[str, str], seed: int) -> None:
    _, _, actions = start(env, seed)
    half = len(actions) // 2
    play_out(env, actions[:half])
    kept, twin = agentenv.snapshot(env), agentenv.fork(env)
    original = play_out(env, actions[half:])
    assert play_out(twin, actions[half:]) == original
    twin.close()
    agentenv.restore(env, kept)
    assert play_out(env, actions[half:]) == original
    kept.close()


def test_interleaved_environments_do_not_disturb_each_other(env_id: str) -> None:
    envs = [gym.make(env_id) for _ in range(3)]
    plans = []
    for env, seed in zip(envs, (0, 0, 1), strict=True):
        plans.append(start(env, seed)[2])
    ends = []
    for turn in range(max(map(len, plans))):
        for env, plan in zip(envs, plans, strict=True):
            if turn < len(plan):
                step = env.step(plan[turn])
                ends += [step[1]] * bool(step[2] or step[3])
    assert ends == [1.0, 1.0, 1.0]
    for env in envs:
        env.close()


def test_a_spec_in_json_rebuilds_it(env: gym.Env[str, str]) -> None:
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    assert again.reset(seed=3) == env.reset(seed=3)
    again.close()


def test_close_is_idempotent_in_any_state(env_id: str) -> None:
    for played in range(3):
        env = gym.make(env_id)
        if played:
            _, _, actions = start(env, 0)
            play_out(env, actions[: played - 1])
        env.close()
        env.close()


_PLAY = """
import json, sys
import gymnasium as gym
env = gym.make("agentenv:" + sys.argv[1])
for seed in (0, 1):
    print(json.dumps(env.reset(seed=seed), sort_keys=True))
    info = env.reset(seed=seed)[1]
    for action in env.unwrapped.task_set.oracle(info["task_id"]):
        print(json.dumps(env.step(action), sort_keys=True))
env.close()
"""


def test_a_seed_gives_the_same_episode_in_any_process(env_id: str) -> None:
    outputs = []
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", _PLAY, env_id], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert '"success": true' in outputs[0]


def test_registering_twice_changes_nothing() -> None:
    before = {env_id: gym.spec(env_id) for env_id in ENV_IDS}
    register_all()
    assert {env_id: gym.spec(env_id) for env_id in ENV_IDS} == before
