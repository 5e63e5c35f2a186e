"""Symbolic and hard links: make, repoint, clean up, replace by copies. Relative and absolute targets count alike."""

from __future__ import annotations

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario, StartFile

__all__ = ["FAMILY"]


def _symbolic(draw: Draw) -> Part:
    source, target, name, link, body = draw.directory(), draw.directory(), draw.file(), draw.stem(), draw.body()
    old, new = f"{source}/{name}", f"{target}/{link}"
    made, right = c.is_link(new), c.link_to(new, old)
    return Part(
        ask=draw.one(
            (f"make the symbolic link {new} that leads to {old}", f"create a symlink {new} to the file {old}")
        ),
        files=(file(old, body), directory(target)),
        do=(f"ln -s ../{old} {new}",),
        instead=(f"cd {target}", f"ln -s /workspace/{old} {link}", "cd .."),
        wrong=((f"ln -s {old} {new}",), (f"cp {old} {new}",), (f"ln {old} {new}",), (f"ln -s ../{new} {old}",)),
        goals=(
            c.check(f"{link} is a link", made),
            c.check(f"{link} target", right),
            c.check(f"{link} reads", right, c.has_bytes(old, body), c.leads_to(new, body)),
        ),
    )


def _hard_link(draw: Draw) -> Part:
    source, target, name, link, body = draw.directory(), draw.directory(), draw.file(), draw.file(), draw.body()
    old, new = f"{source}/{name}", f"{target}/{link}"
    return Part(
        ask=draw.one((f"make the hard link {new} to {old}", f"hard-link {old} as {new}")),
        files=(file(old, body), directory(target)),
        do=(f"ln {old} {new}",),
        instead=(f"cp -l {old} {new}",),
        wrong=((f"cp {old} {new}",), (f"ln -s ../{old} {new}",), (f"mv {old} {new}",)),
        goals=(
            c.check(f"{link} made", c.has_bytes(new, body)),
            c.check(f"{link} hard", c.has_bytes(new, body), c.same_file(old, new)),
            c.check(f"{name} kept", c.same_file(old, new), c.has_bytes(old, body)),
        ),
    )


def _repoint(draw: Draw) -> Part:
    top, link, name = draw.directory(), draw.one(("current", "latest", "live", "active")), draw.file()
    major = draw.number(1, 9)
    versions = [f"v{major}.{minor}" for minor in sorted(draw.some(range(10), 3))]
    old, new = draw.some(versions, 2)
    bodies = {version: f"{version} {draw.word()}\n" for version in versions}
    path = f"{top}/{link}"
    right = c.link_to(path, f"{top}/{new}")
    return Part(
        ask=draw.one(
            (f"make the link {path} lead to {top}/{new} instead of {old}", f"repoint the symlink {path} to {top}/{new}")
        ),
        files=(
            *(file(f"{top}/{version}/{name}", body) for version, body in bodies.items()),
            StartFile(path, link=old),
        ),
        do=(f"ln -sfn {new} {path}",),
        instead=(f"rm {path}", f"ln -s /workspace/{top}/{new} {path}"),
        wrong=(
            (f"ln -sf {new} {path}",),
            (f"ln -sfn {top}/{new} {path}",),
            (f"rm {path}", f"cp -r {top}/{new} {path}"),
        ),
        goals=(
            c.check(f"{link} leads to {new}", right),
            c.check(f"{link} shows {new}", right, c.leads_to(f"{path}/{name}", bodies[new])),
            c.check(f"{old} untouched", right, c.names_in(f"{top}/{old}", [name])),
        ),
    )


def _copy_for_link(draw: Draw) -> Part:
    source, target, name, link, body = draw.directory(), draw.directory(), draw.file(), draw.file(), draw.body()
    old, new = f"{source}/{name}", f"{target}/{link}"
    return Part(
        ask=draw.one(
            (f"replace the link {new} by a copy of {old}", f"turn the symlink {new} into a real copy of {old}")
        ),
        files=(file(old, body), StartFile(new, link=f"../{old}")),
        do=(f"rm {new}", f"cp {old} {new}"),
        instead=(f"cp --remove-destination {old} {new}",),
        wrong=((f"cp {old} {new}",), (f"mv {old} {new}",), (f"ln -f {old} {new}",)),
        goals=(
            c.check(f"{link} is a file", c.has_bytes(new, body)),
            c.check(f"{name} kept", c.has_bytes(new, body), c.has_bytes(old, body)),
            c.check(f"{link} independent", c.has_bytes(new, body), c.separate_files(old, new)),
        ),
    )


