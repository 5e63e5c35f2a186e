"""Reads tar archives that agents made. Invariant: time and memory are linear in the archive, whatever it says.

Python's own reader believes what headers say: sizes without bound, sparse files of any length, records that take
quadratic time to read. Here a size beyond the data, a kind of entry with no use in a task, or a broken header is
malformed.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentenv.errors import NotInStateError

__all__ = ["Entry", "read_tar"]

_BLOCK = 512
_MOST_NAME_BYTES = 1 << 14
_FILES = (b"0", b"\0", b"7")
_DIRECTORY = b"5"
_OTHERS = (b"1", b"2", b"3", b"4", b"6")  # links, devices, FIFOs: named, never followed
_LONG_NAME, _LONG_LINK, _RECORDS, _GLOBAL_RECORDS = b"L", b"K", b"x", b"g"


@dataclass(frozen=True)
class Entry:
    """One member: its name as written, its kind ("file", "directory", "other"), and a file's bytes."""

    name: str
    kind: str
    content: bytes = b""


def read_tar(data: bytes, *, most_entries: int) -> list[Entry]:
    """The members of a plain tar (ustar, GNU or pax), in order.

    Raises:
        NotInStateError: If it is malformed, or has more members.
    """
    found: list[Entry] = []
    place, long_name, records = 0, "", dict[str, str]()
    if not data:
        raise NotInStateError("an empty file is no tar")
    while place < len(data):
        header = data[place : place + _BLOCK]
        if len(header) < _BLOCK:
            raise NotInStateError("a tar is cut short")
        if not header.strip(b"\0"):
            break
        _check_sum(header)
        kind = header[156:157]
        size = _number(records.get("size", ""), 10) if "size" in records else _octal(header[124:136])
        if kind in (_DIRECTORY, *_OTHERS):
            size = 0
        body = data[place + _BLOCK : place + _BLOCK + size]
        if len(body) < size:
            raise NotInStateError("a tar's member is cut short")
        place += _BLOCK + -(-size // _BLOCK) * _BLOCK
        if kind in (_LONG_NAME, _LONG_LINK, _RECORDS, _GLOBAL_RECORDS):
            if size > _MOST_NAME_BYTES:
                raise NotInStateError("a tar has a header that is too long")
            if kind == _LONG_NAME:
                long_name = _text(body.rstrip(b"\0"))
            elif kind == _RECORDS:
                records = _pax(body)
            continue
        if kind not in (*_FILES, _DIRECTORY, *_OTHERS):
            raise NotInStateError(f"a tar has a member of kind {kind!r}")
        if len(found) == most_entries:
            raise NotInStateError("a tar has too many members")
        name = records.get("path") or long_name or _name(header)
        what = "file" if kind in _FILES else "directory" if kind == _DIRECTORY else "other"
        if what == "file" and name.endswith("/"):
            what, body = "directory", b""
        found.append(Entry(name, what, body if what == "file" else b""))
        long_name, records = "", {}
    return found


def _check_sum(header: bytes) -> None:
    told = _octal(header[148:156])
    if told != sum(header[:148]) + 8 * 32 + sum(header[156:]):
        raise NotInStateError("a tar has a header whose sum is wrong")


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].split(b"\0", 1)[0]
        if prefix:
            name = prefix + b"/" + name
    return _text(name)


def _octal(field: bytes) -> int:
    return _number(field.strip(b" \0").decode("ascii", "replace") or "0", 8)


def _number(digits: str, base: int) -> int:
    allowed = "01234567" if base == 8 else "0123456789"
    if not digits or len(digits) > 20 or any(digit not in allowed for digit in digits):
        raise NotInStateError("a tar has a size that is no number")
    return int(digits, base)


def _pax(body: bytes) -> dict[str, str]:
    """Records `LENGTH KEY=VALUE\\n`, read from the front."""
    records: dict[str, str] = {}
    place = 0
    while place < len(body):
        blank = body.find(b" ", place, place + 8)
        if blank < 0:
            raise NotInStateError("a tar has a record without a length")
        length = _number(body[place:blank].decode("ascii", "replace"), 10)
        record = body[place : place + length]
        key, equals, value = record[blank + 1 - place : -1].partition(b"=")
        if length <= blank - place or len(record) < length or not equals or not record.endswith(b"\n"):
            raise NotInStateError("a tar has a record that is malformed")
        records[_text(key)] = _text(value)
        place += length
    if any(key.startswith("GNU.sparse") for key in records):
        raise NotInStateError("a tar has a sparse member")
    return records


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
