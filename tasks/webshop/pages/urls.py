"""Addresses: a page is wholly told by its URL. Invariant: `parse(path(state))` is the state, less what was visited,
and, after a purchase, less what was searched for.

`shown` is the original's form, which agents see in the mode `url`. `path` is the same with every part percent-encoded,
so that any text survives; the web site's links use it.
"""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

from agentenv.tasks.webshop.shop import Card, Shop, State

__all__ = ["BASE", "parse", "path", "shown"]

BASE = "http://127.0.0.1:3000"

_MOST_PAGES = 1_000


def shown(state: State, session: str) -> str:
    """The URL as the original writes it: nothing encoded.

    >>> shown(State("search_results", ("red", "mug"), 2), "s")
    'http://127.0.0.1:3000/search_results/s/red+mug/2'
    """
    keywords, options = "+".join(state.keywords), dict(state.options)
    match state.page:
        case "index":
            return f"{BASE}/{session}"
        case "search_results":
            return f"{BASE}/search_results/{session}/{keywords}/{state.number}"
        case "item_page":
            chosen = json.dumps(options, ensure_ascii=False)
            return f"{BASE}/item_page/{session}/{state.asin}/{keywords}/{state.number}/{chosen}"
        case "item_sub_page":
            where = f"{state.asin}/{keywords}/{state.number}/{state.sub_page}"
            return f"{BASE}/item_sub_page/{session}/{where}/{options}"
        case "done":
            return f"{BASE}/done/{session}/{state.asin}/{options}"


def path(state: State, session: str) -> str:
    """The path of the page on the web site.

    >>> path(State("item_page", ("a/b", "+"), 1, "B0", options=(("size", "xl"),)), "s")
    '/item_page/s/B0/a%2Fb+%2B/1/%7B%22size%22%3A%20%22xl%22%7D'
    """
    options = json.dumps(dict(state.options))
    keywords = "+".join(quote(word, safe="") for word in state.keywords)
    if keywords in (".", ".."):
        keywords += "+"  # browsers resolve dot segments, encoded or not; an empty keyword changes no search
    match state.page:
        case "index":
            return f"/{quote(session, safe='')}"
        case "search_results":
            parts = [session, None, str(state.number)]
        case "item_page":
            parts = [session, state.asin, None, str(state.number), options]
        case "item_sub_page":
            parts = [session, state.asin, None, str(state.number), state.sub_page, options]
        case "done":
            parts = [session, state.asin, options]
    encoded = (keywords if part is None else quote(part, safe="") for part in parts)
    return f"/{state.page}/{'/'.join(encoded)}"


def parse(path: str, shop: Shop) -> tuple[str, State] | None:
    """The session and the state that a path tells; None where no page of this shop has that path."""
    raw = path.split("?", 1)[0].split("/")[1:]
    if not raw:
        return None
    if len(raw) == 1:
        return unquote(raw[0]), State()
    page, session, rest = raw[0], unquote(raw[1]), raw[2:]
    if page == "search_results" and len(rest) == 2:
        return _checked(session, State("search_results", _keywords(rest[0]), _number(rest[1])))
    if page == "item_page" and len(rest) == 4:
        asin, keywords, number, options = rest
        return _product(shop, session, State("item_page", _keywords(keywords), _number(number), unquote(asin)), options)
    if page == "item_sub_page" and len(rest) == 5:
        asin, keywords, number, sub_page, options = rest
        state = State("item_sub_page", _keywords(keywords), _number(number), unquote(asin), unquote(sub_page))
        return _product(shop, session, state, options) if state.sub_page in shop.sub_pages else None
    if page == "done" and len(rest) == 2:
        asin, options = rest
        return _product(shop, session, State("done", asin=unquote(asin)), options)
    return None


def _checked(session: str, state: State) -> tuple[str, State] | None:
    return (session, state) if 1 <= state.number <= _MOST_PAGES else None


def _product(shop: Shop, session: str, state: State, raw_options: str) -> tuple[str, State] | None:
    if shop.catalogue.product(state.asin) is None:
        return None
    card = shop.card(state.asin)
    try:
        options = json.loads(unquote(raw_options))
    except (ValueError, RecursionError):
        return None
    if not isinstance(options, dict) or not all(_offered(card, name, value) for name, value in options.items()):
        return None
    made = State(state.page, state.keywords, state.number, state.asin, state.sub_page, tuple(options.items()))
    return _checked(session, made)


def _offered(card: Card, name: str, value: object) -> bool:
    return value in card.product.options.get(name, ())


def _keywords(raw: str) -> tuple[str, ...]:
    return tuple(unquote(word) for word in raw.split("+"))


def _number(raw: str) -> int:
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 9 else 0
