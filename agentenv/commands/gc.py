"""`agentenv gc`: removes what killed runs left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import agentenv
from agentenv.commands.console import output_console, parse, print_json

__all__ = ["main"]

_DESCRIPTION = """Remove sandbox directories, processes and control groups whose owner has died.

Nothing that belongs to a living process is touched, so it is safe beside running jobs."""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv gc`."""

    json: bool = False
    """Print the counts as JSON."""


def main(argv: Sequence[str]) -> int:
    """Reaps and says how much."""
    options = parse(Options, argv, "gc", _DESCRIPTION)
    counts = agentenv.gc()
    if options.json:
        print_json(counts)
    elif not any(counts.values()):
        output_console().print("nothing to remove")
    else:
        output_console().print("removed " + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count))
    return 0
