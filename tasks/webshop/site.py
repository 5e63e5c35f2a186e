"""The shop as a web site, for a person or a browser agent. Invariant: its pages and scores are the environment's.

A URL tells the whole page, so that there is no script and nothing to forge: who knows a session's random id may act in
it, and nobody else can. Everything that touches products runs in one thread, whatever the number of visitors.
"""

from __future__ import annotations

import abc
import hashlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from agentenv.errors import AgentEnvError, UnknownTaskError
from agentenv.tasks.webshop.pages import Visit, html, urls
from agentenv.tasks.webshop.shop import Shop, State

__all__ = ["Answer", "Customer", "Site", "make_server"]

_LOG = logging.getLogger(__name__)

_KEPT_SESSIONS = 10_000
_LISTED_TASKS = 100
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Answer:
    """What a request is answered with: a page, or where to look instead."""

    status: HTTPStatus
    body: str = ""
    location: str = ""
    content_type: str = "text/html; charset=utf-8"


@dataclass
class Customer:
    """A session: the task, the products visited, and the purchase, of which the first counts."""

    task_id: str
    instruction: str
    visited: set[str] = field(default_factory=set)
    purchase: State | None = None
    score: float | None = None


class Site:
    """Answers paths with pages. Not for two threads at once: see `make_server`.

    Args:
        shop: The shop.
        task_ids: Tasks that visitors can take; `/` starts the next one, `/tasks` lists the first of them.
        instruction: The instruction of a task id; raises `UnknownTaskError` for others.
        score: The score of a state in which a product was bought, for a task id.
        new_id: Makes the ids of sessions.
    """

    def __init__(
        self,
        shop: Shop,
        task_ids: Sequence[str],
        instruction: Callable[[str], str],
        score: Callable[[str, State], float | None],
        *,
        new_id: Callable[[], str] = lambda: secrets.token_urlsafe(16),
    ) -> None:
        self.shop = shop
        self.task_ids = task_ids
        self.instruction = instruction
        self.score = score
        self.new_id = new_id
        self.sessions: OrderedDict[str, Customer] = OrderedDict()
        self._next = 0

    def get(self, target: str) -> Answer:
        """The answer to a GET of this path, query included."""
        path, query = target.partition("?")[0], parse_qs(urlsplit(target).query, keep_blank_values=True)
        if path == html.STYLE_PATH:
            return Answer(HTTPStatus.OK, html.STYLE, content_type="text/css; charset=utf-8")
        if path == "/":
            self._next += 1
            return self._start(self.task_ids[(self._next - 1) % len(self.task_ids)])
        if path == "/tasks":
            return self._tasks()
        parts = path.split("/")[1:]
        if parts[0] == "start" and len(parts) == 2:
            return self._start(unquote(parts[1]))
        if parts[0] == "search_results" and len(parts) == 2:
            return self._search(unquote(parts[1]), query.get("search_query", [""])[0])
        found = urls.parse(path, self.shop)
        return self._page(*found) if found is not None else _missing("There is no such page.")

    def _start(self, task_id: str) -> Answer:
        try:
            instruction = self.instruction(task_id)
        except UnknownTaskError:
            return _missing("There is no such task.")
        session = self.new_id()
        self.sessions[session] = Customer(task_id, instruction)
        while len(self.sessions) > _KEPT_SESSIONS:
            self.sessions.popitem(last=False)
        return Answer(HTTPStatus.SEE_OTHER, location=urls.path(State(), session))

    def _tasks(self) -> Answer:
        lines = ['<p class="heading">WebShop</p>']
        for task_id in self.task_ids[:_LISTED_TASKS]:
            link = f'<a class="product-link" href="/start/{quote(task_id, safe="")}">{escape(task_id)}</a>'
            lines += [link, f"<p>{escape(self.instruction(task_id))}</p>"]
        return Answer(HTTPStatus.OK, html.document(lines))

    def _search(self, session: str, query: str) -> Answer:
        if session not in self.sessions:
            return _missing(_GONE)
        state = self.shop.search(State(), query.lower()) if query.strip() else State()
        return Answer(HTTPStatus.SEE_OTHER, location=urls.path(state, session))

    def _page(self, session: str, state: State) -> Answer:
        customer = self.sessions.get(session)
        if customer is None:
            return _missing(_GONE)
        self.sessions.move_to_end(session)
        if customer.purchase is not None and state.page != "done":
            return Answer(HTTPStatus.SEE_OTHER, location=urls.path(customer.purchase, session))
        if customer.purchase is None and state.page == "done":
            customer.purchase, customer.score = state, self.score(customer.task_id, state)
            _LOG.info("task %s: bought %s, score %s", customer.task_id, state.asin, customer.score)
        if state.asin:
            customer.visited.add(state.asin)
        state = customer.purchase or replace(state, visited=frozenset(customer.visited))
        code = hashlib.sha1(session.encode(), usedforsecurity=False).hexdigest()[:10].upper()
        visit = Visit(self.shop, state, customer.instruction, session, score=customer.score, code=code)
        return Answer(HTTPStatus.OK, html.render(visit.pieces(), state, self.shop, session))


_GONE = "This visit is over or never was. Start at /."


def _missing(why: str) -> Answer:
    return Answer(HTTPStatus.NOT_FOUND, html.document([f"<p>{escape(why)}</p>"]))


def make_server(make_site: Callable[[], Site], host: str, port: int) -> ThreadingHTTPServer:
    """A server that is not serving yet: call `serve_forever`, then `server_close`.

    Args:
        make_site: Makes the site, in the one thread that will use it: what it opens need not be shared.
        host: The address to listen on.
        port: The port; 0 for any that is free (`server_address` tells which).
    """
    counter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shop")
    site = counter.submit(make_site).result()

    class Handler(_Handler):
        def answer(self, target: str) -> Answer:
            return counter.submit(site.get, target).result()

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def server_close(self) -> None:
            super().server_close()
            counter.shutdown(wait=False, cancel_futures=True)

    try:
        return Server((host, port), Handler)
    except OSError:
        counter.shutdown(wait=False)
        raise


class _Handler(BaseHTTPRequestHandler, abc.ABC):
    server_version, sys_version = "agentenv-shop", ""
    timeout = 30.0

    @abc.abstractmethod
    def answer(self, target: str) -> Answer:
        """The site's answer to a GET."""

    def do_GET(self) -> None:
        try:
            answer = self.answer(self.path)
        except AgentEnvError as error:
            _LOG.error("%r: %s", self.path, error)
            answer = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, html.document(["<p>The shop is out of order.</p>"]))
        body = answer.body.encode("utf-8", "replace")
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug(format, *args)
