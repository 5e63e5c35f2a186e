"""The shop as a state machine: five pages, what can be clicked on each, and where every action leads.

Invariant: a `State` is a value. An action that is not valid gives None and nothing changes; a valid one gives a new
`State`, the same one in any process. Nothing here knows how a page looks (`agentenv.tasks.webshop.pages` does).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

from agentenv.errors import InfrastructureError
from agentenv.tasks.webshop.base import Product, Purchase
from agentenv.tasks.webshop.reward.score import price_of

__all__ = [
    "SUB_PAGES",
    "Card",
    "Catalogue",
    "Click",
    "Move",
    "Shop",
    "ShopView",
    "State",
    "clean",
    "read_action",
]

RESULTS = 50
PER_PAGE = 10
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
SEARCH_FORM = "search[<keywords>]"

_QUERY_CHARACTERS = 1_000
_TEXT_CHARACTERS = 20_000
_KEPT_CARDS = 4_096
_KEPT_SEARCHES = 2_048

# Line ends and other control characters become spaces, so that no text reaches into a line that is not its own.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# What is there but not seen: bidirectional controls, zero-width characters (joiners stay: emoji need them), tag
# characters. Lone surrogates are no text.
_UNSEEN = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_STRUCTURE = re.compile(r"\[(SEP|(?:clicked )?button_?)\]", re.IGNORECASE)


class Catalogue(Protocol):
    """What a shop needs of a product store."""

    def product(self, asin: str) -> Product | None:
        """The product, or None."""
        ...

    def search(self, keywords: str, limit: int = RESULTS) -> list[str]:
        """The asins found, best first. Any text is answered."""
        ...


PageName = Literal["index", "search_results", "item_page", "item_sub_page", "done"]


@dataclass(frozen=True)
class State:
    """Where a customer is.

    Args:
        page: One of the five pages.
        keywords: What was searched for, split at single spaces.
        number: Which page of results, from 1.
        asin: The product in view; "" on the first two pages.
        sub_page: One of `SUB_PAGES`, or "".
        options: Chosen (name, value) pairs, one per name, in the order in which the names were first chosen.
        visited: Asins of the products looked at so far.
    """

    page: PageName = "index"
    keywords: tuple[str, ...] = ()
    number: int = 1
    asin: str = ""
    sub_page: str = ""
    options: tuple[tuple[str, str], ...] = ()
    visited: frozenset[str] = frozenset()

    def digest(self) -> str:
        """SHA-256 of the state. The order in which options were chosen does not count."""
        values = [self.page, self.keywords, self.number, self.asin, self.sub_page]
        text = json.dumps([*values, sorted(self.options), sorted(self.visited)])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Click:
    """What a clickable text does. `value` is an asin, a sub page or an option's value, `name` the option's name."""

    kind: Literal["back", "prev", "next", "product", "sub_page", "option", "buy"]
    value: str = ""
    name: str = ""


@dataclass(frozen=True)
class Move:
    """What a valid action did: where it led, and the click (None for a search)."""

    state: State
    click: Click | None


@dataclass(frozen=True)
class Card:
    """A product as it may be shown: its texts cleaned, its clickable option values looked up by what is typed.

    `options` holds (shown name, ((shown value, name, value), ...)).
    """

    product: Product
    title: str
    price: str
    description: str
    bullets: tuple[str, ...]
    attributes: tuple[str, ...]
    reviews: tuple[tuple[str, str, float], ...]
    options: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    clicks: Mapping[str, Click]


@dataclass(frozen=True)
class ShopView:
    """What checks read: the state so far, as facts.

    Args:
        product_in_view: The product whose item page, or a page below it, is shown, or that was bought.
        options: The options chosen so far, by name.
        purchase: What was bought, once it was.
    """

    product_in_view: Product | None
    options: Mapping[str, str]
    purchase: Purchase | None


class Shop:
    """Pages and moves over a catalogue. Immutable but for its caches, so that any number of episodes share one.

    Args:
        catalogue: The products.
        variant_prices: Whether an option that has a price of its own changes what the product costs. The original
            shop shows one price whatever is chosen.
        show_attributes: Whether item pages have the button "Attributes".
    """

    def __init__(self, catalogue: Catalogue, *, variant_prices: bool = True, show_attributes: bool = False) -> None:
        self.catalogue = catalogue
        self.variant_prices = variant_prices
        self.sub_pages = SUB_PAGES if show_attributes else SUB_PAGES[:-1]
        self.card = lru_cache(maxsize=_KEPT_CARDS)(self._card)
        self.found = lru_cache(maxsize=_KEPT_SEARCHES)(self._found)

    # -- what is on a page ----------------------------------------------------------------------------------------

    def on_page(self, state: State) -> tuple[str, ...]:
        """The asins on the page of results."""
        if state.page != "search_results":
            return ()
        first = (state.number - 1) * PER_PAGE
        return self.found(state.keywords)[first : first + PER_PAGE]

    def clicks(self, state: State) -> dict[str, Click]:
        """What can be clicked, by the lower-case text to click: buttons, then products, then option values.

        A value that stands under two names belongs to the last of them, and one that reads like a button is the
        button; both can also be clicked as `name: value`.
        """
        if state.page in ("index", "done"):
            return {}
        clicks = {"back to search": Click("back")}
        if state.page != "search_results" or state.number > 1:
            clicks["< prev"] = Click("prev")
        if state.page == "search_results":
            clicks["next >"] = Click("next")
            clicks |= {asin.lower(): Click("product", asin) for asin in self.on_page(state)}
        elif state.page == "item_page":
            clicks |= {name.lower(): Click("sub_page", name) for name in self.sub_pages}
            clicks["buy now"] = Click("buy")
            clicks |= self.card(state.asin).clicks
        return clicks

    def valid_actions(self, state: State) -> list[str]:
        """Every valid action, a search as `search[<keywords>]`; none after a purchase."""
        if state.page == "done":
            return []
        return [SEARCH_FORM, *(f"click[{text}]" for text in self.clicks(state))]

    # -- moves ----------------------------------------------------------------------------------------------------

    def move(self, state: State, action: str) -> Move | None:
        """What an action leads to; None where it is not valid.

        `search[keywords]` is valid on every page before a purchase, `click[text]` where the text can be clicked.
        """
        if state.page == "done":
            return None
        name, argument = read_action(action)
        if name == "search" and argument:
            return Move(self.search(state, argument), None)
        clicks = self.clicks(state)
        click = clicks.get(argument) if name == "click" else None
        if click is None:
            # The grammar reads from the last bracket on, and so cannot name an option such as "red [2 pack]".
            click = clicks.get(_bracketed(action))
        return None if click is None else Move(self.follow(state, click), click)

    def search(self, state: State, query: str) -> State:
        """The first page of results for a query."""
        keywords = clean(query[:_QUERY_CHARACTERS]).split(" ")
        return State("search_results", tuple(keywords), visited=state.visited)

    def follow(self, state: State, click: Click) -> State:
        """Where a click that the page offers leads."""
        results = State("search_results", state.keywords, state.number, visited=state.visited)
        match click.kind:
            case "back":
                return State(visited=state.visited)
            case "next":
                return replace(results, number=state.number + 1)
            case "prev" if state.page == "search_results":
                return replace(results, number=max(1, state.number - 1))
            case "prev" if state.page == "item_sub_page":
                return replace(state, page="item_page", sub_page="")
            case "prev":
                return results
            case "product":
                return replace(results, page="item_page", asin=click.value, visited=state.visited | {click.value})
            case "sub_page":
                return replace(state, page="item_sub_page", sub_page=click.value)
            case "option":
                return replace(state, options=tuple({**dict(state.options), click.name: click.value}.items()))
            case "buy":
                return replace(state, page="done")

    def price(self, state: State) -> float:
        """What the product in view costs as it is chosen."""
        product = self.card(state.asin).product
        return price_of(product, dict(state.options)) if self.variant_prices else product.price

    def view(self, state: State) -> ShopView:
        """What checks read of a state."""
        if not state.asin:
            return ShopView(None, {}, None)
        product, options = self.card(state.asin).product, dict(state.options)
        purchase = Purchase(product, options, self.price(state)) if state.page == "done" else None
        return ShopView(product, options, purchase)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _found(self, keywords: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.catalogue.search(" ".join(keywords), RESULTS))

    def _card(self, asin: str) -> Card:
        product = self.catalogue.product(asin)
        if product is None:
            raise InfrastructureError(f"the search index names {asin!r}, which the product store lacks: rebuild both")
        options = tuple(
            (clean(name), tuple((clean(value), name, value) for value in values))
            for name, values in product.options.items()
        )
        return Card(
            product=product,
            title=clean(product.title),
            price=" to ".join(f"${price}" for price in product.prices or (product.price,)),
            description=clean(product.description),
            bullets=tuple(map(clean, product.bullets)),
            attributes=tuple(map(clean, product.attributes)),
            reviews=tuple((clean(title), clean(text), rating) for title, text, rating in product.reviews),
            options=options,
            clicks=_option_clicks(options),
        )


def _option_clicks(options: Sequence[tuple[str, Sequence[tuple[str, str, str]]]]) -> dict[str, Click]:
    plain: dict[str, Click] = {}
    named: dict[str, Click] = {}
    for shown_name, values in options:
        for shown, name, value in values:
            text, click = shown.lower(), Click("option", value, name)
            if text in plain or text in _BUTTONS:
                named[f"{shown_name}: {text}".lower()] = click
            if text in plain:
                named[f"{clean(plain[text].name)}: {text}".lower()] = plain[text]
            if text not in _BUTTONS:
                plain[text] = click
    return {**named, **plain}


_BUTTONS = frozenset({"back to search", "< prev", "buy now", *map(str.lower, SUB_PAGES)})


def read_action(action: str) -> tuple[str, str]:
    """The name and the lower-case argument of `name[argument]`, as the original grammar reads them.

    The name goes up to the last bracket that opens, the argument up to the last that closes; what follows on the line
    and on other lines does not count. A text of another form has neither. Time is linear in the text.

    >>> read_action("search[Red Shoes]"), read_action("click[a] click[b] ..."), read_action("buy it")
    (('search', 'red shoes'), ('click[a] click', 'b'), ('', ''))
    """
    line = action.strip().split("\n", 1)[0]
    close = line.rfind("]")
    opened = line.rfind("[", 1, max(1, close - 1))
    return (line[:opened], line[opened + 1 : close].lower()) if opened > 0 else ("", "")


def _bracketed(action: str) -> str:
    line = action.strip().split("\n", 1)[0]
    return line[len("click[") : line.rfind("]")].lower() if line.startswith("click[") else ""


def clean(text: str) -> str:
    """A text of a product, an instruction or a query, safe to stand on a page of any form.

    Control characters become spaces, unseen characters go, what a page marks its own structure with gets round
    brackets, and at most 20,000 characters stay. HTML is not escaped here: the renderer does so.

    >>> clean("red\\n[button] Buy [button_] [SEP] $0.1\\x1b[2J")
    'red (button) Buy (button_) (SEP) $0.1 [2J'
    """
    if text.isascii() and text.isprintable() and "[" not in text:
        return text[:_TEXT_CHARACTERS]
    shown = _UNSEEN.sub("", _CONTROL.sub(" ", text[:_TEXT_CHARACTERS]))
    return _STRUCTURE.sub(r"(\1)", shown)
