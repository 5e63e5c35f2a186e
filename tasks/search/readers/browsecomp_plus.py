"""BrowseComp-Plus: queries whose texts are scrambled with the benchmark's canary, documents, and TREC relevance files.

A row: `query_id`, `query`, `answer`, `gold_docs`, `evidence_docs`, `negative_docs` [{`docid`, `text`, `url`}, ...].
Every string but `query_id` is base64 of its bytes XORed with the canary's SHA-256, repeated; with no canary, rows are
read as they are. A relevance file has four columns, `query 0 document relevance`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentenv.errors import DataFileError
from agentenv.tasks.search.base import Document, Question
from agentenv.tasks.search.readers.records import Record, read_lines, read_records

__all__ = ["browsecomp_plus", "decrypted", "encrypted", "qrels", "with_title"]

_PLAIN_KEYS = ("query_id",)
_DOCUMENT_KEYS = ("evidence_docs", "gold_docs", "negative_docs")
_FRONT_MATTER = re.compile(r"---\n(?:(?!---\n)[^\n]*\n)*?title:[ \t]*([^\n]+)\n")
_MOST_FRONT_MATTER_CHARS = 4096


def browsecomp_plus(path: Path, *, canary: str = "", relevance: Path | None = None) -> Iterator[Question]:
    """The queries of a file, each with the documents that its row holds.

    Args:
        path: JSONL or parquet.
        canary: The benchmark's canary, if the file is scrambled.
        relevance: A relevance file whose documents are the evidence, in the place of `evidence_docs`.
    """
    relevant = qrels(relevance) if relevance is not None else None
    for row in read_records(path):
        record = _unscrambled(row, canary) if canary else row
        documents = {key: list(_documents(record, key)) for key in _DOCUMENT_KEYS if record.has(key)}
        query_id = record.text("query_id")
        named = [document.id for document in documents.get("evidence_docs", ())]
        yield Question(
            id=query_id,
            text=record.text("query").strip(),
            answers=(record.text("answer").strip(),),
            evidence=tuple(dict.fromkeys(named if relevant is None else relevant.get(query_id, ()))),
            documents=tuple({d.id: d for d in itertools.chain(*documents.values())}.values()) or None,
            kind="browse",
            hops=max(len(set(named)), 1),
            extra={"gold_docs": [document.id for document in documents.get("gold_docs", ())]},
        )


def qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """The relevant documents of each query, in the file's order.

    Raises:
        DataFileError: If a line has not four columns, or its relevance is no number.
    """
    found: dict[str, list[str]] = {}
    for where, line in read_lines(path):
        columns = line.split()
        if len(columns) != 4:
            raise DataFileError(f"{where}: should have four columns (query 0 document relevance), has {len(columns)}")
        query_id, _, document_id, grade = columns
        if not grade.lstrip("-").isdecimal():
            raise DataFileError(f"{where}, key 'relevance': should be a whole number, is {grade!r:.40}")
        if int(grade) > 0:
            found.setdefault(query_id, []).append(document_id)
    return {query_id: tuple(documents) for query_id, documents in found.items()}


def encrypted(text: str, canary: str) -> str:
    """A text as the benchmark scrambles it.

    >>> decrypted(encrypted("Oslo", "a canary"), "a canary")
    'Oslo'
    """
    return base64.b64encode(_mixed(text.encode(), canary)).decode("ascii")


def decrypted(text: str, canary: str) -> str:
    """The inverse of `encrypted`. Raises `ValueError` if the text was not scrambled with this canary."""
    return _mixed(base64.b64decode(text, validate=True), canary).decode()


def with_title(document: Document) -> Document:
    """A document without a title gets the one of its text's front matter, where there is one.

    >>> with_title(Document("7", "", "---\\ntitle: Oslo\\n---\\nA city.")).title
    'Oslo'
    """
    if document.title:
        return document
    found = _FRONT_MATTER.match(document.text[:_MOST_FRONT_MATTER_CHARS])
    return Document(document.id, found[1].strip() if found else "", document.text)


def _mixed(data: bytes, canary: str) -> bytes:
    key = hashlib.sha256(canary.encode()).digest()
    repeated = (key * (len(data) // len(key) + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")


def _unscrambled(record: Record, canary: str) -> Record:
    def plain(key: str, value: Any) -> Any:
        if isinstance(value, str) and key not in _PLAIN_KEYS:
            try:
                return decrypted(value, canary)
            except (binascii.Error, UnicodeDecodeError, ValueError) as error:
                raise record.fault(key, "cannot be decrypted with this canary") from error
        if isinstance(value, list):
            return [plain(key, item) for item in value]
        if isinstance(value, dict):
            return {name: plain(name, item) for name, item in value.items()}
        return value

    return Record(record.where, {key: plain(key, value) for key, value in record.values.items()})


def _documents(record: Record, key: str) -> Iterable[Document]:
    for item in record.objects(key):
        yield with_title(Document(item.text("docid"), "", item.text("text")))
