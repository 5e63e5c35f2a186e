"""BM25 over any corpus, exact and memory-mapped. Invariant: the same corpus and settings find the same, everywhere.

`Bm25Retriever.of` indexes a handful of documents in memory; `Bm25Retriever.open` indexes a corpus of any size on disk,
once, and opens it in milliseconds afterwards, in as many processes as like, which share its pages.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.analysis import ANALYSIS, analyse
from agentenv.tasks.search.base import Document, Hit
from agentenv.tasks.search.corpus import (
    Corpus,
    DocumentCorpus,
    DocumentWriter,
    MappedDocuments,
    contents_of,
    refuse_twins,
)
from agentenv.tasks.search.postings import Inverter, Postings
from agentenv.tasks.search.storage import Blobs, BlobWriter, Lookup, cache_root, key_hash, made_once, write_lookup

__all__ = ["Bm25Retriever", "best"]

_FORMAT = 1
_BLOCK = 1024


class Bm25Retriever:
    """Finds documents by BM25 with Lucene's formula, analysis and defaults. Made by `of` or `open`.

    Documents that share no term with the query are not found. Equal scores go by corpus order.

    >>> hills = [Document("a", "Oslo", "A city with hills."), Document("b", "Rome", "Seven hills, seven hills.")]
    >>> retriever = Bm25Retriever.of(hills)
    >>> [[hit.document.id for hit in hits] for hits in retriever.search(["hills", "cities", "?"], k=5)]
    [['b', 'a'], ['a'], []]
    """

    def __init__(
        self,
        fingerprint: str,
        scores: bm25s.BM25,
        term: Callable[[str], int | None],
        documents: Sequence[Document],
        by_id: Callable[[str], Document | None],
        folder: Path | None = None,
    ) -> None:
        self._fingerprint = fingerprint
        self._scores = scores
        self._term = term
        self._documents = documents
        self._by_id = by_id
        self._folder = folder
        self._blocks = np.arange(0, len(documents), _BLOCK)

    @classmethod
    def of(cls, documents: Iterable[Document], *, k1: float = 0.9, b: float = 0.4) -> Bm25Retriever:
        """Indexes documents in memory: a question's own paragraphs, a test's corpus.

        Raises:
            ConfigurationError: If an id comes twice, or for settings outside of their range.
        """
        _check(k1, b)
        kept = tuple(documents)
        refuse_twins(kept)
        vocabulary = _vocabulary()
        inverter = Inverter()
        for document in kept:
            inverter.add(map(vocabulary.__getitem__, analyse(contents_of(document))))
        postings = inverter.finish(len(vocabulary), k1, b, lambda name, size, kind: np.empty(size, dtype=kind))
        fingerprint = _fingerprint(DocumentCorpus(kept), k1, b)
        ids = {document.id: document for document in kept}
        return cls(fingerprint, _scores(postings, k1, b), dict(vocabulary).get, kept, ids.get)

    @classmethod
    def open(cls, corpus: Corpus, *, k1: float = 0.9, b: float = 0.4, cache: str | Path | None = None) -> Bm25Retriever:
        """Opens the index of a corpus, made first if this machine has not made it before.

        Args:
            corpus: Gone through once, if at all.
            k1: How slowly repeated terms saturate; Pyserini's default.
            b: How much long documents are held back; Pyserini's default.
            cache: Where indexes are kept; see `storage.cache_root`.

        Raises:
            ConfigurationError: If the corpus cannot be read, an id comes twice, or a setting is outside of its range.
            InfrastructureError: If the index cannot be written or read.
        """
        _check(k1, b)
        fingerprint = _fingerprint(corpus, k1, b)
        # Word rules come from Python's Unicode tables: another Python's index is another index.
        place = (
            (cache_root() if cache is None else Path(cache)) / "bm25" / f"{fingerprint}-{unicodedata.unidata_version}"
        )
        return _opened(made_once(place, lambda folder: _write(folder, corpus, fingerprint, k1, b)))

    @property
    def fingerprint(self) -> str:
        """See `Retriever.fingerprint`."""
        return self._fingerprint

    def __len__(self) -> int:
        return len(self._documents)

    def document(self, document_id: str) -> Document | None:
        """See `Retriever.document`."""
        return self._by_id(document_id)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `Retriever.search`."""
        if k < 1:
            raise ConfigurationError(f"k must be at least 1, got {k}")
        return [self._search(query, k) for query in queries]

    def _search(self, query: str, k: int) -> list[Hit]:
        numbers = ((self._term(term), count) for term, count in Counter(analyse(query)).items())
        by_count: defaultdict[int, list[int]] = defaultdict(list)
        for number, count in numbers:
            if number is not None:
                by_count[count].append(number)
        if not by_count:
            return []
        parts = [count * self._scores.get_scores_from_ids(terms) for count, terms in by_count.items()]
        scores = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
        return [Hit(self._documents[int(at)], float(scores[at])) for at in best(scores, k, self._blocks)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Bm25Retriever:
        return self  # Nothing in it changes.

    def __getstate__(self) -> Mapping[str, Any]:
        # Maps of files are opened again by whoever unpickles, or copies; what lies in memory goes along.
        return self.__dict__ if self._folder is None else {"_folder": self._folder}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        folder = state["_folder"]
        self.__dict__.update(state if folder is None else _opened(folder).__dict__)


def best(scores: np.ndarray, k: int, blocks: np.ndarray | None = None) -> np.ndarray:
    """The places of the `k` largest scores above zero, largest first, equal ones in their order.

    Args:
        scores: None below zero.
        k: At most so many are returned.
        blocks: Where blocks of the scores begin. The k-th largest of the blocks' maxima bounds the k-th largest score
            from below, which spares sorting nearly all of them.

    >>> best(np.array([0.0, 2.0, 5.0, 2.0]), 2).tolist()
    [2, 1]
    """
    bound = 0.0
    if blocks is not None and len(blocks) > k:
        bound = float(np.partition(np.maximum.reduceat(scores, blocks), -k)[-k])
    places = np.flatnonzero(scores >= bound) if bound > 0 else np.flatnonzero(scores)
    found = scores[places]
    if len(places) > k:
        last = np.partition(found, -k)[-k]
        above = places[found > last]
        places = np.concatenate([above, places[found == last][: k - len(above)]])
        found = scores[places]
    ordered: np.ndarray = places[np.argsort(-found, kind="stable")]
    return ordered


def _check(k1: float, b: float) -> None:
    if not (0 <= k1 < float("inf") and 0 <= b <= 1):
        raise ConfigurationError(f"BM25 needs k1 >= 0 and 0 <= b <= 1, got k1={k1} and b={b}")


def _fingerprint(corpus: Corpus, k1: float, b: float) -> str:
    deciding = [_FORMAT, ANALYSIS, corpus.fingerprint, float(k1), float(b)]
    return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:32]


