"""Reports from small tables: join, total, rank, compare, lay out. Blank-separated input, exact lines asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agentenv.progress import Check
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _names(draw: Draw, count: int) -> list[str]:
    return draw.some(draw.one((_words.USERS, _words.CITIES, _words.WORDS)), count)


def _table(draw: Draw, count: int) -> dict[str, int]:
    """Names with different amounts of one to three digits, so that text order and number order differ."""
    amounts = [draw.number(2, 9), draw.number(110, 190), *draw.some(range(20, 99), count - 2)]
    return dict(zip(_names(draw, count), draw.shuffled(amounts), strict=True))


def _text(rows: Sequence[str] | Mapping[str, int]) -> str:
    lines = [f"{name} {amount}" for name, amount in rows.items()] if isinstance(rows, Mapping) else rows
    return "".join(f"{line}\n" for line in lines)


def _goals(out: str, lines: Sequence[str], sources: Mapping[str, str]) -> tuple[Check, ...]:
    """The report is there, has the right lines, and was made without harm to its sources."""
    right = c.has_lines(out, lines)
    kept = [c.has_bytes(path, text) for path, text in sources.items()]
    return (
        c.check(f"{out} written", c.is_file(out)),
        c.check(f"{out} lines", right),
        c.check(f"{out} from intact data", right, *kept),
    )


def _joined(draw: Draw) -> Part:
    where, out = draw.directory(), draw.file("txt")
    first, second = (f"{where}/{draw.file('txt')}" for _ in range(2))
    numbers = sorted(draw.some(range(10, 99), 5))
    names, amounts = _names(draw, 5), [draw.number(100, 999) for _ in range(5)]
    one = _text([f"{number} {name}" for number, name in zip(numbers, names, strict=True)])
    other = _text([f"{number} {amount}" for number, amount in zip(numbers, amounts, strict=True)])
    lines = [f"{name} {amount}" for name, amount in zip(names, amounts, strict=True)]
    return Part(
        ask=draw.one(
            (
                f"join {first} (id name) and {second} (id amount) by id into {out}, lines: name amount, ordered by id",
                f"from {first} (id name) and {second} (id amount) write lines name amount to {out}, in order of id",
            )
        ),
        files=(file(first, one), file(second, other)),
        do=(f"join {first} {second} | cut -d' ' -f2,3 > {out}",),
        instead=(f"awk 'NR == FNR {{n[$1] = $2; next}} {{print n[$1], $2}}' {first} {second} > {out}",),
        wrong=(
            (f"join {first} {second} > {out}",),
            (f"paste -d' ' {first} {second} > {out}",),
            (f"join {second} {first} | cut -d' ' -f2,3 > {out}",),
        ),
        goals=_goals(out, lines, {first: one, second: other}),
    )


def _totals(draw: Draw) -> Part:
    source, out = f"{draw.directory()}/{draw.file('txt')}", draw.file("txt")
    names = _names(draw, 3)
    rows = [(name, draw.number(2, 90)) for name in draw.shuffled([*names, *names, names[0]])]
    text = _text([f"{name} {amount}" for name, amount in rows])
    lines = [f"{name} {sum(amount for known, amount in rows if known == name)}" for name in sorted(names)]
    return Part(
        ask=draw.one(
            (
                f"total the amounts of {source} (name amount) per name; write lines name total to {out}, by name",
                f"write the sum per name of {source} (name amount) to {out}, lines name sum, sorted by name",
            )
        ),
        files=(file(source, text),),
        do=(f"awk '{{t[$1] += $2}} END {{for (n in t) print n, t[n]}}' {source} | sort > {out}",),
        instead=(
            f"for n in $(cut -d' ' -f1 {source} | sort -u); do s=0; "
            f"for v in $(grep \"^$n \" {source} | cut -d' ' -f2); do s=$((s + v)); done; echo $n $s; done > {out}",
        ),
        wrong=(
            (f"sort -u -k1,1 {source} > {out}",),
            (f"awk '{{t[$1] += 1}} END {{for (n in t) print n, t[n]}}' {source} | sort > {out}",),
            (f"awk '{{t += $2}} END {{print t}}' {source} > {out}",),
        ),
        goals=_goals(out, lines, {source: text}),
    )


def _top(draw: Draw) -> Part:
    source, out, count = f"{draw.directory()}/{draw.file('txt')}", draw.file("txt"), draw.number(2, 4)
    rows = _table(draw, 7)
    text, most = _text(rows), draw.chance()
    ranked = sorted(rows, key=lambda name: rows[name], reverse=most)[:count]
    flag, said = ("-rn", "largest") if most else ("-n", "smallest")
    return Part(
        ask=draw.one(
            (
                f"write the {count} lines of {source} with the {said} amounts (field 2) to {out}, {said} first",
                f"put the {count} {said} entries of {source}, by field 2, in {out}, {said} first",
            )
        ),
        files=(file(source, text),),
        do=(f"sort -k2 {flag} {source} | head -n {count} > {out}",),
        instead=(f"awk '{{print $2, $1}}' {source} | sort {flag} | head -n {count} | awk '{{print $2, $1}}' > {out}",),
        wrong=(
            (f"sort -k2 {flag} {source} | tail -n {count} > {out}",),
            (f"sort -k2 {flag} {source} | head -n {count + 1} > {out}",),
            (f"sort {source} | head -n {count} > {out}",),
        ),
        goals=_goals(out, [f"{name} {rows[name]}" for name in ranked], {source: text}),
    )


def _padded(draw: Draw) -> Part:
    source, out = f"{draw.directory()}/{draw.file('txt')}", draw.file("txt")
    rows, left, right = _table(draw, 5), draw.number(11, 16), draw.number(5, 9)
    text = _text(rows)
    lines = [f"{name:<{left}}{amount:>{right}}" for name, amount in rows.items()]
    form = f"%-{left}s%{right}d\\n"
    return Part(
        ask=(
            f"lay out {source} (name amount) in {out}: names left-aligned in {left} columns, then amounts "
            f"right-aligned in {right}"
        ),
        files=(file(source, text),),
        do=(f"awk '{{printf \"{form}\", $1, $2}}' {source} > {out}",),
        instead=(f"while read n v; do printf '{form}' $n $v; done < {source} > {out}",),
        wrong=(
            (f"awk '{{printf \"%{left}s%{right}d\\n\", $1, $2}}' {source} > {out}",),
            (f"awk '{{printf \"%-{left}s %{right}d\\n\", $1, $2}}' {source} > {out}",),
            (f"column -t {source} > {out} || cp {source} {out}",),
        ),
        goals=_goals(out, lines, {source: text}),
    )


def _titled(draw: Draw) -> Part:
    source, out, title = f"{draw.directory()}/{draw.file('txt')}", draw.file("txt"), draw.word()
    rows = _table(draw, 4)
    text, total = _text(rows), sum(rows.values())
    lines = [f"report {title}", *text.splitlines(), f"total {total}"]

    def starts(count: int) -> c.Condition:
        return lambda view: c.lines_of(view, out)[:count] == lines[:count]

    return Part(
        ask=draw.one(
            (
                f"write {out}: the line report {title}, the lines of {source}, then total and the sum of field 2",
                f"make {out} of a first line report {title}, all of {source}, and a last line total SUM (of field 2)",
            )
        ),
        files=(file(source, text),),
        do=(
            f"echo report {title} > {out}",
            f"cat {source} >> {out}",
            f"awk '{{t += $2}} END {{print \"total\", t}}' {source} >> {out}",
        ),
        instead=(
            f"awk '{{t += $2; print}} END {{print \"total\", t}}' {source} > {out}",
            f"sed -i '1i report {title}' {out}",
        ),
        wrong=(
            (f"cp {source} {out}",),
            (f"echo report {title} > {out}", f"cat {source} >> {out}", f"echo total {total + 1} >> {out}"),
            (f"awk '{{t += $2; print}} END {{print \"total\", t}}' {source} > {out}",),
        ),
        goals=(
            c.check(f"{out} title", starts(1)),
            c.check(f"{out} rows", starts(len(lines) - 1)),
            c.check(f"{out} total", c.has_lines(out, lines), c.has_bytes(source, text)),
        ),
    )


def _missing(draw: Draw) -> Part:
    where, out = draw.directory(), draw.file("txt")
    first, second = (f"{where}/{draw.file('txt')}" for _ in range(2))
    names = sorted(_names(draw, 8))
    gone = sorted(draw.some(names[:6], 2))
    one, other = _text(names[:6]), _text([name for name in names if name not in gone])
    return Part(
        ask=draw.one(
            (
                f"write the lines of {first} that are missing in {second} to {out} (both are sorted)",
                f"which lines of {first} are not in {second}? Write them to {out}, sorted",
            )
        ),
        files=(file(first, one), file(second, other)),
        do=(f"comm -23 {first} {second} > {out}",),
        instead=(f"grep -vxFf {second} {first} > {out}",),
        wrong=(
            (f"comm -13 {first} {second} > {out}",),
            (f"comm -12 {first} {second} > {out}",),
            (f"diff {first} {second} > {out}",),
        ),
        goals=_goals(out, gone, {first: one, second: other}),
    )


def _markdown(draw: Draw) -> Part:
    source, out = f"{draw.directory()}/{draw.file('txt')}", draw.file("md")
    rows = _table(draw, 4)
    text, heads = _text(rows), draw.words(2)
    body = [f"| {name} | {amount} |" for name, amount in rows.items()]
    lines = [f"| {heads[0]} | {heads[1]} |", "|---|---|", *body]

    def starts(count: int) -> c.Condition:
        return lambda view: c.lines_of(view, out)[:count] == lines[:count]

    return Part(
        ask=(
            f"write {out} with the line {lines[0]}, the line |---|---| and a line like {body[0]} for each line "
            f"of {source}"
        ),
        files=(file(source, text),),
        do=(
            f"printf '{lines[0]}\\n|---|---|\\n' > {out}",
            f"sed 's/ / | /; s/^/| /; s/$/ |/' {source} >> {out}",
        ),
        instead=(
            f'awk \'{{print "| " $1 " | " $2 " |"}}\' {source} > {out}',
            f"sed -i '1i {lines[0]}\\n|---|---|' {out}",
        ),
        wrong=(
            (f"printf '{lines[0]}\\n' > {out}", f"sed 's/ / | /; s/^/| /; s/$/ |/' {source} >> {out}"),
            (f"printf '{lines[0]}\\n|---|---|\\n' > {out}", f"sed 's/ / | /' {source} >> {out}"),
            (f"sed 's/ / | /; s/^/| /; s/$/ |/' {source} > {out}",),
        ),
        goals=(
            c.check(f"{out} heading", starts(2)),
            c.check(f"{out} table", c.has_lines(out, lines)),
            c.check(f"{out} from intact data", c.has_lines(out, lines), c.has_bytes(source, text)),
        ),
    )


def _extreme(draw: Draw) -> Part:
    source, out, rows = f"{draw.directory()}/{draw.file('txt')}", draw.file("txt"), _table(draw, 6)
    text, most = _text(rows), draw.chance()
    name = (max if most else min)(rows, key=lambda known: rows[known])
    end, said, other = ("tail", "largest", "head") if most else ("head", "smallest", "tail")
    return Part(
        ask=draw.one(
            (
                f"write only the name with the {said} amount of {source} (name amount) to {out}",
                f"in {out} put just the name whose amount in {source} (name amount) is {said}",
            )
        ),
        files=(file(source, text),),
        do=(f"sort -k2 -n {source} | {end} -n 1 | cut -d' ' -f1 > {out}",),
        instead=(f"awk '{{print $2 \" \" $1}}' {source} | sort -n | {end} -n 1 | sed 's/.* //' > {out}",),
        wrong=(
            (f"sort -k2 -n {source} | {other} -n 1 | cut -d' ' -f1 > {out}",),
            (f"sort -k2 -n {source} | {end} -n 1 > {out}",),
            (f"sort -k2 -n {source} | {end} -n 1 | cut -d' ' -f2 > {out}",),
        ),
        goals=_goals(out, [name], {source: text}),
    )


_Kind = Callable[[Draw], Part]
_ONE_STEP: tuple[_Kind, ...] = (_joined, _totals, _top, _padded, _missing, _extreme)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_ONE_STEP, _markdown))(draw)])


def _medium(draw: Draw) -> Scenario:
    choices: list[list[_Kind]] = [draw.some(_ONE_STEP, 2), [_titled], [*draw.some(_ONE_STEP, 1), _markdown]]
    kinds = draw.one(choices)
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, 2), draw.one((_titled, _markdown))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "text_reports",
    levels(_easy, _medium, _hard),
    "join, total, rank, compare and lay out small tables as reports",
    ood=True,
)
