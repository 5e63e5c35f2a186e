from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.evaluation.statistics import (
    bootstrap_interval,
    paired_difference,
    pass_at_k,
    progress_auc,
    success_estimate,
    summarise,
    wilson_interval,
)
from tests.evaluation.making import make_record, make_results


def test_wilson_agrees_with_published_values() -> None:
    # Newcombe 1998, table I: 81/263, 15/148, 0/20, 1/29.
    for successes, trials, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=6e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_its_estimate_and_mirrors(case: tuple[int, int]) -> None:
    successes, trials = case
    low, high = wilson_interval(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1
    assert low < high
    mirrored = wilson_interval(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("case", [(1, 0), (3, 2), (-1, 2)])
def test_wilson_refuses_what_is_no_proportion(case: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError):
        wilson_interval(*case)


def test_bootstrap_agrees_with_the_normal_interval_on_many_tasks() -> None:
    values = [0.0, 0.25, 0.5, 1.0] * 100
    mean = sum(values) / 400
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / 400 / 400)
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(mean - 1.96 * deviation, abs=0.004)
    assert high == pytest.approx(mean + 1.96 * deviation, abs=0.004)


def test_bootstrap_of_equal_values_is_never_a_point() -> None:
    # 10 tasks without one success still allow 1 - 0.025^(1/10) = 30.8% (Clopper-Pearson, by hand).
    assert bootstrap_interval([0.0] * 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert bootstrap_interval([1.0] * 10) == pytest.approx((0.6915, 1.0), abs=1e-4)
    assert bootstrap_interval([0.0] * 10, bounds=(-1, 1)) == pytest.approx((-0.3085, 0.3085), abs=1e-4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_bootstrap_repeats_and_stays_inside(values: list[float]) -> None:
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values)
    assert -1e-12 <= low <= high <= 1 + 1e-12


def test_several_episodes_of_a_task_are_not_independent_samples() -> None:
    once = {f"t-{n}": [make_record(f"t-{n}", 0, n % 2 == 0)] for n in range(20)}
    often = {task: [make_record(task, k, r[0].success) for k in range(10)] for task, r in once.items()}
    narrow, wide = success_estimate(once), success_estimate(often)
    assert (narrow.method, wide.method) == ("wilson", "bootstrap over tasks")
    assert wide.value == narrow.value == 0.5
    assert wide.high - wide.low > 0.3  # ten copies of twenty tasks say no more than twenty tasks


def test_progress_auc_by_hand() -> None:
    assert progress_auc([0.0, 0.5, 1.0], 4) == (0.5 + 1 + 1 + 1) / 4
    assert progress_auc([0.3], 3) == pytest.approx(0.3)
    assert progress_auc([0.0, 1.0, 0.0], 2) == 0.5


def test_progress_auc_refuses_more_turns_than_the_limit() -> None:
    with pytest.raises(ConfigurationError):
        progress_auc([0.0, 0.1, 0.2], 1)
    with pytest.raises(ConfigurationError):
        progress_auc([], 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.integers(0, 5))
def test_progress_auc_lies_between_the_extremes_and_rewards_speed(progress: list[float], spare: int) -> None:
    most = len(progress) - 1 + spare
    area = progress_auc(progress, most)
    assert min(progress[1:]) - 1e-12 <= area <= max(progress[1:]) + 1e-12
    assert progress_auc([progress[0], 1.0], most) >= progress_auc([progress[0], *[progress[0]] * (most - 1), 1.0], most)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(n, c, k) for n in range(1, 7) for c in range(n + 1) for k in range(1, n + 1)]
)
def test_pass_at_k_is_the_share_of_subsets_with_a_success(n: int, c: int, k: int) -> None:
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == float(Fraction(sum(any(subset) for subset in subsets), len(subsets)))


@pytest.mark.parametrize("case", [(3, 1, 4), (0, 0, 1), (2, 3, 1), (2, 1, 0)])
def test_pass_at_k_refuses_fewer_samples_than_k(case: tuple[int, int, int]) -> None:
    with pytest.raises(ConfigurationError):
        pass_at_k(*case)


def test_platform_failures_lower_the_bound_and_leave_the_rate() -> None:
    results = make_results([True, True, False], failed=1)
    summary = summarise(results)
    assert summary.success is not None
    assert summary.success.value == pytest.approx(2 / 3)
    assert (summary.planned, summary.played, summary.platform_failures) == (4, 3, 1)
    assert summary.coverage == 0.75
    assert summary.success_lower_bound == 0.5


def test_an_evaluation_in_which_everything_failed_has_no_success_rate() -> None:
    summary = summarise(make_results([], failed=3))
    assert summary.success is None
    assert summary.coverage == 0.0
    assert summary.families == {}


def test_pass_at_k_is_reported_only_up_to_the_fewest_episodes() -> None:
    results = make_results([True, False], episodes=3)
    assert sorted(summarise(results).pass_at_k) == ["1", "2"]


def test_families_are_told_apart() -> None:
    families = summarise(make_results([True, False, True, False])).families
    assert {name: estimate.value for name, estimate in families.items()} == {"even": 1.0, "odd": 0.0}


def test_paired_difference_by_hand() -> None:
    new, base = make_results([True] * 30 + [False] * 10), make_results([True] * 10 + [False] * 30)
    gain = paired_difference(new, base)
    assert gain.value == 0.5
    assert (gain.better, gain.worse, gain.same, gain.tasks) == (20, 0, 20, 40)
    # Twenty of forty differ: the normal interval is 0.5 -+ 1.96 sqrt(0.25 / 40).
    assert (gain.low, gain.high) == pytest.approx((0.345, 0.655), abs=0.025)


def test_paired_difference_is_antisymmetric_and_zero_against_itself() -> None:
    a, b = make_results([True, False, True, True]), make_results([False, False, True, False])
    assert paired_difference(a, b).value == -paired_difference(b, a).value
    same = paired_difference(a, a)
    assert same.value == 0
    assert same.low < 0 < same.high


def test_paired_difference_leaves_out_what_either_platform_failed() -> None:
    gain = paired_difference(make_results([True, True], failed=1), make_results([True, False, True]))
    assert (gain.tasks, gain.left_out) == (2, 1)


def test_paired_difference_refuses_other_tasks() -> None:
    with pytest.raises(ConfigurationError, match="task_ids"):
        paired_difference(make_results([True]), make_results([True, False]))
    with pytest.raises(ConfigurationError, match="fingerprint"):
        paired_difference(make_results([True]), make_results([True], fingerprint="other"))
