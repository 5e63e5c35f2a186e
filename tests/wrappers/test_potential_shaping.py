"""`PotentialShaping` changes no policy's value by more than a constant of the start state."""

from __future__ import annotations

import itertools
import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentenv import UnicodeText
from agentenv.errors import ConfigurationError
from agentenv.wrappers import PotentialShaping
from tests.helpers.replay import Beat, ReplayEnv, play_out

PROGRESS = st.floats(0, 1)
EPISODE = st.lists(PROGRESS, min_size=2, max_size=10)
GAMMA = st.floats(0.01, 1.0)


def shaped(beats: list[Beat], gamma: float, **kwargs: Any) -> list[float]:
    env = PotentialShaping(ReplayEnv(beats), gamma=gamma, **kwargs)
    env.reset()
    return [float(step[1]) for step in play_out(env, ["x"] * (len(beats) - 1))]


def discounted(rewards: list[float], gamma: float) -> float:
    return math.fsum(reward * gamma**turn for turn, reward in enumerate(rewards))


@given(EPISODE, GAMMA, st.floats(-5, 5))
def test_a_terminated_episode_sums_to_minus_the_start_potential(
    values: list[float], gamma: float, scale: float
) -> None:
    beats = [*map(Beat, values[:-1]), Beat(values[-1], terminated=True)]
    total = discounted(shaped(beats, gamma, scale=scale), gamma)
    assert math.isclose(total, -scale * values[0], abs_tol=1e-12)


@given(EPISODE, GAMMA)
def test_a_truncated_episode_keeps_the_last_potential_for_the_bootstrap(values: list[float], gamma: float) -> None:
    beats = [*map(Beat, values[:-1]), Beat(values[-1], truncated=True)]
    total = discounted(shaped(beats, gamma), gamma)
    assert math.isclose(total, gamma ** (len(values) - 1) * values[-1] - values[0], abs_tol=1e-12)


def test_the_end_decides_between_no_potential_and_the_true_one() -> None:
    assert shaped([Beat(0.25), Beat(0.5, terminated=True)], 0.5) == [-0.25]
    assert shaped([Beat(0.25), Beat(0.5, truncated=True)], 0.5) == [0.0]
    assert shaped([Beat(0.25), Beat(0.5, terminated=True, truncated=True)], 0.5) == [-0.25]


def test_standing_near_the_goal_earns_nothing() -> None:
    assert max(shaped([Beat(0.9)] * 10, 0.99)) < 0


@given(PROGRESS, PROGRESS, st.booleans())
def test_an_episode_never_uses_the_potential_of_the_one_before(first: float, second: float, ended: bool) -> None:
    env = PotentialShaping(ReplayEnv([Beat(0.0), Beat(first, terminated=ended)], [Beat(second)] * 2), gamma=1.0)
    env.reset()
    env.step("x")
    _, info = env.reset()
    assert info["reward_parts"]["shaping"] == 0.0
    assert env.step("x")[1] == 0.0


# -- policy invariance, in closed form ------------------------------------------------------------------------------

STATES, ARMS = 3, 2  # a fourth state is the end
END = STATES


class SmallMdp(gym.Env[str, str]):
    """Three states and an end; `options` choose the start, so that every transition can be looked at."""

    def __init__(self, after: np.ndarray, reward: np.ndarray, phi: np.ndarray) -> None:
        self.observation_space = self.action_space = UnicodeText()
        self.after, self.reward, self.phi = after, reward, phi

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = int((options or {})["state"])
        return "", self._info(0.0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = float(self.reward[self.state, int(action)])
        self.state = int(self.after[self.state, int(action)])
        return "", reward, self.state == END, False, self._info(reward)

    def _info(self, outcome: float) -> dict[str, Any]:
        return {"potential": float(self.phi[self.state]), "reward_parts": {"outcome": outcome}}


def values_of(policy: tuple[int, ...], after: np.ndarray, reward: np.ndarray, gamma: float) -> np.ndarray:
    """V of a policy: solves (I - gamma P) V = r; the end is worth nothing."""
    transition = np.zeros((STATES, STATES))
    for state, arm in enumerate(policy):
        if after[state, arm] != END:
            transition[state, after[state, arm]] = 1.0
    return np.linalg.solve(np.eye(STATES) - gamma * transition, reward[np.arange(STATES), list(policy)])


cell = st.tuples(*[st.integers(0, END)] * (STATES * ARMS))
payoff = st.tuples(*[st.integers(-3, 3)] * (STATES * ARMS))


@settings(max_examples=60)
@given(cell, payoff, st.tuples(*[st.integers(-4, 4)] * (END + 1)), st.sampled_from([0.5, 0.9, 0.99]))
def test_every_policys_value_moves_by_the_start_potential_and_the_best_stays_best(
    cells: tuple[int, ...], payoffs: tuple[int, ...], potentials: tuple[int, ...], gamma: float
) -> None:
    after, plain = np.reshape(cells, (STATES, ARMS)), np.reshape(payoffs, (STATES, ARMS)).astype(float)
    phi = np.array(potentials, dtype=float)  # the end's potential is not 0: the wrapper has to see to it
    env = PotentialShaping(SmallMdp(after, plain, phi), gamma=gamma, potential="potential")
    with_shaping = np.zeros_like(plain)
    for state, arm in itertools.product(range(STATES), range(ARMS)):
        env.reset(options={"state": state})
        with_shaping[state, arm] = env.step(str(arm))[1]
    policies = list(itertools.product(range(ARMS), repeat=STATES))
    before = np.array([values_of(policy, after, plain, gamma) for policy in policies])
    shaped_values = np.array([values_of(policy, after, with_shaping, gamma) for policy in policies])
    np.testing.assert_allclose(shaped_values, before - phi[:STATES], atol=1e-9)
    best = before.max(axis=0)
    gaps = best - before
    assume(not ((gaps > 1e-9) & (gaps < 1e-6)).any())  # what rounding cannot tell apart decides nothing
    optimal = np.isclose(before, best, atol=1e-8)
    np.testing.assert_array_equal(optimal, np.isclose(shaped_values, shaped_values.max(axis=0), atol=1e-8))


# -- configuration --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.01, math.nan])
def test_a_discount_out_of_range_is_refused(gamma: float) -> None:
    with pytest.raises(ConfigurationError, match="gamma"):
        PotentialShaping(ReplayEnv([Beat(0.0)]), gamma=gamma)


def test_a_scale_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="scale"):
        PotentialShaping(ReplayEnv([Beat(0.0)]), gamma=1.0, scale=math.inf)


def test_a_potential_that_is_absent_or_no_number_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'value'"):
        PotentialShaping(ReplayEnv([Beat(0.0)]), gamma=1.0, potential="value").reset()
    with pytest.raises(ConfigurationError, match="finite number"):
        PotentialShaping(ReplayEnv([Beat(0.0)]), gamma=1.0, potential="task_id").reset()


def test_numpy_numbers_are_potentials() -> None:
    beats = [Beat(np.float32(0.5)), Beat(np.float32(0.75))]  # type: ignore[arg-type]
    assert shaped(beats, 1.0) == [0.25]
