"""Set permission bits of files and directories. Start modes differ from the wanted ones in every digit that counts."""

from __future__ import annotations

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("txt", "md", "log", "csv", "conf", "dat", "json", "ini")
_MODES = (
    *(0o400, 0o440, 0o444, 0o500, 0o550, 0o555, 0o600, 0o604, 0o620, 0o640, 0o644, 0o660, 0o664),
    *(0o700, 0o710, 0o711, 0o740, 0o750, 0o751, 0o755, 0o770, 0o775),
)
_TREES = (
    (0o600, 0o700, "u=rwX,go="),
    (0o640, 0o750, "u=rwX,g=rX,o="),
    (0o644, 0o755, "u=rwX,go=rX"),
    (0o660, 0o770, "ug=rwX,o="),
    (0o664, 0o775, "ug=rwX,o=rX"),
    (0o400, 0o500, "u=rX,go="),
    (0o440, 0o550, "ug=rX,o="),
)


def _digits(mode: int) -> tuple[int, int, int]:
    return mode >> 6 & 7, mode >> 3 & 7, mode & 7


def _unlike(draw: Draw, mode: int) -> int:
    """A mode that differs from `mode` in all three digits."""
    return draw.one(
        [m for m in range(0o400, 0o1000) if all(a != b for a, b in zip(_digits(m), _digits(mode), strict=True))]
    )


def _symbols(mode: int) -> str:
    """The mode as chmod's symbols: 0o640 is "u=rw,g=r,o="."""
    named = zip("ugo", _digits(mode), strict=True)
    letters = (("r", 4), ("w", 2), ("x", 1))
    return ",".join(f"{who}=" + "".join(letter for letter, bit in letters if digit & bit) for who, digit in named)


def _bits_goals(name: str, path: str, mode: int, *more: c.Condition) -> tuple[c.Check, ...]:
    return (
        c.check(f"{name} owner bits", c.mode_is(path, mode, 0o7700), *more),
        c.check(f"{name} group bits", c.mode_is(path, mode, 0o7070), *more),
        c.check(f"{name} other bits", c.mode_is(path, mode, 0o7007), *more),
    )


def _one_file(draw: Draw) -> Part:
    where, name, mode = draw.directory(), draw.file(), draw.one(_MODES)
    path, start, body = f"{where}/{name}", _unlike(draw, mode), draw.body()
    other = draw.until(lambda: draw.one(_MODES), lambda m: m != mode)
    return Part(
        ask=draw.one((f"set the mode of {path} to {mode:o}", f"change the permissions of {path} to {mode:o}")),
        files=(file(path, body, start),),
        do=(f"chmod {mode:o} {path}",),
        instead=(f"chmod {_symbols(mode)} {path}",),
        wrong=((f"chmod {other:o} {path}",), (f"chmod {mode:o} {where}",)),
        goals=_bits_goals(name, path, mode, c.has_bytes(path, body)),
    )


def _one_kind(draw: Draw) -> Part:
    where, mode = draw.directory(), draw.one(_MODES)
    kind, spared = draw.some(_KINDS, 2)
    start = draw.until(lambda: draw.one(_MODES), lambda m: m != mode)
    paths, kept = [f"{where}/{draw.file(kind)}" for _ in range(3)], f"{where}/{draw.file(spared)}"
    safe = c.mode_is(kept, start)
    return Part(
        ask=draw.one(
            (f"set all .{kind} files in {where} to mode {mode:o}", f"give each .{kind} file of {where} mode {mode:o}")
        ),
        files=tuple(file(path, draw.body(), start) for path in (*paths, kept)),
        do=(f"chmod {mode:o} {where}/*.{kind}",),
        instead=(f"find {where} -name '*.{kind}' -exec chmod {_symbols(mode)} {{}} +",),
        wrong=((f"chmod {mode:o} {where}/*",), (f"chmod {mode:o} {paths[0]}",), (f"chmod {start:o} {where}/*.{kind}",)),
        goals=tuple(c.check(f"mode {number}", c.mode_is(path, mode), safe) for number, path in enumerate(paths, 1)),
    )


def _executable(draw: Draw) -> Part:
    where, name, start = draw.directory(), f"{draw.stem()}.sh", draw.one((0o600, 0o640, 0o644, 0o660, 0o664, 0o604))
    path, body = f"{where}/{name}", f"#!/bin/sh\necho {draw.word()}\n"
    owner = c.mode_is(path, 0o100, 0o100)
    return Part(
        ask=draw.one(
            (
                f"make {path} executable for its owner, changing no other permission",
                f"let only the owner execute {path}, and leave its other permission bits",
            )
        ),
        files=(file(path, body, start),),
        do=(f"chmod u+x {path}",),
        instead=(f"chmod {start | 0o100:o} {path}",),
        wrong=((f"chmod +x {path}",), (f"chmod 777 {path}",)),
        goals=(
            c.check(f"{name} runs", owner),
            c.check(f"{name} owner only", owner, c.mode_is(path, start | 0o100)),
            c.check(f"{name} unchanged", c.mode_is(path, start | 0o100), c.has_bytes(path, body)),
        ),
    )


