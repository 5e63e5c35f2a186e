"""Write small scripts with arguments. They are judged by running them on arguments and files never named before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, join
from agentenv.tasks.terminal.families._scripts import Case, written_script
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _path(draw: Draw) -> str:
    return f"{draw.directory()}/{draw.stem()}.sh"


def _ask(draw: Draw, path: str, does: str) -> str:
    return draw.one(
        (
            f"write an executable script {path} that {does}",
            f"create {path}, an executable shell script that {does}",
        )
    )


def _text(draw: Draw, lines: int) -> str:
    return draw.body(lines)


def _greet(draw: Draw, whole: bool) -> Part:
    path, word = _path(draw), draw.word()
    first, second = draw.some(_words.USERS, 2)
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints {word}, a space and its first argument"),
        f'echo "{word} $1"',
        f'printf "%s %s\\n" {word} "$1"',
        (f'echo "{word}"', f'echo "$1 {word}"', f'echo "{word} $2"'),
        (Case((first,), out=f"{word} {first}"), Case((second, first), out=f"{word} {second}")),
        whole=whole,
    )


def _count_lines(draw: Draw, whole: bool) -> Part:
    path = _path(draw)
    few, many = draw.number(2, 4), draw.number(5, 9)
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, "prints only the number of lines of the file given as first argument"),
        'wc -l < "$1"',
        'grep -c "" "$1"',
        ('wc -l "$1"', 'wc -w < "$1"', "wc -l < README"),
        tuple(Case((f"{lines}.txt",), {f"{lines}.txt": _text(draw, lines)}, out=str(lines)) for lines in (few, many)),
        whole=whole,
    )


def _ends(draw: Draw, whole: bool) -> Part:
    path, count, first = _path(draw), draw.number(2, 5), draw.chance()
    end, tool, other = ("first", "head", "tail") if first else ("last", "tail", "head")
    cases = []
    for lines in (count + 2, count + draw.number(3, 5)):
        text = _text(draw, lines)
        rows = text.splitlines()
        kept = rows[:count] if first else rows[-count:]
        cases.append(Case(("data.txt",), {"data.txt": text}, out="\n".join(kept)))
    awk = f'awk "NR <= {count}" "$1"' if first else f'tac "$1" | head -n {count} | tac'
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints the {end} {count} lines of the file given as first argument"),
        f'{tool} -n {count} "$1"',
        awk,
        (f'{other} -n {count} "$1"', f'{tool} -n {count + 1} "$1"', f"{tool} -n {count}"),
        cases,
        whole=whole,
    )


def _arithmetic(draw: Draw, whole: bool) -> Part:
    path = _path(draw)
    name, sign = draw.one((("sum", "+"), ("product", "*"), ("difference", "-")))
    said = "first minus the second" if sign == "-" else f"{name} of the first and the second"
    cases = []
    for _ in range(2):
        low, high = draw.number(3, 40), draw.number(50, 99)
        result = {"+": high + low, "*": high * low, "-": high - low}[sign]
        cases.append(Case((str(high), str(low)), out=str(result)))
    others = {"+": "*", "*": "+", "-": "+"}
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints the {said} of its two arguments, whole numbers"),
        f"echo $(($1 {sign} $2))",
        f'expr "$1" "{sign}" "$2"',
        (f"echo $(($1 {others[sign]} $2))", f"echo $1 {sign} $2", f"echo $(($1 {sign} $1))"),
        cases,
        whole=whole,
    )


def _add_all(draw: Draw, whole: bool) -> Part:
    path = _path(draw)
    rows = [[draw.number(1, 90) for _ in range(count)] for count in (3, draw.number(4, 6))]
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, "prints the sum of all its arguments, whole numbers"),
        't=0; for n in "$@"; do t=$((t + n)); done; echo $t',
        "t=0; while [ $# -gt 0 ]; do t=$((t + $1)); shift; done; echo $t",
        ("echo $(($1 + $2))", "echo $#", "echo $@"),
        [Case(tuple(map(str, numbers)), out=str(sum(numbers))) for numbers in rows],
        whole=whole,
    )


def _count_word(draw: Draw, whole: bool) -> Part:
    path, word = _path(draw), draw.word()
    cases = []
    for count in (draw.number(1, 3), draw.number(4, 6)):
        others = draw.lines(draw.number(2, 4), ("ant", "bee", "cat", "dog", "elk"))
        lines = draw.shuffled(
            [*others, *(f"{other} {word}" for other in draw.lines(count, ("ape", "bat", "cow", "doe")))]
        )
        cases.append(Case(("in.txt",), {"in.txt": "".join(f"{line}\n" for line in lines)}, out=str(count)))
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints how many lines of the file given as first argument hold {word}"),
        f'grep -c {word} "$1"',
        f'grep {word} "$1" | wc -l',
        (f'grep {word} "$1"', f'grep -o {word} "$1"', 'wc -l < "$1"'),
        cases,
        whole=whole,
    )


def _each_argument(draw: Draw, whole: bool) -> Part:
    path, mark = _path(draw), draw.word()
    rows = [draw.some(_words.CITIES, count) for count in (2, draw.number(3, 5))]
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints each of its arguments on a line of its own, after {mark} and a space"),
        f'for a in "$@"; do echo "{mark} $a"; done',
        f'printf "{mark} %s\\n" "$@"',
        (f'echo "{mark} $@"', f'echo "{mark} $1"', 'printf "%s\\n" "$@"'),
        [Case(tuple(names), out="\n".join(f"{mark} {name}" for name in names)) for names in rows],
        whole=whole,
    )


def _upper(draw: Draw, whole: bool) -> Part:
    path = _path(draw)
    texts = [_text(draw, draw.number(1, 3)) for _ in range(2)]
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, "prints the file given as first argument in upper case"),
        'tr a-z A-Z < "$1"',
        'sed "s/.*/\\U&/" "$1"',
        ('tr A-Z a-z < "$1"', 'echo "$1" | tr a-z A-Z', 'cat "$1"'),
        [Case(("a.txt",), {"a.txt": text}, out=text.upper()) for text in texts],
        whole=whole,
    )


def _exists(draw: Draw, whole: bool) -> Part:
    path, code = _path(draw), draw.number(2, 9)
    there, gone = draw.file(), draw.file()
    body = draw.body(1)
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"exits with status {code} if the file given as first argument is missing, and with 0 if not"),
        f'test -e "$1" || exit {code}',
        f'if [ -f "$1" ]; then exit 0; else exit {code}; fi',
        ('test -e "$1"', f"exit {code}", f'test -e "$1" && exit {code}'),
        (Case((gone,), {there: body}, code=code), Case((there,), {there: body}, code=0, after={there: body})),
        whole=True,
    )


def _backup(draw: Draw, whole: bool) -> Part:
    path, ending = _path(draw), draw.one(("bak", "old", "orig", "copy", "save"))
    names = [draw.file(), draw.file()]
    texts = [_text(draw, 2), _text(draw, 3)]
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"copies the file given as first argument to the same name with .{ending} added"),
        f'cp "$1" "$1.{ending}"',
        f'cat "$1" > "$1.{ending}"',
        (f'mv "$1" "$1.{ending}"', f'cp "$1" {ending}', f'touch "$1.{ending}"'),
        [
            Case((name,), {name: text}, after={name: text, f"{name}.{ending}": text})
            for name, text in zip(names, texts, strict=True)
        ],
        whole=whole,
    )


def _larger(draw: Draw, whole: bool) -> Part:
    path, larger = _path(draw), draw.chance()
    name, test, opposite = ("larger", "-gt", "-lt") if larger else ("smaller", "-lt", "-gt")
    pick = max if larger else min
    # One digit against two: an order of text, not of numbers, fails.
    pairs = [(draw.number(3, 9), draw.number(10, 29)), (draw.number(100, 299), draw.number(30, 99))]
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"prints the {name} of its two arguments, whole numbers"),
        f'if [ "$1" {test} "$2" ]; then echo "$1"; else echo "$2"; fi',
        f'printf "%s\\n" "$1" "$2" | sort -n | {"tail" if larger else "head"} -n 1',
        ('echo "$1"', 'echo "$2"', f'if [ "$1" {opposite} "$2" ]; then echo "$1"; else echo "$2"; fi'),
        [Case((str(one), str(two)), out=str(pick(one, two))) for one, two in pairs],
        whole=whole,
    )


def _place(draw: Draw, whole: bool) -> Part:
    path, inner, text = _path(draw), draw.file(), draw.word()
    return written_script(
        draw.runs,
        path,
        _ask(draw, path, f"makes the directory given as first argument, and in it a file {inner} with the line {text}"),
        f'mkdir "$1"; echo {text} > "$1/{inner}"',
        f'mkdir -p "$1" && cd "$1" && echo {text} > {inner}',
        (f'mkdir "$1"; touch "$1/{inner}"', f'mkdir "$1"; echo {text} > {inner}', f'echo {text} > "$1/{inner}"'),
        [Case((name,), after={f"{name}/{inner}": text}) for name in draw.some(_words.CITIES, 2)],
        whole=whole,
    )


_Kind = Callable[[Draw, bool], Part]
_KINDS: tuple[_Kind, ...] = (
    *(_greet, _count_lines, _ends, _arithmetic, _add_all, _count_word),
    *(_each_argument, _upper, _backup, _larger, _place),
)


def _several(draw: Draw, kinds: Sequence[_Kind]) -> Scenario:
    return join(draw, [kind(draw, True) for kind in kinds])


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_KINDS)(draw, False)])


def _medium(draw: Draw) -> Scenario:
    return _several(draw, draw.some((*_KINDS, _exists), 2))


def _hard(draw: Draw) -> Scenario:
    return _several(draw, draw.some((*_KINDS, _exists), draw.number(3, 4)))


FAMILY = Family("shell_scripts", levels(_easy, _medium, _hard), "write executable scripts that take arguments")
