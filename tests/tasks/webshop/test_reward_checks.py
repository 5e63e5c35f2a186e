"""The score's terms as checks on the state so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.progress import Check, Progress, StateView, verify_checks
from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward import NO_LIMIT, WordTagger, checks_for, score
from tests.tasks.webshop.reward_cases import CASES, GOAL, MUG, OTHER, RACK, RIGHT


@dataclass(frozen=True)
class _View:
    product_in_view: Product | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    purchase: Purchase | None = None


def _progress(checks: Any, view: _View) -> Progress:
    return verify_checks(checks, cast(StateView, view))


def _checks(rule: str = "strict", goal: Goal = GOAL, target: Product = MUG) -> list[Check]:
    return list(checks_for(goal, target, rule, WordTagger()))


@pytest.mark.parametrize("rule", ["strict", "original"])
def test_progress_follows_a_purchase_step_by_step(rule: str) -> None:
    states = [
        (_View(), 0),
        (_View(MUG), 4),
        (_View(MUG, {"color": "red"}), 5),
        (_View(MUG, RIGHT), 6),
        (_View(MUG, RIGHT, Purchase(MUG, RIGHT, 9.5)), 7),
    ]
    checks = _checks(rule)
    assert [_progress(checks, view).value for view, _ in states] == [met / 7 for _, met in states]
    assert [_progress(checks, view).success for view, _ in states] == [False, False, False, False, True]


def test_names_are_positions_and_price_is_checked_only_where_it_counts() -> None:
    names = ["type", "attribute_0", "attribute_1", "option_0", "option_1", "price", "bought"]
    assert [check.name for check in _checks()] == names
    free = replace(GOAL, price_upper=float(NO_LIMIT), attributes=(), options={})
    assert [check.name for check in _checks(goal=free)] == ["type", "bought"]
    assert [check.name for check in _checks("original", free)] == ["type", "price", "bought"]


def test_another_kind_of_product_is_no_progress() -> None:
    rack = replace(RACK, attributes=MUG.attributes)
    assert _progress(_checks(), _View(rack, RIGHT)).value == 0


def test_a_neighbouring_kind_counts_by_half() -> None:
    tea = replace(OTHER, query="tea mugs", attributes=MUG.attributes)
    assert _progress(_checks(), _View(tea, RIGHT)).value == pytest.approx(3 / 7)


def test_price_of_the_options_chosen_so_far_is_checked() -> None:
    assert _progress(_checks(), _View(MUG, {"size": "x-large"})).checks["price"] == 0
    assert _progress(_checks(), _View(MUG, {"size": "large"})).checks["price"] == 1


def test_a_wrong_purchase_is_no_success_whatever_is_in_view() -> None:
    bought = Purchase(MUG, {"color": "red"}, 9.5)
    progress = _progress(_checks(), _View(MUG, RIGHT, bought))
    assert (progress.success, progress.checks["bought"], progress.checks["option_1"]) == (False, 0, 0)


@pytest.mark.parametrize("rule", ["strict", "original"])
@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(CASES, start=1)])
def test_success_is_a_purchase_with_total_one(rule: str, case: Any) -> None:
    progress = _progress(_checks(rule, case.goal, case.target), _View(purchase=case.purchase))
    expected = score(rule, case.goal, case.target, case.purchase, WordTagger()).total == 1.0
    assert (progress.success, progress.value == 1.0) == (expected, expected)


_VIEWS = st.builds(
    _View,
    st.sampled_from([None, MUG, OTHER, RACK]),
    st.dictionaries(st.sampled_from(["color", "size"]), st.sampled_from(["red", "large", "x-large"])),
    st.sampled_from([None, None, Purchase(MUG, RIGHT, 9.5), Purchase(MUG, RIGHT, 30.0), Purchase(OTHER, RIGHT, 9.5)]),
)


@given(st.sampled_from(["strict", "original"]), st.lists(_VIEWS, max_size=6))
def test_checks_used_before_say_what_new_ones_say(rule: str, views: list[_View]) -> None:
    used = _checks(rule)
    for view in views:
        assert _progress(used, view) == _progress(_checks(rule), view)


def test_options_changed_in_place_are_seen() -> None:
    options = {"color": "blue"}
    checks, view = _checks(), _View(MUG, options)
    assert _progress(checks, view).checks["option_0"] == 0
    options["color"] = "red"
    assert _progress(checks, view).checks["option_0"] == 1


def test_hints_are_short() -> None:
    goal = replace(GOAL, attributes=("x" * 100_000,), options={"a": "y" * 100_000})
    assert all(len(check.hint) < 100 for check in _checks(goal=goal))


def test_unknown_rule_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'lenient' is not one of strict, original"):
        checks_for(GOAL, MUG, "lenient")
