"""BM25 at scale: `python -m benchmarks.search_scale [passages]` makes, opens and searches an index of generated text.

Indexing and searching run in processes of their own, so that the peak of one is not counted for the other. The index
is made in a temporary directory (`TMPDIR`), which needs about 1.7 kB a passage, and 2.5 kB while it is made. The
passages have 40 to 120 words drawn by Zipf's law from 200,000, in their number and in their text the same every time;
queries are 3 to 8 words of a passage.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from agentenv.tasks.search.base import Document
from agentenv.tasks.search.corpus import DocumentCorpus
from agentenv.tasks.search.index import Bm25Retriever
from benchmarks.timing import machine

PASSAGES = 1_000_000
QUERIES = 500
K = 5
_BLOCK = 5_000
_SYLLABLES = (
    "ba be bi bo da de di do fa fe ga go ka ke la le li lo ma me mi na ne no pa pe ra re ri ro sa se si ta te ti to"
)


def vocabulary() -> np.ndarray:
    """200,000 words: a rank in syllables, frequent words short."""
    syllables = _SYLLABLES.split()
    words = []
    for rank in range(200_000):
        word, left = "", rank
        while left or not word:
            left, digit = divmod(left, len(syllables))
            word += syllables[digit]
        words.append(word)
    return np.array(words, dtype=object)


def passages(count: int) -> Iterator[Document]:
    """The generated passages, a block from its own seed at a time."""
    words = vocabulary()
    weights = np.cumsum(1.0 / (np.arange(len(words)) + 2.7))
    for start in range(0, count, _BLOCK):
        rng = np.random.default_rng([start, 20_240_101])
        lengths = rng.integers(40, 121, _BLOCK)
        drawn = words[np.searchsorted(weights, rng.random(int(lengths.sum())) * weights[-1])]
        ends = np.cumsum(lengths)
        for place in range(min(_BLOCK, count - start)):
            text = drawn[ends[place] - lengths[place] : ends[place]]
            yield Document(str(start + place), f"{text[0]} {text[-1]}", " ".join(text))


def corpus(count: int) -> DocumentCorpus:
    return DocumentCorpus(lambda: passages(count), fingerprint=f"benchmark-1:{count}")


def queries(count: int) -> list[str]:
    rng = np.random.default_rng(1)
    texts = [document.text.split() for document in passages(min(count, QUERIES))]
    return [" ".join(rng.choice(text, rng.integers(3, 9))) for text in texts]


def generate(count: int, cache: Path) -> dict[str, float]:
    started = time.perf_counter()
    total = sum(len(document.text) for document in passages(count))
    return {"generating alone, s": time.perf_counter() - started, "text, MB": total / 1e6}


def index(count: int, cache: Path) -> dict[str, float]:
    started, spent = time.perf_counter(), time.process_time()
    Bm25Retriever.open(corpus(count), cache=cache)
    told = {
        "indexing (generating included), s": time.perf_counter() - started,
        "of it CPU, s": time.process_time() - spent,
    }
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    return {**told, "peak resident, MB": _peak_mb(), "index on disk, MB": size / 1e6}


def search(count: int, cache: Path) -> dict[str, float]:
    asked = queries(count)
    before = _peak_mb()
    started = time.perf_counter()
    retriever = Bm25Retriever.open(corpus(count), cache=cache)
    opened = time.perf_counter() - started
    times, spent = [], time.process_time()
    for query in asked:
        begun = time.perf_counter()
        found = retriever.search([query], K)[0]
        times.append(time.perf_counter() - begun)
        if not found:
            raise RuntimeError(f"nothing found for {query!r}")
    cpu = time.process_time() - spent
    return {
        "opening, ms": 1000 * opened,
        f"queries/s at k = {K}": len(asked) / sum(times),
        "queries per CPU second": len(asked) / cpu,
        "median, ms": 1000 * float(np.median(times)),
        "99th percentile, ms": 1000 * float(np.quantile(times, 0.99)),
        "peak resident, MB": _peak_mb(),
        "of it before opening, MB": before,
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _alone(work: Callable[[int, Path], dict[str, float]], count: int, cache: Path) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_send, args=(work, count, cache, theirs))
    process.start()
    theirs.close()
    try:
        told: dict[str, float] = ours.recv()
    finally:
        process.join()
    return told


def _send(work: Callable[[int, Path], dict[str, float]], count: int, cache: Path, pipe: Connection) -> None:
    pipe.send(work(count, cache))


def table(count: int = PASSAGES) -> Table:
    """Time and memory of each stage."""
    out = Table(title=f"BM25 over {count:,} generated passages")
    out.add_column("what")
    out.add_column("value", justify="right")
    with tempfile.TemporaryDirectory() as cache:
        for work in (generate, index, search):
            for name, value in _alone(work, count, Path(cache)).items():
                out.add_row(f"{work.__name__}: {name}", f"{value:,.1f}")
    return out


def main(arguments: list[str]) -> int:
    """Prints the table."""
    console = Console()
    if len(arguments) > 1 or not all(argument.isdigit() and int(argument) for argument in arguments):
        console.print("usage: python -m benchmarks.search_scale [passages]")
        return 2
    console.print(machine())
    console.print(table(int(arguments[0]) if arguments else PASSAGES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
