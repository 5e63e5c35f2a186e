from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from agentenv.envs.code import wire
from agentenv.envs.code.compare import same, same_output
from agentenv.tasks.code.base import EXACT, Compare

LOOSE = Compare(rel_tol=1e-9, abs_tol=1e-9, int_float=True, sequences=True, unordered=True)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (True, 1),
        (1, True),
        (1.0, 1),
        (1, 1.0),
        ((1,), [1]),
        ("1", 1),
        (b"a", "a"),
        ({1}, frozenset({1})),
        ({True: 0}, {1: 0}),
        ({1.0}, {1}),
        ([True], [1]),
        (0.1 + 0.2, 0.3),
        (None, 0),
        ([], ()),
        (math.nan, 0.0),
    ],
)
def test_another_type_is_another_value(got: Any, expected: Any) -> None:
    assert not same(got, expected, EXACT)


@pytest.mark.parametrize(
    ("got", "expected"), [(True, 1), (1, True), ("1", 1), (None, 0), ({True}, {1}), ([[1], True], [[1], 1])]
)
def test_no_leniency_makes_a_bool_a_number(got: Any, expected: Any) -> None:
    assert not same(got, expected, LOOSE)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, math.nan, math.inf, 1j, "a", b"a", [1, (2, {3: {4}})], {math.nan}, frozenset([(1, 2)])],
)
def test_a_value_is_itself(value: Any) -> None:
    assert same(value, value, EXACT)
    assert same(wire.decode(wire.encode(value)), value, EXACT)


def test_leniency_reaches_every_depth() -> None:
    assert same({"a": [(1, 2.0000000001)]}, {"a": [[1.0, 2]]}, LOOSE)
    assert not same({"a": [(1, 2.0000000001)]}, {"a": [[1.0, 2]]}, Compare(sequences=True, int_float=True))


def test_order_counts_unless_said_otherwise() -> None:
    assert not same([2, 1], [1, 2], EXACT)
    assert same([2, 1], [1, 2], Compare(unordered=True))
    assert not same([2, 1, 1], [1, 2, 2], Compare(unordered=True))
    assert same([0.3, 0.1 + 0.2], [0.3, 0.3], Compare(unordered=True, rel_tol=1e-9))


def test_signed_zeros_are_equal_unless_said_otherwise() -> None:
    assert same(-0.0, 0.0, EXACT)
    assert not same(-0.0, 0.0, Compare(signed_zeros=True))


def test_a_counter_is_the_dict_that_it_equals() -> None:
    assert same(wire.decode(wire.encode(Counter("aab"))), {"a": 2, "b": 1}, EXACT)


def test_a_checker_that_fails_says_no() -> None:
    assert same([1, 2], [2, 1], Compare(accepts=lambda got: sorted(got) == [1, 2]))
    assert not same(None, [2, 1], Compare(accepts=lambda got: sorted(got) == [1, 2]))
    assert not same(1, 1, Compare(accepts=lambda got: 1))  # type: ignore[arg-type,return-value]


def test_an_int_too_large_for_a_float_is_no_float() -> None:
    assert not same(10**400, 1.0, LOOSE)
    assert not same({10**400}, {1.0}, LOOSE)


def test_numbers_in_output_are_compared_exactly() -> None:
    assert same_output("1.50 2\n", "1.5 2.0", "numbers")
    assert not same_output("1.5000000001", "1.5", "numbers")
    assert not same_output("1e999999999", "1e999999998", "numbers")
    assert not same_output("nan", "1", "numbers")
    assert not same_output("a", "b", "numbers")
