"""Prints the families as a Markdown table: `python -m agentenv.tasks.terminal.table`. Nothing else decides it."""

from __future__ import annotations

import sys

from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.generated import GeneratedTasks

__all__ = ["table"]


def table() -> str:
    """One row a family: its name, what it asks for, whether training ever sees it, and an easy example.

    >>> table().splitlines()[0]
    '| family | what | splits | example (easy) |'
    """
    tasks = GeneratedTasks()
    rows = ["| family | what | splits | example (easy) |", "|---|---|---|---|"]
    for family in FAMILIES:
        split = "ood" if family.ood else "test"
        said = tasks.task(f"{family.name}-easy-{split}-0").instruction
        splits = "ood" if family.ood else "train, val, test"
        rows.append(f"| `{family.name}` | {family.summary} | {splits} | {_cell(said)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    """Text as it may stand in a table's cell."""
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(table())
