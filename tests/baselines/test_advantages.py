from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv import Trajectory, Turn
from agentenv.baselines.advantages import TurnBatch, broadcast_to_tokens, outcome_advantages, procredit_advantages
from agentenv.baselines.advantages.groups import centre, znorm
from agentenv.errors import ConfigurationError

ESTIMATORS = {"outcome": outcome_advantages, "procredit": procredit_advantages}


def _episode(group: str, met: Sequence[int], outcome: float = 0.0, checks: int = 4, start: int = 0) -> Trajectory:
    """An episode of `len(met)` turns, after each of which so many of the unmet checks hold; `start` held before."""

    def scores(count: int) -> dict[str, float]:
        return {f"c{n}": float(n < start or n - start < count) for n in range(checks + start)}

    turns = [
        Turn("o", "a", progress=(start + count) / (checks + start), checks=scores(count), state_hash=f"s{count}")
        for count in met
    ]
    if turns:
        turns[-1].reward, turns[-1].reward_parts = outcome, {"outcome": outcome}
    return Trajectory(
        "t", turns, group_id=group, start_checks=scores(0), start_progress=start / (checks + start), start_hash="s0"
    )


def _episodes(names: Sequence[str]) -> st.SearchStrategy[list[Trajectory]]:
    one = st.builds(
        _episode,
        st.sampled_from(names),
        st.lists(st.integers(0, 4), max_size=5),
        st.sampled_from([0.0, 0.1, 1.0]),
        start=st.integers(0, 2),
    )
    return st.lists(one, min_size=1, max_size=10)


# -- the batch --------------------------------------------------------------------------------------------------------


def test_batch_holds_each_field_at_its_place() -> None:
    batch = TurnBatch.of([_episode("g", [1, 4], 1.0), _episode("h", [2]), _episode("g", [])])
    assert batch.rewards.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert batch.mask.tolist() == [[True, True], [True, False], [False, False]]
    assert batch.group.tolist() == [0, 1, 0]
    assert batch.outcome.tolist() == [1, 0, 0]
    assert batch.checks_met.tolist() == [[0, 0.25, 1], [0, 0.5, 0.5], [0, 0, 0]]
    assert batch.state_hash.tolist() == [[0, 1], [0, -1], [-1, -1]]
    assert batch.lengths.tolist() == [2, 1, 0]


def test_checks_met_counts_only_what_the_start_state_did_not_meet() -> None:
    batch = TurnBatch.of([_episode("g", [2], start=3), _episode("g", [0], checks=0, start=3)])
    assert batch.checks_met.tolist() == [[0, 0.5], [0, 0]]
    assert batch.progress.tolist() == [[3 / 7, 5 / 7], [1, 1]]


def test_a_partial_score_is_not_a_met_check() -> None:
    turn = Turn("o", "a", checks={"x": 0.5, "y": 1.0})
    batch = TurnBatch.of([Trajectory("t", [turn], start_checks={"x": 0.25, "y": 0.0})])
    assert batch.checks_met.tolist() == [[0, 0.5]]


def test_episodes_without_a_group_are_groups_of_their_own() -> None:
    batch = TurnBatch.of([_episode("", [0], 1.0), _episode("", [0], 0.0)])
    assert batch.group.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rewards", torch.zeros(2, 2)),
        ("outcome", torch.tensor([math.nan, 0.0], dtype=torch.float64)),
        ("progress", torch.zeros(2, 2, dtype=torch.float64)),
        ("mask", torch.tensor([[False, True], [True, True]])),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_by_name(field: str, value: torch.Tensor) -> None:
    good = vars(TurnBatch.of([_episode("g", [1, 2]), _episode("g", [0, 1])]))
    with pytest.raises(ConfigurationError, match=field):
        TurnBatch(**{**good, field: value})


# -- plain GRPO -------------------------------------------------------------------------------------------------------


