"""Checks that decide success, and the progress they add up to. Invariant: progress 1.0 implies success.

A check reads the *state* an agent left (files, or what a script prints when run on a throw-away copy), never the
text of what the agent typed. Success and progress are two readings of the same checks, so they cannot disagree.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol, runtime_checkable

from agentenv.errors import ConfigurationError, GraderError, InfrastructureError, NotInStateError

__all__ = ["Check", "FileStat", "Progress", "RunResult", "StateView", "verify_checks"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileStat:
    """What a view tells of a path. `mode` holds the permission bits only; links are not followed.

    `inode` and `device` identify the file, so that checks can tell hard links; `links` counts them.
    """

    kind: Literal["file", "directory", "link", "other"]
    mode: int
    size: int
    target: str = ""
    inode: int = 0
    device: int = 0
    links: int = 1


@dataclass(frozen=True)
class RunResult:
    """What a script did on a throw-away fork: its exit code, and its output (stdout and stderr apart)."""

    exit_code: int
    stdout: str
    stderr: str = ""
    timed_out: bool = False


@runtime_checkable
class StateView(Protocol):
    """A read-only look at an environment's state. Paths are the agent's own (``/workspace/...``, or relative to it).

    Every method raises `NotInStateError` when the path is missing, is not of the kind asked for, leads out of the
    sandbox, or exceeds the size limit; it never blocks on a FIFO or follows a link to the host.
    """

    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        """The bytes of a regular file (links inside the sandbox are followed)."""
        ...

    def text(self, path: str, max_bytes: int = 4 << 20) -> str:
        """The same, decoded as strict UTF-8."""
        ...

    def stat(self, path: str) -> FileStat:
        """Kind, mode and size of a path; the last component's link is not followed."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Sorted names in a directory."""
        ...

    def exists(self, path: str) -> bool:
        """Whether the path exists (a dangling link does)."""
        ...

    def run(self, script: str, timeout_s: float = 10.0) -> RunResult:
        """Runs a bash script on a fresh throw-away fork, in /workspace, with a clean environment and PATH."""
        ...


Score = Callable[[StateView], float]


@dataclass(frozen=True)
class Check:
    """One acceptance check.

    Args:
        name: Unique within a task; never starts with ``_`` (vector environments keep masks under such names).
        weight: Its share of progress, relative to the others; positive and finite.
        score: Maps a `StateView` to [0, 1]; 1.0 means that the check holds.
        required: Whether success needs it.
        hint: A short public description for people who watch ("notes.txt holds the word"); never shown to agents.

    Raises:
        ConfigurationError: On a bad name or weight.
    """

    name: str
    weight: float
    score: Score = field(repr=False, compare=False)
    required: bool = True
    hint: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.name or self.name.startswith("_"):
            raise ConfigurationError(f"check name {self.name!r} must be non-empty and must not start with '_'")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigurationError(f"check {self.name!r}: weight must be positive and finite, got {self.weight}")


@dataclass(frozen=True)
class Progress:
    """What verification found.

    Attributes:
        value: Weighted mean of the scores, in [0, 1]; below 1.0 whenever a required check does not hold.
        checks: Score of each check, by name, in the order of the checks.
        evidence: One short line per check, for people; it may tell hidden facts, so it never enters a prompt.
        success: Whether every required check is at 1.0.
    """

    value: float
    checks: dict[str, float]
    evidence: dict[str, str]
    success: bool

    @classmethod
    def of(cls, checks: Sequence[Check], scores: Sequence[float], evidence: Sequence[str] | None = None) -> Progress:
        """Adds scores up, exactly (rationals), rounding once at the end.

        Raises:
            ConfigurationError: If there is no check, or two share a name.
            GraderError: If a score is not a finite number in [0, 1].

        >>> a, b = Check("a", 1, lambda view: 1.0), Check("b", 2, lambda view: 0.0)
        >>> Progress.of([a, b], [1.0, 0.5]).value
        0.6666666666666666
        """
        if not checks:
            raise ConfigurationError("a task needs at least one check")
        names = [check.name for check in checks]
        if len(set(names)) != len(names):
            raise ConfigurationError(f"check names must differ, got {names}")
        for check, score in zip(checks, scores, strict=True):
            if not (isinstance(score, (int, float)) and math.isfinite(score) and 0 <= score <= 1):
                # Not quoted: a check that gives the wrong thing back may give an expected value.
                _LOG.debug("check %r scored %r", check.name, score)
                raise GraderError(f"check {check.name!r} scored a {type(score).__name__} that is no number in [0, 1]")
        total = sum((Fraction(check.weight) for check in checks), Fraction(0))
        done = sum(
            (Fraction(c.weight) * Fraction(float(s)) for c, s in zip(checks, scores, strict=True)),
            Fraction(0),
        )
        success = all(score == 1.0 for check, score in zip(checks, scores, strict=True) if check.required)
        value = float(done / total)
        if value == 1.0 and done != total:
            value = math.nextafter(1.0, 0.0)  # a deficit too small for a float must still not read as "done"
        lines = evidence if evidence is not None else [f"{score:g}" for score in scores]
        return cls(
            value=value,
            checks={name: float(score) for name, score in zip(names, scores, strict=True)},
            evidence=dict(zip(names, lines, strict=True)),
            success=success,
        )


def verify_checks(checks: Sequence[Check], view: StateView) -> Progress:
    """Runs every check on a view of the state.

    A check that raises `NotInStateError` scores 0. `InfrastructureError` passes through. Anything else is the
    grader's own fault and becomes `GraderError`, so that no agent is scored by a crash. Such messages enter logs and
    results files, so that they name the check and the class of the exception only; what it said may quote expected
    values, and is in `__cause__` and in the log at level DEBUG.

    >>> verify_checks([Check("always", 1, lambda view: 1.0)], view=None).success
    True
    """
    scores: list[float] = []
    evidence: list[str] = []
    for check in checks:
        try:
            score = check.score(view)
            line = check.hint or ("holds" if score == 1.0 else f"scores {score:g}")
        except NotInStateError as missing:
            score, line = 0.0, str(missing)
        except InfrastructureError:
            raise
        except Exception as crash:  # the grader boundary: a crash must never become a score
            _LOG.debug("check %r crashed", check.name, exc_info=crash)
            raise GraderError(f"check {check.name!r} crashed: {type(crash).__name__}") from crash
        scores.append(score)
        evidence.append(line)
    return Progress.of(checks, scores, evidence)
