"""Any table of questions, its columns named: JSONL, JSON, CSV, parquet, or a data set of the `datasets` library."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError, DataFileError
from agentenv.tasks.search.base import Document, Question
from agentenv.tasks.search.readers.records import Record, read_records

__all__ = ["COLUMNS", "columns", "dataset_rows", "questions_of"]

#: Which column holds what, unless told otherwise; `question` and `answer` must be there.
COLUMNS: Mapping[str, str] = {
    "id": "id",
    "question": "question",
    "answer": "answer",
    "evidence": "evidence",
    "bridges": "bridges",
    "documents": "documents",
    "kind": "kind",
    "difficulty": "difficulty",
}


def columns(path: Path, named: Mapping[str, str]) -> Iterator[Question]:
    """The questions of a file.

    Args:
        path: Any file that `read_records` reads.
        named: Columns that are named differently than in `COLUMNS`; these must be there.
    """
    return questions_of(read_records(path), path.name.partition(".")[0], named)


def questions_of(records: Iterable[Record], name: str, named: Mapping[str, str]) -> Iterator[Question]:
    """Questions of records. An answer may be a string or a list; an empty list, or null, asks for abstaining."""
    column = {**COLUMNS, **named}
    for number, record in enumerate(records):
        present = {part: record.has(key) for part, key in column.items()}
        for part in named:
            record.value(column[part])
        record.value(column["answer"])
        answers = record.texts(column["answer"]) if present["answer"] else ()
        if any(not answer.strip() for answer in answers):
            raise record.fault(column["answer"], "is blank; for a question without an answer, give null or []")
        texts = {part: record.texts(column[part]) if present[part] else () for part in ("evidence", "bridges")}
        yield Question(
            id=record.text(column["id"]) if present["id"] else f"{name}-{number}",
            text=record.text(column["question"]).strip(),
            answers=answers,
            evidence=texts["evidence"],
            bridges=texts["bridges"],
            documents=_documents(record, column["documents"]) if present["documents"] else None,
            kind=record.text(column["kind"]) if present["kind"] else "",
            hops=max(len(texts["evidence"]), 1),
            difficulty=record.text(column["difficulty"]) if present["difficulty"] else "",
        )


def dataset_rows(name: str, *, config: str | None, part: str) -> Iterator[Record]:
    """The rows of a data set on disk (a folder that `save_to_disk` made) or of the Hub.

    Args:
        name: The folder, or the Hub's name.
        config: The Hub's configuration.
        part: The data set's own split, such as "validation".

    Raises:
        ConfigurationError: If the `datasets` library is not installed, or has no such data set or part.
    """
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError as error:
        raise ConfigurationError("data sets need the datasets library: pip install datasets") from error
    try:
        if Path(name).is_dir():
            loaded = datasets.load_from_disk(name)
            rows = loaded[part] if isinstance(loaded, dict) else loaded
        else:
            rows = datasets.load_dataset(name, config, split=part)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(f"data set {name!r} (config {config!r}, part {part!r}): {error}") from error
    for number, row in enumerate(rows, 1):
        yield Record(f"{name} ({part}), row {number}", row)


def _documents(record: Record, key: str) -> tuple[Document, ...]:
    made: dict[str, Document] = {}
    for index, value in enumerate(record.list(key)):
        if isinstance(value, str):
            document = Document(str(index), "", value)
        else:
            item = Record(f"{record.where}, in '{key}[{index}]'", value if isinstance(value, dict) else {})
            title = item.text("title") if item.has("title") else ""
            document = Document(item.text("id") if item.has("id") else title or str(index), title, item.text("text"))
        if document.id in made:
            raise DataFileError(f"{record.where}, key {key!r}: document id {document.id!r} comes twice")
        made[document.id] = document
    return tuple(made.values())
