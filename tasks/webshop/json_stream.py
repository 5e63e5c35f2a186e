"""Large JSON files, one element at a time. Invariant: memory is bounded by the largest element, not by the file.

The original product file is one array of 5 GB. Elements are decoded by the standard library's C scanner from a buffer
that is read on as needed: as fast as `json.load`, and without a further dependency.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from agentenv.errors import DataFileError, InfrastructureError

__all__ = ["JsonStream", "Record"]

_CHUNK = 1 << 20
_MOST_CHARACTERS = 1 << 24
_LONGEST_NUMBER = 64
_SHOWN = 60
_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Record:
    """A JSON object with its place, whose fields are read with errors that name both.

    Args:
        where: File, number and character.
        values: The object's fields.
    """

    where: str
    values: Mapping[str, Any]

    def text(self, key: str, default: str | None = None) -> str:
        """A string; the default, if there is one, where the field is absent or null."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.fault(key, "must be a string", value)
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings; empty where the field is absent or null."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.fault(key, "must be a list of strings", value)
        return value

    def records(self, key: str) -> list[Record]:
        """A list of objects; empty where the field is absent or null."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.fault(key, "must be a list of objects", value)
        return [Record(f"{self.where}, key {key!r}, entry {number}", entry) for number, entry in enumerate(value)]

    def fault(self, key: str, demand: str, value: object) -> DataFileError:
        """The error for a field that does not hold what it must."""
        shown = json.dumps(value, default=str)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        missing = value is None and key not in self.values
        return DataFileError(f"{self.where}, key {key!r}: {demand}, {'is missing' if missing else f'got {shown}'}")


class JsonStream:
    """A JSON file that is read once, from front to end. A context manager.

    Args:
        path: The file, in UTF-8.

    Raises:
        DataFileError: Where the file is not what is asked for, with its name and the character.
        InfrastructureError: If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = open(path, encoding="utf-8", newline="")  # noqa: SIM115 (closed by __exit__)
        except OSError as fault:
            raise InfrastructureError(f"{path} cannot be read: {fault}") from fault
        self._buffer = ""
        self._at = 0
        self._before = 0
        self._at_end = False

    def __enter__(self) -> JsonStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def items(self) -> Iterator[Record]:
        """The elements of the file's array; each must be an object."""
        for number, _ in enumerate(self._separated("[", "]")):
            at = self._position
            yield self._record(self._value(), f"entry {number} (character {at})")

    def pairs(self) -> Iterator[tuple[str, Record]]:
        """The keys of the file's object and their values; each must be an object."""
        for key, value, at in self._members():
            yield key, self._record(value, f"entry {key!r} (character {at})")

    def lists(self) -> Iterator[tuple[str, list[Record]]]:
        """The same where each value is a list of objects."""
        for key, value, at in self._members():
            place = f"entry {key!r} (character {at})"
            if not isinstance(value, list):
                raise self._fault(f"{place}: must be a list, got {type(value).__name__}")
            yield key, [self._record(entry, f"{place}, {number}") for number, entry in enumerate(value)]

    def _members(self) -> Iterator[tuple[str, Any, int]]:
        for _ in self._separated("{", "}"):
            at = self._position
            key = self._value()
            if not isinstance(key, str):
                raise self._fault(f"character {at}: a key must be a string, got {type(key).__name__}")
            self._expect(":")
            self._next()
            yield key, self._value(), at

    def _record(self, value: Any, place: str) -> Record:
        if not isinstance(value, dict):
            raise self._fault(f"{place}: must be an object, got {type(value).__name__}")
        return Record(f"{self._path.name}, {place}", value)

    def _separated(self, opening: str, closing: str) -> Iterator[None]:
        """Yields before each element of an array or object, which the caller then reads."""
        self._expect(opening)
        if self._next() == closing:
            self._at += 1
        else:
            while True:
                self._next()
                yield
                if self._next() == closing:
                    self._at += 1
                    break
                self._expect(",")
        if self._next():
            raise self._fault(f"character {self._position}: text follows the end")

    def _expect(self, character: str) -> None:
        found = self._next()
        if found != character:
            got = repr(found) if found else "the end of the file"
            raise self._fault(f"character {self._position}: expected {character!r}, got {got}")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no space, not yet taken; empty at the end of the file."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if self._at_end:
                return ""
            self._read_on()

    def _value(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if self._at_end or len(self._buffer) - self._at > _MOST_CHARACTERS:
                    place = self._before + error.pos
                    raise self._fault(f"character {place}: {error.msg} (in what began at {self._position})") from error
            except (ValueError, RecursionError) as error:
                raise self._fault(f"character {self._position}: cannot be decoded ({error})") from error
            else:
                # More digits may follow in the part not yet read.
                is_cut = isinstance(value, int | float) and len(self._buffer) - end < _LONGEST_NUMBER
                if self._at_end or not is_cut:
                    self._at = end
                    return value
            self._read_on()

    def _read_on(self) -> None:
        left = self._buffer[self._at :]
        self._before += self._at
        self._at = 0
        try:
            # In proportion to what is left, so that decoding it again and again takes linear time in all.
            more = self._file.read(max(_CHUNK, len(left)))
        except UnicodeDecodeError as error:
            raise self._fault(f"after character {self._before}: not UTF-8 ({error.reason})") from error
        except OSError as fault:
            raise InfrastructureError(f"{self._path} cannot be read: {fault}") from fault
        self._at_end = not more
        self._buffer = left + more

    @property
    def _position(self) -> int:
        return self._before + self._at

    def _fault(self, text: str) -> DataFileError:
        return DataFileError(f"{self._path.name}, {text}")
