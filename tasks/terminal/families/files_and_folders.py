"""Make, move, copy, rename and delete files and directories."""

from __future__ import annotations

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _make_file(draw: Draw) -> Part:
    outer, inner, name = draw.directory(), draw.directory(), draw.file()
    path = f"{outer}/{inner}/{name}"
    return Part(
        ask=draw.one((f"create the empty file {path}", f"make an empty file at {path}")),
        files=(),
        do=(f"mkdir -p {outer}/{inner}", f"touch {path}"),
        instead=(f"install -D -m 644 /dev/null {path}",),
        wrong=((f"mkdir -p {path}",), (f"mkdir -p {outer}", f"touch {outer}/{name}")),
        goals=(
            c.check(f"{outer} made", c.is_directory(outer)),
            c.check(f"{inner} made", c.is_directory(f"{outer}/{inner}")),
            c.check(f"{name} made", c.is_empty_file(path)),
        ),
    )


def _write_file(draw: Draw) -> Part:
    where, name, text = draw.directory(), draw.file(), " ".join(draw.words(2))
    path = f"{where}/{name}"
    return Part(
        ask=draw.one((f"write the line {text} to the new file {path}", f"create {path} with the one line: {text}")),
        files=(),
        do=(f"mkdir {where}", f"echo {text} > {path}"),
        instead=(f"mkdir -p /workspace/{where}", f"cd {where}", f"printf '%s' '{text}' > {name}", "cd .."),
        wrong=((f"mkdir {where}", f"echo {text.split()[0]} > {path}"), (f"mkdir {where}", f"touch {path}")),
        goals=(
            c.check(f"{where} made", c.is_directory(where)),
            c.check(f"{name} made", c.is_file(path)),
            c.check(f"{name} text", c.has_text(path, text)),
        ),
    )


def _move(draw: Draw) -> Part:
    source, target = draw.directory(), draw.directory()
    old, new, other = f"{source}/{draw.file()}", f"{target}/{draw.file()}", f"{source}/{draw.file()}"
    body, rest = draw.body(), draw.body()
    arrived, gone = c.has_bytes(new, body), c.absent(old)
    return Part(
        ask=draw.one((f"move {old} to {new}", f"move the file {old} so that it becomes {new}")),
        files=(file(old, body), file(other, rest), directory(target)),
        do=(f"mv {old} {new}",),
        instead=(f"cp {old} {new}", f"rm {old}"),
        wrong=((f"cp {old} {new}",), (f"mv {old} {target}/",), (f"mv {source}/* {target}/",)),
        goals=(
            c.check("moved file arrived", arrived),
            c.check("moved file left", arrived, gone),
            c.check("moved alone", arrived, gone, c.has_bytes(other, rest)),
        ),
    )


def _copy(draw: Draw) -> Part:
    source, target = draw.directory(), draw.directory()
    old, new, other = f"{source}/{draw.file()}", f"{target}/{draw.file()}", f"{source}/{draw.file()}"
    body = draw.body()
    arrived, kept = c.has_bytes(new, body), c.has_bytes(old, body)
    return Part(
        ask=draw.one((f"copy {old} to {new}", f"make a copy of {old} at {new}")),
        files=(file(old, body), file(other, draw.body()), directory(target)),
        do=(f"cp {old} {new}",),
        instead=(f"cat {old} > {new}",),
        wrong=((f"mv {old} {new}",), (f"cp {old} {target}/",), (f"cp {other} {new}",), (f"ln {old} {new}",)),
        goals=(
            c.check("copy made", arrived),
            c.check("original kept", arrived, kept),
            c.check("copy independent", arrived, kept, c.separate_files(old, new)),
        ),
    )


def _copy_tree(draw: Draw) -> Part:
    source, target, sub, new = (draw.directory() for _ in range(4))
    names = [draw.file(), f"{sub}/{draw.file()}"]
    bodies = [draw.body() for _ in names]
    both = list(zip(names, bodies, strict=True))
    arrived = [c.has_bytes(f"{target}/{new}/{name}", body) for name, body in both]
    kept = [c.has_bytes(f"{source}/{name}", body) for name, body in both]
    return Part(
        ask=draw.one(
            (f"copy the directory {source} to {target}/{new}", f"make {target}/{new} a copy of the directory {source}")
        ),
        files=(*(file(f"{source}/{name}", body) for name, body in both), directory(target)),
        do=(f"cp -r {source} {target}/{new}",),
        instead=(f"mkdir -p {target}/{new}", f"cd {source}", f"tar -cf - . | tar -xf - -C ../{target}/{new}", "cd .."),
        wrong=(
            (f"mv {source} {target}/{new}",),
            (f"cp -r {source} {target}/",),
            (f"mkdir {target}/{new}", f"cp {source}/* {target}/{new}/"),
        ),
        goals=(
            c.check(f"{names[0]} copied", arrived[0]),
            c.check(f"{sub} copied", arrived[1]),
            c.check(f"{source} kept", *arrived, *kept),
        ),
    )


