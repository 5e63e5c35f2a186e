r"""Splits Lean text into tactics by its layout. Invariant: joined again line by line, the pieces are the same proof.

A line that is not indented more than the first one begins a tactic, unless it begins with what only goes on (`|`,
`<;>`, a `calc` step). On a line `;` parts tactics, where no block is open that would take them all (`by`, `=>`).
Comments become blanks, so that what stands in them means nothing anywhere.
"""

from __future__ import annotations

import re

from agentenv.envs.theorem.provers.base import Piece, TacticFailed

__all__ = ["blank_comments", "split_layout"]

_GOES_ON = re.compile(r"\||<;>|_ |[)\]}⟩]|\.\.\.|(?:with|at|else|then)\b")
_BLOCK = re.compile(r"\bby\b|=>|↦|\bfun\b|λ|\bcalc\b")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|--[^\n]*|/-|-/|<;>|[;()\[\]{}⟨⟩"]', re.DOTALL)


def blank_comments(text: str) -> str:
    r"""The text with every comment replaced by blanks of the same length.

    Raises:
        TacticFailed: If a comment or a string is not closed.

    >>> blank_comments("intro h -- sorry\nexact /- a /- b -/ -/ h")
    'intro h         \nexact                 h'
    """
    made: list[str] = []
    at = depth = 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        if token.start() < at:
            continue
        if depth:
            depth += {"/-": 1, "-/": -1}.get(word[:2] if word.startswith(("/-", "-/")) else "", 0)
            if not depth:
                made.append(_blank(text[at : token.end()]))
                at = token.end()
            continue
        if word == '"':
            raise TacticFailed("the string is not closed", *_where(text, token.start()))
        if word == "/-":
            made.append(text[at : token.start()])
            at, depth = token.start(), 1
        elif word.startswith("--"):
            made.append(text[at : token.start()] + " " * len(word))
            at = token.end()
    if depth:
        raise TacticFailed("the comment is not closed", *_where(text, at))
    return "".join(made) + text[at:]


def split_layout(text: str) -> list[Piece]:
    r"""The tactics of a text.

    Raises:
        TacticFailed: If a comment or a string is not closed, or there is no tactic.

    >>> [piece.text for piece in split_layout("intro h; left\ncases h with\n| inl a =>\n  exact a\nrfl")]
    ['intro h', 'left', 'cases h with\n| inl a =>\n  exact a', 'rfl']
    """
    lines = [line.rstrip().expandtabs(2) for line in blank_comments(text).split("\n")]
    filled = [number for number, line in enumerate(lines) if line]
    if not filled:
        raise TacticFailed("there is no tactic")
    indent = _indent(lines[filled[0]])
    starts = [
        number
        for number in filled
        if number == filled[0] or (_indent(lines[number]) <= indent and not _GOES_ON.match(lines[number].lstrip()))
    ]
    pieces: list[Piece] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        block = [lines[start].lstrip(), *(line[min(indent, _indent(line)) :] for line in lines[start + 1 : end])]
        piece = Piece("\n".join(block).rstrip(), start + 1, _indent(lines[start]), indent)
        pieces += _parted(piece)
    return pieces


def _parted(piece: Piece) -> list[Piece]:
    """A piece of one line, parted at its outer `;`."""
    if "\n" in piece.text or ";" not in piece.text:
        return [piece]
    block = _BLOCK.search(piece.text)
    end = block.start() if block else len(piece.text)
    depth, at, made = 0, 0, []
    for token in _TOKEN.finditer(piece.text):
        word = token.group()
        if token.start() >= end:
            break
        depth += (word in "([{⟨") - (word in ")]}⟩")
        if word == ";" and depth == 0:
            made.append((at, token.start()))
            at = token.end()
    made.append((at, len(piece.text)))
    parts = [(start, piece.text[start:stop]) for start, stop in made]
    return [
        Piece(part.strip(), piece.line, piece.column + start + _indent(part), piece.indent)
        for start, part in parts
        if part.strip()
    ]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _blank(text: str) -> str:
    return "".join("\n" if char == "\n" else " " for char in text)


def _where(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1)
