"""Write SHA-256 manifests, find files that do not match theirs, and put them right."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, files_in, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]


def _sha256(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _manifest(bodies: Mapping[str, str]) -> str:
    return "".join(f"{_sha256(body)}  {path}\n" for path, body in bodies.items())


def _recorded(view: StateView, path: str) -> dict[str, str]:
    """The hash of each path in a manifest of `sha256sum`'s form; paths in full. Raises `NotInStateError` for others."""
    found: dict[str, str] = {}
    for line in c.lines_of(view, path):
        parts = re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line)
        if parts is None:
            raise NotInStateError(f"{path} has a line that is not a checksum and a path")
        found[c.resolved("", parts[2])] = parts[1]
    return found


def _records(path: str, bodies: Mapping[str, str], only: bool) -> c.Condition:
    expected = {c.resolved("", name): _sha256(body) for name, body in bodies.items()}

    def holds(view: StateView) -> bool:
        found = _recorded(view, path)
        return all(found.get(name) == digest for name, digest in expected.items()) and (not only or found == expected)

    return holds


def _tree(draw: Draw, count: int) -> tuple[str, list[str], list[str]]:
    """A directory, names in it (one extension, in order of name) and different contents."""
    kind = draw.extension()
    names = sorted(draw.file(kind) for _ in range(count))
    return draw.directory(), names, [f"{draw.body(2)}{name}\n" for name in names]


def _write_manifest(draw: Draw) -> Part:
    (where, names, bodies), out = _tree(draw, 3), draw.file("sha256")
    members = {f"{where}/{name}": body for name, body in zip(names, bodies, strict=True)}
    kept = [c.has_bytes(path, body) for path, body in members.items()]
    first, two = dict(list(members.items())[:1]), dict(list(members.items())[:2])
    return Part(
        ask=draw.one(
            (
                f"write sha256sum lines of all files in {where} to {out}, each with its path {where}/NAME",
                f"make a sha256sum manifest {out} of the files in {where}, each listed as {where}/NAME",
            )
        ),
        files=files_in(where, names, bodies),
        do=(f"sha256sum {where}/* > {out}",),
        instead=tuple(f"sha256sum {path} >> {out}" for path in reversed(members)),
        wrong=(
            (f"sha256sum {where}/{names[0]} > {out}",),
            (f"md5sum {where}/* > {out}",),
            (f"cd {where}", f"sha256sum * > ../{out}", "cd .."),
            (f"sha256sum {where}/* | cut -d' ' -f1 > {out}",),
        ),
        goals=(
            c.check(f"{names[0]} recorded", _records(out, first, only=False)),
            c.check(f"{names[1]} recorded", _records(out, two, only=False)),
            c.check(f"{out} complete", _records(out, members, only=True), *kept),
        ),
    )


def _spoiled(draw: Draw, bodies: Sequence[str], count: int) -> tuple[list[int], list[str]]:
    """Which of the contents are changed, and all of them with the changes."""
    places = sorted(draw.some(range(len(bodies)), count))
    return places, [f"{body[:-1]}x\n" if place in places else body for place, body in enumerate(bodies)]


def _delete_bad(draw: Draw) -> Part:
    (where, names, bodies), listed = _tree(draw, 5), draw.file("sha256")
    bad, present = _spoiled(draw, bodies, 2)
    paths = [f"{where}/{name}" for name in names]
    good = [place for place in range(len(names)) if place not in bad]
    safe = [c.has_bytes(paths[place], bodies[place]) for place in good]
    return Part(
        ask=draw.one(
            (
                f"delete the files in {where} that do not match their checksum in {listed}, and keep the others",
                f"check {where} against the sha256sum manifest {listed} and delete only the files that fail",
            )
        ),
        files=(*files_in(where, names, present), file(listed, _manifest(dict(zip(paths, bodies, strict=True))))),
        do=(f"sha256sum -c {listed}", f"rm {paths[bad[0]]} {paths[bad[1]]}"),
        instead=(f'for f in {where}/*; do grep -q "$(sha256sum $f)" {listed} || rm $f; done',),
        wrong=(
            (f"rm {paths[bad[0]]}",),
            (f"rm {paths[good[0]]} {paths[bad[0]]}",),
            (f"rm {where}/*",),
        ),
        goals=(
            c.check("first bad file gone", c.absent(paths[bad[0]]), *safe),
            c.check("second bad file gone", c.absent(paths[bad[1]]), *safe),
            c.check("only good files left", c.names_in(where, [names[place] for place in good]), *safe),
        ),
    )


