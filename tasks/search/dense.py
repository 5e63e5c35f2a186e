"""Retrieval by vectors: an encoder, and the passages whose vectors lie nearest. Invariant: equal scores go by order.

Optional: encoders by name need sentence-transformers, and any index but the exact one needs faiss. Both are asked for
when they are used, with an error that says what to install.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.base import Document, Hit
from agentenv.tasks.search.corpus import Corpus, DocumentWriter, MappedDocuments
from agentenv.tasks.search.storage import cache_root, made_once, mapped

__all__ = ["DenseRetriever", "Encoder", "sentence_encoder"]

#: Vectors [N, dimension] of N texts.
Encoder = Callable[[Sequence[str]], np.ndarray]

_FORMAT = 1
_BATCH = 256
_ROWS = 65_536


class DenseRetriever:
    """Finds the passages whose vectors have the largest cosine with the query's. Made by `open`.

    Unlike with words, something is always near: up to `k` documents are found for every query, the empty one included.
    """

    def __init__(
        self,
        fingerprint: str,
        encode: Encoder,
        query_prefix: str,
        documents: MappedDocuments,
        vectors: np.ndarray,
        approximate: Any = None,
    ) -> None:
        self._fingerprint = fingerprint
        self._encode = encode
        self._query_prefix = query_prefix
        self._documents = documents
        self._vectors = vectors
        self._approximate = approximate

    @classmethod
    def open(
        cls,
        corpus: Corpus,
        encoder: str | Encoder,
        *,
        name: str = "",
        query_prefix: str = "",
        passage_prefix: str = "",
        index: str = "exact",
        cache: str | Path | None = None,
    ) -> DenseRetriever:
        """Opens the vectors of a corpus, made first if this machine has not made them before.

        Args:
            corpus: The documents.
            encoder: A sentence-transformers model by name or directory, or a function.
            name: Tells functions apart in the cache; required for one.
            query_prefix: What the model wants before a query ("query: " for E5).
            passage_prefix: What the model wants before a passage ("passage: " for E5).
            index: "exact", or "faiss:" and a factory string ("faiss:HNSW32,Flat"): faster, and approximate.
            cache: Where vectors are kept; see `storage.cache_root`.

        Raises:
            ConfigurationError: If a package is missing, or an argument cannot be used.
            InfrastructureError: If the vectors cannot be written or read, or the encoder gives what are none.
        """
        if isinstance(encoder, str):
            encode, name = sentence_encoder(encoder), encoder
        else:
            encode = encoder
        if not name:
            raise ConfigurationError("an encoder that is a function needs a name, which tells its vectors apart")
        if index != "exact" and not index.startswith("faiss:"):
            raise ConfigurationError(f"index {index!r} is not 'exact' or 'faiss:FACTORY' (say 'faiss:HNSW32,Flat')")
        deciding = [_FORMAT, corpus.fingerprint, name, query_prefix, passage_prefix]
        vectors_of = hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:32]
        root = (cache_root() if cache is None else Path(cache)) / "dense"
        place = made_once(root / vectors_of, lambda folder: _write(folder, corpus, encode, passage_prefix))
        try:
            vectors, documents = mapped(place / "vectors.npy"), MappedDocuments(place)
        except (OSError, ValueError, EOFError) as fault:
            raise InfrastructureError(f"vectors {place} cannot be read ({fault}); remove the directory") from fault
        approximate = None if index == "exact" else _faiss_index(index.removeprefix("faiss:"), vectors)
        fingerprint = hashlib.sha256(f"{vectors_of} {index}".encode()).hexdigest()[:32]
        return cls(fingerprint, encode, query_prefix, documents, vectors, approximate)

    def __deepcopy__(self, memo: dict[int, Any]) -> DenseRetriever:
        return self  # Nothing in it changes.

    @property
    def fingerprint(self) -> str:
        """See `Retriever.fingerprint`."""
        return self._fingerprint

    def __len__(self) -> int:
        return len(self._documents)

    def document(self, document_id: str) -> Document | None:
        """See `Retriever.document`."""
        return self._documents.by_id(document_id)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `Retriever.search`; scores are cosines."""
        if k < 1:
            raise ConfigurationError(f"k must be at least 1, got {k}")
        if not queries or not len(self._documents):
            return [[] for _ in queries]
        wanted = _unit(self._encode([self._query_prefix + query for query in queries]), len(queries))
        if self._approximate is not None:
            scores, places = self._approximate.search(wanted, min(k, len(self)))
        else:
            scores, places = _nearest(wanted, self._vectors, min(k, len(self)))
        return [
            [
                Hit(self._documents[int(place)], float(score))
                for score, place in zip(row, where, strict=True)
                if place >= 0
            ]
            for row, where in zip(scores, places, strict=True)
        ]