def _dangling(draw: Draw) -> Part:
    source, target, names = draw.directory(), draw.directory(), [draw.file(), draw.file()]
    good, bad = [f"{target}/{draw.stem()}" for _ in names], [f"{target}/{draw.stem()}" for _ in names]
    safe = [c.link_to(link, f"{source}/{name}") for link, name in zip(good, names, strict=True)]
    lost = [f"../{source}/{draw.file()}" for _ in bad]
    links = [
        *(StartFile(link, link=f"../{source}/{name}") for link, name in zip(good, names, strict=True)),
        *(StartFile(link, link=gone) for link, gone in zip(bad, lost, strict=True)),
    ]
    only_good = [link.rpartition("/")[2] for link in good]
    return Part(
        ask=draw.one(
            (
                f"delete the broken symlinks in {target} and nothing else",
                f"in {target}, remove only links that lead nowhere",
            )
        ),
        files=(*(file(f"{source}/{name}", draw.body()) for name in names), *draw.shuffled(links)),
        do=(f"find {target} -xtype l -delete",),
        instead=(f"for f in {target}/*; do [ -e $f ] || rm $f; done",),
        wrong=((f"find {target} -type l -delete",), (f"rm {bad[0]}",), (f"rm -r {target}",)),
        goals=(
            c.check("first broken link gone", c.absent(bad[0]), *safe),
            c.check("second broken link gone", c.absent(bad[1]), *safe),
            c.check("only good links left", c.names_in(target, only_good), *safe),
        ),
    )


def _move_and_link(draw: Draw) -> Part:
    source, target, name, body = draw.directory(), draw.directory(), draw.file(), draw.body()
    old, new = f"{source}/{name}", f"{target}/{name}"

    def out_of_the_way(view: StateView) -> bool:
        return not view.exists(old) or view.stat(old).kind == "link"

    arrived = c.all_of(c.has_bytes(new, body), out_of_the_way)
    return Part(
        ask=draw.one(
            (
                f"move {old} to {new} and leave at {old} a symlink to its new place",
                f"move {old} into {target} and put a symbolic link to it at the old path",
            )
        ),
        files=(file(old, body), directory(target)),
        do=(f"mv {old} {new}", f"ln -s ../{new} {old}"),
        instead=(f"cp {old} {new}", f"ln -sf /workspace/{new} {old}"),
        wrong=((f"mv {old} {new}", f"ln -s {new} {old}"), (f"mv {old} {new}",), (f"ln -s ../{old} {new}",)),
        goals=(
            c.check(f"{name} moved", arrived),
            c.check(f"{name} link left", arrived, c.link_to(old, new)),
        ),
    )


def _link_all(draw: Draw) -> Part:
    source, target = draw.directory(), draw.directory()
    kind, spared = draw.some(("txt", "md", "log", "csv", "conf", "dat", "json", "ini"), 2)
    names, other = [draw.file(kind) for _ in range(3)], draw.file(spared)
    return Part(
        ask=draw.one(
            (
                f"in {target}, make a symlink of the same name to each .{kind} file in {source}",
                f"symlink every .{kind} file of {source} into {target} under its own name",
            )
        ),
        files=(*(file(f"{source}/{name}", draw.body()) for name in (*names, other)), directory(target)),
        do=(f"ln -s /workspace/{source}/*.{kind} {target}/",),
        instead=(f"cd {target}", f"ln -s ../{source}/*.{kind} .", "cd .."),
        wrong=(
            (f"ln -s {source}/*.{kind} {target}/",),
            (f"ln -s ../{source}/{names[0]} {target}/",),
            (f"ln -s /workspace/{source}/* {target}/",),
            (f"cp {source}/*.{kind} {target}/",),
        ),
        goals=tuple(
            c.check(f"{name} linked", c.link_to(f"{target}/{name}", f"{source}/{name}"), c.absent(f"{target}/{other}"))
            for name in names
        ),
    )


_ONE_STEP = (_symbolic, _hard_link, _repoint, _dangling, _link_all)
_TWO_STEPS = (_copy_for_link, _move_and_link)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_ONE_STEP, _copy_for_link))(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, 2), *draw.some(_TWO_STEPS, draw.number(0, 1))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, draw.number(2, 4)), *_TWO_STEPS[: draw.number(1, 2)]]
    kinds = kinds if len(kinds) > 3 else [*kinds, _move_and_link]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "links",
    levels(_easy, _medium, _hard),
    "make, repoint, clean up and replace symbolic and hard links",
)
