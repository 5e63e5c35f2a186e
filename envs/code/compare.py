"""Whether a result is the expected value. Invariant: both are plain values, so that comparing runs nobody's code."""

from __future__ import annotations

import math
from typing import Any

from agentenv.envs.code import wire
from agentenv.tasks.code.base import Compare

__all__ = ["same", "same_output", "shown"]

_MOST_MATCHED = 2000
_MOST_SHOWN = 200


def same(got: Any, expected: Any, rule: Compare) -> bool:
    """Whether a plain result counts as the expected value, under a test's own leniency.

    >>> same([1, 2], [1, 2], Compare()), same((1, 2), [1, 2], Compare()), same(True, 1, Compare(int_float=True))
    (True, False, False)
    >>> same([0.1 + 0.2], [0.3], Compare()), same([0.1 + 0.2], [0.3], Compare(rel_tol=1e-9))
    (False, True)
    >>> same((2, 1), [1, 2], Compare(sequences=True, unordered=True))
    True
    """
    if rule.accepts is not None:
        try:
            return rule.accepts(got) is True
        except Exception:  # the grader boundary: a checker need not foresee every type of wrong result
            return False
    if rule.unordered and _is_sequence(got, expected, rule):
        return _same_unordered(got, expected, rule)
    return _same(got, expected, rule)


def _is_sequence(got: Any, expected: Any, rule: Compare) -> bool:
    kinds = (type(got), type(expected))
    return all(kind in (list, tuple) for kind in kinds) and (rule.sequences or kinds[0] is kinds[1])


def _same(got: Any, expected: Any, rule: Compare) -> bool:
    kind = type(expected)
    if kind in (float, complex, int) and type(got) is not kind:
        if not rule.int_float or {type(got), kind} != {int, float}:
            return False
        if not (rule.rel_tol or rule.abs_tol):
            return bool(got == expected)
        try:
            return _same_float(float(got), float(expected), rule)
        except OverflowError:
            return False
    if kind in (list, tuple):
        if not _is_sequence(got, expected, rule) or len(got) != len(expected):
            return False
        return all(_same(one, other, rule) for one, other in zip(got, expected, strict=True))
    if type(got) is not kind:
        return False
    if kind is float:
        return _same_float(got, expected, rule)
    if kind is complex:
        return _same_float(got.real, expected.real, rule) and _same_float(got.imag, expected.imag, rule)
    if kind in (set, frozenset):
        return _keys(got, rule).keys() == _keys(expected, rule).keys()
    if kind is dict:
        ours, theirs = _keys(got, rule), _keys(expected, rule)
        return ours.keys() == theirs.keys() and all(
            _same(got[ours[key]], expected[theirs[key]], rule) for key in theirs
        )
    return bool(got == expected)


def _same_float(got: float, expected: float, rule: Compare) -> bool:
    if math.isnan(expected):
        return math.isnan(got)
    if rule.signed_zeros and got == expected == 0.0:
        return math.copysign(1.0, got) == math.copysign(1.0, expected)
    # Without a tolerance this is equality.
    return got == expected or math.isclose(got, expected, rel_tol=rule.rel_tol, abs_tol=rule.abs_tol)


def _keys(values: Any, rule: Compare) -> dict[bytes, Any]:
    """The members by their normal form: 1, 1.0 and True are three keys, which for Python they are not."""
    return {_normal(value, rule): value for value in values}


def _normal(value: Any, rule: Compare) -> bytes:
    """Equal bytes for values that are equal under the rule, tolerances left out."""
    kind = type(value)
    if kind is int and rule.int_float:
        try:
            return _normal(float(value), rule) if float(value) == value else wire.encode(value)
        except OverflowError:
            return wire.encode(value)
    if kind is float:
        if math.isnan(value):
            return b"nan"
        return wire.encode(value if rule.signed_zeros or value else 0.0)
    if kind in (list, tuple):
        tag = b"l" if rule.sequences or kind is list else b"t"
        return tag + b"".join(_packed(_normal(item, rule)) for item in value)
    if kind in (set, frozenset):
        return b"S" + b"".join(map(_packed, sorted(_normal(item, rule) for item in value)))
    if kind is dict:
        pairs = sorted(_packed(_normal(key, rule)) + _normal(item, rule) for key, item in value.items())
        return b"d" + b"".join(map(_packed, pairs))
    return wire.encode(value)


def _packed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "little") + part


def _same_unordered(got: Any, expected: Any, rule: Compare) -> bool:
    if len(got) != len(expected):
        return False
    if not (rule.rel_tol or rule.abs_tol):
        return sorted(_normal(item, rule) for item in got) == sorted(_normal(item, rule) for item in expected)
    if len(expected) > _MOST_MATCHED:
        return False
    left = list(expected)
    for item in got:
        at = next((at for at, other in enumerate(left) if _same(item, other, rule)), None)
        if at is None:
            return False
        del left[at]
    return True


def same_output(got: str, expected: str, rule: str) -> bool:
    """Whether a program's output counts as the expected one (`Program.rule`).

    >>> same_output("1 2 \\n3", "1 2\\n3\\n", "lines"), same_output("1\\n2", "1 2", "lines")
    (True, False)
    >>> same_output("1\\n2", "1 2", "tokens"), same_output("0.50", "0.5", "numbers"), same_output("a\\n", "a", "exact")
    (True, True, False)
    """
    if rule == "exact":
        return got == expected
    if rule == "tokens":
        return got.split() == expected.split()
    ours, theirs = _lines(got), _lines(expected)
    if rule == "lines" or len(ours) != len(theirs):
        return ours == theirs
    return all(one == other or _same_numbers(one, other) for one, other in zip(ours, theirs, strict=True))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().split("\n")]


def _same_numbers(one: str, other: str) -> bool:
    """Whether two lines are the same decimal numbers, compared exactly and never expanded (1e999999999 is short)."""
    ours, theirs = one.split(), other.split()
    return len(ours) == len(theirs) and all(
        (number := _number(word)) is not None and number == _number(wanted)
        for word, wanted in zip(ours, theirs, strict=True)
    )


def _number(word: str) -> tuple[int, str, int] | None:
    """Sign, significant digits, exponent; None for what is no finite decimal number."""
    from decimal import Decimal, InvalidOperation

    try:
        sign, digits, exponent = Decimal(word).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):
        return None
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return 0, "", 0
    short = text.rstrip("0")
    return sign, short, exponent + len(text) - len(short)


def shown(value: Any) -> str:
    """A value for people, shortened; for values of any size.

    >>> shown([1] * 1000)[-3:]
    '...'
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int with more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
