"""VeRPO's density weights (METHODS 70): worked by hand, and their invariances."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.tasks.code.base import CodeTask, call
from agentenv.tasks.code.weights import density_weights, weights_of

RATES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_an_example_by_hand() -> None:
    # Rates 0, 1, 1 are far apart for a width of 0.1: N = 1, 2, 2; raw weights 1, e^-1 / 2, e^-1 / 2.
    raw = [1.0, math.exp(-1) / 2, math.exp(-1) / 2]
    expected = [weight / sum(raw) for weight in raw]
    assert density_weights([0.0, 1.0, 1.0], delta=0.0) == pytest.approx(expected, abs=1e-12)


@given(RATES)
def test_weights_are_positive_and_sum_to_one(rates: list[float]) -> None:
    weights = density_weights(rates)
    assert all(weight > 0 for weight in weights)
    assert math.fsum(weights) == pytest.approx(1.0)


@given(st.floats(0, 1), st.integers(1, 9))
def test_equal_rates_weigh_the_same(rate: float, count: int) -> None:
    assert density_weights([rate] * count) == pytest.approx([1 / count] * count)


@given(st.integers(1, 20))
def test_copies_of_an_easy_test_share_its_weight(copies: int) -> None:
    alone = density_weights([0.0, 1.0], delta=0.0)
    hard, *easy = density_weights([0.0] + [1.0] * copies, delta=0.0)
    assert hard == pytest.approx(alone[0])
    assert sum(easy) == pytest.approx(alone[1])


@given(st.floats(0, 0.4), st.floats(0.6, 1))
def test_what_passes_more_often_weighs_less_at_equal_density(hard: float, easy: float) -> None:
    first, second = density_weights([hard, easy])
    assert first > second


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"width": 0.0}, {"delta": -1.0}, {"alpha": math.nan}])
def test_constants_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        density_weights([0.5], **wrong)
    with pytest.raises(ConfigurationError):
        density_weights([1.5])


def test_weights_of_a_task() -> None:
    tests = (call("a", "f", 1, expected=1), call("b", "f", 2, expected=2))
    task = CodeTask("t", "Write f.", {}, ("solution.py",), (), tests, extra={"pass_rates": {"a": 1.0, "b": 0.0}})
    assert weights_of(task, "equal") == {"a": 1.0, "b": 1.0}
    assert weights_of(task, "verpo")["b"] > weights_of(task, "verpo")["a"]
    with pytest.raises(ConfigurationError, match="equal"):
        weights_of(CodeTask("t", "Write f.", {}, ("solution.py",), (), tests), "verpo")
