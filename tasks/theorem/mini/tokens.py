"""The prover's tokens: Lean's, as far as the grammar needs them. Hostile text ends in `MiniError`, never in a hang."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenv.tasks.theorem.mini.errors import MiniError

__all__ = ["MAX_TEXT", "RESERVED", "TACTICS", "Token", "tokenize"]

MAX_TEXT = 20_000
_MAX_DIGITS = 9

TACTICS = frozenset(
    [
        "intro",
        "intros",
        "rintro",
        "exact",
        "apply",
        "refine",
        "constructor",
        "left",
        "right",
        "exists",
        "have",
        "obtain",
        "show",
        "change",
        "rfl",
        "rw",
        "rewrite",
        "induction",
        "cases",
        "rcases",
        "contradiction",
        "exfalso",
        "assumption",
        "trivial",
        "decide",
        "simp",
        "calc",
        "case",
        "next",
        "rename_i",
        "subst",
        "by_cases",
        "specialize",
        "injection",
        "revert",
        "clear",
        "all_goals",
        "try",
        "skip",
        "done",
        "symm",
    ]
)
_KEYWORDS = frozenset(
    [
        "abbrev",
        "admit",
        "at",
        "attribute",
        "axiom",
        "by",
        "class",
        "const",
        "def",
        "deriving",
        "do",
        "else",
        "end",
        "example",
        "exists",
        "export",
        "extends",
        "false",
        "forall",
        "from",
        "fun",
        "generalizing",
        "hiding",
        "if",
        "import",
        "in",
        "include",
        "inductive",
        "infix",
        "infixl",
        "infixr",
        "instance",
        "let",
        "local",
        "macro",
        "match",
        "mut",
        "mutual",
        "namespace",
        "noncomputable",
        "nofun",
        "nomatch",
        "notation",
        "nat_lit",
        "only",
        "opaque",
        "open",
        "partial",
        "postfix",
        "prefix",
        "private",
        "protected",
        "renaming",
        "return",
        "scoped",
        "section",
        "set_option",
        "sorry",
        "Sort",
        "structure",
        "suffices",
        "syntax",
        "termination_by",
        "then",
        "theorem",
        "true",
        "unless",
        "universe",
        "unsafe",
        "using",
        "variable",
        "where",
        "with",
        "Type",
        "Prop",
        "Nat",
        "True",
        "False",
        "And",
        "Or",
        "Iff",
        "Not",
        "Eq",
        "Ne",
        "Exists",
        "this",
    ]
)
RESERVED = TACTICS | _KEYWORDS
"""Words that cannot name a variable or hypothesis here (more than in Lean, so that no name depends on its version)."""

_SYMBOLS = (
    "<->", "<;>", ":=", "=>", "->", "<-", "/\\", "\\/", "?_", "∧", "∨", "→", "↔", "¬", "∀", "∃", "≠", "=", "+", "*",
    "(", ")", "{", "}", "⟨", "⟩", "[", "]", ",", ":", ";", "|", "·", ".", "←", "↦", "λ", "⊢",
)  # fmt: skip
_ASCII = {"<->": "↔", "->": "→", "<-": "←", "/\\": "∧", "\\/": "∨", "↦": "=>", "λ": "fun"}
_START = "A-Za-z_α-κμ-ωΑ-ΟΡΤ-Ω"
_WORD = rf"[{_START}][{_START}0-9'₀-₉]*"
_NAME = re.compile(rf"{_WORD}(?:\.{_WORD})*")
_NUMBER = re.compile(r"[0-9]+")
_SPACE = re.compile(r"[ \n]+")


@dataclass(frozen=True)
class Token:
    """A token and its place.

    Args:
        kind: "name", "number", "symbol" or "end".
        text: As written, ASCII forms turned into Lean's own.
        line: 1-based.
        column: 0-based, in characters.
        first: Whether it is the first on its line.
        spaced: Whether white space or a comment stands before it.
    """

    kind: str
    text: str
    line: int
    column: int
    first: bool
    spaced: bool


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, the last of kind "end".

    >>> [token.text for token in tokenize("intro h -- all of it")]
    ['intro', 'h', '']

    Raises:
        MiniError: On a character that cannot stand there, or a text of more than `MAX_TEXT` characters.
    """
    if len(text) > MAX_TEXT:
        raise MiniError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
    tokens: list[Token] = []
    at, line, start, first, spaced = 0, 1, 0, True, True
    while at < len(text):
        space = _SPACE.match(text, at)
        comment = None if space else _comment_end(text, at, line, at - start)
        if space or comment:
            end = space.end() if space else (comment or at)
            newlines = text.count("\n", at, end)
            if newlines:
                line, start, first = line + newlines, text.rindex("\n", at, end) + 1, True
            at, spaced = end, True
            continue
        kind, shown, end = _next(text, at, line, at - start)
        tokens.append(Token(kind, shown, line, at - start, first, spaced))
        at, first, spaced = end, False, False
    tokens.append(Token("end", "", line, at - start, True, True))
    return tokens


def _comment_end(text: str, at: int, line: int, column: int) -> int | None:
    if text.startswith("--", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if not text.startswith("/-", at):
        return None
    if text[at + 2 : at + 3] in ("-", "!") and text[at : at + 4] != "/--/":
        raise MiniError("a documentation comment cannot stand here", line, column)
    depth, here = 0, at
    for mark in re.finditer(r"/-|-/", text[at:]):
        if at + mark.start() < here:
            continue
        here = at + mark.end()
        depth += 1 if mark.group() == "/-" else -1
        if depth == 0:
            return here
    raise MiniError("an unclosed comment", line, column)


def _next(text: str, at: int, line: int, column: int) -> tuple[str, str, int]:
    if name := _NAME.match(text, at):
        word = name.group()
        return ("symbol", "_", name.end()) if word == "_" else ("name", word, name.end())
    if number := _NUMBER.match(text, at):
        if len(number.group()) > _MAX_DIGITS:
            raise MiniError(f"a number of more than {_MAX_DIGITS} digits", line, column)
        return "number", number.group(), number.end()
    for symbol in _SYMBOLS:
        if text.startswith(symbol, at):
            return "symbol", _ASCII.get(symbol, symbol), at + len(symbol)
    raise MiniError(f"unexpected character {text[at]!r}", line, column)
