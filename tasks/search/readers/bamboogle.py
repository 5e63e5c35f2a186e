"""Bamboogle: a table with the columns Question and Answer, or FlashRAG's JSONL with `question`, `golden_answers`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.readers.records import read_records

__all__ = ["bamboogle"]


def bamboogle(path: Path) -> Iterator[Question]:
    """The questions of a Bamboogle file; it has no corpus."""
    for number, record in enumerate(read_records(path)):
        table = record.has("Question")
        yield Question(
            id=record.text("id") if record.has("id") else f"bamboogle-{number}",
            text=record.text("Question" if table else "question").strip(),
            answers=(record.text("Answer"),) if table else record.texts("golden_answers"),
            kind="bridge",
            hops=2,
        )