def test_outcome_is_the_group_z_score_at_every_turn() -> None:
    outcomes = [1.0, 0.0, 0.0, 0.0]
    batch = TurnBatch.of([_episode("g", [0, 0], outcome) for outcome in outcomes])
    deviation = math.sqrt(3) / 4
    assert outcome_advantages(batch)[:, 0].tolist() == pytest.approx(
        [0.75 / (deviation + 1e-6), *[-0.25 / (deviation + 1e-6)] * 3]
    )
    assert torch.equal(outcome_advantages(batch)[:, 0], outcome_advantages(batch)[:, 1])
    assert outcome_advantages(batch, std="sample")[0, 0].item() == pytest.approx(0.75 / (0.5 + 1e-6))


def test_missing_members_are_simply_absent() -> None:
    full = [_episode("g", [0], outcome) for outcome in (1.0, 0.0, 1.0)]
    alone = outcome_advantages(TurnBatch.of(full))
    beside = outcome_advantages(TurnBatch.of([full[0], _episode("h", [0], 1.0), full[1], full[2]]))
    assert torch.equal(alone, beside[[0, 2, 3]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
@given(reward=st.floats(-10, 10), size=st.integers(1, 9), met=st.lists(st.integers(0, 3), min_size=1, max_size=1))
def test_groups_of_equal_returns_give_exactly_zero(
    estimate: object, dtype: torch.dtype, reward: float, size: int, met: list[int]
) -> None:
    batch = TurnBatch.of([_episode("g", met, reward) for _ in range(size)])
    assert callable(estimate)
    assert (estimate(batch).to(dtype) == 0).all()


def test_returns_that_differ_by_rounding_only_carry_no_signal() -> None:
    assert znorm([0.3, 0.1 + 0.2]) == [0.0, 0.0]
    assert centre([0.3, 0.1 + 0.2]) == [0.0, 0.0]


def test_std_of_another_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="std="):
        znorm([0.0, 1.0], std="biased")  # type: ignore[arg-type]


# -- ProCredit --------------------------------------------------------------------------------------------------------


def test_procredit_by_hand() -> None:
    # Four checks. a: meets 2, looks, meets all and succeeds; b: meets 1, then fails.
    batch = TurnBatch.of([_episode("g", [2, 2, 4], 1.0), _episode("g", [1, 1], 0.0)])
    scores = [1 + 0.5 * 1.0, 0.5 * 0.25]
    mean, deviation = sum(scores) / 2, (scores[0] - scores[1]) / 2
    whole = [(score - mean) / (deviation + 1e-6) for score in scores]
    returns = [[1.5, 1.25, 1.25], [0.125, 0.0]]
    centred = (1.5 + 1.25 + 1.25 + 0.125 + 0.0) / 5
    expected = [[w + g - centred for g in row] for w, row in zip(whole, returns, strict=True)]
    found = procredit_advantages(batch)
    assert found[0].tolist() == pytest.approx(expected[0])
    assert found[1, :2].tolist() == pytest.approx(expected[1])
    assert found[1, 2].item() == 0.0


@given(episodes=_episodes(["a", "b"]), c=st.floats(0.1, 2), lam=st.floats(0.1, 2))
def test_consecutive_turns_differ_by_the_progress_of_the_first(
    episodes: list[Trajectory], c: float, lam: float
) -> None:
    batch = TurnBatch.of(episodes)
    advantages = procredit_advantages(batch, c=c, lam=lam)
    for row in range(len(episodes)):
        others = batch.group == batch.group[row]
        if int(others.sum()) < 2 or not advantages[others].any():
            continue
        for turn in range(int(batch.lengths[row]) - 1):
            gained = batch.checks_met[row, turn + 1] - batch.checks_met[row, turn]
            assert (advantages[row, turn] - advantages[row, turn + 1]).item() == pytest.approx(
                lam * c * gained.item(), abs=1e-9
            )


def test_a_turn_that_only_looks_shares_the_advantage_of_the_next() -> None:
    batch = TurnBatch.of([_episode("g", [0, 0, 3], 0.0), _episode("g", [1], 0.0)])
    advantages = procredit_advantages(batch)
    assert advantages[0, 0].item() == advantages[0, 1].item() == advantages[0, 2].item()
    assert advantages[0, 0] > advantages[1, 0]


def test_without_any_success_progress_still_teaches() -> None:
    batch = TurnBatch.of([_episode("g", [0, 2]), _episode("g", [0, 0])])
    assert (outcome_advantages(batch) == 0).all()
    assert (procredit_advantages(batch)[0] > 0).all()
    assert (procredit_advantages(batch)[1] < 0).all()


def test_breaking_and_mending_nets_nothing() -> None:
    batch = TurnBatch.of([_episode("g", [2, 1, 2, 2]), _episode("g", [0])])
    advantages = procredit_advantages(batch)[0]
    assert advantages[1].item() == pytest.approx(advantages[3].item())  # before breaking, and once mended
    assert advantages[2] > advantages[1]  # mending is worth what breaking cost
    with_nothing = procredit_advantages(TurnBatch.of([_episode("g", [2, 2, 2, 2]), _episode("g", [0])]))[0]
    assert advantages[0].item() - advantages[3].item() == pytest.approx((with_nothing[0] - with_nothing[3]).item())


def test_an_episode_cut_by_a_limit_keeps_its_progress() -> None:
    cut, ended = _episode("g", [3]), _episode("g", [3])
    cut.truncated, ended.terminated = True, True
    advantages = procredit_advantages(TurnBatch.of([cut, ended, _episode("g", [0])]))
    assert advantages[0, 0].item() == advantages[1, 0].item() > 0


def test_a_start_state_that_meets_every_check_has_no_progress_to_credit() -> None:
    episodes = [_episode("g", [0, 0], outcome, checks=0, start=3) for outcome in (1.0, 0.0)]
    advantages = procredit_advantages(TurnBatch.of(episodes))
    assert torch.isfinite(advantages).all()
    assert advantages[0, 0].item() == advantages[0, 1].item() > 0


# -- universal properties (METHODS 0: U1 to U5) -----------------------------------------------------------------------


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
@given(episodes=_episodes(["a", "b", ""]), data=st.data())
def test_permuting_rows_permutes_advantages_to_the_bit(
    estimate: object, episodes: list[Trajectory], data: st.DataObject
) -> None:
    assert callable(estimate)
    order = data.draw(st.permutations(range(len(episodes))))
    straight = estimate(TurnBatch.of(episodes))
    permuted = estimate(TurnBatch.of([episodes[row] for row in order]))
    assert torch.equal(permuted, straight[list(order)])


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
@given(first=_episodes(["a", "b"]), second=_episodes(["c", "d"]))
def test_groups_do_not_touch_each_other(estimate: object, first: list[Trajectory], second: list[Trajectory]) -> None:
    assert callable(estimate)
    alone = estimate(TurnBatch.of(first))
    together = estimate(TurnBatch.of([*first, *second]))[: len(first)]
    assert torch.equal(together[:, : alone.shape[1]], alone)
    assert (together[:, alone.shape[1] :] == 0).all()


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
@given(episodes=_episodes(["a", "b", ""]))
def test_advantages_are_finite_and_zero_off_the_played_turns(estimate: object, episodes: list[Trajectory]) -> None:
    assert callable(estimate)
    batch = TurnBatch.of(episodes)
    advantages = estimate(batch)
    assert advantages.shape == batch.mask.shape
    assert advantages.dtype == torch.float64
    assert torch.isfinite(advantages).all()
    assert (advantages[~batch.mask] == 0).all()


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
def test_no_episodes_and_no_turns_give_empty_advantages(estimate: object) -> None:
    assert callable(estimate)
    assert estimate(TurnBatch.of([])).shape == (0, 0)
    assert estimate(TurnBatch.of([_episode("g", [])])).shape == (1, 0)


# -- turns to tokens --------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(index=st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=3))
def test_a_token_gets_its_own_turns_value(index: list[list[int]]) -> None:
    values = torch.tensor([[1.0, 2.0, math.nan]]).repeat(len(index), 1)
    out = broadcast_to_tokens(values, torch.tensor(index))
    for row, places in enumerate(index):
        for place, turn in enumerate(places):
            wanted = 0.0 if turn < 0 else values[row, turn].item()
            assert out[row, place].item() == wanted or (math.isnan(wanted) and math.isnan(out[row, place].item()))


def test_a_turn_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="turn indices"):
        broadcast_to_tokens(torch.zeros(1, 2), torch.tensor([[2]]))
    with pytest.raises(ConfigurationError, match="rows"):
        broadcast_to_tokens(torch.zeros(1, 2), torch.tensor([[0], [1]]))
