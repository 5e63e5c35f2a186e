r"""Coq text from an agent: sentences, and which of them are tactics. Invariant: what is passed on holds tactics only.

Coq's own lexer decides in the end what a sentence is. So that ours cannot disagree with it, what both could read
differently is refused (a quote in a comment, unusual blanks) or replaced (comments become blanks of the same length).
Every command of Coq begins with a capital letter or `#`, every tactic with a small letter, a bracket or a bullet. What
that shape lets through is looked at word by word, for the few tactics that leave a goal unproved or run native code.
"""

from __future__ import annotations

import re

from agentenv.envs.theorem.provers.base import Piece, TacticFailed

__all__ = ["is_plain", "sentences"]

_FORBIDDEN = {
    "admit": "it leaves the goal unproved",
    "give_up": "it leaves the goal unproved",
    "shelve": "it hides goals",
    "shelve_unifiable": "it hides goals",
    "unshelve": "it hides goals",
    "native_compute": "native code is not run here",
    "native_cast_no_check": "native code is not run here",
    "vm_cast_no_check": "it leaves the goal unchecked",
    "exact_no_check": "it leaves the goal unchecked",
    "change_no_check": "it leaves the goal unchecked",
    "convert_concl_no_check": "it leaves the goal unchecked",
    "ltac2": "only plain tactics are allowed",
    "par": "goals are worked on one after the other",
    "Qed": "the proof is closed when it is complete",
    "Defined": "the proof is closed when it is complete",
    "Admitted": "the proof is closed when it is complete",
    "Abort": "the proof is not left",
}
_TOKEN = re.compile(r'\(\*|\*\)|"|\.(?=\s|$)|\.\.+', re.DOTALL)
_START = re.compile(r"(?:(?:\d+(?:-\d+)?(?:, ?\d+(?:-\d+)?)*|all|!)\s*:\s*)?[a-z_(\[]")
_BULLET = re.compile(r"(?:(?:\d+|\[\w+\]) *: *)?(?:\{|\}|-+|\++|\*+)")
_WORD = re.compile(r"[^\W\d][\w']*")
_STRING = re.compile(r'"(?:[^"]|"")*"')


def sentences(text: str) -> list[Piece]:
    r"""The tactics of a text, comments blanked; a bullet or brace is one of its own.

    Raises:
        TacticFailed: If a comment, string or sentence is not closed, or a sentence is no tactic.

    >>> [piece.text for piece in sentences("intros n. (* sorry *) - simpl.\n  reflexivity.")]
    ['intros n.', '-', 'simpl.', 'reflexivity.']
    >>> sentences("exact I. Qed.")
    Traceback (most recent call last):
    ...
    agentenv.envs.theorem.provers.base.TacticFailed: 'Qed' is not allowed: the proof is closed when it is complete
    """
    plain = _blanked(text)
    found: list[Piece] = []
    at = 0
    while True:
        at += len(plain[at:]) - len(plain[at:].lstrip())
        if at == len(plain):
            break
        bullet = _BULLET.match(plain, at)
        end = bullet.end() if bullet else _sentence_end(plain, at)
        line = plain.count("\n", 0, at) + 1
        column = at - (plain.rfind("\n", 0, at) + 1)
        piece = Piece(plain[at:end].replace("\n", " ").replace("\t", " "), line, column)
        if not bullet:
            _check(piece)
        found.append(piece)
        at = end
    if not found:
        raise TacticFailed("there is no tactic")
    return found


def is_plain(piece: str) -> bool:
    """Whether a sentence is a tactic, not a bullet or a brace."""
    return _BULLET.fullmatch(piece) is None


def _check(piece: Piece) -> None:
    start = _START.match(piece.text)
    words = [found.group() for found in _WORD.finditer(_STRING.sub('""', piece.text))]
    for word in words:
        if word in _FORBIDDEN:
            raise TacticFailed(f"{word!r} is not allowed: {_FORBIDDEN[word]}", piece.line, piece.column)
    if start is None:
        what = words[0] if words else piece.text[:20]
        raise TacticFailed(f"{what!r} is not allowed: only tactics are", piece.line, piece.column)
    if "<prompt>" in piece.text or "</prompt>" in piece.text:
        raise TacticFailed("'<prompt>' is not allowed", piece.line, piece.column)


def _sentence_end(plain: str, start: int) -> int:
    at = start
    for token in _TOKEN.finditer(plain, start):
        if token.start() < at:
            continue
        word = token.group()
        if word == '"':
            at = _STRING.match(plain, token.start()).end()  # type: ignore[union-attr]
        elif word == ".":
            return token.end()
        elif word.startswith(".."):
            raise TacticFailed("'..' is not allowed", *_where(plain, token.start()))
    raise TacticFailed("the tactic does not end with a full stop", *_where(plain, start))


def _blanked(text: str) -> str:
    """The text with comments blanked, strings as they are."""
    made: list[str] = []
    at = depth = 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        if token.start() < at:
            continue
        if word == '"' and depth:
            raise TacticFailed("a comment may hold no double quote", *_where(text, token.start()))
        if word == '"':
            string = _STRING.match(text, token.start())
            if string is None or "\n" in string.group():
                raise TacticFailed("the string is not closed on its line", *_where(text, token.start()))
            made.append(text[at : string.end()])
            at = string.end()
        elif word == "(*":
            if not depth:
                made.append(text[at : token.start()])
                at = token.start()
            depth += 1
        elif word == "*)":
            if not depth:
                raise TacticFailed("'*)' closes no comment", *_where(text, token.start()))
            depth -= 1
            if not depth:
                made.append("".join("\n" if char == "\n" else " " for char in text[at : token.end()]))
                at = token.end()
    if depth:
        raise TacticFailed("the comment is not closed", *_where(text, at))
    return "".join(made) + text[at:]


def _where(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1)
