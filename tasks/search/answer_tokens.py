"""The canonical tokens of an answer: what two texts must share to be the same answer.

Invariant: texts that name different numbers, signs, units or symbols have different tokens. What is folded is only the
way of writing: Unicode form, case, white space, dashes, quotes, thousands commas, trailing zeros, the order of a
date's parts. Time is linear in the text, and no number is ever turned into an `int` that the text can make large.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from agentenv.tasks.search.answer_dates import canonical_dates, numeric_date

__all__ = ["SEPARATOR", "fold", "is_number", "tokens"]

SEPARATOR = ","
"""The token that stands between the items of a list (a comma or a semicolon)."""

_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_CASED_BY_PREFIX = frozenset({"mw", "mv", "ma", "mj", "mpa"})
_CASED_BY_SUFFIX = frozenset({"kb", "mb", "gb", "tb"})
_JOINERS = "\u200c\u200d"
_DROPPED = "¡¿™®℠"
_MOST_MARKS = 30
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:/\d+)?", re.ASCII)
_FRACTION_PART = 9
_MOST_SCALED_DIGITS = 64
_THIN_GROUPS = re.compile(r"(?<![\d.,\u2009\u202f])\d{1,3}(?:[\u2009\u202f]\d{3})+(?!\d)", re.ASCII)

_LETTER = "A-Za-z_\x80-\U0010ffff"
_TOKEN = re.compile(
    rf"""
      (?P<date>(?<![\w.,/-])(?:\d{{4}}-\d\d-\d\d|\d{{4}}/\d\d?/\d\d?|\d\d?/\d\d?/\d{{4}})(?![\w/-]|[.,]\d))
    | (?P<fraction>(?<![\w.,/])\d{{1,{_FRACTION_PART}}}/\d{{1,{_FRACTION_PART}}}(?![\w/]|[.,]\d))
    | (?P<number>(?<![\w.])\.\d+|\d+(?:[.,]\d+)*)
    | (?P<initials>(?<![\w'])[A-Za-z](?:\.[A-Za-z](?![\w'])|\.\ [A-Za-z](?=\.))+\.?)
    | (?P<word>[{_LETTER}][0-9{_LETTER}]*(?:'[{_LETTER}]+)*)
    | (?P<space>\ )
    | (?P<dots>\.\.+)
    | (?P<bangs>[!?]+)
    | (?P<dashes>-+)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def tokens(text: str) -> tuple[str, ...]:
    """The canonical tokens of a text, `SEPARATOR` tokens included.

    >>> tokens("“The 1,000.50 km”")
    ('the', '1000.5', 'km')
    >>> tokens("January 5th, 2020") == tokens("2020-01-05") == ('5', 'january', '2020')
    True
    >>> tokens("−3 °C"), tokens("J. K. Rowling"), tokens("1½ million")
    (('-3', '°', 'c'), ('jk', 'rowling'), ('1500000',))
    """
    folded = fold(text)
    found = canonical_dates(_Scanner(folded).scan())
    if all(token == SEPARATOR for token in found):
        return (folded.casefold(),) if folded else ()
    return tuple(found)


def is_number(token: str) -> bool:
    """Whether a token is a number in canonical form.

    >>> is_number("-3"), is_number("0.5"), is_number("007")
    (True, True, False)
    """
    return _NUMBER.fullmatch(token) is not None


def fold(text: str) -> str:
    """One line in one Unicode form: compatibility characters spelled out, never so that two numbers become one.

    Superscripts keep their place (`5²` is `5^2`, never `52`), so do fractions (`1½` is `1 1/2`); invisible characters
    go; symbols outside ASCII stand apart from their neighbours.

    >>> fold("Ｐａｒｉｓ\\u00a0  5²"), fold("1½"), fold("H₂O")
    ('Paris 5^2', '1 1/2', 'H2O')
    """
    if text.isascii():
        return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
    text = _THIN_GROUPS.sub(lambda match: re.sub("[\u2009\u202f]", "", match.group()), text)
    out: list[str] = []
    last_kind: str | None = None
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks > _MOST_MARKS:
            continue
        piece, kind = (char, "") if char.isascii() else _spell_out(char)
        if kind == "super" and last_kind != "super":
            out.append("^")
        elif piece[:1].isdecimal() and last_kind is not None and kind != last_kind:
            out.append(" ")
        out.append(piece)
        if piece:
            last_kind = kind if piece[-1].isdecimal() or kind == "super" else None
    return fold(joined) if (joined := "".join(out)).isascii() else _one_line(unicodedata.normalize("NFC", joined))


def _one_line(text: str) -> str:
    return " ".join("".join(" " if unicodedata.category(char) == "Cc" else char for char in text).split())


def _spell_out(char: str) -> tuple[str, str]:
    """What a character outside ASCII is written as, and of which kind its digits are ("" for ordinary ones)."""
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char)), ""
    if category == "Pd" or char == "\u2212":
        return "-", ""
    if (category == "Cf" and char not in _JOINERS) or "\ufe00" <= char <= "\ufe0f" or char in _DROPPED:
        return "", ""
    if category in ("Pi", "Pf") or char in "‚„":
        return ("'" if char in "‘’‚‛‹›" else '"'), ""
    if char in "′″":
        return ("'" if char == "′" else '"'), ""
    tag = unicodedata.decomposition(char).partition(">")[0].lstrip("<")
    plain = unicodedata.normalize("NFKC", char).replace("\u2044", "/").replace("\u2212", "-")
    if tag == "super" and not plain.isalpha():
        return plain, "super"
    if tag in ("sub", "circle", "compat", "fraction"):
        return plain, tag
    if category[0] in "SP" and plain == char:
        return f" {char} ", ""
    return plain, ""