def _restore_bad(draw: Draw) -> Part:
    (where, names, bodies), listed, spare = _tree(draw, 4), draw.file("sha256"), draw.directory()
    (bad,), present = _spoiled(draw, bodies, 1)
    paths = [f"{where}/{name}" for name in names]
    stale = [body if place == bad else f"stale {body}" for place, body in enumerate(bodies)]
    safe = [
        c.has_bytes(path, body) for place, (path, body) in enumerate(zip(paths, bodies, strict=True)) if place != bad
    ]
    return Part(
        ask=draw.one(
            (
                f"one file in {where} does not match {listed}: replace only that one by its copy in {spare}",
                f"find the file of {where} that fails the manifest {listed} and restore just it from {spare}",
            )
        ),
        files=(
            *files_in(where, names, present),
            *files_in(spare, names, stale),
            file(listed, _manifest(dict(zip(paths, bodies, strict=True)))),
        ),
        do=(f"sha256sum -c {listed}", f"cp {spare}/{names[bad]} {paths[bad]}"),
        instead=(f'for f in {where}/*; do grep -q "$(sha256sum $f)" {listed} || cp {spare}/${{f##*/}} $f; done',),
        wrong=((f"cp {spare}/* {where}/",), (f"sha256sum {where}/* > {listed}",), (f"rm {paths[bad]}",)),
        goals=(c.check(f"{names[bad]} restored", c.has_bytes(paths[bad], bodies[bad]), *safe),),
    )


def _quarantine(draw: Draw) -> Part:
    (where, names, bodies), listed, cell = _tree(draw, 4), draw.file("sha256"), draw.directory()
    (bad,), present = _spoiled(draw, bodies, 1)
    paths = [f"{where}/{name}" for name in names]
    good = [name for place, name in enumerate(names) if place != bad]
    arrived = c.has_bytes(f"{cell}/{names[bad]}", present[bad])
    return Part(
        ask=draw.one(
            (
                f"make the directory {cell} and move the one file of {where} there that fails the manifest {listed}",
                f"move the file of {where} that does not match {listed} to a new directory {cell}",
            )
        ),
        files=(*files_in(where, names, present), file(listed, _manifest(dict(zip(paths, bodies, strict=True))))),
        do=(f"sha256sum -c {listed}", f"mkdir {cell}", f"mv {paths[bad]} {cell}/"),
        instead=(
            f"mkdir {cell}",
            f"mv $(sha256sum -c {listed} 2> /dev/null | grep FAILED | cut -d: -f1) {cell}",
        ),
        wrong=(
            (f"mkdir {cell}", f"cp {paths[bad]} {cell}/"),
            (f"mkdir {cell}", f"mv {where}/{good[0]} {cell}/"),
            (f"mv {paths[bad]} {cell}",),
        ),
        goals=(
            c.check(f"{cell} made", c.is_directory(cell)),
            c.check(f"{names[bad]} moved", arrived, c.names_in(cell, [names[bad]]), c.names_in(where, good)),
        ),
    )


