"""Runs all that a scenario's checks want to see happen, in one fork. Invariant: expected values never enter the fork.

A fork costs more than most of what runs in it. So each check books its cases once, when the scenario is made, and the
first check that asks has all of them run; the others find the answer kept by their view.

Each case has a directory of its own, and its output is captured. Cases run one after the other, since scripts may write
to one path in /tmp; only services run side by side, unless they want the same port. What an agent left runs with the
rights of what judges it, so one program may change what another one finds, or write another's report. That wins
nothing: inputs are all that could be learnt in the fork, and whoever can forge the right outcome for inputs seen there
for the first time has solved the task. What is lost by meddling is the agent's own score.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from weakref import WeakKeyDictionary

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families._tar import read_tar

__all__ = ["Booking", "Outcome", "Runs", "Step", "laid", "unpacked"]

CASE_SECONDS = 8
_SPARE_SECONDS = 25.0
_MOST_ENTRIES = 10_000
_SERVICES_AT_ONCE = 4


@dataclass(frozen=True)
class Outcome:
    """What a case did: its exit code, what it printed, and the files and directories it left."""

    code: int
    out: bytes
    files: Mapping[str, bytes]
    directories: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One case.

    Args:
        text: Bash text. It starts in /workspace, and says `: > "$d.ran"` once nothing of its own can fail any more.
            What it prints is reported, and the code it ends with. A file that it writes ends at 64 KiB. It is killed
            after `CASE_SECONDS`, unless it is a service, which ends by itself.
        folders: Directories to make before, in shell words; `$d` is one of this case alone.
        gone: What to remove before that.
        place: The directory below /workspace that is reported; "": `$d`.
        port: Where it serves; 0: it is no service. A service has no place and nothing to remove or make.
    """

    text: str
    folders: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    place: str = ""
    port: int = 0


# Each case is a process group of its own, and says which when it starts; one that ends too late is killed. A `timeout`
# for each would be two more processes each time. The `exec`s keep the pipe and the output from what outlives a case.
_WATCHED = """set -m
exec {w}> >(
exec > /dev/null 2>&1
while :; do
    if read -r -t SECONDS line; then group=$line
    elif [ $? -le 128 ]; then exit
    elif [ "$group" ]; then kill -9 -- "-$group" "$group"
    fi
done)"""
_WATCH = "echo $BASHPID >&$w; exec {w}>&-\n"

Steps = Callable[[StateView], Sequence[Step]]


@dataclass(frozen=True, eq=False)
class Booking:
    """Cases that some check wants run; they depend on the state, and there are none where that settles it."""

    runs: Runs
    steps: Steps

    def outcomes(self, view: StateView) -> list[Outcome]:
        """What came of the cases in this state, in their order; [] if there are none.

        Raises:
            NotInStateError: If one did not end in time, or its outcome cannot be read.
        """
        return self.runs.outcomes(view, self)


@dataclass(eq=False)
class Runs:
    """The bookings of one scenario. They are complete when it is made; a state's outcomes are kept by its view."""

    bookings: list[Booking] = field(default_factory=list)
    _done: WeakKeyDictionary[StateView, dict[Booking, list[_Run]]] = field(default_factory=WeakKeyDictionary)

    def book(self, steps: Steps) -> Booking:
        """Adds cases."""
        booking = Booking(self, steps)
        self.bookings.append(booking)
        return booking

    def outcomes(self, view: StateView, wanted: Booking) -> list[Outcome]:
        """See `Booking.outcomes`."""
        done = self._done.get(view)
        if done is None:
            done = self._done[view] = self._all(view)
        if wanted not in done:
            wanted.steps(view)  # says why there is nothing, if it can
            return []
        return [_outcome(run) for run in done[wanted]]

    def _all(self, view: StateView) -> dict[Booking, list[_Run]]:
        named: dict[Booking, dict[str, Step]] = {}
        for number, booking in enumerate(self.bookings):
            if cases := {f"{number}.{place}": step for place, step in enumerate(_steps(booking, view))}:
                named[booking] = cases
        steps = {name: step for cases in named.values() for name, step in cases.items()}
        if not steps:
            return {}
        done = view.run(_script(steps), _SPARE_SECONDS + CASE_SECONDS * len(steps))
        left = _files_in(done.stdout)
        last = _last_in_places(steps)
        return {
            booking: [
                _Run(name, step.place if last.get(step.place) == name else name, left) for name, step in cases.items()
            ]
            for booking, cases in named.items()
        }


def _steps(booking: Booking, view: StateView) -> Sequence[Step]:
    try:
        return booking.steps(view)
    except NotInStateError:
        return ()


def _last_in_places(steps: Mapping[str, Step]) -> dict[str, str]:
    """The last case in each place, which is reported from there."""
    return {step.place: name for name, step in steps.items() if step.place}


