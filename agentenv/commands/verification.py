"""`agentenv verify`: replays results files and recomputes every number in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from agentenv.commands.console import output_console, parse, plain, print_json, progress_bar
from agentenv.errors import ConfigurationError
from agentenv.evaluation.verify import VerifyReport, verify

__all__ = ["main"]

_DESCRIPTION = """Replay results files and recompute every number in them.

The actions in the file are played in fresh sandboxes; success, progress, rewards, states and aggregates are compared
with what the file says. The file may come from anyone: only agentenv's own environments are made from it. Ends with 1
if anything differs or could not be replayed.

Examples:
  agentenv verify results/tiny-test.json
  agentenv verify submission.json --json
  agentenv verify theirs.json --allow harbor:tasks/    trust one further task source"""

_SHOWN = 20


@dataclass(frozen=True)
class Options:
    """Options of `agentenv verify`."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The results files."""
    allow: tuple[str, ...] = ()
    """Environment ids and task sources beyond agentenv's own that you trust."""
    workers: int = 2
    """Episodes replayed at a time."""
    json: bool = False
    """Print the reports as JSON."""


def main(argv: Sequence[str]) -> int:
    """Verifies each file; 1 if any is wrong."""
    options = parse(Options, argv, "verify", _DESCRIPTION)
    if not options.files:
        raise ConfigurationError("no results file to verify was given")
    reports: list[VerifyReport] = []
    console = output_console()
    for path in options.files:
        report = _replay(path, options)
        reports.append(report)
        if not options.json:
            _show(console, report)
    if options.json:
        print_json([_as_json(report) for report in reports])
    return 0 if all(report.ok for report in reports) else 1


def _replay(path: Path, options: Options) -> VerifyReport:
    with progress_bar() as bar:
        line = bar.add_task(f"replaying {path.name}", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(line, completed=done, total=total)

        return verify(path, allow=options.allow, workers=options.workers, on_episode=advance)


def _show(console: Console, report: VerifyReport) -> None:
    header = report.results.header
    verdict = plain("verified", "bold green") if report.ok else plain("NOT verified", "bold red")
    console.print(verdict.append_text(plain(f"  {report.path}", "bold")))
    console.print(plain(f"  {header.policy} on {len(header.task_ids)} {header.split} tasks of {header.task_set!r}"))
    console.print(plain(f"  {report.replayed} of {len(report.results.records)} episodes replayed"))
    if report.summary is not None and report.summary.success is not None:
        console.print(plain(f"  success {report.summary.success}, coverage {report.summary.coverage:.3f}"))
    for title, style, lines in (
        ("differs", "red", [str(mismatch) for mismatch in report.mismatches]),
        ("not replayed", "yellow", list(report.unreplayed)),
        ("note", "dim", list(report.notes)),
    ):
        for text in lines[:_SHOWN]:
            console.print(plain(f"  {title}: {text}", style))
        if len(lines) > _SHOWN:
            console.print(plain(f"  {title}: and {len(lines) - _SHOWN} more (--json lists all)", style))


def _as_json(report: VerifyReport) -> dict[str, Any]:
    return {
        "file": report.path,
        "verified": report.ok,
        "replayed": report.replayed,
        "mismatches": [asdict(mismatch) for mismatch in report.mismatches],
        "unreplayed": list(report.unreplayed),
        "notes": list(report.notes),
        "summary": report.summary.to_json() if report.summary else None,
    }
