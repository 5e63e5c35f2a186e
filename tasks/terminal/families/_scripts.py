"""Runs a script that an agent wrote, on inputs it has not seen. Invariant: only what the script really does counts.

It runs on a throw-away fork, in an empty directory with the case's files; the expected outcome never enters the fork
(see `_runs`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentenv.progress import Check, StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._parts import Part, file
from agentenv.tasks.terminal.families._runs import Booking, Outcome, Runs, Step, laid

__all__ = ["Case", "case_in_place", "case_step", "cases_hold", "fits", "is_runnable", "work", "written_script"]


@dataclass(frozen=True)
class Case:
    """One run of a script, and what must come of it.

    Args:
        args: Its arguments.
        files: Files (path to text) in the directory it runs in.
        out: What it must print (a newline more or less at the end does not matter); None: anything.
        code: The exit code it must end with; None: any.
        after: Files that must then be there (path to text) or, with None, must not.
    """

    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    out: str | None = None
    code: int | None = None
    after: Mapping[str, str | None] = field(default_factory=dict)


def fits(outcome: Outcome, case: Case) -> bool:
    """Whether an outcome is what the case asks for."""
    right_out = case.out is None or _trimmed(outcome.out) == _trimmed(case.out.encode())
    right_code = case.code is None or outcome.code == case.code
    return right_out and right_code and all(_holds(outcome, path, text) for path, text in case.after.items())


def _holds(outcome: Outcome, path: str, text: str | None) -> bool:
    if text is None:
        return path not in outcome.files and path not in outcome.directories
    return path in outcome.files and _trimmed(outcome.files[path]) == _trimmed(text.encode())


def _trimmed(data: bytes) -> bytes:
    return data.removesuffix(b"\n")


def case_step(command: str, case: Case, before: str = ":") -> Step:
    """The case of a command (shell words) that runs in a directory of its own, after the bash lines `before`."""
    return Step(f'{before}\ncd "$d" || exit 9\n{_run(command, case)}', _folders('"$d"', case))


def case_in_place(command: str, case: Case, place: str, gone: Sequence[str], start: str = ".") -> Step:
    """The case of a command in a directory below /workspace, with some paths removed; it starts at `start`."""
    text = f"cd {place} || exit 9\n{_run(command, case, start)}"
    return Step(text, (place, *_folders(place, case)), tuple(gone), place)


def _folders(top: str, case: Case) -> tuple[str, ...]:
    inner = {path.rpartition("/")[0] for path in case.files if "/" in path}
    return tuple(f"{top}/{shlex.quote(folder)}" for folder in sorted(inner))


def _run(command: str, case: Case, start: str = ".") -> str:
    words = ("exec", command, *map(shlex.quote, case.args))
    moved = "" if start == "." else f"cd {start} || exit 9\n"
    return f'{laid(case.files)}\n{moved}: > "$d.ran"\n{" ".join(words)}'


def is_runnable(path: str) -> c.Condition:
    """A regular file, not empty, that its owner may execute."""
    return c.all_of(c.is_file(path), c.mode_is(path, 0o100, 0o100), lambda view: view.stat(path).size > 0)


def work(runs: Runs, path: str, cases: Sequence[Case]) -> list[c.Condition]:
    """For each case, whether a script gets it right; whether it may be executed yet is another check's business."""
    command = f"/workspace/{path}"

    def steps(view: StateView) -> list[Step]:
        found = view.stat(path)
        if found.kind != "file" or found.size == 0:
            return []
        # What names no interpreter is run by a shell, as a shell would.
        direct = view.read(path, c.MAX_BYTES).startswith((b"#!", b"\x7fELF"))
        words = command if direct else f"/bin/bash {command}"
        ready = f"[ -r {command} ] && [ -x {command} ] || /bin/chmod u+rx {command}"
        return [case_step(words, case, ready) for case in cases]

    return cases_hold(runs.book(steps), cases)


def cases_hold(booking: Booking, cases: Sequence[Case]) -> list[c.Condition]:
    """For each case of a booking, whether its outcome is what it asks for."""

    def condition(place: int, case: Case) -> c.Condition:
        def holds(view: StateView) -> bool:
            outcomes = booking.outcomes(view)
            return bool(outcomes) and fits(outcomes[place], case)

        return holds

    return [condition(place, case) for place, case in enumerate(cases)]


def written_script(
    runs: Runs, path: str, ask: str, body: str, other: str, wrong: Sequence[str], cases: Sequence[Case], *, whole: bool
) -> Part:
    """The part of writing an executable script: its checks are one a case or, with `whole`, one for all of them."""
    name = path.rpartition("/")[2]
    right = work(runs, path, cases)
    if whole:
        works: tuple[Check, ...] = (c.check(f"{name} works", *right),)
    else:
        works = tuple(c.check(f"{name} case {number}", one) for number, one in enumerate(right, 1))
    return Part(
        ask=ask,
        files=(file(f"{path.partition('/')[0]}/README", f"Scripts: {name}\n"),) if "/" in path else (),
        do=(f"echo '{body}' > {path}", f"chmod +x {path}"),
        instead=(f"printf '%s\\n' '#!/bin/bash' '{other}' > {path}", f"chmod 755 {path}"),
        wrong=(
            (f"echo '{body}' > {path}",),
            *((f"echo '{mistake}' > {path}", f"chmod +x {path}") for mistake in wrong),
        ),
        goals=(c.check(f"{name} is executable", is_runnable(path)), *works),
    )
