"""What Lucene's English analysis makes of a text, as BM25 baselines use it (Pyserini, Anserini, WebShop, Search-R1).

Invariant: `analyse` depends on the text alone, takes every string, and needs time linear in its length.

The chain is Lucene's: words by Unicode's word-break rules, a trailing possessive cut off, lower case, 33 stop words
dropped, Porter's stemmer. Words follow UAX #29 as Lucene's `StandardTokenizer` does:

* letters and digits run together (`B2B`, `x86`), underscores join (`snake_case`) but are no word alone;
* ``: · . '`` join between letters (`don't`, `e.g`, `example.com`, `a:b`), ``, ; . '`` between digits (`1,000.5`);
* combining marks and format characters belong to the character before them;
* an ideograph or a hiragana character is a word of its own, as is a run of katakana, of a South-East Asian script, an
  emoji with its modifiers and joined emoji, and a pair of regional indicators (a flag);
* a word over 255 characters is cut there.

Where it differs: scripts are told by Python's character names and emoji by their blocks, Hebrew's quotes do not join,
keycaps of `#` and `*` are no words, and lengths are in code points and not in UTF-16 units. English text has none of
these.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import Stemmer  # type: ignore[import-not-found]

__all__ = ["ANALYSIS", "STOP_WORDS", "analyse", "stem", "words"]

#: Names this chain in fingerprints; it changes whenever `analyse` gives anything different for any text.
ANALYSIS = "lucene-english-1"

# fmt: off
STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
        "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
        "was", "will", "with",
    )
)
# fmt: on

_LONGEST = 255
_POSSESSIVES = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")


def analyse(text: str) -> list[str]:
    """The terms of a text, in order, repeated as often as they occur.

    >>> analyse("The Eiffel Tower's 2 architects weren't running.")
    ['eiffel', 'tower', '2', 'architect', "weren't", 'run']
    """
    return [term for term in map(_term, words(text)) if term]


@lru_cache(maxsize=1 << 18)
def _term(word: str) -> str:
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    # Java lowers one code point at a time: no special final sigma, and a dotted capital I loses its dot.
    word = word.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()
    return "" if word in STOP_WORDS else stem(word)


def words(text: str) -> list[str]:
    """The words of a text, as they stand.

    >>> words("snake_case, 1,000.5 km; don't e-mail me@example.com")
    ['snake_case', '1,000.5', 'km', "don't", 'e', 'mail', 'me', 'example.com']
    """
    if text.isascii():
        found: Iterable[str] = _ASCII.findall(text)
    else:
        found = (text[match.start() : match.end()] for match in _SHAPED.finditer(text.translate(_SHAPES)))
    kept = [word for word in found if word.strip("_")]
    if len(text) > _LONGEST and any(len(word) > _LONGEST for word in kept):
        kept = [word[start : start + _LONGEST] for word in kept for start in range(0, len(word), _LONGEST)]
    return kept


def _pattern(shapes: dict[str, str], more: str = "") -> re.Pattern[str]:
    """The word rules over one regular expression per class of character.

    Every quantifier is possessive, and a run of underscores is consumed even if nothing joins it: no input makes the
    matcher go back. (`words` drops what is underscores alone.)
    """
    letters = "{letter}++(?:{in_word}{letter}++)*+".format(**shapes)
    numbers = "{digit}++(?:{in_number}{digit}++)*+".format(**shapes)
    chunk = f"(?:{letters}|{numbers})++"
    if "katakana" in shapes:
        chunk = f"(?:{chunk}|{shapes['katakana']}++)"
    joint = f"{shapes['joint']}++"
    joined = f"{chunk}(?:{joint}{chunk})*+(?:{joint})?+"
    return re.compile(f"{joined}|{joint}(?:{joined})?+{more}")


_ASCII = _pattern(
    {"letter": "[A-Za-z]", "digit": "[0-9]", "joint": "_", "in_word": "[:.']", "in_number": "[,;.']"},
)

# In a shape, one letter stands for the class of each character of the text:
#   A letter, N digit, K katakana, U joining punctuation; l, n, b what joins letters, digits, both;
#   I ideograph, G hiragana, S South-East Asian, E emoji, M emoji modifier, R regional indicator;
#   x extending character, z zero-width joiner; o anything else.
_SHAPED = _pattern(
    {
        "letter": "(?:A[xz]*+)",
        "digit": "(?:N[xz]*+)",
        "katakana": "(?:K[xz]*+)",
        "joint": "(?:U[xz]*+)",
        "in_word": "(?:[lb][xz]*+)",
        "in_number": "(?:[nb][xz]*+)",
    },
    more="|[IG][xz]*+|(?:S[xz]*+)++|R[xz]*+R[xz]*+|E(?:[xM]|z++E?+)*+|M[xz]*+",
)

_SINGLES = {
    **dict.fromkeys(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a", "l"),
    **dict.fromkeys(",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b", "n"),
    **dict.fromkeys(".'\u2018\u2019\u2024\ufe52\uff07\uff0e", "b"),
    **dict.fromkeys("\uff9e\uff9f", "x"),
    "\u200d": "z",
    "\u200b": "o",
    "\u202f": "U",
    "\u066b": "N",
    "\u3007": "I",
}
_SCRIPTS = {
    **dict.fromkeys(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI", "HANGZHOU"), "I"),
    **dict.fromkeys(("IDEOGRAPHIC ITERATION", "VERTICAL IDEOGRAPHIC ITERATION"), "I"),
    **dict.fromkeys(("KATAKANA", "HALFWIDTH KATAKANA", "CIRCLED KATAKANA"), "K"),
    "HIRAGANA": "G",
    **dict.fromkeys(("THAI ", "LAO ", "MYANMAR ", "KHMER ", "TAI ", "NEW TAI ", "AHOM "), "S"),
}
_CATEGORIES = {"Nd": "N", "Nl": "A", "Pc": "U", "Mn": "x", "Me": "x", "Mc": "x", "Cf": "x"}


class _Shapes(dict[int, str]):
    """The class of each code point, found when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = shape = _shape(chr(code))
        return shape


