from __future__ import annotations

import copy
import http.client
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search.base import Document, Hit
from agentenv.tasks.search.index import Bm25Retriever
from agentenv.tasks.search.remote import RemoteRetriever
from agentenv.tasks.search.server import SearchServer
from tests.tasks.search.test_index import DOCUMENTS, HOSTILE

ROOT = Path(__file__).resolve().parents[3]
LOCAL = Bm25Retriever.of(DOCUMENTS)


@pytest.fixture(scope="module")
def server() -> Iterator[SearchServer]:
    with SearchServer(LOCAL, port=0, max_body=200_000, max_queries=4, max_topk=10) as running:
        yield running


def ask(server: SearchServer, body: Any, path: str = "/retrieve", method: str = "POST") -> tuple[int, Any]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@contextmanager
def raw_server(answer: Callable[[int], bytes], *, hold: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers the n-th connection with given bytes, whatever it asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    requests: list[bytes] = []
    held: list[socket.socket] = []

    def work() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            # All of it: closing over unread bytes would reset the connection.
            with connection.makefile("rb") as lines:
                request = b""
                while not request.endswith(b"\r\n\r\n"):
                    request += lines.readline()
                length = re.search(rb"(?i)content-length: (\d+)", request)
                request += lines.read(int(length[1])) if length else b""
            requests.append(request)
            connection.sendall(answer(len(requests) - 1))
            held.append(connection) if hold else connection.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        # Closing alone does not wake a thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in held:
            connection.close()


def reply(content: Any, status: str = "200 OK", length: int | None = None) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


def quick(url: str, **options: Any) -> RemoteRetriever:
    return RemoteRetriever(url, **{"sleep": lambda pause: None, "timeout_s": 20.0, **options})


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_the_remote_finds_what_the_local_finds(server: SearchServer, query: str) -> None:
    assert quick(server.url).search([query, "hills"], 3) == LOCAL.search([query, "hills"], 3)


def test_documents_and_fingerprint_come_from_the_server(server: SearchServer) -> None:
    remote = quick(server.url + "/retrieve/")
    assert [remote.document(document.id) for document in DOCUMENTS] == DOCUMENTS
    assert remote.document("absent") is None
    assert remote.fingerprint == LOCAL.fingerprint
    assert remote.search([], 3) == []


def test_many_threads_get_their_own_answers(server: SearchServer) -> None:
    queries = ["hills", "oslo", "rome", "city seven", ""] * 8
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: quick(server.url).search([query], 3)[0], queries))
    assert found == LOCAL.search(queries, 3)


def test_search_r1s_form_with_and_without_scores(server: SearchServer) -> None:
    status, bare = ask(server, {"queries": ["hills", "nothing"], "topk": 1, "return_scores": False})
    assert (status, [len(items) for items in bare["result"]]) == (200, [1, 1])
    assert bare["result"][0][0] == {
        "id": "a",
        "title": "Oslo",
        "text": "A city with hills. The hills of Oslo.",
        "contents": '"Oslo"\nA city with hills. The hills of Oslo.',
    }
    status, scored = ask(server, {"queries": ["hills"], "topk": None, "return_scores": True})
    assert [item["document"]["id"] for item in scored["result"][0]] == ["a", "b"]
    assert [item["score"] for item in scored["result"][0]] == [hit.score for hit in LOCAL.search(["hills"], 3)[0]]
    assert ask(server, {"queries": []}) == (200, {"result": []})


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        ([], 400, "JSON object"),
        ({}, 400, "'queries'"),
        ({"queries": "hills"}, 400, "'queries'"),
        ({"queries": [1]}, 400, "'queries'"),
        ({"queries": ["x"] * 5}, 413, "at most 4 queries"),
        ({"queries": ["x"], "topk": 0}, 400, "'topk'"),
        ({"queries": ["x"], "topk": 11}, 400, "'topk'"),
        ({"queries": ["x"], "topk": True}, 400, "'topk'"),
        ({"queries": ["x"], "topk": 2.0}, 400, "'topk'"),
        ({"queries": ["x"], "return_scores": "yes"}, 400, "'return_scores'"),
        ({"queries": ["x" * 300_000]}, 413, "at most 200000 bytes"),
    ],
)
def test_what_is_no_request_is_refused_and_the_server_goes_on(
    server: SearchServer, body: Any, status: int, told: str
) -> None:
    try:
        got, answer = ask(server, body)
    except (BrokenPipeError, ConnectionResetError):
        # An oversized body is not read to its end; the refusal can be lost with it.
        assert status == 413
    else:
        assert (got, told in answer["error"]) == (status, True)
    assert ask(server, None, "/health", "GET")[1]["documents"] == 4


