"""The mode `html`, and the pages of the web site. Invariant: every string of a product, goal or query is escaped.

Links do what clicks do, so that the page needs no script and a content policy can forbid them all. The visible strings
of the body are those of the mode `text`, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from agentenv.tasks.webshop.pages.pieces import Piece
from agentenv.tasks.webshop.pages.urls import path
from agentenv.tasks.webshop.shop import Shop, State

__all__ = ["STYLE", "STYLE_PATH", "document", "render"]

STYLE_PATH = "/style.css"
STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
p { margin: .3rem 0; overflow-wrap: anywhere; }
.heading { font-size: 1.6rem; font-weight: 600; }
.instruction_label { color: #666; }
.instruction { background: #f3f6fb; padding: .6rem .8rem; border-left: 4px solid #3567b1; }
.btn { display: inline-block; margin: .4rem .3rem .4rem 0; padding: .3rem .8rem; border: 1px solid #3567b1;
  border-radius: 4px; background: #3567b1; color: #fff; text-decoration: none; font: inherit; cursor: pointer; }
.product-link { display: block; margin-top: 1.2rem; font-family: monospace; }
.option_name { margin-top: .8rem; font-weight: 600; }
.option { display: inline-block; margin: .2rem .2rem .2rem 0; padding: .1rem .6rem; border: 1px solid #999;
  border-radius: 4px; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
.option[aria-checked=true] { border: 2px solid #3567b1; background: #e3ecf8; }
.title { font-size: 1.1rem; font-weight: 600; }
.price { color: #a33; }
input { font: inherit; padding: .3rem; width: 60%; }
"""


def render(pieces: Sequence[Piece], state: State, shop: Shop, session: str) -> str:
    """The page as a document."""
    clicks = shop.clicks(state)
    lines = []
    for piece in pieces:
        if piece.role == "search":
            lines.append(_search_form(piece, session))
        elif not piece.click:
            lines.append(f'<p class="{escape(piece.role)}">{escape(piece.text)}</p>')
        else:
            lines.append(_link(piece, path(shop.follow(state, clicks[piece.click]), session)))
    return document(lines)


def document(lines: Sequence[str]) -> str:
    """A whole document around the body's lines."""
    head = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>WebShop</title>\n'
    style = f'<link rel="stylesheet" href="{STYLE_PATH}">\n</head>\n<body>\n'
    return "".join([head, style, *(f"{line}\n" for line in lines), "</body>\n</html>\n"])


def _search_form(piece: Piece, session: str) -> str:
    return (
        f'<form action="{escape(path(State("search_results"), session).rsplit("/", 2)[0])}" method="get">'
        '<input id="search_input" name="search_query" aria-label="Search" autofocus> '
        f'<button class="btn" type="submit">{escape(piece.text)}</button></form>'
    )


def _link(piece: Piece, target: str) -> str:
    href, text = escape(target), escape(piece.text)
    if piece.kind == "label":
        checked = "true" if piece.marked else "false"
        return f'<a class="option" role="radio" aria-checked="{checked}" href="{href}">{text}</a>'
    if piece.kind == "link":
        return f'<a class="product-link" href="{href}">{text}</a>'
    return f'<a class="btn" role="button" href="{href}">{text}</a>'
