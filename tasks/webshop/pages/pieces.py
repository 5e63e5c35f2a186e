"""What stands on each page, in order: text, buttons, links, option values. Invariant: all text in a piece is clean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from agentenv.tasks.webshop.shop import Card, Click, Shop, State, clean

__all__ = ["SCORE_LABEL", "Piece", "compose"]

SCORE_LABEL = "Your score (min 0.0, max 1.0)"


@dataclass(frozen=True)
class Piece:
    """One visible string.

    Args:
        kind: "text", "button", "link" (a product's asin) or "label" (an option's value).
        text: The string; never empty.
        role: What it is ("title", "price", "option_name", ...); the forms that have styles use it.
        click: The text that clicks it, in lower case; "" where nothing does.
        marked: Whether it was chosen (an option) or visited (a product).
    """

    kind: Literal["text", "button", "link", "label"]
    text: str
    role: str = ""
    click: str = ""
    marked: bool = False


def compose(shop: Shop, state: State, instruction: str, score: float | None = None, code: str = "") -> list[Piece]:
    """The pieces of a page. Pieces without text are left out, as they are invisible."""
    match state.page:
        case "index":
            pieces = _index(instruction)
        case "search_results":
            pieces = _head(instruction) + _results(shop, state)
        case "item_page":
            pieces = _head(instruction) + _item(shop, state)
        case "item_sub_page":
            pieces = _head(instruction) + _sub_page(shop, state)
        case "done":
            pieces = _done(state, score, code)
    return [piece for piece in pieces if piece.text.strip()]


def _index(instruction: str) -> list[Piece]:
    return [
        Piece("text", "WebShop", "heading"),
        # The original's search page has a space here that its other pages lack.
        Piece("text", "Instruction: ", "instruction_label"),
        Piece("text", clean(instruction), "instruction"),
        Piece("button", "Search", "search"),
    ]


def _head(instruction: str) -> list[Piece]:
    return [
        Piece("text", "Instruction:", "instruction_label"),
        Piece("text", clean(instruction), "instruction"),
        _button("Back to Search"),
    ]


def _results(shop: Shop, state: State) -> list[Piece]:
    total = len(shop.found(state.keywords))
    pieces = [Piece("text", f"Page {state.number} (Total results: {total})", "count")]
    if state.number > 1:
        pieces.append(_button("< Prev"))
    pieces.append(_button("Next >"))
    for asin in shop.on_page(state):
        card = shop.card(asin)
        pieces += [
            Piece("link", asin, "asin", asin.lower(), asin in state.visited),
            Piece("text", card.title, "title"),
            Piece("text", card.price, "price"),
        ]
    return pieces


def _item(shop: Shop, state: State) -> list[Piece]:
    card, chosen = shop.card(state.asin), dict(state.options)
    pieces = [_button("< Prev")]
    for shown_name, values in card.options:
        pieces.append(Piece("text", shown_name, "option_name"))
        for shown, name, value in values:
            click = _click_of(card, shown_name, shown, Click("option", value, name))
            pieces.append(Piece("label", shown, "option", click, chosen.get(name) == value))
    pieces += [
        Piece("text", card.title, "title"),
        Piece("text", f"Price: {_price(shop, card, state)}", "price"),
        Piece("text", f"Rating: {_rating(card)}", "rating"),
        *(_button(name) for name in shop.sub_pages),
        _button("Buy Now"),
    ]
    return pieces


def _click_of(card: Card, shown_name: str, shown: str, click: Click) -> str:
    """The text that clicks this value; "" where another value took it."""
    texts = (shown.lower(), f"{shown_name}: {shown}".lower())
    return next((text for text in texts if card.clicks.get(text) == click), "")


def _price(shop: Shop, card: Card, state: State) -> str:
    price = shop.price(state)
    return card.price if price == card.product.price else f"${price}"


def _rating(card: Card) -> str:
    if not card.reviews:
        return "N.A."
    return str(round(sum(rating for _, _, rating in card.reviews) / len(card.reviews), 1))


def _sub_page(shop: Shop, state: State) -> list[Piece]:
    card = shop.card(state.asin)
    pieces = [_button("< Prev")]
    match state.sub_page:
        case "Description":
            pieces.append(Piece("text", card.description, "description"))
        case "Features":
            pieces += [Piece("text", bullet, "bullet") for bullet in card.bullets]
        case "Attributes":
            pieces += [Piece("text", attribute, "bullet") for attribute in card.attributes]
        case "Reviews":
            for title, text, rating in card.reviews:
                pieces += [
                    Piece("text", f'"{title}"', "review_title"),
                    Piece("text", f"{rating:g}", "review_rating"),
                    Piece("text", text, "review"),
                ]
    return pieces


def _done(state: State, score: float | None, code: str) -> list[Piece]:
    # The original tells a person the target here. What an agent sees must not: it is a task's answer.
    options = json.dumps({clean(name): clean(value) for name, value in state.options}, ensure_ascii=False)
    lines = [
        "Thank you for shopping with us!",
        "Your code:",
        code,
        "(Paste it in your MTurk interface.)",
        "Purchased",
        "asin",
        clean(state.asin),
        "options",
        options,
        "Target",
        "None",
        "Reward",
        SCORE_LABEL,
        str(score),
        "Reward Details",
        "None",
    ]
    return [Piece("text", line, "done") for line in lines]


def _button(text: str) -> Piece:
    return Piece("button", text, "button", text.lower())