class _Scanner:
    """One pass over a folded line. What a mark means depends on the characters beside it."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.out: list[str] = []
        self.sign = ""
        self.open_quotes: set[str] = set()

    def scan(self) -> list[str]:
        for match in _TOKEN.finditer(self.line):
            group, text = match.lastgroup, match.group()
            before = self.line[match.start() - 1 : match.start()] if match.start() else ""
            after = self.line[match.end() : match.end() + 1]
            if group == "word":
                self._word(text)
            elif group == "number":
                self._number(text)
            elif group == "fraction":
                self._fraction(text, before)
            elif group == "initials":
                self._word(re.sub(r"[. ]", "", text))
            elif group == "date":
                self.out.extend(numeric_date(text) or _date_parts(text))
            elif group == "dashes":
                self._dashes(text, before, after, self.line[match.end() : match.end() + 2])
            elif group == "bangs":
                self._bangs(text, before)
            elif group == "mark":
                self._mark(text, before, after)
            if group != "dashes":
                self.sign = ""
        return self.out

    def _after_number(self) -> bool:
        return bool(self.out) and len(self.out[-1]) <= _MOST_SCALED_DIGITS and is_number(self.out[-1])

    def _word(self, text: str) -> None:
        folded = text.casefold()
        if not folded.isascii():
            folded = unicodedata.normalize("NFC", folded)
        if self._after_number():
            if folded in _SCALES and "/" not in self.out[-1]:
                self.out[-1] = _shifted(self.out[-1], _SCALES[folded])
                return
            if folded in _CASED_BY_PREFIX:
                folded = text[0] + folded[1:]
            elif folded in _CASED_BY_SUFFIX:
                folded = folded[:-1] + text[-1]
        self.out.append("%" if folded == "percent" else folded)

    def _number(self, text: str) -> None:
        parts = text.split(",")
        head, tail = parts[0], parts[1:]
        *groups, last = tail or [""]
        grouped = bool(tail) and head.isdecimal() and len(head) <= 3 and head[0] != "0"
        whole, _, decimals = last.partition(".")
        grouped = grouped and all(len(group) == 3 and group.isdecimal() for group in [*groups, whole])
        if grouped and (decimals.isdecimal() or not decimals):
            self.out.append(_canonical(self.sign, "".join([head, *groups, whole]), decimals))
            return
        for index, part in enumerate(parts):
            whole, _, decimals = part.partition(".")
            if index:
                self.out.append(SEPARATOR)
            plain = not decimals or decimals.isdecimal()
            if plain and (len(whole) <= 1 or whole[0] != "0"):
                self.out.append(_canonical("" if index else self.sign, whole, decimals))
            else:
                self.out.extend([self.sign] if self.sign and not index else [])
                self.out.append(part)

    def _fraction(self, text: str, before: str) -> None:
        top, bottom = text.split("/")
        if top[0] == "0" or bottom[0] == "0" or int(top) >= int(bottom):
            for part in (top, "/", bottom):
                if part == "/":
                    self.out.append(part)
                else:
                    self._number(part)
                self.sign = ""
            return
        value = Fraction(int(top), int(bottom))
        whole = self.out[-1] if before == " " and self._after_number() else ""
        sign = self.sign
        if whole and not sign and len(whole) <= _FRACTION_PART and whole.lstrip("-").isdecimal():
            value += abs(int(whole))
            sign = whole[:1] if whole[0] == "-" else ""
            self.out.pop()
        self.out.append(sign + _decimal(value))

    def _dashes(self, text: str, before: str, after: str, ahead: str) -> None:
        self.sign = ""
        to_number = after.isdecimal() or (after == "." and ahead[1:].isdecimal())
        if text == "-" and to_number and not (before.isalnum() or before in tuple("_)]}'\"%.!?")):
            self.sign = "-"
        elif before.isalpha() and after.isalpha():
            return
        elif after != " " or not ahead[1:].isalpha() or (self.out and self.out[-1][-1].isdecimal()):
            self.out.append("-")

    def _bangs(self, text: str, before: str) -> None:
        if before.isalpha() or before in tuple("'\")") or (before.isdecimal() and "?" in text):
            return
        self.out.append(text)

    def _mark(self, mark: str, before: str, after: str) -> None:
        if mark in "'\"":
            if mark in self.open_quotes:
                self.open_quotes.discard(mark)
            elif before.isdecimal() and not after.isalpha():
                self.out.append(mark)
            elif not before.isalnum() and after.strip():
                self.open_quotes.add(mark)
        elif mark in ",;":
            self.out.append(SEPARATOR)
        elif mark == ".":
            if after.isalnum():
                self.out.append(mark)
        elif mark == ":":
            if before.isdecimal() and after.isdecimal():
                self.out.append(mark)
        elif mark == "&":
            self.out.append("and" if before == after == " " else mark)
        elif mark == "+":
            if not after.isdecimal() or before.isalnum():
                self.out.append(mark)
        else:
            self.out.append(mark)


def _date_parts(text: str) -> list[str]:
    return [part.lstrip("0") or "0" for part in re.split("([/-])", text)]


def _canonical(sign: str, whole: str, decimals: str) -> str:
    """A number as text: no leading or trailing zero, no minus before nothing."""
    decimals = decimals.rstrip("0")
    number = (whole.lstrip("0") or "0") + ("." + decimals if decimals else "")
    return number if number == "0" else sign + number


def _shifted(number: str, places: int) -> str:
    """A canonical number times a power of ten."""
    sign, digits = ("-", number[1:]) if number[0] == "-" else ("", number)
    whole, _, decimals = digits.partition(".")
    decimals = decimals.ljust(places, "0")
    return _canonical(sign, whole + decimals[:places], decimals[places:])


def _decimal(value: Fraction) -> str:
    """A fraction as a canonical decimal number where it ends, else as `n/d`."""
    places, rest = 0, value.denominator
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return _canonical("", digits[: len(digits) - places], digits[len(digits) - places :])
