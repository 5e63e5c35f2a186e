"""Conditions on a final state, and checks made of them. Invariant: hostile state never crashes them.

A `Condition` maps a view to True or False, or raises `NotInStateError`, which counts as False. Whatever an agent can
leave behind (missing paths, links, FIFOs, binary or huge files, malformed data) must end in one of these.
"""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from agentenv.errors import NotInStateError
from agentenv.progress import Check, StateView

__all__ = [
    "MAX_BYTES",
    "Condition",
    "absent",
    "all_of",
    "check",
    "csv_rows",
    "has_bytes",
    "has_lines",
    "has_lines_in_any_order",
    "has_number",
    "has_text",
    "has_words",
    "is_directory",
    "is_empty_file",
    "is_file",
    "is_link",
    "json_of",
    "leads_to",
    "lines_of",
    "link_to",
    "mode_is",
    "names_in",
    "number_of",
    "regular",
    "resolved",
    "same_file",
    "separate_files",
    "text_of",
]

Condition = Callable[[StateView], bool]

MAX_BYTES = 1 << 20


def check(name: str, *conditions: Condition, hint: str = "") -> Check:
    """A check of weight 1 that scores 1.0 when all conditions hold, else 0.0."""
    together = all_of(*conditions)
    return Check(name, 1, lambda view: 1.0 if together(view) else 0.0, hint=hint)


def all_of(*conditions: Condition) -> Condition:
    """Holds when every condition does; they are tried in order, up to the first that fails."""
    return lambda view: all(condition(view) for condition in conditions)


def regular(view: StateView, path: str) -> bytes:
    """The bytes of a regular file that is not itself a link. Raises `NotInStateError` for anything else."""
    kind = view.stat(path).kind
    if kind != "file":
        raise NotInStateError(f"{path} is a {kind}, not a regular file")
    return view.read(path, MAX_BYTES)


def text_of(view: StateView, path: str) -> str:
    """The same as strict UTF-8 text."""
    try:
        return regular(view, path).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise NotInStateError(f"{path} is not UTF-8 text: {fault.reason} at byte {fault.start}") from fault


def lines_of(view: StateView, path: str) -> list[str]:
    """A text file's lines; whether the last one ends in a newline does not matter."""
    return text_of(view, path).removesuffix("\n").split("\n")


def number_of(view: StateView, path: str) -> int:
    """The integer that is all a file holds, white space apart."""
    text = text_of(view, path).strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise NotInStateError(f"{path} does not hold one whole number")
    return int(text)


def json_of(view: StateView, path: str) -> Any:
    """The value in a JSON file."""
    try:
        return json.loads(text_of(view, path))
    except (ValueError, RecursionError) as fault:
        raise NotInStateError(f"{path} is not JSON: {fault}") from fault


def csv_rows(view: StateView, path: str, delimiter: str = ",") -> list[list[str]]:
    """The rows of a CSV file, quoted or not, ended by LF or CRLF; blank lines are no rows."""
    try:
        text = io.StringIO(text_of(view, path), newline="")
        return [row for row in csv.reader(text, delimiter=delimiter, strict=True) if row]
    except csv.Error as fault:
        raise NotInStateError(f"{path} is not CSV: {fault}") from fault


def absent(*paths: str) -> Condition:
    """Nothing is at any of the paths (a dangling link would be something)."""
    return lambda view: not any(view.exists(path) for path in paths)


def is_directory(path: str) -> Condition:
    """A directory, not a link to one."""
    return lambda view: view.stat(path).kind == "directory"


def is_file(path: str) -> Condition:
    """A regular file, not a link to one."""
    return lambda view: view.stat(path).kind == "file"


def is_link(path: str) -> Condition:
    """A symbolic link, wherever it leads."""
    return lambda view: view.stat(path).kind == "link"


def is_empty_file(path: str) -> Condition:
    """A regular file of no bytes."""
    return has_bytes(path, b"")


def has_bytes(path: str, content: str | bytes) -> Condition:
    """A regular file with exactly this content."""
    expected = content.encode() if isinstance(content, str) else content
    return lambda view: regular(view, path) == expected


def has_text(path: str, content: str) -> Condition:
    """A regular file with this text; whether it ends in a newline does not matter."""
    expected = content.removesuffix("\n")
    return lambda view: text_of(view, path).removesuffix("\n") == expected


def has_lines(path: str, lines: Sequence[str]) -> Condition:
    """A regular file with exactly these lines in this order."""
    expected = list(lines)
    return lambda view: lines_of(view, path) == expected


def has_lines_in_any_order(path: str, lines: Sequence[str]) -> Condition:
    """A regular file with exactly these lines, each as often as given, in whatever order."""
    expected = Counter(lines)
    return lambda view: Counter(lines_of(view, path)) == expected


def has_words(path: str, lines: Sequence[str]) -> Condition:
    """As `has_lines`, but any run of blanks in a line is one space, and blanks at its ends are dropped."""
    expected = [line.split() for line in lines]
    return lambda view: [line.split() for line in lines_of(view, path)] == expected


def has_number(path: str, number: int) -> Condition:
    """A regular file that holds this whole number and nothing else."""
    return lambda view: number_of(view, path) == number


def mode_is(path: str, mode: int, mask: int = 0o7777) -> Condition:
    """The permission bits under `mask` are those of `mode`; the path is no link."""
    return lambda view: view.stat(path).kind != "link" and view.stat(path).mode & mask == mode & mask


def resolved(path: str, target: str) -> str:
    """Where a link at `path` with this target leads, as a path below /workspace, by names alone."""
    return posixpath.normpath(posixpath.join("/workspace", posixpath.dirname(path), target))


def link_to(path: str, target: str) -> Condition:
    """A symbolic link that leads to `target` (a path as in the instruction), written relative or absolute."""
    wanted = posixpath.normpath(posixpath.join("/workspace", target))

    def holds(view: StateView) -> bool:
        found = view.stat(path)
        return found.kind == "link" and resolved(path, found.target) == wanted

    return holds


def leads_to(path: str, content: str | bytes) -> Condition:
    """Reading the path, through links, gives exactly this content."""
    expected = content.encode() if isinstance(content, str) else content
    return lambda view: view.read(path, MAX_BYTES) == expected


def same_file(first: str, second: str) -> Condition:
    """Two names of one regular file (hard links)."""

    def holds(view: StateView) -> bool:
        one, other = view.stat(first), view.stat(second)
        return one.kind == other.kind == "file" and (one.device, one.inode) == (other.device, other.inode)

    return holds


def separate_files(first: str, second: str) -> Condition:
    """Two regular files that share nothing."""

    def holds(view: StateView) -> bool:
        one, other = view.stat(first), view.stat(second)
        return one.kind == other.kind == "file" and (one.device, one.inode) != (other.device, other.inode)

    return holds


def names_in(directory: str, names: Sequence[str]) -> Condition:
    """A directory that holds exactly these names."""
    expected = sorted(names)
    return lambda view: view.stat(directory).kind == "directory" and sorted(view.listdir(directory)) == expected
