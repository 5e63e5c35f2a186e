"""The client of a retriever elsewhere, by Search-R1's `POST /retrieve`. Invariant: a failure is never "no results".

Whatever goes wrong on the way (refused, slow, cut off, an error status, an answer that is none) is tried again where
that can help and then raised as `InfrastructureError`, so that no episode is scored on a search that did not happen.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import random
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.base import Document, Hit
from agentenv.tasks.search.corpus import document_from_json

__all__ = ["RemoteRetriever"]

_ABSENT = (404, 405, 501)
_WORTH_ANOTHER_TRY = (408, 425, 429)
_REMEMBERED = 10_000
_NOT_JSON = object()
# Not the shared generator: a pause must not change what a seeded run draws next.
_JITTER = random.SystemRandom()


class RemoteRetriever:
    """Searches through a server that speaks Search-R1's protocol, ours (`agentenv serve-search`) or another.

    Args:
        url: The server, or its `/retrieve` address.
        timeout_s: The longest that one attempt may take, from connecting to the last byte.
        attempts: How often a request is made before it is given up.
        backoff_s: The pause after the first failure; it doubles each time.
        max_bytes: The longest answer that is read.
        sleep: How pauses are made; tests replace it.

    >>> RemoteRetriever("127.0.0.1:8000")
    Traceback (most recent call last):
    agentenv.errors.ConfigurationError: retriever url '127.0.0.1:8000' must be http://HOST or https://HOST
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 10.0,
        attempts: int = 4,
        backoff_s: float = 0.5,
        max_bytes: int = 64 << 20,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"retriever url {url!r} must be http://HOST or https://HOST")
        if not (timeout_s > 0 and attempts >= 1 and backoff_s >= 0 and max_bytes > 0):
            raise ConfigurationError(
                "a remote retriever needs timeout_s > 0, attempts >= 1, backoff_s >= 0 and max_bytes > 0, got "
                f"{timeout_s}, {attempts}, {backoff_s}, {max_bytes}"
            )
        self.url = url.rstrip("/").removesuffix("/retrieve")
        self._root = urlsplit(self.url).path
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._timeout_s, self._attempts, self._backoff_s = timeout_s, attempts, backoff_s
        self._max_bytes, self._sleep = max_bytes, sleep
        self._shown: OrderedDict[str, Document] = OrderedDict()
        self._lock = threading.Lock()
        self._fingerprint: str | None = None

    @property
    def fingerprint(self) -> str:
        """What the server's `/health` tells of its index; for a server without one, a hash of the address."""
        if self._fingerprint is None:
            told = self._ask("GET", "/health", None)
            known = told.get("fingerprint") if isinstance(told, dict) else None
            address = hashlib.sha256(self.url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            self._fingerprint = known if isinstance(known, str) and known else f"address:{address}"
        return self._fingerprint

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `Retriever.search`.

        Raises:
            InfrastructureError: If the server does not give a whole answer.
        """
        if k < 1:
            raise ConfigurationError(f"k must be at least 1, got {k}")
        if not queries:
            return []
        wanted = {"queries": list(queries), "topk": k, "return_scores": True}
        answer = self._ask("POST", "/retrieve", wanted)
        if answer is None:
            raise InfrastructureError(f"retriever {self.url} has no /retrieve; is the address right?")
        # The online-search servers of the same family answer with the bare list.
        lists = answer.get("result") if isinstance(answer, dict) else answer
        if not isinstance(lists, list) or len(lists) != len(queries):
            raise InfrastructureError(f"retriever {self.url}: {len(queries)} lists expected, got {_short(lists)}")
        found = [self._hits(items, k) for items in lists]
        self._remember(found)
        return found

    def document(self, document_id: str) -> Document | None:
        """See `Retriever.document`. From a server that gives no documents by id: one that a search here has shown."""
        answer = self._ask("POST", "/document", {"id": document_id})
        if answer is None:
            with self._lock:
                return self._shown.get(document_id)
        if not isinstance(answer, dict) or "document" not in answer:
            raise InfrastructureError(f"retriever {self.url}: no document in {_short(answer)}")
        return None if answer["document"] is None else self._document(answer["document"])

    def _hits(self, items: Any, k: int) -> list[Hit]:
        if not isinstance(items, list):
            raise InfrastructureError(f"retriever {self.url}: a list of passages expected, got {_short(items)}")
        return [self._hit(item) for item in items[:k]]

    def _hit(self, item: Any) -> Hit:
        inside = isinstance(item, dict) and "document" in item
        score = item.get("score", 0.0) if inside else 0.0
        if not isinstance(score, int | float) or not math.isfinite(score):
            raise InfrastructureError(f"retriever {self.url}: score {_short(score)} is not a number")
        return Hit(self._document(item["document"] if inside else item), float(score))

    def _document(self, values: Any) -> Document:
        if isinstance(values, dict) and not any(values.get(name) is not None for name in ("id", "_id", "docid")):
            text = json.dumps([values.get("title"), values.get("contents"), values.get("text")])
            values = {**values, "id": f"sha-{hashlib.sha256(text.encode()).hexdigest()[:16]}"}
        try:
            return document_from_json(values)
        except ConfigurationError as error:
            raise InfrastructureError(f"retriever {self.url}: {error}") from error

    def _remember(self, found: Sequence[Sequence[Hit]]) -> None:
        with self._lock:
            for hits in found:
                for hit in hits:
                    self._shown[hit.document.id] = hit.document
                    self._shown.move_to_end(hit.document.id)
            while len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)

    def _ask(self, method: str, path: str, values: Any) -> Any:
        """The JSON of an answer; None where the server knows no such path."""
        body = None if values is None else json.dumps(values).encode()
        pauses = [self._backoff_s * 2**count for count in range(self._attempts - 1)]
        for pause in [*pauses, None]:
            try:
                status, content = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException) as fault:
                problem = f"{type(fault).__name__}: {fault}"
            else:
                if status in _ABSENT:
                    return None
                try:
                    answer = json.loads(content)
                except (ValueError, RecursionError):
                    # An error page, or the answer of a server that died in the middle.
                    answer = _NOT_JSON
                if status == 200 and answer is not _NOT_JSON:
                    return answer
                problem = f"status {status}: {_short(content.decode('utf-8', 'replace'))}"
                if 400 <= status < 500 and status not in _WORTH_ANOTHER_TRY:
                    raise InfrastructureError(f"retriever {self.url}{path} refuses the request: {problem}")
            if pause is not None:
                # Many workers that failed together should not come back together.
                self._sleep(pause * _JITTER.uniform(0.5, 1.0))
        raise InfrastructureError(f"retriever {self.url}{path} failed {self._attempts} times; last: {problem}")

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout_s)
        cut = _Cut(connection)
        # The socket's own timeout starts anew with each byte.
        watch = threading.Timer(self._timeout_s, cut)
        watch.daemon = True
        watch.start()
        try:
            connection.connect()
            headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
            connection.request(method, f"{self._root}{path}", body, headers)
            response = connection.getresponse()
            content = response.read(self._max_bytes + 1)
            if cut.done:
                raise TimeoutError(f"no whole answer within {self._timeout_s:g} s")
            if len(content) > self._max_bytes:
                raise InfrastructureError(f"retriever {self.url}: an answer of over {self._max_bytes} bytes")
            if response.length:
                raise http.client.IncompleteRead(content, response.length)
            return response.status, content
        except (OSError, http.client.HTTPException):
            if cut.done:
                raise TimeoutError(f"no whole answer within {self._timeout_s:g} s") from None
            raise
        finally:
            watch.cancel()
            connection.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


class _Cut:
    """Cuts a connection, so that whoever waits for it stops waiting."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self.done = False

    def __call__(self) -> None:
        self.done = True
        opened = self._connection.sock
        if opened is not None:
            try:
                opened.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # It was over already.


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
