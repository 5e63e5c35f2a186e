"""Dates in an answer's tokens. Invariant: a date is always day, month, year, whichever way it was written.

A date that can be read in two ways (`03/04/2020`) is left as it is written: it equals only itself.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MONTHS", "canonical_dates", "numeric_date"]

# fmt: off
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)
# fmt: on
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NAMES = {**{month: month for month in MONTHS}, **{month[:3]: month for month in MONTHS}, "sept": "september"}
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_ERAS = {"bc": "bc", "bce": "bc", "ad": "ad", "ce": "ad"}


def numeric_date(text: str) -> list[str] | None:
    """Day, month, year of a date in digits; None where it is not one, or could be another.

    >>> numeric_date("2020-01-05"), numeric_date("25/12/2020"), numeric_date("03/04/2020")
    (['5', 'january', '2020'], ['25', 'december', '2020'], None)
    """
    first, second, third = text.replace("/", "-").split("-")
    if len(first) == 4:
        return _day_month_year(third, second, first)
    readings = [_day_month_year(first, second, third), _day_month_year(second, first, third)]
    possible = [reading for reading in readings if reading is not None]
    return possible[0] if possible and all(reading == possible[0] for reading in possible) else None


def _day_month_year(day: str, month: str, year: str) -> list[str] | None:
    if year[0] == "0" or not 1 <= int(month) <= 12:
        return None
    return [str(int(day)), MONTHS[int(month) - 1], year] if _is_day(day, MONTHS[int(month) - 1]) else None


def canonical_dates(found: Sequence[str]) -> list[str]:
    """The tokens with every date as day, month, year, and every era after its year.

    >>> canonical_dates(["jan", "5", "th", ",", "2020"])
    ['5', 'january', '2020']
    >>> canonical_dates(["march", "15", ",", "44", "bce"]), canonical_dates(["ad", "70"])
    (['15', 'march', '44', 'bc'], ['70', 'ad'])
    """
    out: list[str] = []
    at = 0
    while at < len(found):
        parts, used = _date_at(found, at)
        if not used:
            parts, used = _era_at(found, at)
        out.extend(parts)
        at += used
    return out


def _date_at(found: Sequence[str], at: int) -> tuple[list[str], int]:
    """A date that starts here, and how many tokens it takes (0: none)."""
    month = _NAMES.get(found[at])
    if month is None:
        after_day = _skip(found, at + 1, _ORDINALS)
        month_at = _skip(found, after_day, frozenset({"of"}))
        month = _NAMES.get(found[month_at]) if month_at < len(found) else None
        if month is None or not _is_day(found[at], month):
            return [], 0
        day, end = [str(int(found[at]))], month_at + 1
    elif at + 1 < len(found) and _is_day(found[at + 1], month):
        day, end = [str(int(found[at + 1]))], _skip(found, at + 2, _ORDINALS)
    else:
        day, end = [], at + 1
    year_at = _skip(found, end, frozenset({","}))
    if _is_year(found, year_at):
        return [*day, month, found[year_at]], year_at + 1 - at
    closed = end == len(found) or found[end] == ","
    return ([*day, month], end - at) if day and (closed or found[at] not in _NAMES) else ([], 0)


def _era_at(found: Sequence[str], at: int) -> tuple[list[str], int]:
    """The token here, an era after its number and by its one name."""
    token = found[at]
    if token in ("ad", "ce") and at + 1 < len(found) and _is_plain(found[at + 1]):
        return [found[at + 1], "ad"], 2
    if token in _ERAS and at and _is_plain(found[at - 1]):
        return [_ERAS[token]], 1
    return [token], 1


def _skip(found: Sequence[str], at: int, words: frozenset[str]) -> int:
    return at + 1 if at < len(found) and found[at] in words else at


def _is_plain(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) <= 4


def _is_day(token: str, month: str) -> bool:
    if not (token.isascii() and token.isdigit() and len(token) <= 2):
        return False
    return 1 <= int(token) <= _MONTH_DAYS[MONTHS.index(month)]


def _is_year(found: Sequence[str], at: int) -> bool:
    if at >= len(found) or not _is_plain(found[at]):
        return False
    return (len(found[at]) >= 3 and found[at][0] != "0") or (at + 1 < len(found) and found[at + 1] in _ERAS)