def _delete_kind(draw: Draw) -> Part:
    where = draw.directory()
    kind, spared = draw.some(("txt", "md", "log", "csv", "tmp", "bak", "dat", "json"), 2)
    gone = [f"{where}/{draw.file(kind)}" for _ in range(3)]
    kept = [f"{where}/{draw.file(spared)}", f"{where}/{draw.stem()}.{kind}.{spared}"]
    bodies = [draw.body() for _ in kept]
    safe = [c.has_bytes(path, body) for path, body in zip(kept, bodies, strict=True)]
    return Part(
        ask=draw.one(
            (
                f"delete the .{kind} files in {where} and nothing else",
                f"remove every file in {where} that ends in .{kind}",
            )
        ),
        files=(*(file(path, draw.body()) for path in gone), *map(file, kept, bodies)),
        do=(f"rm {where}/*.{kind}",),
        instead=(f"find {where} -name '*.{kind}' -delete",),
        wrong=((f"rm {where}/*",), (f"rm {gone[0]}",), (f"rm {where}/*.{kind}*",)),
        goals=tuple(c.check(f"deleted {number}", c.absent(path), *safe) for number, path in enumerate(gone, start=1)),
    )


def _delete_tree(draw: Draw) -> Part:
    where, doomed, spared = draw.directory(), draw.directory(), draw.directory()
    gone = [f"{where}/{doomed}/{draw.file()}" for _ in range(2)]
    kept, body = f"{where}/{spared}/{draw.file()}", draw.body()
    safe = c.has_bytes(kept, body)
    return Part(
        ask=draw.one(
            (
                f"delete the directory {where}/{doomed} with all that is in it",
                f"remove {where}/{doomed} and its files",
            )
        ),
        files=(*(file(path, draw.body()) for path in gone), file(kept, body)),
        do=(f"rm -r {where}/{doomed}",),
        instead=(f"rm {where}/{doomed}/*", f"rmdir {where}/{doomed}"),
        wrong=((f"rm -r {where}",), (f"rm {where}/{doomed}/*",), (f"rm -r {where}/{spared}",)),
        goals=(
            c.check("first file deleted", c.absent(gone[0]), safe),
            c.check("second file deleted", c.absent(gone[1]), safe),
            c.check(f"{doomed} deleted", c.absent(f"{where}/{doomed}"), safe),
        ),
    )


def _rename_directory(draw: Draw) -> Part:
    old, new, names = draw.directory(), draw.directory(), [draw.file(), draw.file()]
    bodies = [draw.body() for _ in names]
    arrived = [c.has_bytes(f"{new}/{name}", body) for name, body in zip(names, bodies, strict=True)]
    return Part(
        ask=draw.one((f"rename the directory {old} to {new}", f"give the directory {old} the name {new}")),
        files=tuple(file(f"{old}/{name}", body) for name, body in zip(names, bodies, strict=True)),
        do=(f"mv {old} {new}",),
        instead=(f"mkdir {new}", f"mv {old}/* {new}/", f"rmdir {old}"),
        wrong=((f"cp -r {old} {new}",), (f"mkdir {new}", f"mv {old} {new}/"), (f"mkdir {new}", f"mv {old}/* {new}/")),
        goals=(
            c.check(f"{names[0]} in {new}", arrived[0]),
            c.check(f"{names[1]} in {new}", arrived[1]),
            c.check(f"{old} gone", *arrived, c.absent(old)),
        ),
    )


def _gather(draw: Draw) -> Part:
    source, target = draw.directory(), draw.directory()
    kind, spared = draw.some(("txt", "md", "log", "csv", "tmp", "bak", "dat", "json"), 2)
    moved = [draw.file(kind) for _ in range(3)]
    bodies = [draw.body() for _ in moved]
    kept, body = f"{source}/{draw.file(spared)}", draw.body()
    safe = c.has_bytes(kept, body)
    return Part(
        ask=draw.one(
            (f"move all .{kind} files from {source} to {target}", f"move every .{kind} file of {source} into {target}")
        ),
        files=(
            *(file(f"{source}/{name}", text) for name, text in zip(moved, bodies, strict=True)),
            file(kept, body),
            directory(target),
        ),
        do=(f"mv {source}/*.{kind} {target}/",),
        instead=(f"find {source} -name '*.{kind}' -exec mv -t {target} {{}} +",),
        wrong=(
            (f"cp {source}/*.{kind} {target}/",),
            (f"mv {source}/* {target}/",),
            (f"mv {source}/{moved[0]} {target}/",),
        ),
        goals=tuple(
            c.check(f"{name} moved", c.has_bytes(f"{target}/{name}", text), c.absent(f"{source}/{name}"), safe)
            for name, text in zip(moved, bodies, strict=True)
        ),
    )


_ONE_STEP = (_move, _copy, _copy_tree, _delete_kind, _delete_tree, _rename_directory, _gather)
_TWO_STEPS = (_make_file, _write_file)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_ONE_STEP + _TWO_STEPS)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = draw.some(_ONE_STEP, 2) + draw.some(_TWO_STEPS, draw.number(0, 1))
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = draw.some(_ONE_STEP, draw.number(3, 4)) + draw.some(_TWO_STEPS, draw.number(1, 2))
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "files_and_folders",
    levels(_easy, _medium, _hard),
    "make, move, copy, rename and delete files and directories",
)
