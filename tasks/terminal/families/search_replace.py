"""Search and change text over a tree of files: some files and some occurrences must change, all others must not."""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, files_in, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("txt", "md", "conf", "ini", "cfg", "html", "rst", "yml", "css", "text")


def _with(draw: Draw, vocabulary: Sequence[str], word: str, lines: int, *, twice: bool) -> str:
    """Lines from the vocabulary, one of which (or each of two, one holding it twice) holds the word."""
    made = draw.lines(lines, vocabulary)
    made[-1] = f"{made[-1]} {word}"
    if twice:
        made[0] = f"{word} {made[0]} {word}"
    return "".join(f"{line}\n" for line in made)


def _paths(draw: Draw, kind: str, spared: str) -> tuple[list[str], str]:
    """Three paths of a kind at different depths of a new tree, and one of another kind."""
    top, sub = draw.directory(), draw.directory()
    return [f"{top}/{draw.file(kind)}", f"{top}/{draw.file(kind)}", f"{top}/{sub}/{draw.file(kind)}"], (
        f"{top}/{draw.file(spared)}"
    )


def _replace_everywhere(draw: Draw) -> Part:
    kind, other = draw.some(_KINDS, 2)
    paths, last = _paths(draw, kind, other)
    top = paths[0].partition("/")[0]
    paths = [*paths[1:], last]
    old, new, vocabulary = draw.word(), draw.word(), draw.words(6)
    bodies = [_with(draw, vocabulary, old, 3, twice=place == 0) for place in range(len(paths))]
    return Part(
        ask=draw.one(
            (
                f"replace every {old} by {new} in all files under {top}",
                f"in all files below {top}, change each {old} to {new}",
            )
        ),
        files=tuple(file(path, body) for path, body in zip(paths, bodies, strict=True)),
        do=(f"grep -rl {old} {top} | xargs sed -i 's/{old}/{new}/g'",),
        instead=(f"find {top} -type f -exec perl -pi -e 's/{old}/{new}/g' {{}} +",),
        wrong=(
            (f"sed -i 's/{old}/{new}/g' {top}/*",),
            (f"grep -rl {old} {top} | xargs sed -i 's/{old}/{new}/'",),
            (f"grep -rl {old} {top} | xargs sed -i 's/{new}/{old}/g'",),
        ),
        goals=tuple(
            c.check(f"replaced {number}", c.has_text(path, body.replace(old, new)))
            for number, (path, body) in enumerate(zip(paths, bodies, strict=True), 1)
        ),
    )


def _replace_in_kind(draw: Draw) -> Part:
    kind, spared = draw.some(_KINDS, 2)
    top, names, kept = draw.directory(), [draw.file(kind) for _ in range(3)], draw.file(spared)
    old, new, vocabulary = draw.word(), draw.word(), draw.words(6)
    bodies = [_with(draw, vocabulary, old, 3, twice=True) for _ in names]
    rest = _with(draw, vocabulary, old, 2, twice=False)
    safe = c.has_text(f"{top}/{kept}", rest)
    return Part(
        ask=draw.one(
            (
                f"replace every {old} by {new} in the .{kind} files of {top}, and in no other file",
                f"change all {old} to {new} in {top}, but only in its .{kind} files",
            )
        ),
        files=(*files_in(top, names, bodies), file(f"{top}/{kept}", rest)),
        do=(f"sed -i 's/{old}/{new}/g' {top}/*.{kind}",),
        instead=(f"perl -pi -e 's/{old}/{new}/g' {top}/*.{kind}",),
        wrong=(
            (f"sed -i 's/{old}/{new}/g' {top}/*",),
            (f"sed -i 's/{old}/{new}/' {top}/*.{kind}",),
            (f"sed -i 's/{old}/{new}/g' {top}/{names[0]}",),
        ),
        goals=tuple(
            c.check(f"{name} changed", c.has_text(f"{top}/{name}", body.replace(old, new)), safe)
            for name, body in zip(names, bodies, strict=True)
        ),
    )


def _whole_word(draw: Draw) -> Part:
    kind, top = draw.one(_KINDS), draw.directory()
    names, old, new, vocabulary = [draw.file(kind) for _ in range(3)], draw.word(), draw.word(), draw.words(6)
    longer = f"{old}{draw.one(('s', 'ed', 'ing', '2', 'like', 'house'))}"
    bodies = [f"{' '.join(draw.some(vocabulary, 2))} {old}\n{longer} {old} {draw.one(vocabulary)}\n" for _ in names]
    results = [
        "".join(" ".join(new if word == old else word for word in line.split()) + "\n" for line in body.splitlines())
        for body in bodies
    ]
    return Part(
        ask=draw.one(
            (
                f"replace the whole word {old} by {new} in the files of {top}; {longer} must stay",
                f"in every file of {top} change the word {old} to {new}, but leave {longer} alone",
            )
        ),
        files=files_in(top, names, bodies),
        do=(rf"sed -i 's/\b{old}\b/{new}/g' {top}/*",),
        instead=(rf"perl -pi -e 's/\b{old}\b/{new}/g' {top}/*.{kind}",),
        wrong=((f"sed -i 's/{old}/{new}/g' {top}/*",), (rf"sed -i 's/\b{old}\b/{new}/g' {top}/{names[0]}",)),
        goals=tuple(
            c.check(f"{name} changed", c.has_text(f"{top}/{name}", result))
            for name, result in zip(names, results, strict=True)
        ),
    )


