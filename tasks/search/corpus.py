"""Corpora that are streamed, and the form in which they lie on disk. Invariant: a fingerprint tells corpora apart.

Search-R1's passages are lines of JSON, `{"id": "0", "contents": "\\"Title\\"\\nText"}`; lines with `title` and `text`
are read as well.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.base import Document
from agentenv.tasks.search.storage import Blobs, BlobWriter, Lookup, cache_root, key_hash, write_lookup

__all__ = [
    "Corpus",
    "DocumentCorpus",
    "DocumentWriter",
    "JsonlCorpus",
    "MappedDocuments",
    "contents_of",
    "document_from_json",
    "document_to_json",
]

_IDS = ("id", "_id", "docid")
_TEXTS = ("text", "contents")


class Corpus(Protocol):
    """Documents that can be gone through again and again, always the same in the same order."""

    @property
    def fingerprint(self) -> str:
        """A hash of every document and their order."""
        ...

    def __iter__(self) -> Iterator[Document]: ...


class DocumentCorpus:
    """Documents that are at hand, or made anew by a function each time.

    Args:
        documents: The documents, or a function that returns (or yields) them.
        fingerprint: What decides them, if that is known; otherwise they are gone through once to be hashed.

    >>> [document.title for document in DocumentCorpus([Document("1", "Oslo", "A city.")])]
    ['Oslo']
    """

    def __init__(
        self, documents: Iterable[Document] | Callable[[], Iterable[Document]], fingerprint: str | None = None
    ) -> None:
        self._make: Callable[[], Iterable[Document]] | None = documents if callable(documents) else None
        self._documents = () if callable(documents) else tuple(documents)
        self._fingerprint = fingerprint

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents if self._make is None else self._make())

    @property
    def fingerprint(self) -> str:
        """See `Corpus`."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            for document in self:
                for part in (document.id, document.title, document.text):
                    encoded = _encoded(part)
                    digest.update(len(encoded).to_bytes(8, "little"))
                    digest.update(encoded)
            self._fingerprint = f"documents:{digest.hexdigest()}"
        return self._fingerprint


class JsonlCorpus:
    """A file of one JSON object a line, plain or `.gz`, read line by line.

    Args:
        path: The file. Lines hold `id` (or `_id`, `docid`), and `contents` or `text`, with or without `title`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ConfigurationError(f"corpus {str(self.path)!r} is not a file")

    def __iter__(self) -> Iterator[Document]:
        for number, line in enumerate(self._lines(), 1):
            if line.strip():
                try:
                    document = document_from_json(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise ConfigurationError(f"{self.path}, line {number}: {error}") from error
                yield document

    def _lines(self) -> Iterator[bytes]:
        opened: Callable[..., Any] = gzip.open if self.path.suffix == ".gz" else open
        try:
            with opened(self.path, "rb") as lines:
                yield from lines
        except (OSError, EOFError, zlib.error) as fault:
            raise InfrastructureError(f"corpus {str(self.path)!r} cannot be read: {fault}") from fault

    @property
    def fingerprint(self) -> str:
        """The hash of the file's bytes; remembered in the cache for as long as the file is untouched."""
        found = self.path.stat()
        state = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
        name = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:32]
        memo = cache_root() / "hashes" / f"{name}.json"
        try:
            remembered = json.loads(memo.read_bytes())
            if remembered["state"] == state:
                return str(remembered["fingerprint"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        with open(self.path, "rb") as file:
            fingerprint = f"jsonl:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        # A file that changed a moment ago can change again without new times: not remembered yet.
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > 2_000_000_000:
            _remember(memo, {"state": state, "fingerprint": fingerprint})
        return fingerprint


def _remember(memo: Path, values: dict[str, Any]) -> None:
    try:
        memo.parent.mkdir(parents=True, exist_ok=True)
        own = memo.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps(values), encoding="ascii")
        own.replace(memo)
    except OSError:
        return  # A cache that cannot be written costs time only.


def contents_of(document: Document) -> str:
    """Search-R1's `contents`: the title in double quotes, a newline, the text. This is also what is indexed.

    >>> contents_of(Document("1", "Oslo", "A city."))
    '"Oslo"\\nA city.'
    """
    return f'"{document.title}"\n{document.text}'


def document_to_json(document: Document) -> dict[str, str]:
    """A document as Search-R1's BM25 server shows it."""
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "contents": contents_of(document),
    }


