"""Plain values as bytes, between the grader and a submission. Invariant: types survive exactly, or not at all.

An encoding of its own, and no pickle: reading it builds None, bools, ints, floats (nan, infinities and -0.0 included),
complex numbers, strings, bytes, lists, tuples, dicts, sets and frozensets, and nothing else. The reader is safe on
hostile bytes: bounded in size and depth, and linear in time (keys chosen to collide are refused).

The file stands alone: it is read inside the sandbox too, where there is no agentenv.
"""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["MAX_DEPTH", "MAX_BYTES", "Remote", "WireError", "decode", "encode"]

#: Of a result. Reading so much takes a second, if it is made of the smallest values.
MAX_BYTES = 1 << 20
MAX_DEPTH = 60
# Keys of one dict or set that may share a hash: those that do are compared with each other, all with all.
_SAME_HASH = 64
_PACK_FLOAT = struct.Struct("<d")


class WireError(ValueError):
    """A value that is not plain, too large or too deep; or bytes that are no value."""


class Remote:
    """An object that stays in the submission's process, by its name there."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Remote({self.name!r})"


def encode(value: Any, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a plain value.

    The types are looked at, never asked: no method of the value runs. `OrderedDict`, `defaultdict` and `Counter` count
    as the dicts that they equal; numpy's arrays and scalars are marked as such, over the plain values that they hold.

    Raises:
        WireError: If it is not plain, or exceeds the bounds.

    >>> decode(encode([1, True, 1.0, "a", (None,), {b"k": {2}}]))
    [1, True, 1.0, 'a', (None,), {b'k': {2}}]
    """
    out = bytearray()
    _encode(value, out, 0, max_bytes)
    return bytes(out)


def _encode(value: Any, out: bytearray, depth: int, most: int) -> None:
    if depth > MAX_DEPTH:
        raise WireError("nested too deeply")
    if len(out) > most:
        raise WireError("too large")
    kind = type(value)
    if value is None:
        out += b"N"
    elif kind is bool:
        out += b"T" if value else b"F"
    elif kind is int:
        size = (value.bit_length() >> 3) + 1
        if size > most:
            raise WireError("too large")
        _head(out, b"i", size)
        out += value.to_bytes(size, "little", signed=True)
    elif kind is float:
        out += b"f" + _PACK_FLOAT.pack(value)
    elif kind is complex:
        out += b"c" + _PACK_FLOAT.pack(value.real) + _PACK_FLOAT.pack(value.imag)
    elif kind is str:
        if len(value) > most:
            raise WireError("too large")
        data = value.encode("utf-8", "surrogatepass")
        _head(out, b"s", len(data))
        out += data
    elif kind is bytes:
        if len(value) > most:
            raise WireError("too large")
        _head(out, b"b", len(value))
        out += value
    elif kind in _SEQUENCES:
        _head(out, _SEQUENCES[kind], len(value))
        for item in value:
            _encode(item, out, depth + 1, most)
    elif kind is dict or _is_standard_dict(kind):
        _head(out, b"d", dict.__len__(value))
        for key, item in dict.items(value):
            _encode(key, out, depth + 1, most)
            _encode(item, out, depth + 1, most)
    elif kind is Remote:
        data = value.name.encode()
        _head(out, b"r", len(data))
        out += data
    elif kind.__module__ == "numpy" and kind.__name__ in _NUMPY:
        out += b"n"
        _encode(value.tolist() if kind.__name__ != "bool_" else bool(value), out, depth + 1, most)
    else:
        raise WireError(f"a {str(kind.__name__)[:80]} is not a plain value")


