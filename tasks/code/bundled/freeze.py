"""Fills in the expected values of new tests: `python -m agentenv.tasks.code.bundled.freeze`.

Values come from the reference solution, once, and are read over by a person; from then on they are data, and the tests
of this package check that the reference still gives them. A value that stands in a file is never changed. Hidden tests
that the start files pass become `kept` tests. A test whose reference raises is frozen as ``raises``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from agentenv.errors import DataFileError
from agentenv.tasks.code.base import Calls, TestCase
from agentenv.tasks.code.bundled.cases import WrittenCase, parse_cases, show_value
from agentenv.tasks.code.bundled.format import TESTS, Draft, write
from agentenv.tasks.code.bundled.loading import CATEGORIES, compare_of, module_of, read_draft, task_paths
from agentenv.tasks.code.bundled.trusted import outcomes, passed, printed, workspace

__all__ = ["freeze"]

# A task that asks for one of these has it written by hand.
_OWN_FAULTS = (AttributeError, ImportError, NameError, SyntaxError, TypeError)


def freeze(path: Path) -> bool:
    """Freezes one task's file; tells whether it changed."""
    draft = read_draft(path)
    module = module_of(draft)
    frozen: dict[str, tuple[str, ...]] = {}
    with workspace({**draft.start, **draft.reference}) as folder:
        for section in TESTS:
            paragraphs = _blocks(draft.tests.get(section, ()))
            frozen[section] = tuple(
                line for block in paragraphs for line in [*_filled_block(block, module, folder, path.name), ""]
            )[:-1]
    frozen["hidden"], kept = _sorted_by_start(draft, module, frozen["hidden"])
    frozen["kept"] = tuple(line for part in (frozen["kept"], kept) for line in part)
    text = write(draft.with_tests(frozen))
    changed = text != path.read_text(encoding="utf-8")
    if changed:
        path.write_text(text, encoding="utf-8")
    return changed


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _filled_block(block: list[str], module: str, folder: Path, name: str) -> list[str]:
    """A paragraph with its expected values."""
    said = next((line.split()[1] for line in block if line.startswith("module ")), module)
    lines = []
    for case in parse_cases(block, said):
        try:
            lines += _filled(case, folder)
        except DataFileError as error:
            raise DataFileError(f"{name}: {case.lines}: {error}") from error
    return [line for line in block if line.startswith("module ")] + lines


def _filled(case: WrittenCase, folder: Path) -> list[str]:
    lines = list(case.lines)
    if not case.open:
        return lines
    if not isinstance(case.case, Calls):
        stdout, code = printed(case.case, folder)
        return [*lines, *(f"> {line}".rstrip() for line in stdout.splitlines()), *([f"exit {code}"] if code else [])]
    given = list(outcomes(case.case))
    for number, step in case.open:
        outcome = given[step]
        if isinstance(outcome.error, _OWN_FAULTS):
            raise DataFileError(f"the reference itself fails: {outcome.error!r}") from outcome.error
        if outcome.error is not None:
            lines[number] += f" raises {type(outcome.error).__name__}"
        elif outcome.value is None and len(lines) > 1:
            lines[number] += " -> ..."
        else:
            lines[number] += f" -> {show_value(outcome.value)}"
    return lines


def _sorted_by_start(draft: Draft, module: str, lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hidden tests that the start files fail, and those that they pass."""
    cases = parse_cases(lines, module)
    tests = [TestCase(f"t{number}", case.case, compare_of(draft)) for number, case in enumerate(cases)]
    results = passed(draft.start, tests)
    if not any(results):
        return tuple(lines), ()
    sides: tuple[list[str], list[str]] = ([], [])
    for case, passes in zip(cases, results, strict=True):
        side = sides[passes]
        said = getattr(case.case, "module", module)
        spaced = len(case.lines) > 1 or said != module
        side += [""] if spaced and side and side[-1] else []
        side += [f"module {said}"] if said != module else []
        side += [*case.lines, *([""] if spaced else [])]
    return tuple(sides[0]), tuple(sides[1])


def main(names: Sequence[str]) -> int:
    """Freezes the named tasks (parts of paths), or all."""
    paths = [path for category in CATEGORIES for path in task_paths(category)]
    for path in paths:
        if (not names or any(name in str(path) for name in names)) and freeze(path):
            sys.stdout.write(f"froze {path.parent.name}/{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
