"""Query and change a SQLite database. It is judged by its rows and tables, read by a Python of our own on a fork."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._runs import Runs, Step
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_TOOL = """import sqlite3, sys

base = sqlite3.connect(sys.argv[1])
for row in base.execute(sys.argv[2]):
    print("|".join(str(value) for value in row))
base.commit()
"""
_MAKE = "import sqlite3, sys\nbase = sqlite3.connect(sys.argv[1])\nbase.executescript(sys.argv[2])\nbase.commit()"
# `sqlite3` itself, without the modules for dates that the package around it loads.
_READ = """import sys, _sqlite3
base = _sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
out = {}
for query in sys.argv[2:]:
    try:
        out[query] = base.execute(query).fetchmany(200)
    except _sqlite3.Error as fault:
        out[query] = str(fault)
print(ascii(out))
"""

Rows = Sequence[Sequence[object]]
Person = tuple[int, str, str, int]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


class _Reader:
    """Asks the database everything that a scenario's checks want to know, in one go."""

    def __init__(self, runs: Runs, base: str) -> None:
        self._base = base
        self._queries: dict[str, None] = {}
        self._booking = runs.book(self._steps)

    def _steps(self, view: StateView) -> list[Step]:
        if view.stat(self._base).kind != "file":
            raise NotInStateError(f"{self._base} is no regular file")
        words = [_READ, self._base, *self._queries]
        return [Step(f': > "$d.ran"; exec python3 -I -S -E -c {" ".join(map(_quoted, words))}')]

    def says(self, wanted: Mapping[str, Rows]) -> c.Condition:
        """Each query gives these rows, in its order."""
        self._queries.update(dict.fromkeys(wanted))

        def holds(view: StateView) -> bool:
            [outcome] = self._booking.outcomes(view)
            try:
                found = ast.literal_eval(outcome.out.decode("ascii"))
                return all(found[query] == [tuple(row) for row in rows] for query, rows in wanted.items())
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError, KeyError) as fault:
                raise NotInStateError(f"{self._base} cannot be read: {fault}") from fault

        return holds


@dataclass(frozen=True)
class _World:
    """A database of one table of people; each part that changes it has a city, or a table, of its own."""

    base: str
    table: str
    number: str  # the name of the last column
    people: tuple[Person, ...]
    reader: _Reader
    cities: tuple[str, ...]  # one for queries, one each for updates, deletions and insertions

    def sql(self, statement: str, out: str = "") -> str:
        """The command that runs a statement with the tool, its rows going to a file."""
        return f'python3 sql.py {self.base} "{statement}"' + (f" > {out}" if out else "")

    def of(self, city: str) -> list[Person]:
        """The people of a city, by id."""
        return [person for person in self.people if person[2] == city]

    def rows(self, city: str) -> str:
        """The query for a city's rows."""
        return f"select id, name, city, {self.number} from {self.table} where city = '{city}' order by id"

    def kept(self) -> dict[str, Rows]:
        """What no part changes: the people of the city for queries."""
        return {self.rows(self.cities[0]): self.of(self.cities[0])}


def _world(draw: Draw) -> _World:
    base, table = f"{draw.directory()}/{draw.stem()}.db", f"{draw.word()}s"
    cities = draw.some(_words.CITIES, 4)
    places = draw.shuffled([*cities[:3] * 3, cities[3]])
    names, amounts = draw.some(_words.USERS, len(places)), draw.some(range(10, 99), len(places))
    people = tuple((place + 1, names[place], city, amounts[place]) for place, city in enumerate(places))
    return _World(
        base, table, draw.one(("age", "score", "points", "level")), people, _Reader(draw.runs, base), tuple(cities)
    )


def _files(world: _World) -> Part:
    """The database and the tool, as a part without a task of its own."""
    values = ", ".join(f"({key}, '{name}', '{city}', {number})" for key, name, city, number in world.people)
    columns = f"id integer primary key, name text, city text, {world.number} integer"
    script = f"create table {world.table} ({columns}); insert into {world.table} values {values};"
    setup = f"python3 -I -c {_quoted(_MAKE)} {world.base} {_quoted(script)}"
    keep = f"{world.base.partition('/')[0]}/README"
    return Part("", (file("sql.py", _TOOL), file(keep, "the database\n")), (), (), (), (), ("python3",), setup)


def _python(world: _World, code: str) -> str:
    """The command that runs Python code on the database, with the tool left aside."""
    return f"python3 -c {_quoted(f'import sqlite3; base = sqlite3.connect({world.base!r}); {code}')}"


