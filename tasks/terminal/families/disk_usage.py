"""Find the big, the empty, the old and the doubled files of a tree, and act on just these. Never used for training."""

from __future__ import annotations

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, files_in, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _of_size(draw: Draw, size: int) -> str:
    """A text of exactly this many bytes, of lines of 50."""
    words = draw.some(_words.WORDS, 8)
    text = " ".join(words[place % 8] for place in range(size // 3 + 1))
    return "".join(text[place] if place % 50 != 49 else "\n" for place in range(size - 1)) + "\n"


def _tree(draw: Draw, count: int) -> tuple[str, list[str]]:
    """A directory, and `count` paths at two depths below it, in random order."""
    top, sub = draw.directory(), draw.directory()
    places = [f"{top}/{draw.file()}" if draw.chance() else f"{top}/{sub}/{draw.file()}" for _ in range(count - 2)]
    return top, draw.shuffled([*places, f"{top}/{draw.file()}", f"{top}/{sub}/{draw.file()}"])


def _larger(draw: Draw) -> Part:
    top, paths = _tree(draw, 6)
    limit = draw.number(4, 12) * 100
    sizes = [
        limit + draw.number(1, 300),
        limit + 1,
        limit + draw.number(100, 400),
        limit,
        limit - 1,
        draw.number(20, 90),
    ]
    bodies = [_of_size(draw, size) for size in sizes]
    big, small = paths[:3], list(zip(paths[3:], bodies[3:], strict=True))
    safe = [c.has_bytes(path, body) for path, body in small]
    return Part(
        ask=draw.one(
            (
                f"delete all files under {top} that are larger than {limit} bytes, and no others",
                f"remove every file of more than {limit} bytes below {top}, and nothing else",
            )
        ),
        files=tuple(file(path, body) for path, body in draw.shuffled(list(zip(paths, bodies, strict=True)))),
        do=(f"find {top} -type f -size +{limit}c -delete",),
        instead=(f"find {top} -type f -printf '%s %p\\n' | awk '$1 > {limit} {{print $2}}' | xargs rm",),
        wrong=(
            (f"find {top} -type f -size +{limit - 1}c -delete",),
            (f"find {top} -type f -size -{limit}c -delete",),
            (f"rm {big[0]}",),
        ),
        goals=tuple(c.check(f"big file {number} gone", c.absent(path), *safe) for number, path in enumerate(big, 1)),
    )


def _empty_files(draw: Draw) -> Part:
    top, paths = _tree(draw, 6)
    bodies = [draw.body(), draw.body(), "\n"]
    empty, full = paths[:3], list(zip(paths[3:], bodies, strict=True))
    safe = [c.has_bytes(path, body) for path, body in full]
    return Part(
        ask=draw.one(
            (f"delete the empty files under {top} and nothing else", f"remove all files of 0 bytes below {top} only")
        ),
        files=(*(file(path) for path in empty), *(file(path, body) for path, body in full)),
        do=(f"find {top} -type f -empty -delete",),
        instead=(f"for f in $(find {top} -type f); do [ -s $f ] || rm $f; done",),
        wrong=((f"rm {empty[0]}",), (f"find {top} -type f -size -2c -delete",), (f"find {top} -type f -delete",)),
        goals=tuple(
            c.check(f"empty file {number} gone", c.absent(path), *safe) for number, path in enumerate(empty, 1)
        ),
    )


def _empty_folders(draw: Draw) -> Part:
    top, full, *empty = (draw.directory() for _ in range(5))
    kept, body = f"{top}/{full}/{draw.file()}", draw.body()
    blank = f"{top}/{full}/{draw.file()}"
    safe = [c.has_bytes(kept, body), c.is_empty_file(blank)]
    paths = [f"{top}/{empty[0]}", f"{top}/{full}/{empty[1]}", f"{top}/{empty[2]}"]
    return Part(
        ask=draw.one(
            (
                f"delete the empty directories under {top} and nothing else",
                f"remove all empty directories below {top} only",
            )
        ),
        files=(*(directory(path) for path in paths), file(kept, body), file(blank)),
        do=(f"find {top} -type d -empty -delete",),
        instead=(f"rmdir {paths[0]} {paths[1]} {paths[2]}",),
        wrong=((f"find {top} -empty -delete",), (f"rmdir {top}/*",), (f"rm -r {top}/*",)),
        goals=tuple(
            c.check(f"empty directory {number} gone", c.absent(path), *safe) for number, path in enumerate(paths, 1)
        ),
    )


def _old_files(draw: Draw) -> Part:
    where, target, names = draw.directory(), draw.directory(), [draw.file() for _ in range(5)]
    year = draw.number(2016, 2023)
    bodies = [draw.body() for _ in names]
    dates = [
        f"{year - 1}-12-31",
        f"{year - draw.number(2, 6)}-06-0{draw.number(1, 9)}",
        f"{year - 1}-0{draw.number(1, 9)}-15",
    ]
    dates += [f"{year}-01-02", f"{year + 1}-0{draw.number(1, 9)}-20"]
    both = list(zip(names, bodies, strict=True))
    safe = [c.has_bytes(f"{where}/{name}", body) for name, body in both[3:]]
    shown = draw.shuffled(list(zip(names, dates, strict=True)))
    return Part(
        ask=draw.one(
            (
                f"move the files in {where} last modified before {year} to {target}",
                f"move all files of {where} that are older than 1 January {year} into {target}",
            )
        ),
        files=(*files_in(where, names, bodies), directory(target)),
        setup="\n".join(f"touch -d '{date} 12:00' {where}/{name}" for name, date in shown),
        do=(f"find {where} -type f ! -newermt {year}-01-01 -exec mv -t {target} {{}} +",),
        instead=(
            f"touch -d {year}-01-01 /tmp/limit",
            f"for f in {where}/*; do [ $f -ot /tmp/limit ] && mv $f {target}/; done",
        ),
        wrong=(
            (f"find {where} -type f -newermt {year}-01-01 -exec mv -t {target} {{}} +",),
            (f"find {where} -type f ! -newermt {year - 1}-01-01 -exec mv -t {target} {{}} +",),
            (f"mv {where}/* {target}/",),
        ),
        goals=tuple(
            c.check(
                f"old file {number} moved", c.has_bytes(f"{target}/{name}", body), c.absent(f"{where}/{name}"), *safe
            )
            for number, (name, body) in enumerate(both[:3], 1)
        ),
    )


def _doubles(draw: Draw) -> Part:
    where, names = draw.directory(), sorted(draw.file("txt") for _ in range(5))
    one, two, other = draw.body(3), draw.body(2), draw.body(3)
    bodies = draw.until(
        lambda: draw.shuffled([one, one, one, two, other]), lambda drawn: drawn[0] != one or drawn[1] != one
    )
    first = bodies.index(one)
    extra = [f"{where}/{name}" for place, name in enumerate(names) if bodies[place] == one and place != first]
    kept = [place for place in range(5) if f"{where}/{names[place]}" not in extra]
    safe = [c.has_bytes(f"{where}/{names[place]}", bodies[place]) for place in kept]
    return Part(
        ask=draw.one(
            (
                f"three files in {where} have the same content: delete two of them, keeping the first in the alphabet",
                f"three files in {where} are the same: keep the alphabetically first and delete the other two",
            )
        ),
        files=files_in(where, names, bodies),
        do=(f"sha256sum {where}/* | sort", f"rm {extra[0]} {extra[1]}"),
        instead=(f"for f in {where}/*; do cmp -s {where}/{names[first]} $f && echo $f; done | tail -n +2 | xargs rm",),
        wrong=((f"rm {extra[0]}",), (f"rm {where}/{names[first]} {extra[1]}",), (f"rm {where}/*",)),
        goals=(
            c.check("first double gone", c.absent(extra[0]), *safe),
            c.check("second double gone", c.absent(extra[1]), *safe),
            c.check("only originals left", c.names_in(where, [names[place] for place in kept]), *safe),
        ),
    )


def _biggest(draw: Draw) -> Part:
    (top, paths), out = _tree(draw, 5), draw.file("txt")
    sizes = draw.shuffled([9, 90, 400, 800, 850])
    bodies = [_of_size(draw, size + draw.number(0, 20)) for size in sizes]
    path = paths[sizes.index(850)]
    return Part(
        ask=f"write the path of the largest file under {top}, starting with {top}/, to {out}",
        files=tuple(file(path, body) for path, body in zip(paths, bodies, strict=True)),
        do=(f"find {top} -type f -printf '%s %p\\n' | sort -n | tail -n 1", f"echo {path} > {out}"),
        instead=(f"du -b $(find {top} -type f) | sort -rn | head -n 1 | cut -f2 > {out}",),
        wrong=((f"echo {paths[sizes.index(800)]} > {out}",), (f"find {top} -type f -size +500c > {out}",)),
        goals=(
            c.check(
                "largest file named",
                lambda view: c.resolved("", c.text_of(view, out).strip()) == f"/workspace/{path}",
            ),
        ),
    )


def _all_bytes(draw: Draw) -> Part:
    (top, paths), out = _tree(draw, 4), draw.file("txt")
    bodies = [draw.body() for _ in paths]
    return Part(
        ask=draw.one(
            (
                f"write the total size in bytes of all files under {top} to {out}",
                f"add up the bytes of all files below {top} and write the sum to {out}",
            )
        ),
        files=tuple(file(path, body) for path, body in zip(paths, bodies, strict=True)),
        do=(f"find {top} -type f -exec cat {{}} + | wc -c > {out}",),
        instead=(f"find {top} -type f -printf '%s\\n' | awk '{{n += $1}} END {{print n}}' > {out}",),
        wrong=((f"du -sb {top} > {out}",), (f"cat {top}/* | wc -c > {out}",), (f"find {top} -type f | wc -l > {out}",)),
        goals=(c.check("bytes added up", c.has_number(out, sum(map(len, bodies)))),),
    )


_ACTS = (_larger, _empty_files, _empty_folders, _old_files, _doubles)
_REPORTS = (_biggest, _all_bytes)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_ACTS)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one(_ACTS), *draw.some((*_ACTS[:4], _all_bytes), draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ACTS, draw.number(2, 3)), *_REPORTS]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "disk_usage",
    levels(_easy, _medium, _hard),
    "find big, empty, old and doubled files and act on just these",
    ood=True,
)