def test_other_paths_and_bodies_without_length_are_refused(server: SearchServer) -> None:
    assert ask(server, {}, "/elsewhere")[0] == 404
    assert ask(server, None, "/retrieve", "GET")[0] == 404
    assert ask(server, {"id": 3}, "/document")[0] == 400
    for head in ("", "Content-Length: -1\r\n", "Content-Length: 1e3\r\n", "Transfer-Encoding: chunked\r\n"):
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"POST /retrieve HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
            assert b" 411 " in connection.recv(4096)


class Broken:
    fingerprint = "broken"

    def search(self, queries: Any, k: int) -> list[list[Hit]]:
        raise InfrastructureError("the index is gone")

    def document(self, document_id: str) -> Document | None:
        raise InfrastructureError("the index is gone")


def test_a_broken_index_is_told_and_tried_again() -> None:
    pauses: list[float] = []
    with SearchServer(Broken(), port=0) as server:
        remote = RemoteRetriever(server.url, attempts=3, backoff_s=1.0, sleep=pauses.append)
        with pytest.raises(InfrastructureError, match=r"failed 3 times.*the index is gone"):
            remote.search(["x"], 1)
    assert len(pauses) == 2
    assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0


def test_nobody_listening_is_an_infrastructure_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for call in (lambda r: r.search(["x"], 1), lambda r: r.document("x"), lambda r: r.fingerprint):
        with pytest.raises(InfrastructureError, match="failed 2 times"):
            call(quick(url, attempts=2))


GOOD = {"result": [[{"document": {"id": "1", "contents": '"T"\nx'}, "score": 2.5}]]}


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        reply({"result": [[]]}, length=500),
        reply("busy", "503 Busy"),
        reply("", "429 Slow"),
    ],
    ids=["closed", "half a head", "cut body", "503", "429"],
)
def test_a_failure_that_passes_is_tried_again(first: bytes) -> None:
    with raw_server(lambda count: reply(GOOD) if count else first) as (url, requests):
        assert quick(url).search(["x"], 3) == [[Hit(Document("1", "T", "x"), 2.5)]]
    assert len(requests) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"<html>",
        b"[" * 100_000,
        {},
        {"result": None},
        {"result": []},
        {"result": [[], []]},
        {"result": [{}]},
        {"result": [[3]]},
        {"result": [[{"document": {"id": "1"}}]]},
        {"result": [[{"document": {"id": "1", "text": "x"}, "score": "high"}]]},
        b'{"result": [[{"document": {"id": "1", "text": "x"}, "score": NaN}]]}',
    ],
)
def test_an_answer_that_is_none_is_never_no_results(content: Any) -> None:
    with raw_server(lambda count: reply(content)) as (url, _), pytest.raises(InfrastructureError):
        quick(url).search(["x"], 3)


