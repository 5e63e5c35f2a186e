"""Rename many files by a rule. Each file must end up under its new name with its bytes, and leave the old one."""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, files_in, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("txt", "md", "log", "csv", "conf", "dat", "json", "ini", "html", "tmp", "bak", "text")


def _part(
    draw: Draw,
    ask: str,
    where: str,
    old: Sequence[str],
    new: Sequence[str],
    kept: Sequence[str],
    do: tuple[str, ...],
    wrong: Sequence[str],
) -> Part:
    """Files of `where` that get new names, beside some that keep theirs. The other way is one mv a file."""
    bodies, rest = [draw.body() for _ in old], [draw.body() for _ in kept]
    safe = [c.has_bytes(f"{where}/{name}", body) for name, body in zip(kept, rest, strict=True)]
    moves = tuple(f'mv "{where}/{one}" {where}/{other}' for one, other in zip(old, new, strict=True))
    return Part(
        ask=ask,
        files=(*files_in(where, old, bodies), *files_in(where, kept, rest)),
        do=do,
        instead=tuple(reversed(moves)),
        wrong=(
            moves[:1],
            tuple(move.replace("mv ", "cp ", 1) for move in moves),
            *((way,) for way in wrong),
        ),
        goals=tuple(
            c.check(f"file {number} renamed", c.has_bytes(f"{where}/{other}", body), c.absent(f"{where}/{one}"), *safe)
            for number, (one, other, body) in enumerate(zip(old, new, bodies, strict=True), 1)
        ),
    )


def _extension(draw: Draw) -> Part:
    where, stems = draw.directory(), [draw.stem() for _ in range(3)]
    kind, new, spared = draw.some(_KINDS, 3)
    return _part(
        draw,
        draw.one(
            (
                f"rename all .{kind} files in {where} to end in .{new} instead",
                f"change the extension of every .{kind} file in {where} to .{new}",
            )
        ),
        where,
        [f"{stem}.{kind}" for stem in stems],
        [f"{stem}.{new}" for stem in stems],
        [f"{draw.stem()}.{spared}"],
        (f"for f in {where}/*.{kind}; do mv $f ${{f%.{kind}}}.{new}; done",),
        (f"for f in {where}/*.{kind}; do mv $f $f.{new}; done", f"for f in {where}/*; do mv $f ${{f%.*}}.{new}; done"),
    )


def _prefix(draw: Draw) -> Part:
    where, prefix = draw.directory(), draw.word()
    kind, spared = draw.some(_KINDS, 2)
    names = [draw.file(kind) for _ in range(3)]
    return _part(
        draw,
        draw.one(
            (
                f"put {prefix}_ in front of the name of each .{kind} file in {where}",
                f"rename every .{kind} file in {where} so that its name starts with {prefix}_ before the old name",
            )
        ),
        where,
        names,
        [f"{prefix}_{name}" for name in names],
        [f"{draw.stem()}.{spared}"],
        (f"cd {where}; for f in *.{kind}; do mv $f {prefix}_$f; done; cd ..",),
        (
            f"for f in {where}/*.{kind}; do mv $f {prefix}_$f; done",
            f"cd {where}; for f in *; do mv $f {prefix}_$f; done; cd ..",
            f"cd {where}; for f in *.{kind}; do mv $f {prefix}$f; done; cd ..",
        ),
    )


def _no_prefix(draw: Draw) -> Part:
    where, prefix = draw.directory(), draw.word()
    names, kept = [draw.file() for _ in range(3)], draw.file()
    return _part(
        draw,
        draw.one(
            (
                f"remove {prefix}_ from the start of the file names in {where}",
                f"rename the files in {where} that start with {prefix}_ so that this part is gone",
            )
        ),
        where,
        [f"{prefix}_{name}" for name in names],
        names,
        [kept],
        (f"cd {where}; for f in {prefix}_*; do mv $f ${{f#{prefix}_}}; done; cd ..",),
        (f"cd {where}; for f in {prefix}_*; do mv $f ${{f#{prefix}}}; done; cd ..", f"rm {where}/{prefix}_*"),
    )


def _lower_case(draw: Draw) -> Part:
    where, names, kept = draw.directory(), [draw.file() for _ in range(3)], draw.file()
    change = draw.one((str.upper, str.title))
    old = [change(name.partition(".")[0]) + "." + name.partition(".")[2].upper() for name in names]
    return _part(
        draw,
        draw.one((f"rename all files in {where} to lower case", f"make every file name in {where} lower case")),
        where,
        old,
        names,
        [kept],
        (f"for f in {where}/*[A-Z]*; do mv $f ${{f,,}}; done",),
        (f"for f in {where}/*[A-Z]*; do mv $f ${{f^^}}; done", f"rm {where}/*[A-Z]*"),
    )


