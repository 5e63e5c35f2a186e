"""The text format of a bundled task, one file a task. Invariant: `read` and `write` are inverses of each other.

A file is a head of ``name: value`` lines, then sections that begin with ``=== ``:

* ``=== instruction``: what the agent reads.
* ``=== start PATH``: a file that the agent finds.
* ``=== reference PATH``: a file of the reference solution: the whole file, or a change to the start file.
* ``=== alternative PATH``: a file of another right solution; of several files by repeating the section.
* ``=== wrong [PATH]: why``: a wrong solution: the reference with a change to one file (the path may be left out where
  there is only one), or the whole file.
* ``=== equivalent``: mutants of the reference that no test can kill, one a line, each with a reason after ``: ``.
* ``=== public``, ``=== hidden``, ``=== kept``: tests (see `agentenv.tasks.code.bundled.cases`): shown, deciding, and
  deciding ones that pass on the start files and must go on passing.

A change is written as in a diff: lines that begin with ``- `` stand in the file exactly once and are replaced by the
lines that follow with ``+ ``. A lone ``-`` or ``+`` is an empty line. Any number of such pairs may follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentenv.errors import DataFileError

__all__ = ["TESTS", "Draft", "apply_change", "read", "write"]

#: Sections that hold tests.
TESTS = ("public", "hidden", "kept")
_HEAD = ("title", "difficulty", "module", "compare")


@dataclass(frozen=True)
class Draft:
    """A task as its file says it, tests still as text.

    Args:
        name: Unique in its category.
        head: The lines of the head ("title", "difficulty", and what the tests need to know).
        instruction: What the agent reads.
        start: Files that the agent finds.
        reference: Files of the reference solution that differ from `start`.
        alternatives: The same of other right solutions.
        wrong: Why a solution is wrong, and its files that differ from `start`.
        equivalent: Mutants that behave as the reference does, and why (see `agentenv.tasks.code.bundled.mutation`).
        tests: Lines of each of `TESTS`.
        raw: The text before the tests, as it stands in the file.
    """

    name: str
    head: Mapping[str, str]
    instruction: str
    start: Mapping[str, str]
    reference: Mapping[str, str]
    alternatives: tuple[Mapping[str, str], ...]
    wrong: tuple[tuple[str, Mapping[str, str]], ...]
    equivalent: Mapping[str, str]
    tests: Mapping[str, tuple[str, ...]]
    raw: str = field(repr=False)

    def with_tests(self, tests: Mapping[str, tuple[str, ...]]) -> Draft:
        """The same task with other tests."""
        return replace(self, tests=tests)


def read(path: Path) -> Draft:
    """Reads a task's file.

    Raises:
        DataFileError: If the file is not in the format; the message names the file and the section.
    """
    text = path.read_text(encoding="utf-8")
    head: dict[str, str] = {}
    start: dict[str, str] = {}
    reference: dict[str, str] = {}
    alternatives: list[dict[str, str]] = []
    wrong: list[tuple[str, dict[str, str]]] = []
    tests: dict[str, tuple[str, ...]] = {}
    equivalent: dict[str, str] = {}
    instruction = ""
    for title, body in _sections(text):
        kind, _, rest = title.partition(" ")
        try:
            if not title:
                head = _head(body)
            elif title == "instruction":
                instruction = body.strip()
            elif kind == "start":
                start[rest] = body
            elif kind == "reference":
                reference[rest] = apply_change(start.get(rest, ""), body)
            elif kind == "alternative":
                if not alternatives or rest in alternatives[-1]:
                    alternatives.append({})
                alternatives[-1][rest] = apply_change(reference.get(rest, ""), body)
            elif kind.rstrip(":") == "wrong":
                place, _, why = title.removeprefix("wrong").partition(":")
                target = place.strip() or next(iter(reference))
                changed = {target: apply_change(reference.get(target, start.get(target, "")), body)}
                wrong.append((why.strip(), {**reference, **changed}))
            elif title == "equivalent":
                pairs = [line.partition(": ") for line in body.strip().split("\n")]
                equivalent = {name: why for name, _, why in pairs}
            elif title in TESTS:
                tests[title] = tuple(body.strip("\n").split("\n"))
            else:
                raise DataFileError("there is no such section")
        except DataFileError as error:
            raise DataFileError(f"{path.name}: section {title!r}: {error}") from error
    for name in ("title", "difficulty"):
        if name not in head:
            raise DataFileError(f"{path.name}: the head has no line '{name}: ...'")
    raw = text[: text.index("\n=== public\n") + 1] if "\n=== public\n" in text else text
    return Draft(
        path.stem, head, instruction, start, reference, tuple(alternatives), tuple(wrong), equivalent, tests, raw
    )


def write(draft: Draft) -> str:
    """The text of a task's file."""
    shown = [f"=== {name}\n" + "\n".join(draft.tests[name]) + "\n" for name in TESTS if draft.tests.get(name)]
    return draft.raw + "".join(shown)


def apply_change(old: str, body: str) -> str:
    """A file after a change written as in a diff; a body that is no change is the whole new file.

    >>> apply_change("a\\nb\\nc\\n", "- b\\n+ B\\n+ bb\\n")
    'a\\nB\\nbb\\nc\\n'
    >>> apply_change("a\\n", "all new\\n")
    'all new\\n'
    """
    lines = body.rstrip("\n").split("\n")
    if not all(line[:2] in ("- ", "+ ", "-", "+") for line in lines) or not lines[0].startswith("-"):
        return body
    new = "\n" + old
    place = 0
    while place < len(lines):
        removed, place = _run(lines, place, "-")
        added, place = _run(lines, place, "+")
        found = new.count("\n" + removed)
        if found != 1:
            raise DataFileError(f"these lines stand {found} times in the file, not once: {removed!r}")
        new = new.replace("\n" + removed, "\n" + added)
    return new[1:]


def _run(lines: list[str], place: int, sign: str) -> tuple[str, int]:
    """The lines from a place on that begin with a sign, as text, and where they end."""
    end = place
    while end < len(lines) and lines[end].startswith(sign):
        end += 1
    return "".join(line[2:] + "\n" for line in lines[place:end]), end


def _head(body: str) -> dict[str, str]:
    head = {}
    for line in body.strip("\n").split("\n"):
        name, colon, value = line.partition(":")
        if not colon or name not in _HEAD:
            raise DataFileError(f"{line!r} is not 'name: value' with a name of {', '.join(_HEAD)}")
        head[name] = value.strip()
    return head


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Titles and bodies; the head's title is empty. A body ends in one line end."""
    title, body = "", ""
    for line in text.splitlines(keepends=True):
        if line.startswith("=== "):
            yield title, body
            title, body = line[4:].strip(), ""
        else:
            body += line
    yield title, body
