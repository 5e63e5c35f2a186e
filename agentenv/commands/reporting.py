"""`agentenv report`: one self-contained HTML page about runs and evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agentenv.commands.console import output_console, parse, plain
from agentenv.evaluation.report import write_report

__all__ = ["main"]

_DESCRIPTION = """Write one HTML page about training runs and evaluations.

It holds learning curves, success with intervals, paired gains, success by family, and episodes to step through turn by
turn. The page is a single file that needs no network.

Examples:
  agentenv report runs/main                                       everything below a run directory
  agentenv report results/tiny-test.json results/mine-test.json   two evaluations side by side"""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run directories, or results files."""
    out: Path = Path("report.html")
    """The page."""
    title: str = "agentenv report"
    """Its heading."""
    episodes: int = 12
    """Most episodes shown of each arm."""


def main(argv: Sequence[str]) -> int:
    """Writes the page."""
    options = parse(Options, argv, "report", _DESCRIPTION)
    out = write_report(list(options.runs), options.out, title=options.title, episodes=options.episodes)
    output_console().print(plain(f"wrote {out} ({out.stat().st_size >> 10} KiB)"))
    return 0
