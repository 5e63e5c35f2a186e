"""Search-R1's parquet files, in verl's form (JSONL of the same shape is read too).

A row: `data_source`, `prompt` [{`role`, `content`}], `reward_model` {`ground_truth`: {`target`: [...]}}, `extra_info`
{`split`, `index`}; `question` and `golden_answers` where the file kept them. Without `question`, the question is what
stands after the last "Question:" of the prompt's user message.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.readers.records import Record, read_records

__all__ = ["search_r1"]

_MARK = "Question:"
_SPLITS = {"train": "train", "dev": "val", "val": "val", "validation": "val", "test": "test"}


def search_r1(path: Path) -> Iterator[Question]:
    """The rows of a Search-R1 file, each in the split that it names; it has no corpus."""
    for record in read_records(path):
        info = record.object("extra_info")
        split = info.text("split")
        if split not in _SPLITS:
            raise info.fault("split", f"should be one of {', '.join(_SPLITS)}, is {split!r:.60}")
        source = record.text("data_source")
        yield Question(
            id=f"{source}-{split}-{info.number('index')}",
            text=_question(record),
            answers=record.object("reward_model").object("ground_truth").texts("target"),
            kind=source,
            split=_SPLITS[split],
        )


def _question(record: Record) -> str:
    if record.has("question"):
        text = record.text("question").strip()
    else:
        messages = [message for message in record.objects("prompt") if message.text("role") == "user"]
        if not messages:
            raise record.fault("prompt", "holds no message of the user")
        text = messages[-1].text("content").rpartition(_MARK)[2].strip()
        if not text:
            raise record.fault("prompt", f"has nothing after {_MARK!r}")
    return text if text.endswith("?") else f"{text}?"
