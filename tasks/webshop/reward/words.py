"""Texts as canonical words, for comparing what shops write. Invariant: two different numbers never become equal words.

Folded is only the way of writing: case, Unicode composition, spacing, hyphens, thousands commas, trailing zeros, and
two spellings (gray, colour). Time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

__all__ = ["BORDER", "Phrase", "spaced", "words"]

BORDER = "."
"""Stands where a sentence or an item of a list ends."""

# Python's normalisation is quadratic in the length of a run of combining marks; Unicode's own limit is 30.
_MOST_MARKS = 30
_SIGNS: dict[int, str] = {
    **{ord(sign): "'" for sign in "‘’ʼ′"},
    **{ord(sign): '"' for sign in "“”″"},
    **{ord(sign): "-" for sign in "‐‑‒–—−"},
    **{full_width: chr(full_width - 0xFEE0) for full_width in range(0xFF01, 0xFF5F)},
    ord("×"): "x",
}
_SPELLINGS = {"gray": "grey", "colour": "color", "colours": "colors"}
_SEPARATORS = r"""\s\x00-\x1f_\-/|\\,;:.!?()\[\]{}"`*&\u2000-\u206f"""
_TOKEN = re.compile(
    rf"""
      (?P<number>\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    | (?P<unit>(?<=\d)["'])
    | (?P<between>(?<=\d)\s*[-/|]\s*(?=\.?\d))
    | (?P<minus>(?<![^\s(])-(?=\.?\d))
    | (?P<percent>%)
    | (?P<border>[.!?;:,\n])
    | (?P<word>[^{_SEPARATORS}\d%]+)
    """,
    re.VERBOSE,
)
_DENIALS = "no not non never without nor isnt arent wasnt doesnt dont didnt cannot cant wont"
_DENIES_BEFORE = frozenset(_DENIALS.split())
_DENIES_AFTER = frozenset({"free"})
_FILLERS = "a an the any very fully really truly completely entirely quite"
_SKIPPED_BEFORE = frozenset(_FILLERS.split())
_MOST_FILLERS = 3
_KEPT_LENGTH = 500
_RANGE_SIGNS = frozenset("-/")


def words(text: str, *, borders: bool = False) -> tuple[str, ...]:
    """The canonical words of a text; numbers stand apart from letters, and signs between digits are kept.

    Args:
        text: Any text.
        borders: Whether punctuation becomes `BORDER`.

    >>> words("Non-Slip, 1,000.50mm"), words("2-pack / 2 pack")
    (('non', 'slip', '1000.5', 'mm'), ('2', 'pack', '2', 'pack'))
    >>> words("1/2 in") == words("1 | 2 in") != words("1 2 in"), words('6"') != words("6'")
    (True, True)
    """
    found = _kept_scan(text) if len(text) <= _KEPT_LENGTH else _scan(text)
    return found if borders else tuple(word for word in found if word != BORDER)


class Phrase:
    """Words to look for in texts, at word borders and within one sentence.

    >>> Phrase("non slip").claims("A Non-Slip sole."), Phrase("slip").claims("A non-slip sole.")
    ([True], [False])
    """

    def __init__(self, text: str) -> None:
        found = list(words(text, borders=True))
        while found and found[-1] == BORDER:
            found.pop()
        while found and found[0] == BORDER:
            found.pop(0)
        self.words = tuple(word for word in found if word != BORDER)
        self._needle = f" {' '.join(found)} "

    def claims(self, text: str) -> list[bool]:
        """For every place that holds the phrase, whether the text affirms it there (or denies it)."""
        return self.claims_in(spaced(text))

    def claims_in(self, haystack: str) -> list[bool]:
        """The same for a text that `spaced` has prepared."""
        if not self.words:
            return []
        claims: list[bool] = []
        start = haystack.find(self._needle)
        while start >= 0:
            end = start + len(self._needle) - 1
            before, after = _words_before(haystack, start), _word_after(haystack, end)
            if not self._is_part_of_a_number(before[0], after):
                claims.append(not _denied(before, after))
            start = haystack.find(self._needle, end)
        return claims

    def _is_part_of_a_number(self, before: str, after: str) -> bool:
        """Whether the phrase begins or ends inside a range, a fraction or a negative number."""
        begins = self.words[0][0].isdecimal() and before in _RANGE_SIGNS
        ends = self.words[-1][-1].isdecimal() and after in _RANGE_SIGNS
        return begins or ends


def spaced(text: str) -> str:
    """The words of a text with their borders, each with a space on either side."""
    return f" {' '.join(words(text, borders=True))} "


def _scan(text: str) -> tuple[str, ...]:
    return tuple(_tokens(_fold(text)))


# A page is scored after every turn, and shops repeat themselves; long texts are not kept.
_kept_scan = lru_cache(maxsize=4096)(_scan)


def _tokens(folded: str) -> Iterator[str]:
    for match in _TOKEN.finditer(folded):
        token = match.group()
        match match.lastgroup:
            case "number":
                yield _number(token)
            case "between":
                yield "-" if "-" in token else "/"
            case "border":
                yield BORDER
            case "word":
                word = token.replace("'", "")
                if word:
                    yield _SPELLINGS.get(word, word)
            case _:
                yield token


def _fold(text: str) -> str:
    folded = text.translate(_SIGNS).casefold()
    if folded.isascii() or _has_many_marks(folded):
        return folded
    return unicodedata.normalize("NFC", folded)


def _has_many_marks(text: str) -> bool:
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > _MOST_MARKS:
            return True
    return False


def _number(token: str) -> str:
    whole, point, decimals = token.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole or '0'}{point}{decimals}" if decimals else whole or "0"


def _words_before(haystack: str, end: int) -> list[str]:
    """The last words before a place, the nearest first; an empty one stands for the beginning."""
    found = []
    for _ in range(_MOST_FILLERS + 1):
        start = haystack.rfind(" ", 0, end)
        found.append(haystack[start + 1 : end])
        end = max(start, 0)
    return found


def _word_after(haystack: str, start: int) -> str:
    """The word that follows a place; empty at the end."""
    return haystack[start + 1 : max(haystack.find(" ", start + 1), 0)]


def _denied(before: Sequence[str], after: str) -> bool:
    nearest = next((word for word in before if word not in _SKIPPED_BEFORE), "")
    return nearest in _DENIES_BEFORE or after in _DENIES_AFTER
