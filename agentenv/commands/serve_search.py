"""`agentenv serve-search`: BM25, or dense vectors, over a corpus file, in Search-R1's form."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import tyro

from agentenv.commands.console import error_console, parse, plain

__all__ = ["main"]

_DESCRIPTION = """Serve a corpus for search over HTTP, as Search-R1's retrieval server does.

`POST /retrieve` answers queries, `POST /document` gives a whole document, `GET /health` tells whether it runs. The
index is made at the first start and kept in the cache. Ctrl-C ends it. It asks nobody who they are: do not open it to
the world.

Examples:
  agentenv serve-search wiki.jsonl                                BM25 on http://127.0.0.1:8000
  agentenv serve-search wiki.jsonl.gz --host 0.0.0.0 --port 9000
  agentenv serve-search wiki.jsonl --dense intfloat/e5-base-v2    dense vectors, cosine similarity"""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv serve-search`."""

    corpus: Annotated[Path, tyro.conf.Positional]
    """A file of JSON lines with `id`, and `contents` or `title` and `text`; plain or .gz."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 8000
    """The port; 0 takes a free one."""
    topk: int = 3
    """Passages per query where the request does not say."""
    k1: float = 0.9
    """BM25: how slowly repeated terms saturate."""
    b: float = 0.4
    """BM25: how much long documents are held back."""
    dense: str | None = None
    """A sentence-transformers model, by name or directory, instead of BM25."""
    cache: Path | None = None
    """Where indexes are kept (default: $AGENTENV_CACHE, else ~/.cache/agentenv)."""


def main(argv: Sequence[str]) -> int:
    """Serves until Ctrl-C or SIGTERM."""
    options = parse(Options, argv, "serve-search", _DESCRIPTION)
    console = error_console()
    console.print(plain(f"opening {options.corpus}; a first start makes the index"))
    retriever = _retriever(options)
    server = import_module("agentenv.tasks.search.server").SearchServer(
        retriever, host=options.host, port=options.port, topk=options.topk
    )
    signal.signal(signal.SIGTERM, _stop)
    console.print(plain(f"{len(retriever):,} documents on {server.url} (Ctrl-C ends it)"))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        console.print(plain("stopped"))
    finally:
        server.close()
    return 0


def _retriever(options: Options) -> Any:
    corpus = import_module("agentenv.tasks.search.corpus").JsonlCorpus(options.corpus)
    if options.dense is not None:
        return import_module("agentenv.tasks.search.dense").DenseRetriever.open(
            corpus, options.dense, cache=options.cache
        )
    return import_module("agentenv.tasks.search.index").Bm25Retriever.open(
        corpus, k1=options.k1, b=options.b, cache=options.cache
    )


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
