"""Reading JSON that strangers wrote. Invariant: a value that leaves here has the type and range asked for.

Every error is a `ResultsFileError` that names the file and the path of the field in it (``records[3].progress[2]``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from agentenv.errors import ResultsFileError, did_you_mean

__all__ = ["Fields", "loads_strict"]


def loads_strict(text: str, file: str) -> Any:
    """JSON without NaN, infinities, numbers that overflow to them, or keys given twice.

    Raises:
        ResultsFileError: On anything else.

    >>> loads_strict('{"a": 1}', "r.json")
    {'a': 1}
    >>> loads_strict('{"a": 1e999}', "r.json")
    Traceback (most recent call last):
    ...
    agentenv.errors.ResultsFileError: r.json: 1e999 is not a finite number
    """

    def refuse(name: str) -> Any:
        raise ResultsFileError(f"{file}: {name:.40} is not a finite number")

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else refuse(digits)

    def integer(digits: str) -> int:
        return int(digits) if len(digits) <= 20 else refuse(digits)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            raise ResultsFileError(f"{file}: a key is given twice in one object: {_repeated(pairs)!r:.80}")
        return values

    try:
        return json.loads(text, parse_constant=refuse, parse_float=number, parse_int=integer, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ResultsFileError(f"{file}: not JSON, or cut short: {error}") from error
    except RecursionError as error:
        raise ResultsFileError(f"{file}: nested too deeply") from error


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return ""


@dataclass(frozen=True)
class Fields:
    """A JSON object and where it stands in its file.

    >>> Fields.of({"a": [0.5, 2]}, "r.json").numbers("a", 0.0, 1.0)
    Traceback (most recent call last):
    ...
    agentenv.errors.ResultsFileError: r.json: a[1]: 2 is not a number in [0.0, 1.0]
    """

    values: dict[str, Any]
    file: str
    path: str = ""

    @classmethod
    def of(cls, value: Any, file: str, path: str = "") -> Fields:
        """The object, if it is one."""
        if not isinstance(value, dict):
            where = f"{path}: " if path else ""
            raise ResultsFileError(f"{file}: {where}{_short(value)} is not an object")
        return cls(value, file, path)

    def error(self, name: str, message: str) -> ResultsFileError:
        """The error for a field of this object."""
        return ResultsFileError(f"{self.file}: {self._at(name)}: {message}")

    def only(self, names: Collection[str]) -> None:
        """Refuses keys that are not in `names`."""
        for key in self.values:
            if key not in names:
                raise ResultsFileError(
                    f"{self.file}: {self.path or 'the file'} has an unknown key {key!r:.80}.{did_you_mean(key, names)}"
                )

    def string(self, name: str) -> str:
        """A string."""
        return self._typed(name, self._get(name), str, "a string")

    def boolean(self, name: str) -> bool:
        """True or false."""
        return self._typed(name, self._get(name), bool, "true or false")

    def integer(self, name: str, low: int, high: int) -> int:
        """An integer in [low, high]."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(name, f"{_short(value)} is not an integer in [{low}, {high}]")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A number in [low, high]."""
        return self._number(name, self._get(name), low, high)

    def number_or_none(self, name: str) -> float | int | None:
        """A number or null."""
        value = self._get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise self.error(name, f"{_short(value)} is not a number or null")
        return value

    def strings(self, name: str) -> list[str]:
        """A list of strings."""
        return [self._typed(f"{name}[{n}]", value, str, "a string") for n, value in enumerate(self._list(name))]

    def booleans(self, name: str) -> list[bool]:
        """A list of booleans."""
        return [self._typed(f"{name}[{n}]", value, bool, "true or false") for n, value in enumerate(self._list(name))]

    def numbers(self, name: str, low: float, high: float) -> list[float]:
        """A list of numbers in [low, high]."""
        return [self._number(f"{name}[{n}]", value, low, high) for n, value in enumerate(self._list(name))]

    def object(self, name: str) -> Fields:
        """An object."""
        return Fields.of(self._get(name), self.file, self._at(name))

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        return [Fields.of(value, self.file, f"{self._at(name)}[{n}]") for n, value in enumerate(self._list(name))]

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise ResultsFileError(f"{self.file}: {self._at(name)} is missing")
        return self.values[name]

    def _list(self, name: str) -> list[Any]:
        return self._typed(name, self._get(name), list, "a list")

    def _number(self, name: str, value: Any, low: float, high: float) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.error(name, f"{_short(value)} is not a number in [{low}, {high}]")
        return float(value)

    def _typed(self, name: str, value: Any, kind: type[Any], wanted: str) -> Any:
        if not isinstance(value, kind):
            raise self.error(name, f"{_short(value)} is not {wanted}")
        return value

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