def _like_another(draw: Draw) -> Part:
    where, model, name, mode = draw.directory(), draw.file(), draw.file(), draw.one(_MODES)
    path, start = f"{where}/{name}", _unlike(draw, mode)
    return Part(
        ask=draw.one(
            (
                f"give {path} the same permissions as {where}/{model}",
                f"set the mode of {path} to that of {where}/{model}",
            )
        ),
        files=(file(f"{where}/{model}", draw.body(), mode), file(path, draw.body(), start)),
        do=(f"chmod --reference={where}/{model} {path}",),
        instead=(f'chmod "$(stat -c %a {where}/{model})" {path}',),
        wrong=((f"chmod --reference={path} {where}/{model}",), (f"chmod {start ^ 0o077:o} {path}",)),
        goals=_bits_goals(name, path, mode, c.mode_is(f"{where}/{model}", mode)),
    )


def _no_writers(draw: Draw) -> Part:
    where, paths = draw.directory(), [draw.file() for _ in range(3)]
    starts = draw.shuffled((0o666, draw.one((0o662, 0o664, 0o646)), draw.one((0o620, 0o622, 0o720))))
    return Part(
        ask=draw.one(
            (
                f"take write permission from group and others on every file in {where}, changing no other bit",
                f"remove only the group's and others' write permission from all files in {where}",
            )
        ),
        files=tuple(file(f"{where}/{name}", draw.body(), mode) for name, mode in zip(paths, starts, strict=True)),
        do=(f"chmod go-w {where}/*",),
        instead=(f"for f in {where}/*; do chmod g-w,o-w $f; done",),
        wrong=((f"chmod a-w {where}/*",), (f"chmod o-w {where}/*",), (f"chmod 644 {where}/*",)),
        goals=tuple(
            c.check(f"{name} closed", c.mode_is(f"{where}/{name}", mode & ~0o022))
            for name, mode in zip(paths, starts, strict=True)
        ),
    )


def _tree(draw: Draw) -> Part:
    top, sub, inner = draw.directory(), draw.directory(), draw.directory()
    names = [f"{top}/{draw.file()}", f"{top}/{sub}/{draw.file()}", f"{top}/{sub}/{inner}/{draw.file()}"]
    folders = [top, f"{top}/{sub}", f"{top}/{sub}/{inner}"]
    for_files, for_folders, symbols = draw.one(_TREES)
    return Part(
        ask=draw.one(
            (
                f"below {top}, set every file to mode {for_files:o} and every directory, {top} too, to {for_folders:o}",
                f"give files under {top} mode {for_files:o}, and {top} and all directories under it {for_folders:o}",
            )
        ),
        files=(*(directory(path, 0o777) for path in folders), *(file(path, draw.body(), 0o666) for path in names)),
        do=(
            f"find {top} -type f -exec chmod {for_files:o} {{}} +",
            f"find {top} -type d -exec chmod {for_folders:o} {{}} +",
        ),
        instead=(f"chmod -R {symbols} {top}",),
        wrong=(
            (f"chmod -R {for_folders:o} {top}",),
            (f"chmod {for_files:o} {names[0]}", f"chmod {for_folders:o} {top}"),
            (f"chmod -R {for_files:o} {top}",),
        ),
        goals=(
            c.check(f"files of {top}", *(c.mode_is(path, for_files) for path in names)),
            c.check(f"directories of {top}", *(c.mode_is(path, for_folders) for path in folders)),
        ),
    )


def _new_directory(draw: Draw) -> Part:
    top, name, mode = draw.directory(), draw.directory(), draw.one((0o700, 0o711, 0o750, 0o770, 0o500))
    path = f"{top}/{name}"
    return Part(
        ask=draw.one((f"create the directory {path} with mode {mode:o}", f"make a directory {path} of mode {mode:o}")),
        files=(file(f"{top}/{draw.file()}", draw.body()),),
        do=(f"mkdir {path}", f"chmod {mode:o} {path}"),
        instead=(f"mkdir -m {mode:o} {path}",),
        wrong=((f"mkdir {path}",), (f"mkdir {path}", f"chmod {mode:o} {top}")),
        goals=(
            c.check(f"{name} made", c.is_directory(path)),
            c.check(f"{name} mode", c.is_directory(path), c.mode_is(path, mode)),
        ),
    )


_ONE_STEP = (_one_file, _one_kind, _executable, _like_another, _no_writers)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_ONE_STEP)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, 2), draw.one((_tree, _new_directory))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, draw.number(2, 3)), _tree, _new_directory]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "permissions",
    levels(_easy, _medium, _hard),
    "set permission bits of files, of kinds of files and of trees",
)
