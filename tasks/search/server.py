"""Serves a retriever over HTTP in Search-R1's form. Invariant: every request gets a JSON answer or a JSON error.

* `POST /retrieve` `{"queries": [...], "topk": 3, "return_scores": false}` gives `{"result": [[document, ...], ...]}`,
  one list per query; with `return_scores` each item is `{"document": document, "score": number}`.
* `POST /document` `{"id": "..."}` gives `{"document": document}`, null for an id that is not there.
* `GET /health` gives `{"status": "ok", "fingerprint": ..., "documents": ...}`.

A document is `{"id", "title", "text", "contents"}`. There is no authentication: it is meant for a machine or a cluster
of one's own.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.base import Hit, Retriever
from agentenv.tasks.search.corpus import document_to_json

__all__ = ["SearchServer"]

_LOG = logging.getLogger(__name__)
_IDLE_S = 60.0


class _RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class SearchServer:
    """A retriever behind a port.

    Args:
        retriever: What is served; it must bear several threads.
        host: The address to listen on.
        port: 0 chooses a free one.
        topk: Passages per query where the request names no number.
        max_body: The largest request, in bytes.
        max_queries: The most queries of a request.
        max_topk: The most passages of a query.

    Raises:
        ConfigurationError: If the address cannot be listened on.

    >>> from agentenv.tasks.search.base import Document
    >>> from agentenv.tasks.search.index import Bm25Retriever
    >>> from agentenv.tasks.search.remote import RemoteRetriever
    >>> with SearchServer(Bm25Retriever.of([Document("1", "Oslo", "A city.")]), port=0) as server:
    ...     RemoteRetriever(server.url).search(["cities"], k=3)[0][0].document.title
    'Oslo'
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        topk: int = 3,
        max_body: int = 8 << 20,
        max_queries: int = 1024,
        max_topk: int = 1000,
    ) -> None:
        if not 1 <= topk <= max_topk:
            raise ConfigurationError(f"topk must be between 1 and {max_topk}, got {topk}")
        self.retriever = retriever
        self.topk, self.max_body, self.max_queries, self.max_topk = topk, max_body, max_queries, max_topk
        try:
            self._http = _Http((host, port), self)
        except (OSError, OverflowError) as fault:
            raise ConfigurationError(f"cannot listen on {host}:{port}: {fault}") from fault
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address that clients use."""
        host, port = self._http.server_address[:2]
        shown = host.decode() if isinstance(host, bytes | bytearray) else str(host)
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"

    def start(self) -> SearchServer:
        """Serves from a thread of its own."""
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def serve_forever(self) -> None:
        """Serves from this thread until `close` is called from another, or an exception (Ctrl-C) comes."""
        self._http.serve_forever()

    def close(self) -> None:
        """Stops listening; idempotent."""
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.server_close()

    def __enter__(self) -> SearchServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, path: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a `POST`."""
        if path == "/document":
            return self._document(values)
        queries = values.get("queries")
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "'queries' must be a list of strings")
        if len(queries) > self.max_queries:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {self.max_queries} queries a request")
        topk = self.topk if values.get("topk") is None else values["topk"]
        if not isinstance(topk, int) or isinstance(topk, bool) or not 1 <= topk <= self.max_topk:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f"'topk' must be an integer between 1 and {self.max_topk}")
        with_scores = values.get("return_scores") or False
        if not isinstance(with_scores, bool):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "'return_scores' must be true or false")
        return {"result": [_items(hits, with_scores) for hits in self.retriever.search(queries, topk)]}

    def _document(self, values: Mapping[str, Any]) -> dict[str, Any]:
        wanted = values.get("id")
        if not isinstance(wanted, str):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "'id' must be a string")
        found = self.retriever.document(wanted)
        return {"document": None if found is None else document_to_json(found)}

    def health(self) -> dict[str, Any]:
        """What `/health` tells."""
        told: dict[str, Any] = {"status": "ok", "fingerprint": self.retriever.fingerprint}
        size = getattr(self.retriever, "__len__", None)
        if size is not None:
            told["documents"] = size()
        return told


def _items(hits: Sequence[Hit], with_scores: bool) -> list[dict[str, Any]]:
    documents = [document_to_json(hit.document) for hit in hits]
    if not with_scores:
        return list(documents)
    return [{"document": document, "score": hit.score} for document, hit in zip(documents, hits, strict=True)]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: SearchServer) -> None:
        self.owner = owner
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look its own name up, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        fault = sys.exception()
        if isinstance(fault, ConnectionError | TimeoutError):
            _LOG.debug("%s went away: %s", client_address, fault)
        else:
            _LOG.error("a request of %s failed", client_address, exc_info=fault)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    server_version = "agentenv"
    timeout = _IDLE_S
    # Without it, the answer's second packet waits for an acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._reply(self._get)

    def do_POST(self) -> None:
        self._reply(self._post)

    def _get(self) -> dict[str, Any]:
        if self.path.partition("?")[0] != "/health":
            raise self._unknown()
        return self.server.owner.health()

    def _post(self) -> dict[str, Any]:
        path = self.path.partition("?")[0]
        if path not in ("/retrieve", "/document"):
            raise self._unknown()
        return self.server.owner.answer(path, self._values())

    def _unknown(self) -> _RefusedError:
        return _RefusedError(HTTPStatus.NOT_FOUND, "there is POST /retrieve, POST /document and GET /health")

    def _values(self) -> Mapping[str, Any]:
        told = self.headers.get("Content-Length", "")
        if not (told.isascii() and told.isdigit()) or "Transfer-Encoding" in self.headers:
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "a request needs its Content-Length")
        if len(told) > 18 or int(told) > self.server.owner.max_body:
            raise _RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {self.server.owner.max_body} bytes a request"
            )
        body = self.rfile.read(int(told))
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None
        if not isinstance(values, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
        return values

    def _reply(self, make: Any) -> None:
        status, answer = HTTPStatus.OK, {}
        try:
            answer = make()
        except _RefusedError as refused:
            status, answer = refused.status, {"error": str(refused)}
        except InfrastructureError as fault:
            status, answer = HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(fault)}
        content = json.dumps(answer, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status is not HTTPStatus.OK:
            # Its body may be unread, and would be taken for the next request.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug("%s %s", self.address_string(), format % args)