def _one_hash(draw: Draw) -> Part:
    where, name, body, out = draw.directory(), draw.file(), draw.body(), draw.file("txt")
    path = f"{where}/{name}"
    tool, digest, wrong = draw.one(
        (
            ("sha256", _sha256(body), "md5"),
            ("md5", hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(), "sha1"),
        )
    )
    called = {"sha256": "SHA-256", "md5": "MD5"}[tool]
    return Part(
        ask=draw.one(
            (
                f"write only the {called} hash of {path}, no file name, to {out}",
                f"write the {called} checksum of {path}, just the hex digits, to {out}",
            )
        ),
        files=(file(path, body),),
        do=(f"{tool}sum {path} | cut -d' ' -f1 > {out}",),
        instead=(f"{tool}sum < {path} | tr -d ' -' > {out}",),
        wrong=((f"{tool}sum {path} > {out}",), (f"{wrong}sum {path} | cut -d' ' -f1 > {out}",)),
        goals=(c.check(f"hash of {name}", c.has_lines(out, [digest]), c.has_bytes(path, body)),),
    )


def _find_by_hash(draw: Draw) -> Part:
    (where, names, bodies), out = _tree(draw, 5), draw.file("txt")
    found = draw.number(0, 4)
    start, path = _sha256(bodies[found])[:8], f"{where}/{names[found]}"
    return Part(
        ask=draw.one(
            (
                f"write the name of the file in {where} whose SHA-256 starts with {start} to {out}",
                f"find the file of {where} whose SHA-256 hash starts with {start}; write its name to {out}",
            )
        ),
        files=files_in(where, names, bodies),
        do=(f"sha256sum {where}/* | grep ^{start}", f"echo {path} > {out}"),
        instead=(f"cd {where}", f"sha256sum * | grep ^{start} | cut -c67- > ../{out}", "cd .."),
        wrong=((f"sha256sum {where}/* | grep ^{start} > {out}",), (f"echo {names[found - 1]} > {out}",)),
        goals=(
            c.check(
                f"{start} found",
                lambda view: c.text_of(view, out).strip() in (names[found], path, f"./{path}", f"/workspace/{path}"),
            ),
        ),
    )


def _update_manifest(draw: Draw) -> Part:
    (where, names, bodies), listed = _tree(draw, 3), draw.file("sha256")
    new = draw.word()
    paths = [f"{where}/{name}" for name in names]
    changed = {**dict(zip(paths, bodies, strict=True)), paths[1]: f"{bodies[1]}{new}\n"}
    return Part(
        ask=draw.one(
            (
                f"append the line {new} to {paths[1]}, then make the manifest {listed} match {where} again",
                f"add {new} as last line of {paths[1]} and bring the sha256sum manifest {listed} of {where} up to date",
            )
        ),
        files=(*files_in(where, names, bodies), file(listed, _manifest(dict(zip(paths, bodies, strict=True))))),
        do=(f"echo {new} >> {paths[1]}", f"sha256sum {where}/* > {listed}"),
        instead=(
            f"sed -i '$a {new}' {paths[1]}",
            f"sed -i '\\#{paths[1]}#d' {listed}",
            f"sha256sum {paths[1]} >> {listed}",
        ),
        wrong=(
            (f"echo {new} >> {paths[1]}",),
            (f"sha256sum {where}/* > {listed}", f"echo {new} >> {paths[1]}"),
            (f"echo {new} > {paths[1]}", f"sha256sum {where}/* > {listed}"),
        ),
        goals=(
            c.check(f"{names[1]} longer", c.has_text(paths[1], changed[paths[1]])),
            c.check(
                f"{listed} up to date", c.has_text(paths[1], changed[paths[1]]), _records(listed, changed, only=True)
            ),
        ),
    )


_EASY = (_write_manifest, _delete_bad)
_MORE = (_restore_bad, _find_by_hash, _update_manifest)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_EASY)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one((_write_manifest, _delete_bad)), draw.one((_one_hash, *_MORE))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [_quarantine, draw.one((_delete_bad, _write_manifest)), draw.one(_MORE), *[_one_hash] * draw.number(0, 1)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "checksums",
    levels(_easy, _medium, _hard),
    "write checksum manifests, find files that do not match, put them right",
)
