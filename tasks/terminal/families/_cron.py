"""Reads crontab files as cron does. Invariant: two schedules are equal exactly when they fire at the same times."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c

__all__ = ["Job", "When", "jobs_of", "when"]

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_DAYS = "sun mon tue wed thu fri sat".split()  # noqa: SIM905
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ITEM = re.compile(r"(?:(\*)|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?")


@dataclass(frozen=True)
class When:
    """The minutes, hours, months and pairs of day of the month and of the week (0: Sunday) at which a job starts."""

    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    days: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Job:
    """One line of a crontab."""

    when: When
    command: str


def when(fields: str) -> When:
    """The schedule that five fields or a nickname tell.

    Raises:
        NotInStateError: If cron would refuse it.

    >>> when("0 0 * * sun") == when("@weekly") == when("00 0 1-31/1 * 7")
    False
    >>> when("0 0 * * sun") == when("@weekly") == when("00 0 * 1-12 7")
    True
    """
    parts = _NICKNAMES.get(fields.lower(), fields).lower().split()
    if len(parts) != 5:
        raise NotInStateError(f"{fields!r} is no schedule of five fields")
    minutes, hours = _values(parts[0], 0, 59), _values(parts[1], 0, 23)
    of_month, months = _values(parts[2], 1, 31), _values(parts[3], 1, 12, _MONTHS, 1)
    of_week = frozenset(day % 7 for day in _values(parts[4], 0, 7, _DAYS, 0))
    # Either day is enough, unless one of the fields starts with a star.
    starred = parts[2].startswith("*") or parts[4].startswith("*")
    days = frozenset(
        (day, weekday)
        for day in range(1, 32)
        for weekday in range(7)
        if (day in of_month and weekday in of_week if starred else day in of_month or weekday in of_week)
    )
    return When(minutes, hours, months, days)


def _values(field: str, low: int, high: int, names: list[str] | None = None, base: int = 0) -> frozenset[int]:
    def number(text: str) -> int:
        value = names.index(text) + base if names and text in names else int(text) if text.isdigit() else -1
        if not low <= value <= high:
            raise NotInStateError(f"{text!r} is not in {low}-{high}")
        return value

    found: set[int] = set()
    for item in field.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise NotInStateError(f"{field!r} is no field of a schedule")
        star, first, last, step = match.groups()
        start = low if star else number(first)
        end = high if star else number(last) if last else start
        every = int(step) if step else 1
        if every < 1 or end < start or (step and not star and not last):
            raise NotInStateError(f"{item!r} is no range of a schedule")
        found.update(range(start, end + 1, every))
    return frozenset(found)


def jobs_of(view: StateView, path: str) -> list[Job]:
    """The jobs of a user's crontab file: comments, blank lines and settings are skipped.

    Raises:
        NotInStateError: If there is no such file, or cron would refuse it.
    """
    jobs = []
    for line in c.lines_of(view, path):
        text = line.strip()
        if not text or text.startswith("#") or re.match(r"[A-Za-z_][A-Za-z0-9_]*\s*=", text):
            continue
        words = text.split(None, 1 if text.startswith("@") else 5)
        if len(words) != (2 if text.startswith("@") else 6):
            raise NotInStateError(f"{path}: {text[:60]!r} is no job")
        # cron passes what follows an unescaped % as input.
        command = re.split(r"(?<!\\)%", words[-1])[0].replace("\\%", "%").strip()
        jobs.append(Job(when(" ".join(words[:-1])), command))
    return jobs
