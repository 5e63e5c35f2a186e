"""From terms to BM25 scores, in bounded memory. Invariant: every score is the formula in float64, rounded to float32.

The scores are computed once, as bm25s does, and lie in bm25s' own layout: for each term the documents that hold it, in
corpus order, with the score that the term gives each. Lucene's formula::

    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))

N and the mean count every document, and lengths are exact, where Lucene keeps them in one byte. They are stored in
float64, although they have float32's precision: sums of them are then exact, so that no order of addition decides
between two documents.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Allocate", "Inverter", "Postings"]

#: Makes an array by name, length and type: in memory, or in a file.
Allocate = Callable[[str, int, type], np.ndarray]

_CHUNK_TOKENS = 4_000_000


@dataclass(frozen=True)
class Postings:
    """Scores by term: those of term t are `data[indptr[t]:indptr[t + 1]]`, of the documents `indices[...]`."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    documents: int


class Inverter:
    """Takes documents as term numbers, one after the other, and turns them into `Postings`.

    Args:
        spill: A directory for what would not fit into memory, about 12 bytes per distinct term of each document; None
            keeps it in memory.
    """

    def __init__(self, spill: Path | None = None) -> None:
        self._spill = spill
        self._chunks: list[np.ndarray | Path] = []
        self._tokens = array("i")
        self._lengths = array("i")
        self._first = 0

    def add(self, terms: Iterable[int]) -> None:
        """Adds the next document: the number of each of its terms, as often as it occurs."""
        before = len(self._tokens)
        self._tokens.extend(terms)
        self._lengths.append(len(self._tokens) - before)
        if len(self._tokens) >= _CHUNK_TOKENS:
            self._flush()

    def _flush(self) -> None:
        """Counts what was added since the last time: rows of term, document, frequency, sorted by the first two."""
        lengths = np.frombuffer(self._lengths, dtype=np.int32)[self._first :]
        tokens = np.frombuffer(self._tokens, dtype=np.int32)
        owner = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        pairs, counts = np.unique((tokens.astype(np.int64) << 32) | owner, return_counts=True)
        chunk = np.empty((3, len(pairs)), dtype=np.int32)
        chunk[0] = pairs >> 32
        chunk[1] = (pairs & 0xFFFFFFFF) + self._first
        chunk[2] = counts
        self._first += len(lengths)
        self._tokens = array("i")
        if self._spill is None:
            self._chunks.append(chunk)
        else:
            path = self._spill / f"chunk-{len(self._chunks)}.npy"
            np.save(path, chunk)
            self._chunks.append(path)

    def finish(self, terms: int, k1: float, b: float, allocate: Allocate) -> Postings:
        """The postings of all documents; `terms` is the number of different terms."""
        self._flush()
        lengths = np.frombuffer(self._lengths, dtype=np.int32).astype(np.float64)
        frequencies = np.zeros(terms, dtype=np.int64)
        for chunk in self._chunks:
            frequencies += np.bincount(_read(chunk)[0], minlength=terms)
        indptr = allocate("indptr", terms + 1, np.int64)
        indptr[0] = 0
        np.cumsum(frequencies, out=indptr[1:])
        data = allocate("data", int(indptr[-1]), np.float64)
        indices = allocate("indices", int(indptr[-1]), np.int32)
        count = len(lengths)
        idf = np.log(1 + (count - frequencies + 0.5) / (frequencies + 0.5))
        # A corpus without a single term has no mean length, and nothing to score.
        mean = lengths.mean() if lengths.any() else 1.0
        norms = k1 * (1 - b + b * lengths / mean)
        heads = indptr[:-1].copy()
        for chunk in self._chunks:
            term, document, frequency = _read(chunk)
            starts = np.flatnonzero(np.diff(term, prepend=-1))
            sizes = np.diff(starts, append=len(term))
            places = heads[term] + np.arange(len(term)) - np.repeat(starts, sizes)
            scores = idf[term] * frequency / (frequency + norms[document])
            data[places] = scores.astype(np.float32)
            indices[places] = document
            heads[term[starts]] += sizes
            if isinstance(chunk, Path):
                chunk.unlink()
        return Postings(data, indices, indptr, count)


def _read(chunk: np.ndarray | Path) -> np.ndarray:
    loaded: np.ndarray = np.load(chunk) if isinstance(chunk, Path) else chunk
    return loaded
