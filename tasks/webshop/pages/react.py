"""The mode `react`: the form in which most papers on language models show the shop.

A button or text a line, options on the line of their name, three products of ten. A square bracket always marks what
can be clicked: those in other text are made round.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.tasks.webshop.pages.pieces import SCORE_LABEL, Piece
from agentenv.tasks.webshop.shop import Click, State, clean

__all__ = ["render", "unbracketed"]

_PRODUCTS = 3
_HEAD = 2  # "Instruction:" and the instruction stand on the first page only


def render(pieces: Sequence[Piece], state: State, click: Click | None) -> str:
    """The page; after an option was clicked, just that; after a purchase, just the score."""
    if click is not None and click.kind == "option":
        return f"You have clicked {clean(click.value)}."
    if state.page == "done":
        texts = [piece.text for piece in pieces]
        return f"{SCORE_LABEL}: {texts[texts.index(SCORE_LABEL) + 1]}"
    kept = pieces if state.page == "index" else pieces[_HEAD:]
    return "".join(map(_line, _first_products(kept)))


def unbracketed(text: str) -> str:
    """The text with round brackets for square ones."""
    return text.replace("[", "(").replace("]", ")")


def _line(piece: Piece) -> str:
    if piece.kind == "label":
        return f"[[{piece.text}]]" if piece.marked else f"[{piece.text}]"
    if piece.kind == "text":
        return f"\n{unbracketed(piece.text)} "
    return f"\n[{piece.text}] "


def _first_products(pieces: Sequence[Piece]) -> Sequence[Piece]:
    links = [index for index, piece in enumerate(pieces) if piece.kind == "link"]
    return pieces[: links[_PRODUCTS]] if len(links) > _PRODUCTS else pieces
