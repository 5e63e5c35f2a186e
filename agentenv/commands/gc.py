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
        output_console().print("removed " + ", ".join(_counted(count, kind) for kind, count in counts.items() if count))
    return 0


def _counted(count: int, kind: str) -> str:
    """A number of things, whose kind is named in the plural.

    >>> _counted(1, "directories"), _counted(2, "processes"), _counted(1, "processes")
    ('1 directory', '2 processes', '1 process')
    """
    if count != 1:
        return f"{count} {kind}"
    if kind.endswith("ies"):
        return f"1 {kind.removesuffix('ies')}y"
    return f"1 {kind.removesuffix('es') if kind.endswith('sses') else kind.removesuffix('s')}"
