"""`python -m benchmarks [wrappers|terminal|tokens|resets|...]`: prints the tables, all but the long ones by default.

`search_scale` and `webshop_scale` take many minutes and run only when named; as modules they take sizes.
"""

from __future__ import annotations

import sys

from rich.console import Console

from benchmarks import reset_step, search_scale, terminal_cost, tokens, webshop_scale, wrapper_overhead
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
    "resets": (reset_step.table,),
}
LONG = {
    "search_scale": (search_scale.table,),
    "webshop_scale": (webshop_scale.table,),
}


def main(names: list[str]) -> int:
    """Prints the named tables; returns the exit code."""
    console = Console()
    known = {**TABLES, **LONG}
    unknown = sorted(set(names) - set(known))
    if unknown or "--help" in names:
        console.print(f"usage: python -m benchmarks [{' | '.join(known)}] ...; unknown: {unknown}", markup=False)
        return 2
    console.print(machine())
    for name in names or TABLES:
        for make in known[name]:
            console.print(make())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
