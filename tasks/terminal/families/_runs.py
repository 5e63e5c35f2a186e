"""Runs all that a scenario's checks want to see happen, in one fork. Invariant: expected values never enter the fork.

A fork costs more than most of what runs in it. So each check books its cases once, when the scenario is made, and the
first check that asks has all of them run; the others find the answer kept by their view.

Cases run one after the other, each in a directory of its own, with its output captured. What an agent left runs with
the rights of what judges it, so one program may change what another one finds, or write another's report. That wins
nothing: inputs are all that could be learnt in the fork, and whoever can forge the right outcome for inputs seen there
for the first time has solved the task. What is lost by meddling is the agent's own score.
"""

from __future__ import annotations

import base64
import binascii
import io
import shlex
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agentenv.errors import NotInStateError
from agentenv.progress import StateView

__all__ = ["Booking", "Outcome", "Runs", "laid", "unpacked"]

CASE_SECONDS = 8
_SPARE_SECONDS = 25.0
_MOST_FILES = 600
# Hard links, sparse files and the like come out as plain ones; what is larger than 64 KiB is left out.
_PACK = (
    f'cd "$r" && /usr/bin/find . -mindepth 1 -size -129 -print0 | /usr/bin/head -z -n {_MOST_FILES} | '
    "/bin/tar --null --no-recursion --hard-dereference -T - -cf - 2> /dev/null | /usr/bin/base64 -w 0\ncd /\n"
    '/bin/chmod -R u+rwx "$r"; /bin/rm -rf "$r"\n'
)


@dataclass(frozen=True)
class Outcome:
    """What a case did: its exit code, what it printed, and the files and directories it left."""

    code: int
    out: bytes
    files: Mapping[str, bytes]
    directories: frozenset[str]


Steps = Callable[[StateView], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Booking:
    """Cases that some check wants run: bash text for each, which depends on the state; none where that settles it.

    The text starts in /workspace with `$d`, a new empty directory whose content is reported. It says `: > "$d.ran"`
    once nothing of its own can fail any more. What it prints is reported, and the code it ends with.
    """

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

    def book(self, steps: Steps) -> Booking:
        """Adds cases."""
        booking = Booking(self, steps)
        self.bookings.append(booking)
        return booking

    def outcomes(self, view: StateView, wanted: Booking) -> list[Outcome]:
        """See `Booking.outcomes`."""
        texts: dict[str, str] = {}
        mine: list[str] = []
        for number, booking in enumerate(self.bookings):
            for place, text in enumerate(_steps(booking, view)):
                name = f"{number}.{place}"
                texts[name] = text
                if booking is wanted:
                    mine.append(name)
        if not mine:
            wanted.steps(view)  # says why there is nothing, if it can
            return []
        done = view.run(_script(texts), _SPARE_SECONDS + CASE_SECONDS * len(texts))
        found = _files_in(done.stdout)
        return [_outcome(name, found) for name in mine]


def _steps(booking: Booking, view: StateView) -> Sequence[str]:
    try:
        return booking.steps(view)
    except NotInStateError:
        return ()


def laid(files: Mapping[str, str]) -> str:
    """Bash lines that write the files below the current directory."""
    folders = sorted({path.rpartition("/")[0] for path in files if "/" in path})
    lines = [f"/bin/mkdir -p {' '.join(map(shlex.quote, folders))}"] if folders else []
    return "\n".join(
        [*lines, *(f"printf %s {shlex.quote(text)} > {shlex.quote(path)}" for path, text in files.items())]
    )


def _script(texts: Mapping[str, str]) -> str:
    lines = [f'r=$(/usr/bin/mktemp -d) && cd "$r" && /bin/mkdir {" ".join(texts)} || exit 9']
    for name, text in texts.items():
        lines.append(f'(d=$r/{name}; cd /workspace || exit 9\n{text}\n) < /dev/null > "$r/{name}.out" 2> /dev/null')
        lines.append(f'echo $? > "$r/{name}.code"')
    return "\n".join([*lines, _PACK])


@dataclass(frozen=True)
class _Packed:
    files: Mapping[str, bytes]
    directories: frozenset[str]


def _files_in(text: str) -> _Packed:
    files: dict[str, bytes] = {}
    directories = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked(text.strip())), mode="r:") as pack:
            for member in pack:
                name = member.name.removeprefix("./")
                if member.isdir():
                    directories.add(name)
                elif member.isfile() and (content := pack.extractfile(member)) is not None:
                    files[name] = content.read()
    except (ValueError, tarfile.TarError, EOFError) as fault:
        raise NotInStateError(f"the outcome of a run is garbled: {fault}") from fault
    return _Packed(files, frozenset(directories))


def unpacked(data: str) -> bytes:
    """Bytes from base64 that came out of a fork. Raises `NotInStateError` if it is none."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise NotInStateError(f"the outcome of a run is garbled: {fault}") from fault


def _outcome(name: str, found: _Packed) -> Outcome:
    code = found.files.get(f"{name}.code", b"").strip()
    if f"{name}.ran" not in found.files or not (code.isdigit() and len(code) <= 3):
        raise NotInStateError("a run left no outcome")
    top = f"{name}/"
    return Outcome(
        int(code),
        found.files.get(f"{name}.out", b""),
        {path.removeprefix(top): data for path, data in found.files.items() if path.startswith(top)},
        frozenset(path.removeprefix(top) for path in found.directories if path.startswith(top)),
    )