def _vocabulary() -> defaultdict[str, int]:
    """Numbers terms in the order in which they are met."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def _scores(postings: Postings, k1: float, b: float) -> bm25s.BM25:
    model: Any = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    model.scores = {
        "data": postings.data,
        "indices": postings.indices,
        "indptr": postings.indptr,
        "num_docs": postings.documents,
    }
    model.nonoccurrence_array = None
    scores: bm25s.BM25 = model
    return scores


def _write(folder: Path, corpus: Corpus, fingerprint: str, k1: float, b: float) -> None:
    vocabulary = _vocabulary()
    inverter = Inverter(spill=folder)
    for document in DocumentWriter(folder).write(corpus):
        inverter.add(map(vocabulary.__getitem__, analyse(contents_of(document))))

    def allocate(name: str, size: int, kind: type) -> np.ndarray:
        # The names under which bm25s looks for them.
        path = folder / f"{name}{'.csc' if name != 'vocab' else ''}.index.npy"
        if size == 0:
            np.save(path, np.empty(0, dtype=kind))
            return np.empty(0, dtype=kind)
        made: np.ndarray = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(size,))
        return made

    postings = inverter.finish(len(vocabulary), k1, b, allocate)
    with BlobWriter(folder, "terms") as terms:
        for term in vocabulary:
            terms.append(_bytes(term))
    hashes = np.fromiter((key_hash(_bytes(term)) for term in vocabulary), dtype=np.uint64, count=len(vocabulary))
    write_lookup(folder, "terms", hashes)
    settings = {
        "k1": k1,
        "b": b,
        "delta": 0.5,
        "method": "lucene",
        "idf_method": "lucene",
        "dtype": "float64",
        "int_dtype": "int32",
        "num_docs": postings.documents,
        "version": bm25s.__version__,
        "backend": "numpy",
    }
    (folder / "params.index.json").write_text(json.dumps(settings), encoding="ascii")
    (folder / "fingerprint").write_text(fingerprint, encoding="ascii")


def _opened(folder: Path) -> Bm25Retriever:
    try:
        scores = bm25s.BM25.load(folder, load_vocab=False, mmap=True, show_progress=False)
        terms = Blobs(folder, "terms")
        lookup = Lookup(folder, "terms", terms.__getitem__)
        documents = MappedDocuments(folder)
        fingerprint = (folder / "fingerprint").read_text(encoding="ascii")
    except (OSError, ValueError, EOFError) as fault:
        raise InfrastructureError(f"index {folder} cannot be read ({fault}); remove the directory") from fault
    return Bm25Retriever(fingerprint, scores, lambda term: lookup.get(_bytes(term)), documents, documents.by_id, folder)


def _bytes(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")