def _query(
    draw: Draw, world: _World, what: str, answer: Sequence[str], sql: str, other: str, wrong: Sequence[str]
) -> Part:
    out = draw.file("txt")
    right = c.has_lines(out, list(answer))
    return Part(
        ask=draw.one((f"write {what} to {out}", f"put {what} in {out}")),
        files=(),
        do=(world.sql(sql, out),),
        instead=(f"{_python(world, f'[print(*row) for row in base.execute({other!r})]')} > {out}",),
        wrong=tuple((world.sql(statement, out),) for statement in wrong),
        goals=(
            c.check(f"{out} written", c.is_file(out)),
            c.check(f"{out} right", right),
            c.check(f"{out} from the kept base", right, world.reader.says(world.kept())),
        ),
    )


def _names(draw: Draw, world: _World) -> Part:
    table, city = world.table, world.cities[0]
    names = sorted(name for _, name, _, _ in world.of(city))
    select = f"select name from {table} where city = '{city}'"
    return _query(
        draw,
        world,
        f"the names in {table} whose city is {city}, sorted, one a line",
        names,
        f"{select} order by name",
        f"{select} group by name order by 1",
        (f"select name from {table} order by name", f"{select} order by name desc", f"{select} limit 1"),
    )


def _sum(draw: Draw, world: _World) -> Part:
    table, city, number = world.table, world.cities[0], world.number
    total = sum(person[3] for person in world.of(city))
    where = f"from {table} where city = '{city}'"
    return _query(
        draw,
        world,
        f"the sum of {number} in {table} over the city {city}",
        [str(total)],
        f"select sum({number}) {where}",
        f"select total({number}) + 0 {where}".replace("total(", "sum("),
        (f"select sum({number}) from {table}", f"select count({number}) {where}", f"select max({number}) {where}"),
    )


def _most(draw: Draw, world: _World) -> Part:
    table, city, number = world.table, world.cities[0], world.number
    name = max(world.of(city), key=lambda person: person[3])[1]
    where = f"from {table} where city = '{city}'"
    return _query(
        draw,
        world,
        f"the name with the highest {number} of {table} in {city}",
        [name],
        f"select name {where} order by {number} desc limit 1",
        f"select name {where} and {number} = (select max({number}) {where})",
        (
            f"select name {where} order by {number} limit 1",
            f"select name, {number} {where} order by {number} desc limit 1",
            f"select max({number}) {where}",
        ),
    )


def _change(
    world: _World,
    ask: str,
    statement: str,
    other: str,
    wrong: Sequence[str],
    first: Mapping[str, Rows],
    rest: Mapping[str, Rows],
) -> Part:
    """A change of the database: `first` tells that it happened, `rest` that nothing else did."""
    verb, everything = statement.partition(" ")[0], {**first, **rest, **world.kept()}
    return Part(
        ask=ask,
        files=(),
        do=(world.sql(statement),),
        instead=(_python(world, f"base.execute({other!r}); base.commit()"),),
        wrong=tuple((world.sql(wrong_one),) for wrong_one in wrong),
        goals=(
            c.check(f"{verb} done", world.reader.says(first)),
            c.check(f"{verb} alone", world.reader.says(everything)),
            c.check(f"{verb} done, tool kept", c.has_bytes("sql.py", _TOOL), world.reader.says(first)),
        ),
    )


def _update(draw: Draw, world: _World) -> Part:
    table, city, number, new = world.table, world.cities[1], world.number, draw.number(100, 999)
    right = [(key, name, place, new) for key, name, place, _ in world.of(city)]
    one = right[0]
    return _change(
        world,
        draw.one(
            (f"set {number} to {new} for city {city} in {table}", f"in {table} give all of {city} the {number} {new}")
        ),
        f"update {table} set {number} = {new} where city = '{city}'",
        f"update {table} set {number} = {new} where city like '{city}'",
        (
            f"update {table} set {number} = {new}",
            f"update {table} set {number} = {new} where id = {one[0]}",
            f"update {table} set {number} = {new} where city = '{city.upper()}'",
        ),
        {world.rows(city): right},
        {},
    )


def _delete(draw: Draw, world: _World) -> Part:
    table, city = world.table, world.cities[2]
    return _change(
        world,
        draw.one((f"delete the rows of {table} whose city is {city}", f"remove everyone of {city} from {table}")),
        f"delete from {table} where city = '{city}'",
        f"delete from {table} where id in (select id from {table} where city = '{city}')",
        (
            f"delete from {table}",
            f"delete from {table} where id = {world.of(city)[0][0]}",
            f"update {table} set city = '' where name = '{world.of(city)[0][1]}'",
        ),
        {world.rows(city): []},
        {f"select count(*) > 0 from {table} where city = ''": [(0,)]},
    )


