"""Data files as records, one at a time. Invariant: an error names the file, the line or row, and the key.

`.json` holds one array, `.jsonl` an object a line, `.csv` and `.tsv` a header and rows, `.parquet` rows; `.gz` after
the first four is unpacked on the way.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from agentenv.errors import ConfigurationError, DataFileError, did_you_mean

__all__ = ["SUFFIXES", "Record", "read_lines", "read_records"]

SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet")
_SPACE = " \t\r\n"
_MOST_QUOTED = 60
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Record:
    """One object of a file, and where it stands there.

    >>> Record("dev.jsonl, line 3", {"question": "Who?"}).text("question")
    'Who?'
    """

    where: str
    values: Mapping[str, Any] = field(hash=False)

    def fault(self, key: str, what: str) -> DataFileError:
        """The error that a key's value is not what it should be."""
        return DataFileError(f"{self.where}, key {key!r}: {what}")

    def value(self, key: str) -> Any:
        """The value of a key that must be there."""
        if key not in self.values:
            near = did_you_mean(key, self.values)
            raise self.fault(key, f"missing.{near} Keys there: {', '.join(map(str, self.values))[:200]}")
        return self.values[key]

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """A string that is not blank (a number's digits, where a file holds an id or answer as a number)."""
        text = self._text(key, self.value(key))
        if not text.strip():
            raise self.fault(key, "is blank")
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        """Strings: a list of them, or one alone."""
        value = self.value(key)
        return tuple(self._text(key, item) for item in (value if isinstance(value, list) else [value]))

    def flag(self, key: str) -> bool:
        """A boolean."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise self.fault(key, f"should be true or false, is {_quoted(value)}")
        return value

    def number(self, key: str) -> int:
        """An integer that is not negative."""
        value = self.value(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.fault(key, f"should be a number from 0 on, is {_quoted(value)}")
        return value

    def list(self, key: str) -> list[Any]:
        """A list."""
        value = self.value(key)
        if not isinstance(value, list):
            raise self.fault(key, f"should be a list, is {_quoted(value)}")
        return value

    def object(self, key: str) -> Record:
        """An object, as a record of its own."""
        return self._within(key, self.value(key))

    def objects(self, key: str) -> Iterator[Record]:
        """A list of objects."""
        for index, value in enumerate(self.list(key)):
            yield self._within(f"{key}[{index}]", value)

    def pairs(self, key: str) -> Iterator[tuple[Any, Any]]:
        """A list of lists of two."""
        for index, value in enumerate(self.list(key)):
            if not (isinstance(value, list) and len(value) == 2):
                raise self.fault(f"{key}[{index}]", f"should be a list of two, is {_quoted(value)}")
            yield value[0], value[1]

    def _within(self, key: str, value: Any) -> Record:
        if not isinstance(value, dict):
            raise self.fault(key, f"should be an object, is {_quoted(value)}")
        return Record(f"{self.where}, in {key!r}", value)

    def _text(self, key: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        raise self.fault(key, f"should be a string, is {_quoted(value)}")


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, in order.

    Raises:
        ConfigurationError: If there is no such file, or its name tells no format.
        DataFileError: If it breaks its format.
    """
    suffix = _suffix(path)
    if suffix == ".parquet":
        yield from _parquet(path)
        return
    with _opened(path) as file:
        try:
            if suffix == ".json":
                yield from _array(path, file.read())
            elif suffix == ".jsonl":
                yield from _lines(path, file)
            else:
                yield from _table(path, file, "\t" if suffix == ".tsv" else ",")
        except UnicodeDecodeError as error:
            raise DataFileError(f"{path.name}: is not UTF-8 ({error.reason} at byte {error.start})") from error
        except (gzip.BadGzipFile, EOFError) as error:
            raise DataFileError(f"{path.name}: cannot be unpacked ({error})") from error


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a plain file that are not blank, each with where it stands."""
    with _opened(path) as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path.name}, line {number}", line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataFileError(f"{path.name}: is not UTF-8 ({error.reason} at byte {error.start})") from error


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"{path.name!r} should end in one of {', '.join(SUFFIXES)} (or that and .gz)")
    return suffix


def _opened(path: Path) -> TextIO:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}")
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _lines(path: Path, file: TextIO) -> Iterator[Record]:
    for number, line in enumerate(file, 1):
        if line.strip():
            where = f"{path.name}, line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataFileError(f"{where}: is not JSON ({error})") from error
            yield _record(where, value)


def _array(path: Path, text: str) -> Iterator[Record]:
    """The items of one array, each decoded alone: a large file's objects are never all there at once."""
    decoder = json.JSONDecoder()
    line, counted = 1, 0
    position = _after_space(text, 0)
    if text[position : position + 1] != "[":
        raise DataFileError(f"{path.name}, line 1: should hold one array, begins with {text[position:][:10]!r}")
    position = _after_space(text, position + 1)
    number = 0
    while text[position : position + 1] != "]":
        line, counted = line + text.count("\n", counted, position), position
        where = f"{path.name}, line {line}, item {number}"
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"{where}: is not JSON ({error})") from error
        yield _record(where, value)
        position, number = _after_space(text, end), number + 1
        if text[position : position + 1] == ",":
            position = _after_space(text, position + 1)
        elif text[position : position + 1] != "]":
            raise DataFileError(f"{where}: neither a comma nor the array's end follows")


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _table(path: Path, file: TextIO, delimiter: str) -> Iterator[Record]:
    rows = csv.DictReader(file, delimiter=delimiter, strict=True)
    try:
        for row in rows:
            where = f"{path.name}, line {rows.line_num}"
            if None in row or None in row.values():
                raise DataFileError(f"{where}: has not as many columns as the header ({len(rows.fieldnames or ())})")
            yield Record(where, row)
    except csv.Error as error:
        raise DataFileError(f"{path.name}, line {rows.reader.line_num}: {error}") from error


def _parquet(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError("parquet files need pyarrow: pip install 'agentenv-gym[parquet]'") from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield Record(f"{path.name}, row {number}", row)
    except (importlib.import_module("pyarrow").ArrowInvalid, OSError) as error:
        raise DataFileError(f"{path.name}: is no parquet file ({error})") from error


def _record(where: str, value: Any) -> Record:
    if not isinstance(value, dict):
        raise DataFileError(f"{where}: should be an object, is {_quoted(value)}")
    return Record(where, value)


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}..."
