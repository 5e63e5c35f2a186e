"""Take CSV tables apart: columns, rows, totals, order. Results are compared as rows, so quoting does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_NUMBERS = ("amount", "price", "score", "hours", "weight", "stock", "points", "total", "age", "size")
_TEXTS = ("city", "office", "branch", "depot", "origin", "place")
_TEAMS = ("team", "group", "unit", "service", "area", "section")


@dataclass(frozen=True)
class _Table:
    """A drawn table: a name column, a city and a team column with repeated values, one or two number columns."""

    path: str
    out: str
    header: list[str]
    rows: list[list[str]]

    @property
    def text(self) -> str:
        return "".join(",".join(row) + "\n" for row in [self.header, *self.rows])

    def place(self, names: Sequence[str]) -> int:
        """The number, from 1, of the first column with one of the names."""
        return next(number for number, name in enumerate(self.header, 1) if name in names)


def _table(draw: Draw) -> _Table:
    count = draw.number(6, 9)
    cities, teams = draw.some(_words.CITIES, 3), draw.some(_words.SERVICES, 3)
    numbers = draw.until(
        lambda: draw.some(range(5, 1000), count),
        lambda drawn: sorted(drawn) != sorted(drawn, key=str) and drawn != sorted(drawn),
    )
    columns = {
        "name": draw.some(_words.USERS, count),
        draw.one(_TEXTS): draw.shuffled([*cities, *(draw.one(cities) for _ in range(count - 3))]),
        draw.one(_TEAMS): draw.shuffled([*teams, *(draw.one(teams) for _ in range(count - 3))]),
        draw.one(_NUMBERS): [str(number) for number in numbers],
    }
    header = ["name", *draw.shuffled(list(columns)[1:])]
    where = draw.directory()
    rows = [[columns[name][row] for name in header] for row in range(count)]
    return _Table(f"{where}/{draw.file('csv')}", f"{where}/{draw.stem()}", header, rows)


def _rows_goals(table: _Table, out: str, rows: Sequence[Sequence[str]], delimiter: str = ",") -> tuple[c.Check, ...]:
    expected = [list(row) for row in rows]

    def right_rows(view: StateView) -> bool:
        found = c.csv_rows(view, out, delimiter)
        return sorted(row for row in found if row != expected[0]) == sorted(expected[1:])

    def exact(view: StateView) -> bool:
        return c.csv_rows(view, out, delimiter) == expected

    name = out.rpartition("/")[2]
    return (
        c.check(f"{name} rows", right_rows),
        c.check(f"{name} header and order", exact),
        c.check(f"{name} from intact source", exact, c.has_bytes(table.path, table.text)),
    )


def _columns(draw: Draw) -> Part:
    table = _table(draw)
    first, second = sorted(draw.some((1, 2, 3, 4), 2))
    out = f"{table.out}.csv"
    names = f"{table.header[first - 1]}, {table.header[second - 1]}"
    rows = [[row[first - 1], row[second - 1]] for row in [table.header, *table.rows]]
    other = next(number for number in (1, 2, 3, 4) if number not in (first, second))
    return Part(
        ask=draw.one(
            (
                f"write columns {first} and {second} ({names}) of {table.path} to {out}, header too",
                f"make {out} from columns {first} and {second} ({names}) of {table.path}, with the header",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"cut -d, -f{first},{second} {table.path} > {out}",),
        instead=(f"awk -F, '{{print ${first} \",\" ${second}}}' {table.path} > {out}",),
        wrong=(
            (f"cut -d, -f{first},{other} {table.path} > {out}",),
            (f"sed 1d {table.path} | cut -d, -f{second} > {out}",),
            (f"cut -f{first},{second} {table.path} > {out}",),
        ),
        goals=_rows_goals(table, out, rows),
    )


def _rows_of(draw: Draw) -> Part:
    table = _table(draw)
    column = table.place(draw.one((_TEXTS, _TEAMS)))
    value, out = draw.one(sorted({row[column - 1] for row in table.rows})), f"{table.out}.csv"
    rows = [row for row in table.rows if row[column - 1] == value]
    name = table.header[column - 1]
    return Part(
        ask=draw.one(
            (
                f"write the header of {table.path} and the rows whose {name} (column {column}) is {value} to {out}",
                f"keep the header and only rows of {table.path} with {name} (column {column}) {value}, in {out}",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"awk -F, 'NR == 1 || ${column} == \"{value}\"' {table.path} > {out}",),
        instead=(f"head -n 1 {table.path} > {out}", f"grep -w {value} {table.path} >> {out}"),
        wrong=((f"grep -w {value} {table.path} > {out}",), (f"grep -vw {value} {table.path} > {out}",)),
        goals=_rows_goals(table, out, [table.header, *rows]),
    )


def _rows_above(draw: Draw) -> Part:
    table = _table(draw)
    column, out = table.place(_NUMBERS), f"{table.out}.csv"
    limit = sorted(int(row[column - 1]) for row in table.rows)[draw.number(1, len(table.rows) - 3)]
    above = draw.chance()
    rows = [row for row in table.rows if (int(row[column - 1]) > limit) == above and int(row[column - 1]) != limit]
    word, sign = ("above", ">") if above else ("below", "<")
    name = table.header[column - 1]
    return Part(
        ask=draw.one(
            (
                f"write the header of {table.path} and the rows with {name} (column {column}) {word} {limit} to {out}",
                f"copy to {out} the header and those rows of {table.path} with {name} (column {column}) {word} {limit}",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"awk -F, 'NR == 1 || ${column} {sign} {limit}' {table.path} > {out}",),
        instead=(
            f"head -n 1 {table.path} > {out}",
            f"tail -n +2 {table.path} | awk -F, '${column} {sign} {limit}' >> {out}",
        ),
        wrong=(
            (f"awk -F, 'NR == 1 || ${column} {sign}= {limit}' {table.path} > {out}",),
            (f"tail -n +2 {table.path} | awk -F, '${column} {sign} {limit}' > {out}",),
        ),
        goals=_rows_goals(table, out, [table.header, *rows]),
    )


def _other_delimiter(draw: Draw) -> Part:
    table = _table(draw)
    called, mark, typed, kind = draw.one((("tabs", "\t", "\\t", "tsv"), ("semicolons", ";", ";", "csv")))
    out = f"{table.out}.{kind}"
    return Part(
        ask=draw.one(
            (
                f"write {table.path} to {out} with {called} in place of commas",
                f"convert {table.path} to {out}, its fields separated by {called}",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"tr ',' '{typed}' < {table.path} > {out}",),
        instead=(f"sed 's/,/{typed}/g' {table.path} > {out}",),
        wrong=((f"sed 's/,/{typed}/' {table.path} > {out}",), (f"tr ',' ' ' < {table.path} > {out}",)),
        goals=_rows_goals(table, out, [table.header, *table.rows], mark),
    )


def _in_order(draw: Draw) -> Part:
    table = _table(draw)
    column, out, most = table.place(_NUMBERS), f"{table.out}.csv", draw.chance()
    rows = sorted(table.rows, key=lambda row: int(row[column - 1]), reverse=most)
    flags, order = ("nr", "largest first") if most else ("n", "smallest first")
    name = table.header[column - 1]
    head = f"head -n 1 {table.path} > {out}"
    return Part(
        ask=draw.one(
            (
                f"write {table.path} to {out} sorted by {name} (column {column}), {order}, the header on top",
                f"sort {table.path} by {name} (column {column}), {order}, into {out}; the header stays first",
            )
        ),
        files=(file(table.path, table.text),),
        do=(head, f"tail -n +2 {table.path} | sort -t, -k{column},{column}{flags} >> {out}"),
        instead=(f"{{ sed -n 1p {table.path}; sed 1d {table.path} | sort -t, -{flags} -k{column}; }} > {out}",),
        wrong=(
            (head, f"tail -n +2 {table.path} | sort -t, -k{column},{column} >> {out}"),
            (f"sort -t, -k{column},{column}{flags} {table.path} | tail -n +2 > {out}",),
        ),
        goals=(
            c.check("header first", lambda view: c.csv_rows(view, out)[:1] == [table.header]),
            *_rows_goals(table, out, [table.header, *rows])[1:],
        ),
    )


def _drop_column(draw: Draw) -> Part:
    table = _table(draw)
    column = draw.number(2, 4)
    kept = ",".join(str(number) for number in (1, 2, 3, 4) if number != column)
    name, rows = table.header[column - 1], [table.header, *table.rows]

    def header_right(view: StateView) -> bool:
        return c.csv_rows(view, table.path)[:1] == [[field for field in table.header if field != name]]

    def exact(view: StateView) -> bool:
        return c.csv_rows(view, table.path) == [row[: column - 1] + row[column:] for row in rows]

    return Part(
        ask=f"delete column {column} ({name}) from {table.path} itself",
        files=(file(table.path, table.text),),
        do=(f"cut -d, -f{kept} {table.path} > /tmp/cut", f"cp /tmp/cut {table.path}"),
        instead=(f"cut -d, --complement -f{column} {table.path} > {table.out}", f"mv {table.out} {table.path}"),
        wrong=(
            (f"cut -d, -f{column} {table.path} > /tmp/cut", f"cp /tmp/cut {table.path}"),
            (f"sed -i '1s/,{name}//' {table.path}",),
        ),
        goals=(c.check(f"{name} out of header", header_right), c.check(f"{name} out of rows", exact)),
    )


def _total(draw: Draw) -> Part:
    table = _table(draw)
    column, out = table.place(_NUMBERS), f"{table.out}.txt"
    numbers, name = [int(row[column - 1]) for row in table.rows], table.header[column - 1]
    return Part(
        ask=draw.one(
            (
                f"write the sum of {name} (column {column}) of {table.path} to {out}",
                f"add up column {column} ({name}) of {table.path} and write the sum to {out}",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"awk -F, '{{s += ${column}}} END {{print s}}' {table.path} > {out}",),
        instead=(f"echo $(($(tail -n +2 {table.path} | cut -d, -f{column} | paste -sd+))) > {out}",),
        wrong=(
            (f"awk -F, '{{s += ${column}}} END {{print NR}}' {table.path} > {out}",),
            (f"head -n -1 {table.path} | awk -F, '{{s += ${column}}} END {{print s}}' > {out}",),
        ),
        goals=(c.check(f"{name} summed", c.has_number(out, sum(numbers)), c.has_bytes(table.path, table.text)),),
    )


def _values(draw: Draw) -> Part:
    table = _table(draw)
    column, out = table.place(draw.one((_TEXTS, _TEAMS))), f"{table.out}.txt"
    values, name = sorted({row[column - 1] for row in table.rows}), table.header[column - 1]
    return Part(
        ask=draw.one(
            (
                f"write the different values of {name} (column {column}) of {table.path}, sorted, no header, to {out}",
                f"list each {name} (column {column}) of {table.path} once, sorted, in {out}, leaving out the header",
            )
        ),
        files=(file(table.path, table.text),),
        do=(f"tail -n +2 {table.path} | cut -d, -f{column} | sort -u > {out}",),
        instead=(f"awk -F, 'NR > 1 {{print ${column}}}' {table.path} | sort | uniq > {out}",),
        wrong=(
            (f"cut -d, -f{column} {table.path} | sort -u > {out}",),
            (f"tail -n +2 {table.path} | cut -d, -f{column} | sort > {out}",),
        ),
        goals=(c.check(f"{name} listed", c.has_lines(out, values), c.has_bytes(table.path, table.text)),),
    )


def _count_value(draw: Draw) -> Part:
    table = _table(draw)
    column, out = table.place(_TEXTS), f"{table.out}.txt"
    found = [row[column - 1] for row in table.rows]
    value, name = draw.one(sorted(set(found))), table.header[column - 1]
    return Part(
        ask=f"write the number of rows of {table.path} whose {name} (column {column}) is {value} to {out}",
        files=(file(table.path, table.text),),
        do=(f"cut -d, -f{column} {table.path} | grep -cx {value} > {out}",),
        instead=(f"awk -F, '${column} == \"{value}\" {{n++}} END {{print n}}' {table.path} > {out}",),
        wrong=((f"wc -l < {table.path} > {out}",), (f"grep -w {value} {table.path} > {out}",)),
        goals=(
            c.check(f"{value} counted", c.has_number(out, found.count(value)), c.has_bytes(table.path, table.text)),
        ),
    )


_ONE_STEP = (_columns, _rows_of, _rows_above, _other_delimiter)
_TWO_STEPS = (_in_order, _drop_column)
_SMALL = (_total, _values, _count_value)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_ONE_STEP, _in_order))(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one((*_ONE_STEP, *_TWO_STEPS)), draw.one(_ONE_STEP), draw.one(_SMALL)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [draw.one(_ONE_STEP), draw.one(_TWO_STEPS), *draw.some(_SMALL, 2)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "csv_tables",
    levels(_easy, _medium, _hard),
    "take columns, rows, totals and order out of CSV tables",
)
