"""Read logs: filter by level, hour or service, count, list users, join and rotate. Messages hold decoys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, files_in, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG")


@dataclass(frozen=True)
class _Line:
    day: str
    hour: int
    minute: int
    level: str
    service: str
    user: str
    message: str

    def __str__(self) -> str:
        time = f"{self.hour:02d}:{self.minute:02d}:00"
        return f"{self.day} {time} {self.level} {self.service} user={self.user} {self.message}"


def _lines(draw: Draw, count: int = 0) -> list[_Line]:
    """Log lines in order of time, of three services and all levels; some messages name a level that is not theirs."""
    count = count or draw.number(9, 12)
    services, users = draw.some(_words.SERVICES, 3), draw.some(_words.USERS, 4)
    month, first = draw.number(1, 12), draw.number(1, 26)
    days = [f"2024-{month:02d}-{first + place * 2 // count:02d}" for place in range(count)]
    hours = draw.some(range(8, 18), 4)
    times = sorted((day, draw.one(hours), draw.number(0, 59)) for day in days)
    kinds = draw.shuffled([*_LEVELS, *(draw.one(_LEVELS) for _ in range(count - len(_LEVELS)))])
    homes = draw.shuffled([*services, *(draw.one(services) for _ in range(count - len(services)))])
    made = []
    for place, ((day, hour, minute), level, service) in enumerate(zip(times, kinds, homes, strict=True)):
        words = " ".join(draw.some(_words.WORDS, 2))
        decoy = draw.one([other for other in _LEVELS if other != level])
        message = f"{words} after {decoy}" if place % 3 == 0 else words
        made.append(_Line(day, hour, minute, level, service, draw.one(users), message))
    return made


def _text(lines: Sequence[object]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _goals(out: str, lines: Sequence[object], source: str, body: str) -> tuple[c.Check, ...]:
    name, expected = out.rpartition("/")[2], [str(line) for line in lines]
    return (
        c.check(f"{name} lines", c.has_lines_in_any_order(out, expected)),
        c.check(f"{name} order", c.has_lines(out, expected)),
        c.check(f"{name} from intact log", c.has_lines(out, expected), c.has_bytes(source, body)),
    )


def _decoyed(lines: Sequence[_Line], level: str, command: str) -> tuple[tuple[str, ...], ...]:
    """The mistake of searching the whole line, where some message of another level makes it one."""
    return ((command,),) if any(level in line.message for line in lines) else ()


def _paths(draw: Draw) -> tuple[str, str]:
    where = draw.directory()
    return f"{where}/{draw.one((draw.new(_words.SERVICES), draw.stem()))}.log", f"{where}/{draw.file('txt')}"


def _of_level(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    level = draw.one(_LEVELS)
    other = draw.one([name for name in _LEVELS if name != level])
    body = _text(lines)
    return Part(
        ask=draw.one(
            (
                f"write the {level} lines (by their level, field 3) of {source} to {out}",
                f"copy the lines of {source} whose level (field 3) is {level} to {out}",
            )
        ),
        files=(file(source, body),),
        do=(f"awk '$3 == \"{level}\"' {source} > {out}",),
        instead=(f"grep -E '^[^ ]+ [^ ]+ {level} ' {source} > {out}",),
        wrong=(
            (f"awk '$3 == \"{other}\"' {source} > {out}",),
            (f"awk '$3 != \"{level}\"' {source} > {out}",),
            (f"grep -c {level} {source} > {out}",),
            *_decoyed(lines, level, f"grep {level} {source} > {out}"),
        ),
        goals=_goals(out, [line for line in lines if line.level == level], source, body),
    )


def _of_service(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    service = draw.one(lines).service
    body = _text(lines)
    return Part(
        ask=draw.one(
            (
                f"write the lines of {source} whose service (field 4) is {service} to {out}",
                f"copy all lines of service {service} (field 4) from {source} to {out}",
            )
        ),
        files=(file(source, body),),
        do=(f"awk '$4 == \"{service}\"' {source} > {out}",),
        instead=(f"grep -E ' [A-Z]+ {service} user=' {source} > {out}",),
        wrong=((f"grep -v {service} {source} > {out}",), (f"grep -m 1 {service} {source} | head -c 20 > {out}",)),
        goals=_goals(out, [line for line in lines if line.service == service], source, body),
    )


def _of_hour(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    hour = draw.one(lines).hour
    body = _text(lines)
    return Part(
        ask=draw.one(
            (
                f"write the lines of {source} logged from {hour:02d}:00 to {hour:02d}:59 on any day to {out}",
                f"copy the lines of {source} of the hour {hour:02d} (any day) to {out}",
            )
        ),
        files=(file(source, body),),
        do=(f"grep ' {hour:02d}:' {source} > {out}",),
        instead=(f"awk 'substr($2, 1, 2) == \"{hour:02d}\"' {source} > {out}",),
        wrong=((f"grep ' {hour + 1:02d}:' {source} > {out}",), (f"grep -v ' {hour:02d}:' {source} > {out}",)),
        goals=_goals(out, [line for line in lines if line.hour == hour], source, body),
    )


def _of_day(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    day = draw.one((lines[0].day, lines[-1].day))
    body = _text(lines)
    return Part(
        ask=draw.one(
            (f"write the lines of {source} dated {day} to {out}", f"copy the {day} lines of {source} to {out}")
        ),
        files=(file(source, body),),
        do=(f"grep {day} {source} > {out}",),
        instead=(f"awk '$1 == \"{day}\"' {source} > {out}",),
        wrong=((f"grep -v {day} {source} > {out}",), (f"cp {source} {out}",)),
        goals=_goals(out, [line for line in lines if line.day == day], source, body),
    )


def _rotate(draw: Draw) -> Part:
    source, _ = _paths(draw)
    body, name = _text(_lines(draw, 6)), source.rpartition("/")[2]
    kept = c.has_bytes(f"{source}.1", body)
    return Part(
        ask=draw.one(
            (
                f"copy {source} to {source}.1 and then empty {source}, which must stay as a file",
                f"rotate {source}: its content goes to {source}.1, and {source} becomes an empty file",
            )
        ),
        files=(file(source, body),),
        do=(f"cp {source} {source}.1", f"truncate -s 0 {source}"),
        instead=(f"mv {source} {source}.1", f": > {source}"),
        wrong=((f"mv {source} {source}.1",), (f"cp {source} {source}.1",), (f"truncate -s 0 {source}",)),
        goals=(
            c.check(f"{name} kept as .1", kept),
            c.check(f"{name} emptied", kept, c.is_empty_file(source)),
        ),
    )


def _join_rotated(draw: Draw) -> Part:
    where, name, out = draw.directory(), f"{draw.stem()}.log", draw.file("txt")
    lines = [str(line) for line in _lines(draw, 9)]
    old, middle, last = (_text(lines[place : place + 3]) for place in (0, 3, 6))
    path, joined = f"{where}/{name}", f"{where}/{out}"
    sources = [c.has_bytes(path, last), c.has_bytes(f"{path}.1", middle), c.has_bytes(f"{path}.2", old)]
    return Part(
        ask=draw.one(
            (
                f"join {path}.2, {path}.1 and {path}, in this order, into {joined}",
                f"write {path}.2, then {path}.1, then {path} to {joined}",
            )
        ),
        files=files_in(where, (name, f"{name}.1", f"{name}.2"), (last, middle, old)),
        do=(f"cat {path}.2 {path}.1 {path} > {joined}",),
        instead=(f"cp {path}.2 {joined}", f"cat {path}.1 >> {joined}", f"cat {path} >> {joined}"),
        wrong=((f"cat {path} {path}.1 {path}.2 > {joined}",), (f"cat {path}* > {joined}",), (f"cp {path}.2 {joined}",)),
        goals=(
            c.check(f"{out} lines", c.has_lines_in_any_order(joined, lines)),
            c.check(f"{out} order", c.has_lines(joined, lines)),
            c.check(f"{out} from intact logs", c.has_lines(joined, lines), *sources),
        ),
    )


def _count_level(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    level, body = lines[1].level, _text(lines)
    count = sum(line.level == level for line in lines)
    return Part(
        ask=draw.one(
            (
                f"write the number of {level} lines (level is field 3) of {source} to {out}",
                f"count the lines of {source} whose level (field 3) is {level} into {out}",
            )
        ),
        files=(file(source, body),),
        do=(f"awk '$3 == \"{level}\"' {source} | wc -l > {out}",),
        instead=(f"cut -d' ' -f3 {source} | grep -c {level} > {out}",),
        wrong=(
            (f"awk '$3 != \"{level}\"' {source} > {out}",),
            (f"wc -l < {source} > {out}",),
            *_decoyed(lines, level, f"grep -c {level} {source} > {out}"),
        ),
        goals=(c.check(f"{level} counted", c.has_number(out, count), c.has_bytes(source, body)),),
    )


def _count_in_all(draw: Draw) -> Part:
    where, names, out = draw.directory(), [draw.file("log") for _ in range(3)], draw.file("txt")
    logs = [_lines(draw, 6) for _ in names]
    level = logs[0][1].level
    count = sum(line.level == level for log in logs for line in log)
    return Part(
        ask=f"write the number of {level} lines (field 3) of all .log files in {where} together to {out}",
        files=files_in(where, names, [_text(log) for log in logs]),
        do=(f"cat {where}/*.log | awk '$3 == \"{level}\"' | wc -l > {out}",),
        instead=(f"cut -d' ' -f3 {where}/*.log | grep -c {level} > {out}",),
        wrong=((f"grep -c {level} {where}/*.log > {out}",), (f"cat {where}/*.log | wc -l > {out}",)),
        goals=(c.check(f"{level} of all counted", c.has_number(out, count)),),
    )


def _users(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    body, names = _text(lines), sorted({line.user for line in lines})
    return Part(
        ask=draw.one(
            (
                f"write the different user names (user=NAME) of {source}, sorted, one a line, to {out}",
                f"list each NAME of user=NAME in {source} once, sorted, in {out}",
            )
        ),
        files=(file(source, body),),
        do=(f"grep -o 'user=[a-z]*' {source} | cut -d= -f2 | sort -u > {out}",),
        instead=(f"sed 's/.*user=//; s/ .*//' {source} | sort | uniq > {out}",),
        wrong=(
            (f"grep -o 'user=[a-z]*' {source} | sort -u > {out}",),
            (f"grep -o 'user=[a-z]*' {source} | cut -d= -f2 > {out}",),
        ),
        goals=(c.check("users listed", c.has_lines(out, names), c.has_bytes(source, body)),),
    )


def _last_of_level(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    level, body = draw.one(_LEVELS), _text(lines)
    found = [str(line) for line in lines if line.level == level]
    return Part(
        ask=f"write only the last {level} line (by field 3) of {source} to {out}",
        files=(file(source, body),),
        do=(f"awk '$3 == \"{level}\"' {source} | tail -n 1 > {out}",),
        instead=(f"tac {source} | awk '$3 == \"{level}\"' | head -n 1 > {out}",),
        wrong=(
            (f"tail -n 2 {source} > {out}",),
            (f"awk '$3 == \"{level}\" {{print $2}}' {source} | tail -n 1 > {out}",),
        ),
        goals=(c.check(f"last {level}", c.has_lines(out, found[-1:]), c.has_bytes(source, body)),),
    )


def _level_table(draw: Draw) -> Part:
    (source, out), lines = _paths(draw), _lines(draw)
    body, found = _text(lines), [line.level for line in lines]
    table = [f"{found.count(level)} {level}" for level in sorted(_LEVELS)]
    return Part(
        ask=f"write how often each level (field 3) occurs in {source} to {out}, lines like 3 INFO, sorted by level",
        files=(file(source, body),),
        do=(f"cut -d' ' -f3 {source} | sort | uniq -c > {out}",),
        instead=(f"awk '{{n[$3]++}} END {{for (l in n) print n[l], l}}' {source} | sort -k2 > {out}",),
        wrong=((f"cut -d' ' -f3 {source} | sort > {out}",), (f"cut -d' ' -f4 {source} | sort | uniq -c > {out}",)),
        goals=(c.check("levels counted", c.has_words(out, table), c.has_bytes(source, body)),),
    )


_FILTERS = (_of_level, _of_service, _of_hour, _of_day, _join_rotated)
_SMALL = (_count_level, _count_in_all, _users, _last_of_level, _level_table)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_FILTERS)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [*draw.some(_FILTERS, 1), draw.one((*_FILTERS, _rotate)), *draw.some(_SMALL, 1)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_FILTERS, draw.number(1, 2)), _rotate, *draw.some(_SMALL, 2)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "logs",
    levels(_easy, _medium, _hard),
    "filter, count, join and rotate logs",
)
