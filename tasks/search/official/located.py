"""JSON with line numbers. Invariant: whatever is wrong with a file, the error names the file and the line.

Files of predictions come from other programs: broken JSON, a key twice, NaN, bytes that are not UTF-8 and nesting
without end all become `ResultsFileError`.
"""

from __future__ import annotations

import bisect
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from agentenv.errors import ResultsFileError

__all__ = ["LocatedText"]

_KINDS: dict[type, str] = {dict: "object", list: "array"}
_SPACE = re.compile(r"[ \t\n\r]*")


class LocatedText:
    """The text of a JSON or JSONL file, decoded piece by piece so that every piece has a line.

    Args:
        path: The file.

    Raises:
        ResultsFileError: If it cannot be read, or is not UTF-8.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.text = self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ResultsFileError(f"{self.path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ResultsFileError(f"{self.path}: byte {error.start} is not UTF-8; write the file as UTF-8") from error
        self._line_ends = [match.start() for match in re.finditer("\n", self.text)]
        self._piece = json.JSONDecoder(parse_constant=_refuse)
        self._line = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_without_doubles)

    def where(self, at: int) -> str:
        """The file and the line of a position."""
        return f"{self.path}, line {bisect.bisect_left(self._line_ends, at) + 1}"

    def document(self, kind: type) -> int:
        """Checks that the file is one JSON value of a kind (`dict`, `list`), and says where it starts.

        Raises:
            ResultsFileError: If it is not.
        """
        start = self._skip(0)
        value, end = self._decode(self._piece, start)
        if not isinstance(value, kind):
            self._fail(start, f"the file must hold a JSON {_KINDS[kind]}, got {type(value).__name__}")
        if self._skip(end) < len(self.text):
            self._fail(self._skip(end), "something follows the JSON value; the file holds one")
        return start

    def value(self, at: int) -> Any:
        """The value at a position that `members` or `items` gave."""
        return self._decode(self._piece, at)[0]

    def members(self, at: int, name: str = "the file") -> Iterator[tuple[str, int]]:
        """The keys of the object at a position inside a checked document, each with its value's position.

        Raises:
            ResultsFileError: If there is no object, or it holds a key twice.
        """
        if self.text[at] != "{":
            self._fail(at, f"{name} must hold a JSON object, got {self.value(at)!r:.80}")
        seen: set[str] = set()
        at = self._skip(at + 1)
        while self.text[at] != "}":
            key, end = self._decode(self._piece, at)
            if key in seen:
                self._fail(at, f"key {key!r} is there twice in {name}; keep one")
            seen.add(key)
            value_at = self._skip(self._skip(end) + 1)
            yield key, value_at
            at = self._after(value_at)

    def items(self, at: int) -> Iterator[int]:
        """The positions of the items of the array at a position inside a checked document."""
        at = self._skip(at + 1)
        while self.text[at] != "]":
            yield at
            at = self._after(at)

    def lines(self) -> Iterator[tuple[int, Any]]:
        """The position and the value of every line that is not blank.

        Raises:
            ResultsFileError: If a line is not one JSON value.
        """
        start = 0
        for line_end in [*self._line_ends, len(self.text)]:
            at = self._skip(start)
            if at < line_end:
                value, end = self._decode(self._line, at)
                if self._skip(end) < line_end:
                    self._fail(end, f"something follows the JSON value: {self.text[end : end + 40]!r}")
                if end > line_end:
                    self._fail(at, "a line of a JSONL file must hold one whole JSON value")
                yield at, value
            start = line_end + 1

    def _after(self, at: int) -> int:
        """The position after a value and the comma behind it."""
        at = self._skip(self._decode(self._piece, at)[1])
        return self._skip(at + 1) if self.text[at] == "," else at

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _decode(self, decoder: json.JSONDecoder, at: int) -> tuple[Any, int]:
        try:
            return decoder.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            self._fail(error.pos, f"not JSON: {error.msg}")
        except RecursionError:
            self._fail(at, "not JSON that can be read: it is nested too deep")
        except ValueError as error:
            self._fail(at, f"not JSON that can be read: {error}")

    def _fail(self, at: int, why: str) -> NoReturn:
        raise ResultsFileError(f"{self.where(at)}: {why}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"key {twice!r} is there twice in one object; keep one")
    return out