def _no_spaces(draw: Draw) -> Part:
    where, kind = draw.directory(), draw.one(_KINDS)
    pairs = [(draw.stem(), draw.one(_words.WORDS)) for _ in range(3)]
    mark = draw.one("_-")
    called = {"_": "an underscore", "-": "a hyphen"}[mark]
    return _part(
        draw,
        draw.one(
            (
                f"replace the space in the file names of {where} by {called} ({mark})",
                f"rename the files in {where} whose names hold a space, with {mark} in its place",
            )
        ),
        where,
        [f"{one} {other}.{kind}" for one, other in pairs],
        [f"{one}{mark}{other}.{kind}" for one, other in pairs],
        [draw.file(kind)],
        (f'for f in {where}/*" "*; do mv "$f" "${{f/ /{mark}}}"; done',),
        (
            f"for f in {where}/*; do mv $f ${{f/ /{mark}}}; done",
            f'for f in {where}/*" "*; do mv "$f" "${{f/ /}}"; done',
        ),
    )


def _padded(draw: Draw) -> Part:
    where, stem, kind = draw.directory(), draw.stem(), draw.one(_KINDS)
    digits = sorted(draw.some(range(1, 10), 3))
    kept = [f"{stem}{number}.{kind}" for number in sorted(draw.some(range(10, 40), 1))]
    return _part(
        draw,
        draw.one(
            (
                f"in {where}, put a 0 before one-digit numbers: {stem}N.{kind} becomes {stem}0N.{kind}",
                f"in {where}, rename {stem}N.{kind} with one digit N to {stem}0N.{kind}; leave two-digit names",
            )
        ),
        where,
        [f"{stem}{digit}.{kind}" for digit in digits],
        [f"{stem}0{digit}.{kind}" for digit in digits],
        kept,
        (f"for f in {where}/{stem}?.{kind}; do mv $f ${{f/{stem}/{stem}0}}; done",),
        (
            f"for f in {where}/{stem}*.{kind}; do mv $f ${{f/{stem}/{stem}0}}; done",
            f"for f in {where}/{stem}?.{kind}; do mv $f ${{f/{stem}/{stem}00}}; done",
        ),
    )


def _one_word(draw: Draw) -> Part:
    where, old, new, kind = draw.directory(), draw.word(), draw.word(), draw.one(_KINDS)
    stems, kept = [draw.stem() for _ in range(3)], draw.file(kind)
    return _part(
        draw,
        draw.one(
            (
                f"in the file names of {where} replace {old} by {new}",
                f"rename the files in {where} that have {old} in their name, with {new} in its place",
            )
        ),
        where,
        [f"{stem}-{old}.{kind}" for stem in stems],
        [f"{stem}-{new}.{kind}" for stem in stems],
        [kept],
        (f"for f in {where}/*{old}*; do mv $f ${{f/{old}/{new}}}; done",),
        (f"for f in {where}/*{old}*; do mv $f ${{f/{old}/}}; done", f"sed -i 's/{old}/{new}/' {where}/*"),
    )


def _swap(draw: Draw) -> Part:
    where, first, second = draw.directory(), draw.file(), draw.file()
    one, two = f"{where}/{first}", f"{where}/{second}"
    bodies = [f"{draw.body()}1\n", f"{draw.body()}2\n"]
    alone = c.names_in(where, sorted((first, second)))
    swapped = [c.has_bytes(one, bodies[1]), c.has_bytes(two, bodies[0])]
    return Part(
        ask=draw.one((f"swap the names of {one} and {two}", f"exchange {one} and {two}: each gets the other's name")),
        files=(file(one, bodies[0]), file(two, bodies[1])),
        do=(f"mv {one} /tmp/kept", f"mv {two} {one}", f"mv /tmp/kept {two}"),
        instead=(f"cp {one} {where}.old", f"mv {two} {one}", f"mv {where}.old {two}"),
        wrong=((f"mv {one} {two}",), (f"mv {one} {two}", f"mv {two} {one}"), (f"cp {one} {two}",)),
        goals=(
            c.check(f"{first} has the other", swapped[0]),
            c.check(f"{second} has the other", *swapped, alone),
        ),
    )


_RULES = (_extension, _prefix, _no_prefix, _lower_case, _no_spaces, _padded, _one_word)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_RULES)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((draw.some(_RULES, draw.number(2, 3)), [draw.one(_RULES), _swap]))
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [_swap, *draw.some(_RULES, draw.number(2, 4))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "renames",
    levels(_easy, _medium, _hard),
    "rename many files by a rule: extension, prefix, case, spaces, numbers",
)
