"""Checks and progress: exact arithmetic, and what a crash or a missing file means."""

from __future__ import annotations

import logging
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv import Check, InfrastructureError, Progress
from agentenv.errors import ConfigurationError, GraderError, NotInStateError, SandboxLostError
from agentenv.progress import verify_checks


def check(name: str, weight: float = 1.0, score: float = 1.0, required: bool = True) -> Check:
    return Check(name, weight, lambda view: score, required)


def test_value_is_the_weighted_mean_worked_by_hand() -> None:
    progress = Progress.of([check("a", 1), check("b", 2), check("c", 5)], [1.0, 0.5, 0.0])
    assert progress.value == 0.25
    assert progress.checks == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert not progress.success


def test_an_optional_check_lowers_progress_but_not_success() -> None:
    progress = Progress.of([check("a"), check("b", required=False)], [1.0, 0.0])
    assert progress.success
    assert progress.value == 0.5


def test_a_deficit_too_small_for_a_float_still_is_not_done() -> None:
    progress = Progress.of([check("a", 1e20), check("b", 1.0)], [1.0, 0.0])
    assert not progress.success
    assert progress.value == math.nextafter(1.0, 0.0)


weights = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False)
scored = st.tuples(weights, st.floats(min_value=0, max_value=1), st.booleans())


@given(st.lists(scored, min_size=1, max_size=8))
def test_progress_is_bounded_and_one_implies_success(parts: list[tuple[float, float, bool]]) -> None:
    checks = [check(f"c{i}", weight, required=required) for i, (weight, _, required) in enumerate(parts)]
    progress = Progress.of(checks, [score for _, score, _ in parts])
    assert 0.0 <= progress.value <= 1.0
    if progress.value == 1.0:
        assert progress.success
        assert all(score == 1.0 for _, score, _ in parts)


@given(st.lists(scored, min_size=1, max_size=8))
def test_progress_is_the_exact_mean_rounded_once(parts: list[tuple[float, float, bool]]) -> None:
    checks = [check(f"c{i}", weight) for i, (weight, _, _) in enumerate(parts)]
    exact = sum(Fraction(w) * Fraction(s) for w, s, _ in parts) / sum(Fraction(w) for w, _, _ in parts)
    value = Progress.of(checks, [score for _, score, _ in parts]).value
    assert value == (float(exact) if exact == 1 or float(exact) < 1 else math.nextafter(1.0, 0.0))


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf, "1"])
def test_a_score_outside_the_unit_interval_is_the_graders_fault(score: object) -> None:
    with pytest.raises(GraderError):
        Progress.of([check("a")], [score])  # type: ignore[list-item]


def test_a_check_that_misses_something_scores_zero_with_the_reason() -> None:
    def missing(view: object) -> float:
        raise NotInStateError("no such file: a.txt")

    progress = verify_checks([Check("a", 1, missing), check("b")], view=None)  # type: ignore[arg-type]
    assert progress.checks == {"a": 0.0, "b": 1.0}
    assert progress.evidence["a"] == "no such file: a.txt"


def test_a_crashing_check_is_a_platform_failure_not_a_zero() -> None:
    def crash(view: object) -> float:
        raise KeyError("oops")

    with pytest.raises(GraderError, match="'a' crashed: KeyError") as caught:
        verify_checks([Check("a", 1, crash)], view=None)  # type: ignore[arg-type]
    assert isinstance(caught.value, InfrastructureError)


def test_what_a_crash_quotes_stays_out_of_the_message(caplog: pytest.LogCaptureFixture) -> None:
    def crash(view: object) -> float:
        raise ValueError("expected the-hidden-answer")

    with caplog.at_level(logging.INFO), pytest.raises(GraderError) as caught:
        verify_checks([Check("a", 1, crash)], view=None)  # type: ignore[arg-type]
    assert str(caught.value) == "check 'a' crashed: ValueError"
    assert "hidden" not in caplog.text
    assert "the-hidden-answer" in str(caught.value.__cause__)
    with caplog.at_level(logging.DEBUG), pytest.raises(GraderError):
        verify_checks([Check("a", 1, crash)], view=None)  # type: ignore[arg-type]
    assert "the-hidden-answer" in caplog.text


def test_a_value_that_is_no_score_is_not_quoted() -> None:
    with pytest.raises(GraderError, match="'a' scored a str that") as caught:
        Progress.of([check("a")], ["the-hidden-answer"])  # type: ignore[list-item]
    assert "hidden" not in str(caught.value)


def test_a_lost_sandbox_passes_through() -> None:
    def lost(view: object) -> float:
        raise SandboxLostError("gone")

    with pytest.raises(SandboxLostError):
        verify_checks([Check("a", 1, lost)], view=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "weight"), [("", 1.0), ("_a", 1.0), ("a", 0.0), ("a", -1.0), ("a", math.nan)])
def test_bad_checks_are_refused(name: str, weight: float) -> None:
    with pytest.raises(ConfigurationError):
        check(name, weight)


def test_no_checks_and_equal_names_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        Progress.of([], [])
    with pytest.raises(ConfigurationError, match="differ"):
        Progress.of([check("a"), check("a")], [1.0, 1.0])