def test_a_refusal_is_not_tried_again() -> None:
    with raw_server(lambda count: reply({"error": "no"}, "400 Bad")) as (url, requests):
        with pytest.raises(InfrastructureError, match="status 400"):
            quick(url).search(["x"], 3)
        assert len(requests) == 1
    with (
        raw_server(lambda count: reply("", "404 Not Found")) as (url, _),
        pytest.raises(InfrastructureError, match="has no /retrieve"),
    ):
        quick(url).search(["x"], 3)


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"])
def test_a_server_that_hangs_is_given_up(begun: bytes) -> None:
    with (
        raw_server(lambda count: begun, hold=True) as (url, requests),
        pytest.raises(InfrastructureError, match=r"no whole answer within 0\.2 s|timed out"),
    ):
        quick(url, timeout_s=0.2, attempts=2).search(["x"], 3)
    assert len(requests) <= 2


def test_an_endless_answer_is_cut() -> None:
    with (
        raw_server(lambda count: reply({"result": [["x" * 5000]]})) as (url, _),
        pytest.raises(InfrastructureError, match="over 1000 bytes"),
    ):
        quick(url, max_bytes=1000).search(["x"], 3)


def test_other_servers_of_the_family_are_understood() -> None:
    proxy = [[{"document": {"contents": '"Title"\nfound on the web'}}, {"id": 3, "title": "T", "text": "bare"}]]

    def answer(count: int) -> bytes:
        return reply("", "404 Not Found") if count else reply(proxy)

    with raw_server(answer) as (url, requests):
        remote = quick(url)
        first, second = remote.search(["x"], 5)[0]
        assert (first.document.title, first.document.text, second.document.id) == ("Title", "found on the web", "3")
        # It gives no documents by id: what was shown can be opened, and nothing else.
        assert remote.document(first.document.id) == first.document
        assert remote.document("9") is None
        assert remote.fingerprint.startswith("address:")
        asked = json.loads(requests[0].partition(b"\r\n\r\n")[2])
        assert asked == {"queries": ["x"], "topk": 5, "return_scores": True}


def test_a_path_before_retrieve_is_kept() -> None:
    with raw_server(lambda count: reply(GOOD)) as (url, requests):
        quick(f"{url}/base/retrieve").search(["x"], 1)
    assert requests[0].startswith(b"POST /base/retrieve HTTP/1.1\r\n")


def test_arguments_are_checked() -> None:
    for url in ("localhost:8000", "ftp://x", "http://", ""):
        with pytest.raises(ConfigurationError, match="http://HOST"):
            RemoteRetriever(url)
    with pytest.raises(ConfigurationError, match="attempts >= 1"):
        RemoteRetriever("http://x", attempts=0)
    with pytest.raises(ConfigurationError, match="k must be"):
        RemoteRetriever("http://x").search(["x"], 0)
    with pytest.raises(ConfigurationError, match="topk"):
        SearchServer(LOCAL, port=0, topk=0)
    with pytest.raises(ConfigurationError, match="cannot listen"):
        SearchServer(LOCAL, host="256.0.0.1", port=0)


def test_copies_and_pickles_ask_the_same_server(server: SearchServer) -> None:
    remote = RemoteRetriever(server.url)
    for twin in (copy.deepcopy(remote), pickle.loads(pickle.dumps(remote))):
        assert twin.search(["hills"], 3) == LOCAL.search(["hills"], 3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_a_file_and_stops_cleanly(tmp_path: Path, number: int) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "0", "contents": "\\"Oslo\\"\\nA city."}\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "agentenv.cli", "serve-search", str(corpus), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "AGENTENV_CACHE": str(tmp_path / "cache"), "COLUMNS": "200", "NO_COLOR": "1"},
    )
    try:
        assert process.stderr is not None
        told = ""
        while "documents on" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        (url,) = re.findall(r"http://\S+", told)
        assert quick(url).search(["cities"], 1)[0][0].document == Document("0", "Oslo", "A city.")
        process.send_signal(number)
        _, rest = process.communicate(timeout=60)
        assert (process.returncode, rest) == (0, "stopped\n")
    finally:
        process.kill()
        process.wait()
