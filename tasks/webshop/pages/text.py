"""The modes `text` and `text_rich`, string-exact to the original's environment."""

from __future__ import annotations

from collections.abc import Iterable

from agentenv.tasks.webshop.pages.pieces import Piece

__all__ = ["plain", "rich"]


def plain(pieces: Iterable[Piece]) -> str:
    """All strings, joined by ` [SEP] `. It tells neither what is a button nor which option is chosen.

    >>> plain([Piece("text", "WebShop"), Piece("button", "Search")])
    'WebShop [SEP] Search'
    """
    return " [SEP] ".join(piece.text.strip() for piece in pieces)


def rich(pieces: Iterable[Piece]) -> str:
    """A string a line, with buttons, options and products marked; options chosen are told first.

    >>> rich([Piece("text", "color"), Piece("label", "red"), Piece("label", "blue", marked=True)])
    'You have clicked blue.\\ncolor\\n  [button] red [button_]\\n  [clicked button] blue [clicked button_]\\n'
    """
    told, lines = "", []
    for piece in pieces:
        mark = "clicked button" if piece.marked else "button"
        match piece.kind:
            case "text":
                lines.append(f"{piece.text}\n")
            case "button":
                lines.append(f"[button] {piece.text} [button_]\n")
            case "link":
                lines.append(f"\n[{mark}] {piece.text} [{mark}_]\n")
            case "label":
                lines.append(f"  [{mark}] {piece.text} [{mark}_]\n")
                if piece.marked:
                    told = f"You have clicked {piece.text}.\n{told}"
    return told + "".join(lines)