def sentence_encoder(model: str) -> Encoder:
    """The encoder of a sentence-transformers model, by name or directory.

    Raises:
        ConfigurationError: If sentence-transformers is missing, or it cannot load the model.
    """
    library = _needed("sentence_transformers", "sentence-transformers", f"encoder {model!r}")
    try:
        loaded = library.SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"sentence-transformers cannot load {model!r}: {error}") from error

    def encode(texts: Sequence[str]) -> np.ndarray:
        # Tokenizers refuse lone surrogates, which a model can write.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        vectors: np.ndarray = loaded.encode(clean, convert_to_numpy=True, show_progress_bar=False)
        return vectors

    return encode


def _needed(module: str, package: str, purpose: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(f"{purpose} needs {package}: pip install 'agentenv-gym[dense]'") from error


def _faiss_index(factory: str, vectors: np.ndarray) -> Any:
    faiss = _needed("faiss", "faiss-cpu", f"index 'faiss:{factory}'")
    try:
        index = faiss.index_factory(vectors.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
        if len(vectors):
            index.train(vectors)
            index.add(vectors)
    except RuntimeError as error:
        raise ConfigurationError(f"faiss cannot make an index {factory!r}: {error}") from error
    return index


def _nearest(wanted: np.ndarray, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and places [Q, k] of the nearest rows, a block of rows at a time."""
    best_scores = np.empty((len(wanted), 0), dtype=np.float32)
    best_places = np.empty((len(wanted), 0), dtype=np.int64)
    for start in range(0, len(vectors), _ROWS):
        scores = wanted @ vectors[start : start + _ROWS].T
        places = np.broadcast_to(np.arange(start, start + scores.shape[1]), scores.shape)
        best_scores = np.concatenate([best_scores, scores], axis=1)
        best_places = np.concatenate([best_places, places], axis=1)
        # Stable, and earlier blocks stand first: equal scores keep the corpus' order.
        order = np.argsort(-best_scores, axis=1, kind="stable")[:, :k]
        best_scores = np.take_along_axis(best_scores, order, axis=1)
        best_places = np.take_along_axis(best_places, order, axis=1)
    return best_scores, best_places


def _unit(vectors: Any, count: int) -> np.ndarray:
    made = np.asarray(vectors, dtype=np.float32)
    if made.ndim != 2 or len(made) != count or not np.isfinite(made).all():
        raise InfrastructureError(f"the encoder must give {count} finite vectors, got an array of shape {made.shape}")
    norms = np.linalg.norm(made, axis=1, keepdims=True)
    unit: np.ndarray = np.divide(made, norms, out=np.zeros_like(made), where=norms > 0)
    return unit


def _write(folder: Path, corpus: Corpus, encode: Encoder, prefix: str) -> None:
    parts: list[Path] = []
    for batch in _batches(DocumentWriter(folder).write(corpus)):
        texts = [
            prefix + (f"{document.title}\n{document.text}" if document.title else document.text) for document in batch
        ]
        parts.append(folder / f"part-{len(parts)}.npy")
        np.save(parts[-1], _unit(encode(texts), len(batch)))
    rows, width = 0, 1
    for part in parts:
        found = mapped(part)
        rows, width = rows + len(found), found.shape[1]
    if not rows:
        np.save(folder / "vectors.npy", np.empty((0, width), dtype=np.float32))
        return
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float32, shape=(rows, width))
    start = 0
    for part in parts:
        found = mapped(part)
        vectors[start : start + len(found)] = found
        start += len(found)
        part.unlink()


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