def _insert(draw: Draw, world: _World) -> Part:
    table, city, number = world.table, world.cities[3], world.number
    person = (draw.number(100, 999), draw.new(_words.USERS), city, draw.number(10, 99))
    key, name, _, value = person
    return _change(
        world,
        f"insert into {table} the row id {key}, name {name}, city {city}, {number} {value}",
        f"insert into {table} values ({key}, '{name}', '{city}', {value})",
        f"insert into {table} ({number}, city, name, id) values ({value}, '{city}', '{name}', {key})",
        (
            f"insert into {table} (name, city, {number}) values ('{name}', '{city}', {value})",
            f"insert into {table} (id, name, city) values ({key}, '{name}', '{city}')",
            f"update {table} set name = '{name}' where city = '{city}'",
        ),
        {world.rows(city): [*world.of(city), person]},
        {},
    )


def _create(draw: Draw, world: _World) -> Part:
    table, (first, second) = f"{draw.word()}s", draw.words(2)
    columns = f"select lower(name), lower(type) from pragma_table_info('{table}') order by cid"
    return _change(
        world,
        draw.one(
            (
                f"create the empty table {table} with the columns {first} text and {second} integer",
                f"add an empty table {table} with two columns: {first} text, {second} integer",
            )
        ),
        f"create table {table} ({first} text, {second} integer)",
        f"create table if not exists {table} ({first} TEXT, {second} INTEGER)",
        (
            f"create table {table} ({first} text)",
            f"create table {table} ({first} integer, {second} text)",
            f"create table {first} ({table} text, {second} integer)",
        ),
        {columns: [(first, "text"), (second, "integer")], f"select count(*) from {table}": [(0,)]},
        {},
    )


def _index(draw: Draw, world: _World) -> Part:
    table, name, column = world.table, f"{draw.word()}_index", draw.one(("name", "city"))
    found = (
        "select lower(tbl_name), info.name from sqlite_master as m, pragma_index_info(m.name) as info "
        f"where m.type = 'index' and m.name = '{name}' order by info.seqno"
    )
    return _change(
        world,
        draw.one((f"create the index {name} on {column} of {table}", f"index {table} by {column}, as {name}")),
        f"create index {name} on {table} ({column})",
        f"create index if not exists {name} on {table}({column} asc)",
        (
            f"create index {name} on {table} ({world.number})",
            f"create index {column} on {table} ({column})",
            f"create view {name} as select {column} from {table}",
        ),
        {found: [(table, column)]},
        {},
    )


_Kind = Callable[[Draw, _World], Part]
_QUERIES: tuple[_Kind, ...] = (_names, _sum, _most)
_CHANGES: tuple[_Kind, ...] = (_update, _delete, _insert, _create, _index)


def _scenario(draw: Draw, kinds: Sequence[_Kind], goals: slice) -> Scenario:
    """Joins parts of one world; `goals` picks those of each part that are kept (the second is the strict one)."""
    world = _world(draw)
    base, parts = _files(world), [kind(draw, world) for kind in kinds]
    parts = [replace(part, goals=part.goals[goals]) for part in parts]
    parts[0] = replace(parts[0], files=base.files, setup=base.setup, requires=base.requires)
    opening = draw.one(
        (
            f"The SQLite database is {world.base} (python3 sql.py {world.base} SQL runs SQL):",
            f"In the SQLite database {world.base} (python3 sql.py DATABASE SQL runs a statement):",
        )
    )
    return join(draw, parts, opening)


def _easy(draw: Draw) -> Scenario:
    return _scenario(draw, [draw.one(_QUERIES + _CHANGES)], slice(3))


def _medium(draw: Draw) -> Scenario:
    choices = [
        draw.some(_CHANGES, 2),
        [*draw.some(_CHANGES, 1), *draw.some(_QUERIES, 1)],
        [*draw.some(_CHANGES, 2), _sum],
    ]
    return _scenario(draw, draw.shuffled(draw.one(choices)), slice(2))


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_CHANGES, draw.number(2, 3)), *draw.some(_QUERIES, 2)]
    return _scenario(draw, draw.shuffled(kinds), slice(1, 2))


FAMILY = Family(
    "sqlite_databases",
    levels(_easy, _medium, _hard),
    "query and change a SQLite database",
    ood=True,
)