def document_from_json(values: Any) -> Document:
    """The document of a JSON object: `title` and `text`, else what `contents` holds.

    Raises:
        ConfigurationError: If it is not one.

    >>> document_from_json({"id": 7, "contents": '"Oslo"\\nA city.'})
    Document(id='7', title='Oslo', text='A city.')
    """
    if not isinstance(values, dict):
        raise ConfigurationError(f"a document is a JSON object, got {str(values)[:80]!r}")
    found = next((values[name] for name in _IDS if values.get(name) is not None), None)
    if not isinstance(found, str | int) or isinstance(found, bool):
        raise ConfigurationError(f"a document needs an 'id' that is a string or a number, got {found!r}")
    title, text = values.get("title"), values.get("text")
    if text is None and isinstance(values.get("contents"), str):
        inside, text = _split(values["contents"])
        title = inside if title is None else title
    title = "" if title is None else title
    if not isinstance(title, str) or not isinstance(text, str):
        raise ConfigurationError(f"document {found!r} needs 'contents', or 'text' and perhaps 'title', as strings")
    return Document(str(found), title, text)


def _split(contents: str) -> tuple[str, str]:
    first, newline, rest = contents.partition("\n")
    if not newline:
        return "", contents
    quoted = len(first) >= 2 and first[0] == first[-1] == '"'
    return (first[1:-1] if quoted else first), rest


class DocumentWriter:
    """Writes documents into a directory for `MappedDocuments`, refusing an id that comes twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes = array("Q")
        self._writer = BlobWriter(folder, "documents")

    def write(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Passes the documents on, each written; what a directory needs besides is written after the last."""
        with self._writer as writer:
            for document in documents:
                fields = [document.id, document.title, document.text]
                writer.append(json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass"))
                self._hashes.append(key_hash(_encoded(document.id)))
                yield document
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        write_lookup(self._folder, "ids", hashes)
        self._refuse_twins(hashes)

    def _refuse_twins(self, hashes: np.ndarray) -> None:
        order = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        if len(same):
            blobs = Blobs(self._folder, "documents")
            for at in same:
                refuse_twins(_document(blobs[int(order[at + step])]) for step in (0, 1))


def refuse_twins(documents: Iterable[Document]) -> None:
    """Raises `ConfigurationError` for an id that comes twice."""
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise ConfigurationError(f"document id {document.id!r} comes twice; ids must be unique in a corpus")
        seen.add(document.id)


class MappedDocuments(Sequence[Document]):
    """The documents of a directory, read from disk when asked for."""

    def __init__(self, folder: Path) -> None:
        self._blobs = Blobs(folder, "documents")
        self._ids = Lookup(folder, "ids", lambda number: _encoded(self[number].id))

    def __len__(self) -> int:
        return len(self._blobs)

    def __getitem__(self, index: Any) -> Any:
        return _document(self._blobs[index])

    def by_id(self, document_id: str) -> Document | None:
        """The document of an id; None if there is none."""
        number = self._ids.get(_encoded(document_id))
        return None if number is None else _document(self._blobs[number])


def _document(blob: bytes) -> Document:
    return Document(*json.loads(blob.decode("utf-8", "surrogatepass")))


def _encoded(text: str) -> bytes:
    # A model can write a lone surrogate, which plain UTF-8 refuses.
    return text.encode("utf-8", "surrogatepass")