def laid(files: Mapping[str, str]) -> str:
    """Bash lines that write the files below the current directory, whose directories are there."""
    return "\n".join(f"printf %s {shlex.quote(text)} > {shlex.quote(path)}" for path, text in files.items())


def _script(steps: Mapping[str, Step]) -> str:
    """All cases, then what they left. Each process less is a millisecond off every verification.

    What cases want removed and made is done at once for all, but for those that are not the first in their place.
    """
    last = _last_in_places(steps)
    first = {step.place: name for name, step in reversed(list(steps.items())) if step.place}
    later = {name for name, step in steps.items() if first.get(step.place, name) != name}
    gone = [path for name, step in steps.items() if name not in later for path in step.gone]
    folders = [
        *(f'"$r"/{name}' for name in steps),
        *(
            path.replace("$d", f"$r/{name}")
            for name, step in steps.items()
            if name not in later
            for path in step.folders
        ),
    ]
    lines = ["r=${TMPDIR:-/tmp}/run-$RANDOM$RANDOM$RANDOM"]
    if gone:
        lines.append(f"cd /workspace; /bin/rm -rf {' '.join(dict.fromkeys(gone))}")
    lines.append(f"cd /workspace; umask 077; /bin/mkdir -p {' '.join(dict.fromkeys(folders))}; umask 022")
    if any(not step.port for step in steps.values()):
        lines.append(_WATCHED.replace("SECONDS", str(CASE_SECONDS)))
    for name, step in steps.items():
        if step.port:
            continue
        before = ""
        if name in later:
            before = f"/bin/rm -rf {' '.join(step.gone)}\n" if step.gone else ""
            before += f"/bin/mkdir -p {' '.join(step.folders)}\n" if step.folders else ""
        lines.append(f"{_case(name, f'{_WATCH}{before}{step.text}')}\necho >&$w")
        if step.place and last[step.place] != name:
            lines.append(f'/bin/cp -a {step.place}/. "$r/{name}"/')
    lines.append(_side_by_side({name: step for name, step in steps.items() if step.port}))
    places = " ".join(f"./{place}" for place in last)
    # Hard links come out as plain files. Nothing is cleaned up: the fork is thrown away.
    pack = f'/bin/tar --hard-dereference -cf - -C "$r" . {f"-C /workspace {places}" if places else ""}'
    return "\n".join([*lines, f"{pack} 2> /dev/null | /usr/bin/base64 -w 0"])


def _case(name: str, text: str) -> str:
    """Bash lines that run a case and keep its output and its exit code."""
    return (
        f"(ulimit -f 64; d=$r/{name}; cd /workspace || exit 9\n{text}\n)"
        f' < /dev/null > "$r/{name}.out" 2> /dev/null\necho $? > "$r/{name}.code"'
    )


def _side_by_side(services: Mapping[str, Step]) -> str:
    """Bash lines that run services at the same time, those of one port one after the other."""
    cases: dict[int, list[str]] = {}
    for name, step in services.items():
        cases.setdefault(step.port, []).append(_case(name, step.text))
    ports = list(cases.values())
    rows = ["\n".join(chain(*ports[first::_SERVICES_AT_ONCE])) for first in range(min(_SERVICES_AT_ONCE, len(ports)))]
    # A pipe between them, since what `&` starts ignores SIGINT; nothing goes through it.
    return " | ".join(f"(\n{row}\n)" for row in rows) if len(rows) > 1 else "".join(rows)


@dataclass(frozen=True)
class _Packed:
    files: Mapping[str, bytes]
    directories: frozenset[str]


def _files_in(text: str) -> _Packed:
    # What prints this has the rights of what it judges: it may be anything.
    files: dict[str, bytes] = {}
    directories = set()
    for entry in read_tar(unpacked(text.strip()), most_entries=_MOST_ENTRIES):
        name = entry.name.removeprefix("./").rstrip("/")
        if entry.kind == "directory":
            directories.add(name)
        elif entry.kind == "file":
            files[name] = entry.content
    return _Packed(files, frozenset(directories))


def unpacked(data: str) -> bytes:
    """Bytes from base64 that came out of a fork. Raises `NotInStateError` if it is none."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise NotInStateError(f"the outcome of a run is garbled: {fault}") from fault


@dataclass(frozen=True)
class _Run:
    """A case that was run: its name, and where what it left is among what all left."""

    name: str
    where: str
    left: _Packed


def _outcome(run: _Run) -> Outcome:
    found = run.left
    code = found.files.get(f"{run.name}.code", b"").strip()
    if f"{run.name}.ran" not in found.files or not (code.isdigit() and len(code) <= 3):
        raise NotInStateError("a run left no outcome")
    top = f"{run.where}/"
    return Outcome(
        int(code),
        found.files.get(f"{run.name}.out", b""),
        {path.removeprefix(top): data for path, data in found.files.items() if path.startswith(top)},
        frozenset(path.removeprefix(top) for path in found.directories if path.startswith(top)),
    )
