"""Runs a script that an agent wrote, on inputs it has not seen. Invariant: only what the script really does counts.

It runs on a throw-away fork, in an empty directory with the case's files; the expected outcome never enters the fork.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._parts import Part, file

__all__ = ["Case", "Outcome", "does", "is_runnable", "prepare", "run_cases", "unpacked", "written_script"]

_SECONDS = 8
_REPORT = r"""
printf 'exit %s\nout ' "$code"; /usr/bin/head -c 65536 "$d.out" | /usr/bin/base64 -w 0; echo
/usr/bin/find . -mindepth 1 '(' -type f -size -65k -o -type d ')' -printf '%y %P\0' | /usr/bin/head -z -n 60 |
while IFS= read -r -d '' line; do
  printf '%s %s ' "${line%% *}" "$(printf %s "${line#* }" | /usr/bin/base64 -w 0)"
  [ "${line%% *}" = d ] || /usr/bin/base64 -w 0 < "${line#* }"
  echo
done
cd /; /bin/rm -rf "$d" "$d.out"
"""


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


@dataclass(frozen=True)
class Outcome:
    """What a run did: its exit code, what it printed, and the files and directories it left."""

    code: int
    out: bytes
    files: Mapping[str, bytes]
    directories: frozenset[str]

    def fits(self, case: Case) -> bool:
        """Whether this is what the case asks for."""
        right_out = case.out is None or _trimmed(self.out) == _trimmed(case.out.encode())
        right_code = case.code is None or self.code == case.code
        return right_out and right_code and all(self._holds(path, text) for path, text in case.after.items())

    def _holds(self, path: str, text: str | None) -> bool:
        if text is None:
            return path not in self.files and path not in self.directories
        return path in self.files and _trimmed(self.files[path]) == _trimmed(text.encode())


def _trimmed(data: bytes) -> bytes:
    return data.removesuffix(b"\n")


def prepare(files: Mapping[str, str]) -> str:
    """Bash lines that write the files below the current directory."""
    lines = []
    for path, text in files.items():
        if "/" in path:
            lines.append(f"/bin/mkdir -p {shlex.quote(path.rpartition('/')[0])}")
        data = base64.b64encode(text.encode()).decode()
        lines.append(f"printf %s '{data}' | /usr/bin/base64 -d > {shlex.quote(path)}")
    return "\n".join(lines)


def run_cases(view: StateView, command: str, cases: Sequence[Case], before: str = ":") -> list[Outcome]:
    """Runs a command (shell words) on cases, one after the other in one fork, each after the bash lines `before`.

    Raises:
        NotInStateError: If it does not end in time, or an outcome cannot be read.
    """
    done = view.run(
        "\n".join(f"echo '#case'\n{_script(command, case, before)}" for case in cases), 10.0 + _SECONDS * len(cases)
    )
    if done.timed_out:
        raise NotInStateError(f"{command} did not end")
    reports = done.stdout.split("#case\n")[1:]
    if len(reports) != len(cases):
        raise NotInStateError(f"{command} left no outcome")
    return [_outcome(report) for report in reports]


def _script(command: str, case: Case, before: str) -> str:
    arguments = " ".join(shlex.quote(argument) for argument in case.args)
    # Through bash, since a script need not name its interpreter.
    started = f'/bin/bash -c \'"$0" "$@"\' {command} {arguments}'
    return (
        f'd=$(/usr/bin/mktemp -d) && cd "$d" || exit 9\n{before}\n{prepare(case.files)}\n'
        f'(ulimit -f 1024; exec /usr/bin/timeout -k 1 {_SECONDS} {started}) < /dev/null > "$d.out" 2> /dev/null\n'
        f"code=$?\n{_REPORT}"
    )


def unpacked(data: str) -> bytes:
    """Bytes from base64 that came out of a fork. Raises `NotInStateError` if it is none."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise NotInStateError(f"the outcome of a run is garbled: {fault}") from fault


def _outcome(report: str) -> Outcome:
    code, out = None, b""
    files: dict[str, bytes] = {}
    directories = set()
    for line in report.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "exit" and rest.isascii() and rest.isdigit() and len(rest) <= 3:
            code = int(rest)
        elif kind == "out":
            out = unpacked(rest)
        elif kind in ("f", "d"):
            name, _, content = rest.partition(" ")
            path = unpacked(name).decode("utf-8", "replace")
            if kind == "d":
                directories.add(path)
            else:
                files[path] = unpacked(content)
    if code is None:
        raise NotInStateError("the run told no exit code")
    return Outcome(code, out, files, frozenset(directories))


def is_runnable(path: str) -> c.Condition:
    """A regular file, not empty, that its owner may execute."""
    return c.all_of(c.is_file(path), c.mode_is(path, 0o100, 0o100), lambda view: view.stat(path).size > 0)


def does(path: str, *cases: Case) -> c.Condition:
    """A script that gets every case right; whether it may be executed yet is another check's business."""
    command = f"/workspace/{path}"

    def holds(view: StateView) -> bool:
        if not (c.is_file(path)(view) and view.stat(path).size > 0):
            return False
        outcomes = run_cases(view, command, cases, f"/bin/chmod u+rx {command}")
        return all(outcome.fits(case) for outcome, case in zip(outcomes, cases, strict=True))

    return holds


def written_script(
    path: str, ask: str, body: str, other: str, wrong: Sequence[str], cases: Sequence[Case], *, whole: bool
) -> Part:
    """The part of writing an executable script: its checks are one a case or, with `whole`, one for all of them."""
    name = path.rpartition("/")[2]
    groups = [list(cases)] if whole else [[case] for case in cases]
    works = tuple(
        c.check(f"{name} works" if whole else f"{name} case {number}", does(path, *group))
        for number, group in enumerate(groups, 1)
    )
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