_SHAPES = _Shapes()


def _shape(character: str) -> str:
    if character in _SINGLES:
        return _SINGLES[character]
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if category[0] in "LM" or category in ("Nl", "So"):
        for start, shape in _SCRIPTS.items():
            if name.startswith(start) and (category != "So" or shape in "IK"):
                return shape
    if category[0] == "L":
        return "A"
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return "R"
    if "\U0001f3fb" <= character <= "\U0001f3ff":
        return "M"
    if category == "So" and "LATIN" in name:
        return "A"
    if category == "So" and ("\u2600" <= character <= "\u27bf" or "\U0001f000" <= character <= "\U0001faff"):
        return "E"
    return _CATEGORIES.get(category, "o")


class _PerThread(threading.local):
    # PyStemmer's objects must not be shared between threads.
    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("porter", 0).stemWord


_SNOWBALL = _PerThread()
_KEPT_DOUBLE = "lsz"
_SNOWBALL_MENDS = "bdfgmnprt"
_INFLECTED = re.compile(r"(.)\1(?:ed|ing)s?$", re.DOTALL)
# What inflection alone turns into the -i of -bli and -logi: a suffix that went later is not followed by that rule.
_BARE_I = re.compile(r"[iy](?:e?s|(?:ed|ing)s?)?")


def stem(word: str) -> str:
    """The Porter stem of a lower-case word, as Lucene's stemmer gives it.

    Lucene carries its author's own C program, which Snowball's `porter` (the paper to the letter) differs from in
    four ways, mended here: words of one or two letters stay, -bli becomes -ble and -logi -log where a syllable goes
    before, and *any* doubled consonant before -ed or -ing but l, s, z loses one.

    >>> [stem(word) for word in ("us", "possibly", "archaeology", "trekking", "falling")]
    ['us', 'possibl', 'archaeolog', 'trek', 'fall']
    """
    if len(word) <= 2:
        return word
    doubled = _INFLECTED.search(word)
    if doubled is not None and doubled[1] not in _KEPT_DOUBLE and doubled[1] not in _SNOWBALL_MENDS:
        base = word[: doubled.start() + 2]
        consonants = _consonants(base)
        if consonants[-1] and not all(consonants):
            word = base[:-1]
            if len(word) <= 2:
                return _final_y(word)
    stemmed: str = _SNOWBALL.stem(word)
    if stemmed.endswith(("bli", "logi")) and _BARE_I.fullmatch(word, len(stemmed) - 1):
        if stemmed[-2] == "l" and _has_syllable(stemmed[:-3]):
            again: str = _SNOWBALL.stem(stemmed[:-1] + "e")
            return again
        if stemmed[-2] == "g" and _has_syllable(stemmed[:-4]):
            return stemmed[:-1]
    return stemmed


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word[-1] == "y" and not all(_consonants(word[:-1])) else word


def _consonants(word: str) -> list[bool]:
    """Whether each letter is a consonant: `y` is one at the start and after a vowel."""
    told: list[bool] = []
    for letter in word:
        told.append((not told or not told[-1]) if letter == "y" else letter not in "aeiou")
    return told


def _has_syllable(stem: str) -> bool:
    """Whether a consonant follows a vowel somewhere: Porter's measure is above zero."""
    told = _consonants(stem)
    return any(not vowel and consonant for vowel, consonant in pairwise(told))
