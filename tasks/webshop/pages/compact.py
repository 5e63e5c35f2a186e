"""The mode `compact`: a page in under 300 tokens, for policies with a short context.

What can be clicked stands in square brackets exactly as it is to be typed. Three products of ten are shown, all text is
in lower case, of a long title the part that holds most of the words searched for; texts and lists of options are cut,
prices rounded up to dollars. A product or an option that is cut away can be clicked all the same. The instruction
stands on the first page only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from agentenv.tasks.webshop.pages.pieces import SCORE_LABEL, Piece
from agentenv.tasks.webshop.pages.react import unbracketed
from agentenv.tasks.webshop.shop import Shop, State

__all__ = ["MAX_CHARACTERS", "RESULTS", "render"]

MAX_CHARACTERS = 480
RESULTS = 3
"""How many products of a page of results are shown."""

_TITLE = 40
_NAME = 28
_BODY = 400
_VALUES = 12
_VALUE_LINE = 160


def render(pieces: Sequence[Piece], state: State, shop: Shop) -> str:
    """The page."""
    match state.page:
        case "index":
            return f"{unbracketed(_text_of(pieces, 'instruction'))}\nsearch[...]"
        case "search_results":
            lines = [
                f"page {state.number}, {len(shop.found(state.keywords))} results",
                *_results(pieces, state)[:RESULTS],
            ]
        case "item_page":
            title = _excerpt(_text_of(pieces, "title"), state.keywords)
            price = _text_of(pieces, "price").removeprefix("Price: ")
            lines = [title, f"price: {_from(price)}", *_options(pieces)]
        case "item_sub_page":
            body = " | ".join(piece.text for piece in pieces[2:] if piece.kind == "text")
            lines = [_cut(body, _BODY) or "nothing"]
        case "done":
            texts = [piece.text for piece in pieces]
            return f"score {texts[texts.index(SCORE_LABEL) + 1]}"
    buttons = " ".join(f"[{piece.click}]" for piece in pieces if piece.kind == "button")
    return "\n".join([_cut_lines(lines, MAX_CHARACTERS - len(buttons)), buttons])


def _results(pieces: Sequence[Piece], state: State) -> list[str]:
    lines = []
    for index, piece in enumerate(pieces):
        if piece.kind == "link":
            shown = {later.role: later.text for later in pieces[index + 1 : index + 3]}
            price = _from(shown.get("price", ""))
            lines.append(f"[{piece.click}] {price} {_excerpt(shown.get('title', ''), state.keywords)}")
    return lines


def _excerpt(title: str, keywords: Sequence[str]) -> str:
    """The first part of a title that holds most of the words searched for, as results of a search engine have it.

    >>> _excerpt("Bar Stools for Kitchens and Counters, Swivel, Stackable, by Acme", ["kitchens", "stools"])
    'bar stools for kitchens and counters,..'
    >>> _excerpt("Bar Stools for Kitchens and Counters, Swivel, Stackable, by Acme", ["stackable"])
    '..and counters, swivel, stackable, by acme'
    """
    text = _cut(title, len(title))
    if len(text) <= _TITLE:
        return text
    words = text.split(" ")
    wanted = set(keywords)
    hits = [word.strip(",.-") in wanted for word in words]
    best, first, last = -1, 0, 0
    for start in range(len(words)):
        end, length = start, -1
        while end < len(words) and length + 1 + len(words[end]) <= _TITLE:
            length += 1 + len(words[end])
            end += 1
        if sum(hits[start:end]) > best:
            best, first, last = sum(hits[start:end]), start, end
    shown = " ".join(words[first:last]) or words[0][:_TITLE]
    return f"{'..' if first else ''}{shown}{'..' if last < len(words) else ''}"


def _from(price: str) -> str:
    """The least price of a range, rounded up to dollars.

    >>> _from("$16.99 to $26.99"), _from("$9.5")
    ('$17+', '$10')
    """
    least, *most = price.removeprefix("$").split(" to ")
    return f"${math.ceil(float(least))}{'+' if most else ''}" if least else ""


def _options(pieces: Sequence[Piece]) -> list[str]:
    lines, name = [], ""
    for kind, group in groupby(pieces, key=lambda piece: piece.kind if piece.kind == "label" else piece.role):
        if kind == "option_name":
            name = _cut([piece.text for piece in group][-1], _NAME)
        elif kind == "label":
            lines.append(f"{name}: {_values(list(group))}")
    return lines


def _values(labels: Sequence[Piece]) -> str:
    """The chosen value first among those shown, marked with a star; as many others as fit."""
    chosen = [piece for piece in labels if piece.marked]
    shown: list[tuple[int, str]] = []
    length = 0
    for piece in [*chosen, *(piece for piece in labels if not piece.marked)]:
        text = f"[{piece.click or '-'}]{'*' if piece.marked else ''}"
        if len(shown) == _VALUES or (shown and length + len(text) > _VALUE_LINE):
            break
        shown.append((labels.index(piece), text))
        length += len(text)
    more = len(labels) - len(shown)
    return "".join(text for _, text in sorted(shown)) + (f" +{more}" if more else "")


def _text_of(pieces: Sequence[Piece], role: str) -> str:
    return next((piece.text for piece in pieces if piece.role == role), "")


def _cut(text: str, characters: int) -> str:
    """At most this many characters of lower case, cut between words where there are any; square brackets made round."""
    text = unbracketed(" ".join(text.lower().split()))
    if len(text) <= characters:
        return text
    head = text[: characters - 2]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}.."


def _cut_lines(lines: Sequence[str], characters: int) -> str:
    kept, length = [], 0
    for line in lines:
        length += len(line) + 1
        if length > characters:
            break
        kept.append(line)
    return "\n".join(kept)
