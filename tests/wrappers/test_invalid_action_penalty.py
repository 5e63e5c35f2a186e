"""`InvalidActionPenalty` takes the price of each invalid action, and nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.wrappers import InvalidActionPenalty, ParseAction
from tests.helpers.keys import KeysEnv
from tests.helpers.replay import Beat, ReplayEnv, play_out


@given(st.lists(st.booleans(), min_size=1, max_size=10), st.floats(0, 5))
def test_an_episodes_part_is_the_price_times_the_invalid_actions(valid: list[bool], penalty: float) -> None:
    env = InvalidActionPenalty(ReplayEnv([Beat(0.0), *[Beat(0.0, valid=v) for v in valid]]), penalty=penalty)
    _, info = env.reset()
    assert info["reward_parts"]["invalid"] == 0.0
    steps = play_out(env, ["x"] * len(valid))
    assert [step[4]["reward_parts"]["invalid"] for step in steps] == [0.0 if v else -penalty for v in valid]
    total = math.fsum(float(step[1]) for step in steps)
    assert math.isclose(total, -penalty * valid.count(False), abs_tol=1e-12)


def test_an_action_that_could_not_be_parsed_is_charged() -> None:
    env = ParseAction(InvalidActionPenalty(KeysEnv(), penalty=0.25), format="fenced")
    env.reset(seed=0)
    assert env.step("set a 1")[1] == -0.25
    assert env.step("```\nset a 1\n```")[1] == 0.0
    assert env.step("```\nnonsense\n```")[1] == -0.25


@pytest.mark.parametrize("penalty", [-0.1, math.nan, math.inf])
def test_a_negative_or_infinite_price_is_refused(penalty: float) -> None:
    with pytest.raises(ConfigurationError, match="penalty"):
        InvalidActionPenalty(ReplayEnv([Beat(0.0)]), penalty=penalty)


def test_an_environment_that_does_not_tell_validity_is_refused() -> None:
    env = InvalidActionPenalty(ReplayEnv([Beat(0.0)] * 2, leave_out=["valid_action"]))
    env.reset()
    with pytest.raises(ConfigurationError, match="valid_action"):
        env.step("x")
