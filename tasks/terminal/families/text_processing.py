"""Sort, cut, count and rearrange the lines of text files. The result is judged, line by line; the source must stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("txt", "dat", "list", "text", "out", "log")


def _output_goals(out: str, lines: Sequence[str], source: str, body: str) -> tuple[c.Check, ...]:
    name = out.rpartition("/")[2]
    return (
        c.check(f"{name} lines", c.has_lines_in_any_order(out, lines)),
        c.check(f"{name} order", c.has_lines(out, lines)),
        c.check(f"{name} from intact source", c.has_lines(out, lines), c.has_bytes(source, body)),
    )


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _paths(draw: Draw) -> tuple[str, str]:
    where, kind = draw.directory(), draw.one(_KINDS)
    return f"{where}/{draw.file(kind)}", f"{where}/{draw.file(kind)}"


def _filter(
    source: str,
    out: str,
    lines: Sequence[str],
    result: Sequence[str],
    ask: str,
    do: str,
    instead: str,
    wrong: Sequence[str],
) -> Part:
    """A part of one command that reads `source` (IN) and writes `out` (OUT)."""
    return Part(
        ask=ask.replace("IN", source).replace("OUT", out),
        files=(file(source, _text(lines)),),
        do=(f"{do} > {out}".replace("IN", source),),
        instead=(f"{instead} > {out}".replace("IN", source),),
        wrong=(*((f"{way} > {out}".replace("IN", source),) for way in wrong), (f"{do}".replace("IN", source),)),
        goals=_output_goals(out, result, source, _text(lines)),
    )


def _sort(draw: Draw) -> Part:
    source, out = _paths(draw)
    backwards = draw.chance()
    lines = draw.until(lambda: draw.lines(draw.number(5, 8), draw.some(_words.WORDS, 8)), lambda ls: ls != sorted(ls))
    result = sorted(lines, reverse=backwards)
    if lines == result or lines[::-1] == result:
        lines = [result[1], result[0], *result[2:]]
    order = "in reverse alphabetical order" if backwards else "in alphabetical order"
    return _filter(
        source,
        out,
        lines,
        result,
        draw.one((f"write the lines of IN {order} to OUT", f"sort the lines of IN {order} into OUT")),
        f"sort{' -r' if backwards else ''} IN",
        f"sort IN | {'tac' if backwards else 'cat'}",
        ("cat IN", f"sort{'' if backwards else ' -r'} IN", "tac IN"),
    )


def _sort_numbers(draw: Draw) -> Part:
    source, out = _paths(draw)
    words = draw.some(_words.WORDS, 6)
    numbers = draw.until(
        lambda: draw.some(range(2, 10), 2) + draw.some(range(10, 100), 2) + draw.some(range(100, 1000), 2),
        lambda drawn: sorted(drawn) != sorted(drawn, key=str),
    )
    backwards = draw.chance()
    lines = [f"{number} {word}" for number, word in zip(draw.shuffled(numbers), words, strict=True)]
    result = sorted(lines, key=lambda line: int(line.split()[0]), reverse=backwards)
    if lines == result:
        lines = lines[::-1]
    order = "the largest number first" if backwards else "the smallest number first"
    flags = "-rn" if backwards else "-n"
    return _filter(
        source,
        out,
        lines,
        result,
        draw.one((f"sort IN by its numbers, {order}, into OUT", f"write the lines of IN to OUT with {order}")),
        f"sort {flags} IN",
        f"sort -k1,1{'nr' if backwards else 'n'} IN",
        (f"sort{' -r' if backwards else ''} IN", f"sort {'-n' if backwards else '-rn'} IN"),
    )


def _repeated(draw: Draw) -> list[str]:
    words = draw.some(_words.WORDS, draw.number(4, 6))
    return draw.until(
        lambda: draw.shuffled([*words, *words[:3], words[0]]),
        lambda lines: lines != sorted(lines) and lines[0] != lines[1],
    )


def _unique(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = _repeated(draw)
    return _filter(
        source,
        out,
        lines,
        sorted(set(lines)),
        draw.one(("write each different line of IN once, sorted, to OUT", "sort IN without repeated lines into OUT")),
        "sort -u IN",
        "sort IN | uniq",
        ("sort IN", "uniq IN"),
    )


def _doubles(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = _repeated(draw)
    result = sorted(line for line, count in Counter(lines).items() if count > 1)
    return _filter(
        source,
        out,
        lines,
        result,
        "write the lines that IN holds more than once, sorted, each once, to OUT",
        "sort IN | uniq -d",
        "sort IN | awk 'seen[$0]++ == 1'",
        ("sort IN | uniq -D", "sort IN | uniq -u", "sort -u IN"),
    )


def _ends(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = draw.lines(draw.number(8, 14), draw.some(_words.WORDS, 8))
    count, first = draw.number(2, 5), draw.chance()
    end, tool, other = ("first", "head", "tail") if first else ("last", "tail", "head")
    address = f"sed -n '1,{count}p' IN" if first else f"tac IN | sed -n '1,{count}p' | tac"
    return _filter(
        source,
        out,
        lines,
        lines[:count] if first else lines[-count:],
        draw.one((f"write the {end} {count} lines of IN to OUT", f"copy only the {end} {count} lines of IN to OUT")),
        f"{tool} -n {count} IN",
        address,
        (f"{other} -n {count} IN", f"{tool} -n {count + 1} IN", f"{tool} IN"),
    )


def _range(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = draw.lines(draw.number(9, 14), draw.some(_words.WORDS, 8))
    low = draw.number(2, 4)
    high = low + draw.number(2, 4)
    return _filter(
        source,
        out,
        lines,
        lines[low - 1 : high],
        draw.one((f"write lines {low} to {high} of IN to OUT", f"copy lines {low} through {high} of IN into OUT")),
        f"sed -n '{low},{high}p' IN",
        f"head -n {high} IN | tail -n +{low}",
        (f"sed -n '{low},{high - 1}p' IN", f"head -n {high} IN", f"tail -n +{low} IN"),
    )


def _column(draw: Draw) -> Part:
    source, out = _paths(draw)
    mark, called = draw.one(((":", "colon"), (";", "semicolon"), (",", "comma"), ("|", "bar")))
    rows = [draw.some(_words.WORDS, 4) for _ in range(draw.number(4, 7))]
    field = draw.number(2, 4)
    other = field - 1
    return _filter(
        source,
        out,
        [mark.join(row) for row in rows],
        [row[field - 1] for row in rows],
        draw.one(
            (
                f"the lines of IN have {called}-separated fields: write field {field} of each to OUT",
                f"write the {called}-separated field {field} of every line of IN to OUT",
            )
        ),
        f"cut -d'{mark}' -f{field} IN",
        f"awk -F'[{mark}]' '{{print ${field}}}' IN",
        (f"cut -d'{mark}' -f{other} IN", f"cut -f{field} IN", f"cut -d'{mark}' -f1-{field} IN"),
    )


def _shout(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = draw.lines(draw.number(4, 6), draw.some(_words.WORDS, 8))
    upper = draw.chance()
    lines = [line.title() for line in lines]
    result = [line.upper() if upper else line.lower() for line in lines]
    kind, this, other = ("upper", "a-z A-Z", "A-Z a-z") if upper else ("lower", "A-Z a-z", "a-z A-Z")
    return _filter(
        source,
        out,
        lines,
        result,
        draw.one((f"write IN in {kind} case to OUT", f"write all of IN to OUT with every letter in {kind} case")),
        f"tr {this} < IN",
        f"awk '{{print to{kind}($0)}}' IN",
        (f"tr {other} < IN", "cat IN", "rev IN | rev"),
    )


def _blank_lines(draw: Draw) -> Part:
    source, out = _paths(draw)
    kept = draw.lines(draw.number(4, 6), draw.some(_words.WORDS, 8))
    lines = [piece for line in kept for piece in (line, *[""] * draw.number(0, 2))] + ["", kept[0]]
    return _filter(
        source,
        out,
        lines,
        [*kept, kept[0]],
        draw.one(("write IN without its empty lines to OUT", "copy IN to OUT leaving out the empty lines")),
        "grep -v '^$' IN",
        "sed '/^$/d' IN",
        ("cat -s IN", "grep '^$' IN", "sort -u IN"),
    )


def _backwards(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = draw.lines(draw.number(5, 8), draw.some(_words.WORDS, 8))
    return _filter(
        source,
        out,
        lines,
        lines[::-1],
        draw.one(
            ("write the lines of IN to OUT, the last one first", "write IN to OUT with its lines in reverse order")
        ),
        "tac IN",
        "sed '1!G;h;$!d' IN",
        ("cat IN", "rev IN"),
    )


def _join_files(draw: Draw) -> Part:
    where, kind = draw.directory(), draw.one(_KINDS)
    first, second, out = (f"{where}/{draw.file(kind)}" for _ in range(3))
    one, two = draw.lines(3, draw.words(6)), draw.lines(3, draw.words(6))
    both = [*one, *two]
    return Part(
        ask=draw.one(
            (f"write {first} and then {second} to {out}", f"join {first} and {second}, in this order, as {out}")
        ),
        files=(file(first, _text(one)), file(second, _text(two))),
        do=(f"cat {first} {second} > {out}",),
        instead=(f"cp {first} {out}", f"cat {second} >> {out}"),
        wrong=((f"cat {second} {first} > {out}",), (f"cp {first} {out}",), (f"cat {second} >> {first}",)),
        goals=(
            c.check("both parts joined", c.has_lines_in_any_order(out, both)),
            c.check("joined in order", c.has_lines(out, both)),
            c.check(
                "joined from intact sources",
                c.has_lines(out, both),
                c.has_bytes(first, _text(one)),
                c.has_bytes(second, _text(two)),
            ),
        ),
    )


def _count(draw: Draw) -> Part:
    source, out = _paths(draw)
    lines = [" ".join(draw.some(_words.WORDS, draw.number(1, 4))) for _ in range(draw.number(4, 12))]
    lines.append(" ".join(draw.some(_words.WORDS, 5)))
    of_words = draw.chance()
    kind, flag, other = ("words", "-w", "-l") if of_words else ("lines", "-l", "-w")
    number = sum(len(line.split()) for line in lines) if of_words else len(lines)
    return Part(
        ask=draw.one((f"write the number of {kind} in {source} to {out}", f"count the {kind} of {source} into {out}")),
        files=(file(source, _text(lines)),),
        do=(f"wc {flag} < {source} > {out}",),
        instead=(f"awk '{{n += {'NF' if of_words else '1'}}} END {{print n}}' {source} > {out}",),
        wrong=((f"wc {other} < {source} > {out}",), (f"wc {flag} {source} > {out}",)),
        goals=(c.check(f"{kind} counted", c.has_number(out, number), c.has_bytes(source, _text(lines))),),
    )


def _most_frequent(draw: Draw) -> Part:
    source, out = _paths(draw)
    words = draw.some(_words.WORDS, 4)
    lines = draw.until(
        lambda: draw.shuffled([words[0]] * 4 + [words[1]] * 2 + [words[2]] * 2 + [words[3]]),
        lambda drawn: drawn[0] != words[0] and drawn[-1] != words[0],
    )
    return Part(
        ask=f"write only the most frequent line of {source} to {out}",
        files=(file(source, _text(lines)),),
        do=(f"sort {source} | uniq -c | sort -rn > /tmp/count", f"head -n 1 /tmp/count | awk '{{print $2}}' > {out}"),
        instead=(f"echo {words[0]} > {out}",),
        wrong=((f"head -n 1 {source} > {out}",), (f"sort {source} | uniq -c | sort -n | head -n 1 > {out}",)),
        goals=(c.check("most frequent line", c.has_lines(out, [words[0]]), c.has_bytes(source, _text(lines))),),
    )


def _sort_in_place(draw: Draw) -> Part:
    where, names = draw.directory(), [draw.file("txt") for _ in range(2)]
    lists = [
        draw.until(lambda: draw.lines(draw.number(4, 7), draw.some(_words.WORDS, 8)), lambda ls: ls != sorted(ls))
        for _ in names
    ]
    paths = [f"{where}/{name}" for name in names]
    return Part(
        ask=f"sort the lines of {paths[0]} and of {paths[1]}, each in place",
        files=tuple(file(path, _text(lines)) for path, lines in zip(paths, lists, strict=True)),
        do=tuple(f"sort -o {path} {path}" for path in paths),
        instead=tuple(f"sort {path} > /tmp/sorted && cp /tmp/sorted {path}" for path in paths),
        wrong=(
            tuple(f"sort {path} > {path}" for path in paths),
            (f"sort -o {paths[0]} {paths[0]}",),
            (f"sort -o {paths[0]} {paths[0]} {paths[1]}",),
        ),
        goals=tuple(
            c.check(f"{name} sorted", c.has_lines(path, sorted(lines)))
            for name, path, lines in zip(names, paths, lists, strict=True)
        ),
    )


_FILTERS = (
    _sort,
    _sort_numbers,
    _unique,
    _doubles,
    _ends,
    _range,
    _column,
    _shout,
    _blank_lines,
    _backwards,
    _join_files,
)
_TWO_STEPS = (_most_frequent, _sort_in_place)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_FILTERS)(draw)])


def _medium(draw: Draw) -> Scenario:
    last = draw.one((_count, *_TWO_STEPS))
    return join(draw, [kind(draw) for kind in draw.shuffled([*draw.some(_FILTERS, 2), last])])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_FILTERS, draw.number(2, 3)), *draw.some((_count, *_TWO_STEPS), 2)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "text_processing",
    levels(_easy, _medium, _hard),
    "sort, cut, count and rearrange the lines of text files",
)
