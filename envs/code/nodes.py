"""A repository's own tests, run by its own runner. Invariant: a test that the report does not name has failed.

Such tests share the submission's process, so that a hostile submission can forge them; benchmarks that are made of
them (SWE-bench) leave no choice. What can be done is done: test files are put back, and all runs on a throw-away copy.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable, Sequence
from typing import TypeVar

from agentenv.errors import ConfigurationError
from agentenv.progress import RunResult
from agentenv.tasks.code.base import NodeTest, TestCase

__all__ = ["parse_summary", "run_nodes"]

_SUMMARY = re.compile(r"^=+ short test summary info =+$", re.IGNORECASE | re.MULTILINE)
_STATUSES = ("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS")
_R = TypeVar("_R")


def parse_summary(text: str) -> dict[str, str]:
    """The status of each test that a pytest run with `-rA` reports, by id.

    >>> parse_summary("=== short test summary info ===\\nPASSED t.py::a\\nFAILED t.py::b - assert 1 == 2\\n")
    {'t.py::a': 'PASSED', 't.py::b': 'FAILED'}
    """
    parts = _SUMMARY.split(text)
    found: dict[str, str] = {}
    for line in parts[-1].splitlines() if len(parts) > 1 else ():
        status, _, rest = line.partition(" ")
        status = status.rstrip(":")
        if status in _STATUSES and rest:
            found[rest.partition(" - ")[0].strip()] = status
    return found


def run_nodes(
    tests: Sequence[TestCase],
    limit_s: float,
    run: Callable[[str, float], RunResult] | None,
    result: Callable[[bool, str, str], _R],
) -> dict[str, _R]:
    """The results of tests that are all `NodeTest`s; each command is run once.

    A test that must be fixed passes on PASSED and XFAIL; one that must keep passing, on SKIPPED too.

    Raises:
        ConfigurationError: If there are any, and nothing to run them with.
    """
    found: dict[str, _R] = {}
    reports: dict[str, tuple[dict[str, str], bool]] = {}
    for test in tests:
        case = test.case
        if not isinstance(case, NodeTest):
            continue
        if run is None:
            raise ConfigurationError("tests of a repository's own runner need a sandbox to run in: pass run=view.run")
        script = _restoring(case)
        if script not in reports:
            done = run(script, limit_s)
            reports[script] = parse_summary(done.stdout), done.timed_out
        statuses, timed_out = reports[script]
        status = statuses.get(case.id, "")
        good = ("PASSED", "XFAIL", "SKIPPED") if test.keeps else ("PASSED", "XFAIL")
        reason = "passed" if status in good else "timeout" if timed_out else "wrong" if status else "not reported"
        found[test.id] = result(status in good, reason, f"{case.id}: {status or reason}")
    return found


def _restoring(case: NodeTest) -> str:
    """The command, after its files are put back."""
    lines = []
    for path, text in sorted(case.files.items()):
        place = shlex.quote(path)
        data = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")
        lines.append(f'mkdir -p -- "$(dirname -- {place})" && rm -rf -- {place} && base64 -d > {place} <<< {data}')
    return "\n".join([*lines, case.command])
