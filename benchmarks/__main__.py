"""`python -m benchmarks [wrappers|terminal|tokens ...]`: prints the tables, all of them by default."""

from __future__ import annotations

import sys

from rich.console import Console

from benchmarks import terminal_cost, tokens, wrapper_overhead
from benchmarks.timing import machine

TABLES = {
    "wrappers": (wrapper_overhead.table,),
    "terminal": (
        terminal_cost.step_table,
        terminal_cost.family_table,
        terminal_cost.reset_table,
        terminal_cost.size_table,
        terminal_cost.chain_table,
    ),
    "tokens": (tokens.table,),
}


def main(names: list[str]) -> int:
    """Prints the named tables; returns the exit code."""
    console = Console()
    unknown = sorted(set(names) - set(TABLES))
    if unknown or "--help" in names:
        console.print(f"usage: python -m benchmarks [{' | '.join(TABLES)}] ...; unknown: {unknown}")
        return 2
    console.print(machine())
    for name in names or TABLES:
        for make in TABLES[name]:
            console.print(make())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