_SEQUENCES: dict[type, bytes] = {list: b"l", tuple: b"t", set: b"S", frozenset: b"z"}
_NUMPY = frozenset(
    ["ndarray", "bool", "bool_", "str_", "complex64", "complex128", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def _is_standard_dict(kind: type) -> bool:
    return (
        kind.__module__ == "collections"
        and kind.__name__ in ("OrderedDict", "defaultdict", "Counter")
        and (issubclass(kind, dict))
    )


def _head(out: bytearray, tag: bytes, size: int) -> None:
    out += tag + size.to_bytes(4, "little")


def decode(data: bytes, *, max_bytes: int = MAX_BYTES, remotes: bool = False, numpy: bool = False) -> Any:
    """The plain value of bytes from anywhere.

    Args:
        data: The bytes.
        max_bytes: More are refused.
        remotes: Whether `Remote` objects are accepted.
        numpy: Whether what numpy held is accepted, as plain values.

    Raises:
        WireError: If they are no value, or exceed the bounds.

    >>> decode(b"l" + (2).to_bytes(4, "little") + b"N")
    Traceback (most recent call last):
    ...
    agentenv.envs.code.wire.WireError: cut short
    """
    if len(data) > max_bytes + 64:
        raise WireError("too large")
    value, at = _Reader(data, remotes, numpy).read(0, 0)
    if at != len(data):
        raise WireError("bytes after the value")
    return value


class _Reader:
    def __init__(self, data: bytes, remotes: bool, numpy: bool) -> None:
        self.data = data
        self.remotes = remotes
        self.numpy = numpy

    def read(self, at: int, depth: int) -> tuple[Any, int]:
        """The value that starts at an offset, and where it ends."""
        if depth > MAX_DEPTH:
            raise WireError("nested too deeply")
        tag = self.data[at : at + 1]
        at += 1
        if tag in _CONSTANTS:
            return _CONSTANTS[tag], at
        if tag == b"f":
            return _PACK_FLOAT.unpack(self.take(at, 8))[0], at + 8
        if tag == b"c":
            parts = self.take(at, 16)
            return complex(_PACK_FLOAT.unpack(parts[:8])[0], _PACK_FLOAT.unpack(parts[8:])[0]), at + 16
        if tag == b"n" and self.numpy:
            return self.read(at, depth + 1)
        if tag not in _SIZED:
            raise WireError("no such kind of value" if tag else "cut short")
        size = int.from_bytes(self.take(at, 4), "little")
        at += 4
        if tag in b"isbr":
            return self.scalar(tag, self.take(at, size)), at + size
        return self.container(tag, size, at, depth)

    def scalar(self, tag: bytes, body: bytes) -> Any:
        """An int, a text, bytes or a remote."""
        if tag == b"i":
            return int.from_bytes(body, "little", signed=True)
        if tag == b"b":
            return body
        try:
            text = body.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise WireError("text that is not UTF-8") from None
        if tag == b"s":
            return text
        if not self.remotes:
            raise WireError("an object of the submission's is not a plain value")
        return Remote(text)

    def container(self, tag: bytes, size: int, at: int, depth: int) -> tuple[Any, int]:
        """A list, tuple, set, frozenset or dict of `size` items."""
        count = size * 2 if tag == b"d" else size
        if count > len(self.data) - at:  # every item takes at least a byte
            raise WireError("cut short")
        items = []
        for _ in range(count):
            item, at = self.read(at, depth + 1)
            items.append(item)
        if tag == b"l":
            return items, at
        if tag == b"t":
            return tuple(items), at
        keys = items[::2] if tag == b"d" else items
        _refuse_colliding(keys)
        made: Any = dict(zip(keys, items[1::2], strict=True)) if tag == b"d" else set(keys)
        if len(made) != size:
            raise WireError("a key that comes twice")
        return (frozenset(made) if tag == b"z" else made), at

    def take(self, at: int, size: int) -> bytes:
        """The next `size` bytes."""
        part = self.data[at : at + size]
        if len(part) != size:
            raise WireError("cut short")
        return part


_CONSTANTS = {b"N": None, b"T": True, b"F": False}
_SIZED = frozenset([b"i", b"s", b"b", b"r", b"l", b"t", b"d", b"S", b"z"])


def _refuse_colliding(keys: list[Any]) -> None:
    """Numbers' hashes are known, so that a dict can be made that takes quadratic time to build."""
    try:
        hashes = sorted(map(hash, keys))
    except TypeError:
        raise WireError("a key that cannot be one") from None
    if any(hashes[at] == hashes[at - _SAME_HASH] for at in range(_SAME_HASH, len(hashes))):
        raise WireError("keys that collide")
