from __future__ import annotations

import contextlib
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.envs.code import wire

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(),
)
KEYS = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
    ),
    max_leaves=20,
)


def types(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value), [types(item) for item in value]
    return type(value)


@given(VALUES)
def test_values_and_their_types_survive(value: Any) -> None:
    back = wire.decode(wire.encode(value))
    assert back == value
    assert types(back) == types(value)


def test_floats_survive_to_the_bit() -> None:
    for value in (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 0.1):
        assert struct.pack("<d", wire.decode(wire.encode(value))) == struct.pack("<d", value)


def test_lone_surrogates_survive() -> None:
    assert wire.decode(wire.encode("\ud800")) == "\ud800"


@given(st.binary(max_size=200))
def test_bytes_from_anywhere_are_a_value_or_refused(data: bytes) -> None:
    with contextlib.suppress(wire.WireError):
        wire.encode(wire.decode(data))


@given(VALUES, st.data())
def test_changed_bytes_are_a_value_or_refused(value: Any, data: st.DataObject) -> None:
    encoded = bytearray(wire.encode(value))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(wire.WireError):
        wire.decode(bytes(encoded), remotes=True, numpy=True)


@pytest.mark.parametrize("value", [object(), type, len, (x for x in ()), bytearray(), range(3), ..., slice(1)])
def test_what_is_not_plain_is_refused(value: Any) -> None:
    with pytest.raises(wire.WireError, match="not a plain value"):
        wire.encode([value])


def test_subclasses_are_refused() -> None:
    for kind in (int, str, float, list, dict, tuple, bytes):
        with pytest.raises(wire.WireError, match="not a plain value"):
            wire.encode(type("Mine", (kind,), {})())


def test_nesting_and_size_are_bounded() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(wire.WireError, match="deeply"):
        wire.encode(deep)
    with pytest.raises(wire.WireError, match="deeply"):
        wire.decode(b"l\1\0\0\0" * 100 + b"N")
    for large in ("a" * (wire.MAX_BYTES + 1), b"a" * (wire.MAX_BYTES + 1), 1 << (wire.MAX_BYTES * 9), [0] * 10**6):
        with pytest.raises(wire.WireError, match="large"):
            wire.encode(large)


def test_a_length_that_lies_is_refused() -> None:
    for data in (b"l\xff\xff\xff\xffN", b"s\xff\xff\xff\xffa", b"d\x02\0\0\0NN", b"i\x05\0\0\0\0", b"f\0"):
        with pytest.raises(wire.WireError):
            wire.decode(data)


def test_keys_that_collide_are_refused_and_ordinary_ones_are_not() -> None:
    prime = (1 << 61) - 1
    many = b"".join(wire.encode(k * prime) for k in range(500))
    with pytest.raises(wire.WireError, match="collide"):
        wire.decode(b"S" + (500).to_bytes(4, "little") + many)
    ordinary = set(range(-1000, 1000))
    assert wire.decode(wire.encode(ordinary)) == ordinary


def test_a_key_that_comes_twice_is_refused() -> None:
    for pair in (b"TT", b"NN"):
        with pytest.raises(wire.WireError, match="twice"):
            wire.decode(b"S\2\0\0\0" + pair)
