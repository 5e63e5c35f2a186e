"""What holds of all wrappers: any order, any third-party environment, specs, snapshots in mid-episode."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenv
import agentenv.wrappers as all_wrappers
from agentenv.stack import wrappers_of
from agentenv.wrappers import (
    InvalidActionPenalty,
    LimitObservation,
    ParseAction,
    PotentialShaping,
    ProgressReward,
    RecordTrajectory,
)
from tests.helpers.keys import ENV_ID, KeysEnv
from tests.helpers.replay import Beat, ReplayEnv, play_out

Make = Callable[[gym.Env[str, str]], gym.Env[str, str]]
TASK = {"task_id": "keys-train-3"}
ACTIONS = ["set a 1", "nonsense", "<action>set b 2</action>", "<action>del b", "<action>say " + "x" * 300 + "</action>"]
ENDS = ["<action>submit</action>", "submit"]

SHAPING: dict[str, Make] = {
    "progress": lambda env: ProgressReward(env, scale=0.5),
    "shaping": lambda env: PotentialShaping(env, gamma=0.9, scale=2.0),
    "invalid": lambda env: InvalidActionPenalty(env, penalty=0.3),
}
OTHERS: dict[str, Make] = {
    "limit": lambda env: LimitObservation(env, max_chars=100),
    "parse": lambda env: ParseAction(env, format="xml"),
}


def stacked(makers: Sequence[Make], env: gym.Env[str, str] | None = None) -> gym.Env[str, str]:
    stack = gym.make(ENV_ID) if env is None else env
    for make in makers:
        stack = make(stack)
    return stack


def rewards_and_parts(env: gym.Env[str, str], actions: Sequence[str]) -> list[tuple[float, dict[str, float]]]:
    return [(float(step[1]), step[4]["reward_parts"]) for step in play_out(env, actions)]


@pytest.mark.parametrize("order", list(itertools.permutations(SHAPING)), ids="-".join)
def test_the_order_of_shaping_wrappers_changes_nothing(order: tuple[str, ...]) -> None:
    env = stacked([SHAPING[name] for name in order])
    env.reset(options=TASK)
    reference = stacked(list(SHAPING.values()))
    reference.reset(options=TASK)
    actions = ["set a 1", "nonsense", "set b 2", "del a", *reference.unwrapped.task_set.oracle(TASK["task_id"])]
    played, expected = rewards_and_parts(env, actions), rewards_and_parts(reference, actions)
    assert len(played) == 8, "the turn limit"
    for (reward, parts), (expected_reward, expected_parts) in zip(played, expected, strict=True):
        assert parts == expected_parts
        assert set(parts) == {"outcome", *SHAPING}
        assert math.isclose(reward, math.fsum(parts.values()), abs_tol=1e-12)
        assert math.isclose(reward, expected_reward, abs_tol=1e-12)


BEATS = st.builds(Beat, progress=st.floats(0, 1), outcome=st.sampled_from([0.0, 1.0]), valid=st.booleans())


@given(st.permutations([*SHAPING, *OTHERS]), st.lists(BEATS, min_size=2, max_size=6))
def test_the_parts_sum_to_the_reward_on_any_environment_that_fills_the_keys(
    order: list[str], beats: list[Beat]
) -> None:
    env = stacked([{**SHAPING, **OTHERS}[name] for name in order], ReplayEnv(beats))
    env.reset()
    for reward, parts in rewards_and_parts(env, ["<action>x</action>"] * (len(beats) - 1)):
        assert math.isclose(reward, math.fsum(parts.values()), abs_tol=1e-12)


def test_two_wrappers_of_a_kind_add_up_in_one_part() -> None:
    env = ProgressReward(ProgressReward(ReplayEnv([Beat(0.0), Beat(0.5)])), scale=2.0)
    env.reset()
    _, reward, _, _, info = env.step("x")
    assert (reward, info["reward_parts"]) == (1.5, {"outcome": 0.0, "progress": 1.5})


@settings(deadline=None, max_examples=60)
@given(
    st.permutations([*SHAPING, *OTHERS]),
    st.lists(st.sampled_from(ACTIONS), max_size=3),
    st.lists(st.sampled_from(ACTIONS + ENDS), max_size=6),
)
def test_stacks_forked_and_restored_in_mid_episode_continue_identically(
    order: list[str], before: list[str], after: list[str]
) -> None:
    env = stacked([{**SHAPING, **OTHERS}[name] for name in order])
    env.reset(seed=1, options=TASK)
    play_out(env, before)
    kept, twin = agentenv.snapshot(env), agentenv.fork(env)
    original = play_out(env, after)
    assert play_out(twin, after) == original
    agentenv.restore(env, kept)
    assert play_out(env, after) == original
    twin.reset(seed=2)
    agentenv.restore(twin, kept)
    assert play_out(twin, after) == original


def recorded(tmp_path: Any) -> gym.Env[str, str]:
    path = str(tmp_path / "t.jsonl")
    return RecordTrajectory(stacked([*SHAPING.values(), *OTHERS.values()], gym.make(ENV_ID, max_turns=3)), path=path)


def test_the_stack_holds_every_wrapper_there_is(tmp_path: Any) -> None:
    names = {type(wrapper).__name__ for wrapper in wrappers_of(recorded(tmp_path))}
    assert names >= set(all_wrappers.__all__)


def test_a_spec_in_json_rebuilds_the_stack_with_its_arguments(tmp_path: Any) -> None:
    env = recorded(tmp_path)
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert [type(w) for w in wrappers_of(again)] == [type(w) for w in wrappers_of(env)]
    assert again.spec == env.spec
    for made in (env, again):
        made.reset(seed=5)
    assert play_out(again, [*ACTIONS[:2], *ENDS]) == play_out(env, [*ACTIONS[:2], *ENDS])


def test_the_checker_of_gymnasium_finds_nothing_in_a_wrapped_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(stacked([*SHAPING.values(), *OTHERS.values()], KeysEnv(render_mode="ansi")), skip_render_check=True)


def test_wrapped_copies_work_as_a_vector_environment() -> None:
    envs = gym.make_vec(ENV_ID, num_envs=2, vectorization_mode="async", wrappers=[SHAPING["progress"], OTHERS["parse"]])
    try:
        envs.reset(seed=0)
        infos = envs.step(("<action>set a 1</action>", "no tag"))[4]
        first, second = agentenv.unbatch_info(infos, 2)
        assert (first["parsed_action"], second["valid_action"]) == ("set a 1", False)
        assert set(first["reward_parts"]) == {"outcome", "progress"}
    finally:
        envs.close()
