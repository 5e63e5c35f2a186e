"""Compare versions, make and apply patches, settle merge conflicts. Never used for training.

A patch that the agent wrote is judged by applying it, on a throw-away fork, to a fresh copy of the old version.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import unified_diff

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, files_in, join
from agentenv.tasks.terminal.families._runs import Runs, Step
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _versions(draw: Draw) -> tuple[str, str]:
    """A text of ten to twelve lines, and the same with a line changed, one added and one removed."""
    vocabulary = draw.words(9)
    old = draw.lines(draw.number(10, 12), vocabulary)
    changed = draw.number(0, 2)
    new = [f"{line} {vocabulary[0]}" if place == changed else line for place, line in enumerate(old)]
    new.insert(draw.number(4, 6), f"{vocabulary[1]} {vocabulary[1]}")
    del new[-draw.number(1, 2)]
    return _text(old), _text(new)


def _patch(path: str, old: str, new: str) -> str:
    return "".join(unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}"))


def _apply(draw: Draw) -> Part:
    where, name, patch = draw.directory(), draw.file(), f"{draw.stem()}.patch"
    path, (old, new), rest = f"{where}/{name}", _versions(draw), draw.body()
    other = f"{where}/{draw.file()}"
    right = c.has_text(path, new)
    return Part(
        ask=draw.one((f"apply the patch {patch} to {path}", f"patch {path} with the unified diff in {patch}")),
        files=(file(path, old), file(other, rest), file(patch, _patch(path, old, new))),
        do=(f"patch {path} < {patch}",),
        instead=(f"patch -p1 -i {patch}",),
        wrong=((f"patch {other} < {patch}",), (f"cat {patch} >> {path}",), (f"cp {patch} {path}",)),
        goals=(
            c.check(f"{name} patched", right),
            c.check(f"{name} patched alone", right, c.has_bytes(other, rest)),
            c.check(f"{patch} kept", right, c.has_bytes(patch, _patch(path, old, new))),
        ),
        requires=("patch",),
    )


def _undo(draw: Draw) -> Part:
    where, name, patch = draw.directory(), draw.file(), f"{draw.stem()}.patch"
    path, (old, new) = f"{where}/{name}", _versions(draw)
    return Part(
        ask=draw.one(
            (f"undo the patch {patch}, which was applied to {path}", f"take the changes of {patch} out of {path} again")
        ),
        files=(file(path, new), file(patch, _patch(path, old, new))),
        do=(f"patch -R {path} < {patch}",),
        instead=(f"patch -R -p1 -i {patch}",),
        wrong=((f"patch -f {path} < {patch}",), (f"rm {patch}",)),
        goals=(c.check(f"{name} as before", c.has_text(path, old)),),
        requires=("patch",),
    )


def _makes(runs: Runs, patch: str, old: str, new: str) -> c.Condition:
    """The patch turns the old text into the new one, applied with `patch` to a copy of no particular name."""
    text = (
        f'printf %s {shlex.quote(old)} > "$d/old"; : > "$d.ran"\nexec /usr/bin/patch -s -f -o "$d/new" "$d/old" {patch}'
    )

    def steps(view: StateView) -> list[Step]:
        return [Step(text)] if c.regular(view, patch).strip() else []

    booking = runs.book(steps)

    def holds(view: StateView) -> bool:
        outcomes = booking.outcomes(view)
        return bool(outcomes) and outcomes[0].code == 0 and outcomes[0].files.get("new") == new.encode()

    return holds


def _make(draw: Draw) -> Part:
    where, names, patch = draw.directory(), [draw.file("txt"), draw.file("txt")], f"{draw.stem()}.patch"
    old, new = _versions(draw)
    first, second = (f"{where}/{name}" for name in names)
    right = _makes(draw.runs, patch, old, new)

    def mentions_both(view: StateView) -> bool:
        text = c.text_of(view, patch)
        gone, added = set(old.splitlines()) - set(new.splitlines()), set(new.splitlines()) - set(old.splitlines())
        return all(line in text for line in (*sorted(gone), *sorted(added)))

    return Part(
        ask=draw.one(
            (
                f"write a unified diff that turns {first} into {second} to {patch}",
                f"make {patch}, a unified diff from {first} to {second}",
            )
        ),
        files=files_in(where, names, (old, new)),
        do=(f"diff -u {first} {second} > {patch}",),
        instead=(f"diff -U 1 {first} {second} > {patch}",),
        wrong=(
            (f"diff -u {second} {first} > {patch}",),
            (f"diff -q {first} {second} > {patch}",),
            (f"cp {second} {patch}",),
        ),
        goals=(
            c.check(f"{patch} names the changes", mentions_both, lambda view: "@@ -" in c.text_of(view, patch)),
            c.check(f"{patch} applies", right),
            c.check(f"{patch} from intact files", right, c.has_bytes(first, old), c.has_bytes(second, new)),
        ),
        requires=("diff", "patch"),
    )


def _conflict(draw: Draw) -> Part:
    where, name = draw.directory(), draw.file()
    ours, theirs = draw.one((("HEAD", draw.word()), ("main", draw.word())))
    vocabulary = draw.words(8)
    plain, left, right = (draw.lines(3, words) for words in (vocabulary[:4], vocabulary[2:6], vocabulary[4:]))
    lines, kept_left, kept_right = [], [], []
    for place in range(2):
        middle = [f"<<<<<<< {ours}", left[place], "=======", right[place], f">>>>>>> {theirs}"]
        lines += [plain[place], *middle]
        kept_left += [plain[place], left[place]]
        kept_right += [plain[place], right[place]]
    last = plain[2]
    path, mine = f"{where}/{name}", draw.chance()
    keep, drop = ("/^=======$/,/^>>>>>>>/d", "/^<<<<<<</d"), ("/^<<<<<<</,/^=======$/d", "/^>>>>>>>/d")
    chosen, other = (keep, drop) if mine else (drop, keep)
    result = [*(kept_left if mine else kept_right), last]
    gone = [*(right if mine else left)][:2]

    def no_marks(view: StateView) -> bool:
        found = c.lines_of(view, path)
        marks = ("<<<<<<<", "=======", ">>>>>>>")
        return not any(line.startswith(marks) for line in found) and all(line in found for line in plain)

    side = ours if mine else theirs
    return Part(
        ask=draw.one(
            (
                f"resolve both merge conflicts in {path} by keeping the side of {side}, without any markers",
                f"settle the two conflicts in {path}: keep what {side} has, drop the other side and the markers",
            )
        ),
        files=(file(path, _text([*lines, last])),),
        do=(f"sed -i '{chosen[0]}' {path}", f"sed -i '{chosen[1]}' {path}"),
        instead=(rf"perl -0pi -e 's/<<<<<<< .*\n(.*\n)=======\n(.*\n)>>>>>>> .*\n/${1 if mine else 2}/g' {path}",),
        wrong=(
            (f"sed -i '{other[0]}' {path}", f"sed -i '{other[1]}' {path}"),
            (f"sed -i '/^<<<<<<</d; /^=======$/d; /^>>>>>>>/d' {path}",),
            (f"sed -i '{chosen[1]}' {path}",),
        ),
        goals=(
            c.check(
                f"{name} other side gone",
                lambda view: not any(line in c.lines_of(view, path) for line in gone),
                lambda view: all(line in c.lines_of(view, path) for line in result),
            ),
            c.check(f"{name} without markers", no_marks),
            c.check(f"{name} resolved", c.has_lines(path, result)),
        ),
    )


def _differing(draw: Draw) -> Part:
    first, second, out = draw.directory(), draw.directory(), draw.file("txt")
    names = sorted(draw.file() for _ in range(5))
    old = [draw.body() for _ in names]
    places = draw.some(range(5), 2)
    new = [f"{body}{draw.word()}\n" if place in places else body for place, body in enumerate(old)]
    found = [names[place] for place in sorted(places)]
    return Part(
        ask=draw.one(
            (
                f"write the names of the files that differ between {first} and {second} to {out}, one a line",
                f"list in {out}, one a line, the file names whose content is not the same in {first} and {second}",
            )
        ),
        files=(*files_in(first, names, old), *files_in(second, names, new)),
        do=(f"diff -q {first} {second}", f"printf '%s\\n' {' '.join(found)} > {out}"),
        instead=(f"cd {first}", f"for f in *; do cmp -s $f ../{second}/$f || echo $f; done > ../{out}", "cd .."),
        wrong=((f"ls {first} > {out}",), (f"echo {found[0]} > {out}",), (f"diff -q {first} {second} > {out}",)),
        goals=(c.check("differing files named", c.has_lines_in_any_order(out, found)),),
        requires=("diff",),
    )


_EASY = (_apply, _make, _conflict)
_SMALL = (_undo, _differing)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_EASY)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one((_apply, _make)), draw.one((_conflict, *_SMALL))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [_conflict, draw.one((_apply, _make)), *draw.some(_SMALL, draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "diff_patch",
    levels(_easy, _medium, _hard),
    "make, apply and undo patches, compare versions, settle merge conflicts",
    ood=True,
)