def _delete_lines(draw: Draw) -> Part:
    kind, spared = draw.some(_KINDS, 2)
    top, names, kept = draw.directory(), [draw.file(kind) for _ in range(3)], draw.file(spared)
    word, vocabulary = draw.word(), draw.words(6)
    bodies = [_with(draw, vocabulary, word, 4, twice=True) for _ in names]
    rest = _with(draw, vocabulary, word, 2, twice=False)
    safe = c.has_text(f"{top}/{kept}", rest)
    results = ["".join(f"{line}\n" for line in body.splitlines() if word not in line) for body in bodies]
    return Part(
        ask=draw.one(
            (
                f"delete the lines with {word} from every .{kind} file in {top}, and from no other file",
                f"remove each line that holds {word} from the .{kind} files of {top} only",
            )
        ),
        files=(*files_in(top, names, bodies), file(f"{top}/{kept}", rest)),
        do=(f"sed -i '/{word}/d' {top}/*.{kind}",),
        instead=(f"for f in {top}/*.{kind}; do grep -v {word} $f > /tmp/kept; cat /tmp/kept > $f; done",),
        wrong=(
            (f"sed -i '/{word}/d' {top}/*",),
            (f"sed -i 's/{word}//g' {top}/*.{kind}",),
            (f"sed -i '/{word}/d' {top}/{names[-1]}",),
        ),
        goals=tuple(
            c.check(f"{name} cleaned", c.has_text(f"{top}/{name}", result), safe)
            for name, result in zip(names, results, strict=True)
        ),
    )


def _first_line(draw: Draw) -> Part:
    kind, spared = draw.some(_KINDS, 2)
    top, names, kept = draw.directory(), [draw.file(kind) for _ in range(3)], draw.file(spared)
    bodies, rest, line = [draw.body(2) for _ in names], draw.body(2), " ".join(draw.words(2))
    safe = c.has_text(f"{top}/{kept}", rest)
    return Part(
        ask=draw.one(
            (
                f"insert the line {line} at the top of each .{kind} file in {top}, and of no other file",
                f"put a first line {line} into the .{kind} files of {top} only",
            )
        ),
        files=(*files_in(top, names, bodies), file(f"{top}/{kept}", rest)),
        do=(f"sed -i '1i {line}' {top}/*.{kind}",),
        instead=tuple(f"echo '{line}' | cat - {top}/{name} > /tmp/new; cp /tmp/new {top}/{name}" for name in names),
        wrong=(
            (f"sed -i '1i {line}' {top}/*",),
            (f"for f in {top}/*.{kind}; do echo {line} >> $f; done",),
            (f"sed -i '1a {line}' {top}/*.{kind}",),
        ),
        goals=tuple(
            c.check(f"{name} first line", c.has_text(f"{top}/{name}", f"{line}\n{body}"), safe)
            for name, body in zip(names, bodies, strict=True)
        ),
    )


def _list_files(draw: Draw) -> Part:
    kind, spared = draw.some(_KINDS, 2)
    paths, other = _paths(draw, kind, spared)
    top, out = paths[0].partition("/")[0], draw.file("list")
    word, vocabulary = draw.word(), draw.words(6)
    holds = [paths[0], paths[2]]
    bodies = {
        path: _with(draw, vocabulary, word, 3, twice=True)
        if path in holds
        else "".join(f"{line}\n" for line in draw.lines(3, vocabulary))
        for path in (*paths, other)
    }

    def listed(view: StateView) -> bool:
        found = [c.resolved("", line) for line in c.lines_of(view, out) if line.strip()]
        return sorted(found) == sorted(c.resolved("", path) for path in holds)

    return Part(
        ask=draw.one(
            (
                f"write the paths of the files under {top} that hold {word} to {out}, one a line, starting with {top}/",
                f"list in {out} the path, from {top}/ on, of each file under {top} with {word} in it",
            )
        ),
        files=tuple(file(path, body) for path, body in bodies.items()),
        do=(f"grep -rl {word} {top} > {out}",),
        instead=(f"find {top} -type f -exec grep -q {word} {{}} \\; -print > {out}",),
        wrong=(
            (f"grep -r {word} {top} > {out}",),
            (f"grep -l {word} {top}/* > {out}",),
            (f"grep -rL {word} {top} > {out}",),
        ),
        goals=(c.check(f"files with {word} listed", listed),),
    )


def _count_matches(draw: Draw) -> Part:
    kind, top, out = draw.one(_KINDS), draw.directory(), draw.file("out")
    names, word, vocabulary = [draw.file(kind) for _ in range(3)], draw.word(), draw.words(6)
    bodies = [_with(draw, vocabulary, word, 3, twice=place > 0) for place in range(3)]
    return Part(
        ask=draw.one(
            (
                f"write to {out} how many times {word} occurs in all files of {top} together",
                f"count the occurrences (not lines) of {word} in the files of {top} and write the total to {out}",
            )
        ),
        files=files_in(top, names, bodies),
        do=(f"grep -ro {word} {top} | wc -l > {out}",),
        instead=(f"cat {top}/* | tr ' ' '\\n' | grep -c {word} > {out}",),
        wrong=((f"grep -r {word} {top} | wc -l > {out}",), (f"grep -rl {word} {top} | wc -l > {out}",)),
        goals=(c.check(f"{word} counted", c.has_number(out, "".join(bodies).count(word))),),
    )


_CHANGES = (_replace_everywhere, _replace_in_kind, _whole_word, _delete_lines, _first_line)
_REPORTS = (_list_files, _count_matches)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_CHANGES)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one(_CHANGES), *draw.some((*_CHANGES, *_REPORTS), draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_CHANGES, draw.number(2, 3)), *_REPORTS]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "search_replace",
    levels(_easy, _medium, _hard),
    "search, replace, insert and delete text over a tree of files",
)
