"""Corpora in files: JSONL (plain or `.gz`) or parquet, with `id` or `docid`, and `contents` or `title` and `text`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from agentenv.errors import ConfigurationError, DataFileError
from agentenv.tasks.search.base import Document
from agentenv.tasks.search.corpus import Corpus, DocumentCorpus, JsonlCorpus, document_from_json
from agentenv.tasks.search.readers.browsecomp_plus import with_title
from agentenv.tasks.search.readers.records import read_records

__all__ = ["corpus_of", "file_hash"]


def corpus_of(path: Path) -> Corpus:
    """The corpus of a file, gone through document by document.

    Raises:
        ConfigurationError: If there is no such file.
    """
    if path.suffix.lower() != ".parquet":
        return JsonlCorpus(path)
    return DocumentCorpus(partial(_rows, path), fingerprint=f"rows:{file_hash(path)}")


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        ConfigurationError: If there is no such file.
    """
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows(path: Path) -> Iterator[Document]:
    for record in read_records(path):
        try:
            yield with_title(document_from_json(dict(record.values)))
        except ConfigurationError as error:
            raise DataFileError(f"{record.where}: {error}") from error
