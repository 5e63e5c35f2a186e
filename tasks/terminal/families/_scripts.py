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
from agentenv.tasks.terminal.families import _runs
from agentenv.tasks.terminal.families._parts import Part, file
from agentenv.tasks.terminal.families._runs import Booking, Outcome, Runs, laid

__all__ = ["Case", "case_text", "cases_hold", "fits", "is_runnable", "work", "written_script"]


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


def case_text(command: str, case: Case, before: str = ":", place: str = "") -> str:
    """The bash text of a case that runs a command (shell words): see `Booking`.

    It runs in a fresh directory, or in `place`, and each time after the bash lines `before`.
    """
    # Through bash, since a script need not name its interpreter.
    words = ('/bin/bash -c \'"$0" "$@"\'', command, *map(shlex.quote, case.args))
    run = f"ulimit -f 64; exec /usr/bin/timeout -k 1 {_runs.CASE_SECONDS} {' '.join(words)}"
    where = place or '"$d"'
    start = f'{before}\ncd {where} || exit 9\n{laid(case.files)}\n: > "$d.ran"\n'
    if not place:
        return start + run
    # What is in the place now is what the case left, before the next one comes there.
    return f'{start}({run})\ncode=$?\n/bin/cp -a . "$d"/\nexit $code'


def is_runnable(path: str) -> c.Condition:
    """A regular file, not empty, that its owner may execute."""
    return c.all_of(c.is_file(path), c.mode_is(path, 0o100, 0o100), lambda view: view.stat(path).size > 0)


def work(runs: Runs, path: str, cases: Sequence[Case]) -> list[c.Condition]:
    """For each case, whether a script gets it right; whether it may be executed yet is another check's business."""
    command = f"/workspace/{path}"
    texts = [case_text(command, case, f"/bin/chmod u+rx {command}") for case in cases]

    def steps(view: StateView) -> Sequence[str]:
        return texts if c.is_file(path)(view) and view.stat(path).size > 0 else ()

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
