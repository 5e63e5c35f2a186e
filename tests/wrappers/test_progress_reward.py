"""`ProgressReward` telescopes, and regress pays back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.wrappers import ProgressReward
from tests.helpers.keys import KeysEnv
from tests.helpers.replay import Beat, ReplayEnv, play_out

PROGRESS = st.floats(0, 1)
EPISODE = st.lists(PROGRESS, min_size=2, max_size=12)


def rewards(values: list[float], scale: float = 1.0) -> list[float]:
    env = ProgressReward(ReplayEnv([Beat(value) for value in values]), scale=scale)
    env.reset()
    return [float(step[1]) for step in play_out(env, ["x"] * (len(values) - 1))]


@given(EPISODE, st.floats(-10, 10))
def test_an_episode_telescopes_to_scale_times_the_change(values: list[float], scale: float) -> None:
    assert math.isclose(math.fsum(rewards(values, scale)), scale * (values[-1] - values[0]), abs_tol=1e-12)


@given(PROGRESS, PROGRESS, st.integers(1, 20))
def test_breaking_and_mending_a_check_nets_nothing(high: float, low: float, times: int) -> None:
    assert math.fsum(rewards([high, *[low, high] * times])) == 0.0


def test_breaking_and_mending_a_real_check_nets_nothing() -> None:
    env = ProgressReward(KeysEnv(max_turns=20))
    env.reset(options={"task_id": "keys-train-1"})
    set_a = env.unwrapped.task_set.oracle("keys-train-1")[0]  # type: ignore[attr-defined]
    once = env.step(set_a)[1]
    cycles = [float(step[1]) for step in play_out(env, ["del a", set_a] * 5)]
    assert once > 0
    assert math.fsum(cycles) == 0.0


def test_the_start_progress_is_the_baseline_and_each_episode_has_its_own() -> None:
    env = ProgressReward(ReplayEnv([Beat(0.5), Beat(0.75)], [Beat(0.25), Beat(0.25)]))
    _, info = env.reset()
    assert info["reward_parts"] == {"outcome": 0.0, "progress": 0.0}
    assert env.step("x")[1] == 0.25
    env.reset()
    assert env.step("x")[1] == 0.0


def test_the_last_turn_is_paid_beside_the_outcome() -> None:
    env = ProgressReward(ReplayEnv([Beat(0.5), Beat(1.0, outcome=1.0, terminated=True)]), scale=2.0)
    env.reset()
    _, reward, _, _, info = env.step("x")
    assert (reward, info["reward_parts"]) == (2.0, {"outcome": 1.0, "progress": 1.0})


def test_the_inner_info_is_not_touched() -> None:
    inner = ReplayEnv([Beat(0.0), Beat(1.0)])
    env = ProgressReward(inner)
    env.reset()
    env.step("x")
    assert inner.given["reward_parts"] == {"outcome": 0.0}


@pytest.mark.parametrize("key", ["progress", "reward_parts"])
def test_an_environment_without_the_key_is_refused_by_name(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"ProgressReward needs info\\['{key}'\\].*ReplayEnv"):
        ProgressReward(ReplayEnv([Beat(0.0)], leave_out=[key])).reset()


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "0.5", True])
def test_progress_that_is_no_number_is_refused(value: Any) -> None:
    env = ProgressReward(ReplayEnv([Beat(0.0), Beat(value)]))
    env.reset()
    with pytest.raises(ConfigurationError, match="finite number"):
        env.step("x")


@pytest.mark.parametrize("scale", [math.nan, math.inf])
def test_a_scale_that_is_not_finite_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match="scale"):
        ProgressReward(ReplayEnv([Beat(0.0)]), scale=scale)
