"""`agentenv doctor`: what this machine can isolate and enforce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module

from rich.table import Table

from agentenv.commands.console import output_console, parse, plain, print_json

__all__ = ["main"]

_DESCRIPTION = """Try what sandboxes need on this machine and tell what it can enforce, and how.

Ends with 1 where untrusted commands cannot be isolated at all."""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv doctor`."""

    json: bool = False
    """Print the facts as JSON."""


def main(argv: Sequence[str]) -> int:
    """Prints the facts."""
    options = parse(Options, argv, "doctor", _DESCRIPTION)
    facts = import_module("agentenv.sandbox.doctor").facts()
    isolated = all(fact.ok for fact in facts if fact.name == "isolation")
    if options.json:
        print_json([asdict(fact) for fact in facts])
        return 0 if isolated else 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(overflow="fold")
    for fact in facts:
        mark = plain("yes", "green") if fact.ok else plain("no", "yellow")
        table.add_row(plain(fact.name), mark, plain(fact.detail))
    output_console().print(table)
    return 0 if isolated else 1
