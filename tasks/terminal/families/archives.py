"""Pack, unpack, list and change tar archives and gzip files. Archives are judged by their members, read here."""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zlib
from collections.abc import Mapping

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, files_in, join
from agentenv.tasks.terminal.families._tar import read_tar
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_MOST_BYTES = 4 << 20
_MOST_MEMBERS = 200
_MOST_STREAMS = 50


def _packed(members: Mapping[str, str], *, zipped: bool) -> bytes:
    """A tar of these files, the same bytes every time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, body in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(body), 0o644, 1_700_000_000
            tar.addfile(entry, io.BytesIO(body.encode()))
    return gzip.compress(raw.getvalue(), mtime=0) if zipped else raw.getvalue()


def _unzipped(data: bytes) -> bytes:
    """What gzip data holds, all its members, up to a limit. Raises `NotInStateError` when malformed or larger."""
    out, streams = b"", 0
    while data:
        streams += 1
        inflate = zlib.decompressobj(31)
        try:
            out += inflate.decompress(data, _MOST_BYTES + 1 - len(out))
        except zlib.error as fault:
            raise NotInStateError(f"not gzip data: {fault}") from fault
        if len(out) > _MOST_BYTES or streams > _MOST_STREAMS or not inflate.eof:
            raise NotInStateError("gzip data is cut short, or holds too much")
        data = inflate.unused_data
    return out


def _members(view: StateView, path: str, *, zipped: bool) -> dict[str, bytes]:
    """The files of a tar (gzipped or not, as asked) by normalised name. Raises `NotInStateError` when malformed."""
    data = c.regular(view, path)
    raw = _unzipped(data) if zipped else data
    if len(raw) > _MOST_BYTES:
        raise NotInStateError(f"{path} holds too much")
    entries = read_tar(raw, most_entries=_MOST_MEMBERS)
    return {posixpath.normpath(entry.name): entry.content for entry in entries if entry.kind == "file"}


def _holds(path: str, members: Mapping[str, str], *, zipped: bool, only: bool = False) -> c.Condition:
    """The archive has all these files (`only`: and no other)."""

    def holds(view: StateView) -> bool:
        found = _members(view, path, zipped=zipped)
        right = all(found.get(name) == body.encode() for name, body in members.items())
        return right and (not only or len(found) == len(members))

    return holds


def _pack(draw: Draw) -> Part:
    where, out, names = draw.directory(), f"{draw.stem()}.tar.gz", [draw.file() for _ in range(3)]
    bodies = [draw.body() for _ in names]
    members = {f"{where}/{name}": body for name, body in zip(names, bodies, strict=True)}
    kept = [c.has_bytes(path, body) for path, body in members.items()]
    first = {path: members[path] for path in list(members)[:1]}
    return Part(
        ask=draw.one(
            (
                f"pack the directory {where} into the gzipped tar {out}; its members start with {where}/",
                f"make the gzip-compressed tar archive {out} of the directory {where} (members start with {where}/)",
            )
        ),
        files=files_in(where, names, bodies),
        do=(f"tar -czf {out} {where}",),
        instead=(f"tar -cf - {where} | gzip > {out}",),
        wrong=(
            (f"tar -cf {out} {where}",),
            (f"tar -czf {out} -C {where} .",),
            (f"tar -czf {out} {where}/{names[0]}",),
            (f"tar -czf {out} --remove-files {where}",),
        ),
        goals=(
            c.check(f"{out} has a file of {where}", _holds(out, first, zipped=True)),
            c.check(f"{out} has all files", _holds(out, members, zipped=True)),
            c.check(f"{out} has only these", _holds(out, members, zipped=True, only=True), *kept),
        ),
    )


def _unpack(draw: Draw) -> Part:
    where, inner, new = draw.directory(), draw.directory(), draw.chance()
    archive, names = f"{draw.stem()}.tar.gz", [draw.file() for _ in range(2)]
    bodies = [draw.body() for _ in names]
    packed = _packed({f"{inner}/{name}": body for name, body in zip(names, bodies, strict=True)}, zipped=True)
    out = [c.has_bytes(f"{where}/{inner}/{name}", body) for name, body in zip(names, bodies, strict=True)]
    fresh, started = ("new ", ()) if new else ("", (directory(where),))
    return Part(
        ask=draw.one(
            (
                f"unpack {archive} into the {fresh}directory {where}",
                f"extract all of {archive} into the {fresh}directory {where}",
            )
        ),
        files=(file(archive, packed), *started),
        do=(*((f"mkdir {where}",) if new else ()), f"tar -xzf {archive} -C {where}"),
        instead=(f"mkdir -p {where} && cd {where}", f"gzip -dc ../{archive} | tar -xf -", "cd .."),
        wrong=(
            (f"tar -xzf {archive}",),
            (f"mkdir -p {where}", f"tar -xzf {archive} -C {where} {inner}/{names[0]}"),
            (f"mkdir -p {where}", f"tar -xzf {archive} -C {where} --strip-components=1"),
        ),
        goals=(
            c.check(f"{names[0]} unpacked", out[0]),
            c.check(f"{names[1]} unpacked", out[1]),
            c.check(f"{archive} kept", *out, c.has_bytes(archive, packed)),
        ),
    )


def _extract_one(draw: Draw) -> Part:
    inner, archive, names = draw.directory(), f"{draw.stem()}.tar.gz", [draw.file() for _ in range(3)]
    members = {f"{inner}/{name}": draw.body() for name in names}
    packed = _packed(members, zipped=True)
    wanted = f"{inner}/{draw.one(names)}"
    alone = c.names_in(inner, [wanted.partition("/")[2]])
    right = c.has_bytes(wanted, members[wanted])
    return Part(
        ask=draw.one(
            (f"extract only {wanted} from {archive}", f"take the one file {wanted} out of {archive}, at that path")
        ),
        files=(file(archive, packed),),
        do=(f"tar -xzf {archive} {wanted}",),
        instead=(f"mkdir {inner}", f"tar -xzOf {archive} {wanted} > {wanted}"),
        wrong=((f"tar -xzf {archive}",), (f"tar -xzf {archive} {wanted} --strip-components=1",)),
        goals=(
            c.check("member extracted", right),
            c.check("only this member", right, alone),
            c.check(f"{archive} kept", right, alone, c.has_bytes(archive, packed)),
        ),
    )


def _compress(draw: Draw) -> Part:
    where, name, body = draw.directory(), draw.file(), draw.body(4)
    path = f"{where}/{name}"

    def right(view: StateView) -> bool:
        return _unzipped(c.regular(view, f"{path}.gz")) == body.encode()

    return Part(
        ask=draw.one(
            (
                f"replace {path} by its gzip-compressed form {path}.gz",
                f"compress {path} with gzip; only {path}.gz stays",
            )
        ),
        files=(file(path, body),),
        do=(f"gzip {path}",),
        instead=(f"gzip -c {path} > {path}.gz", f"rm {path}"),
        wrong=((f"gzip -k {path}",), (f"mv {path} {path}.gz",), (f"tar -czf {path}.gz {path}", f"rm {path}")),
        goals=(
            c.check(f"{name} compressed", right),
            c.check(f"{name} gone", right, c.absent(path)),
            c.check(f"only {name}.gz", right, c.names_in(where, [f"{name}.gz"])),
        ),
    )


def _decompress(draw: Draw) -> Part:
    where, name, body = draw.directory(), draw.file(), draw.body(4)
    path, packed = f"{where}/{name}", gzip.compress(body.encode(), mtime=0)
    right, kept = c.has_bytes(path, body), c.has_bytes(f"{path}.gz", packed)
    return Part(
        ask=draw.one(
            (f"decompress {path}.gz to {path} and keep {path}.gz", f"gunzip {path}.gz to {path}, keeping the .gz file")
        ),
        files=(file(f"{path}.gz", packed),),
        do=(f"gunzip -k {path}.gz",),
        instead=(f"gzip -dc {path}.gz > {path}",),
        wrong=((f"gunzip {path}.gz",), (f"cp {path}.gz {path}",)),
        goals=(
            c.check(f"{name} decompressed", right),
            c.check(f"{name}.gz kept", right, kept),
            c.check(f"{name} and .gz only", right, kept, c.names_in(where, [name, f"{name}.gz"])),
        ),
    )


def _add(draw: Draw) -> Part:
    where, name, body, archive = draw.directory(), draw.file(), draw.body(), f"{draw.stem()}.tar"
    path, old = f"{where}/{name}", {f"{draw.directory()}/{draw.file()}": draw.body() for _ in range(2)}
    members = {**old, path: body}
    return Part(
        ask=draw.one((f"add {path} to the tar archive {archive}", f"append the file {path} to the existing {archive}")),
        files=(file(path, body), file(archive, _packed(old, zipped=False))),
        do=(f"tar -rf {archive} {path}",),
        instead=(
            f"mkdir /tmp/{where}.d",
            f"tar -xf {archive} -C /tmp/{where}.d",
            f"tar -cf {archive} {path} -C /tmp/{where}.d $(tar -tf {archive})",
        ),
        wrong=((f"tar -cf {archive} {path}",), (f"tar -rf {archive} -C {where} {name}",)),
        goals=(
            c.check(
                f"{name} in {archive}", _holds(archive, {path: body}, zipped=False), _holds(archive, old, zipped=False)
            ),
            c.check(
                f"{archive} else as before", _holds(archive, members, zipped=False, only=True), c.has_bytes(path, body)
            ),
        ),
    )


def _remove(draw: Draw) -> Part:
    inner, archive = draw.directory(), f"{draw.stem()}.tar"
    members = {f"{inner}/{draw.file()}": draw.body() for _ in range(3)}
    gone = draw.one(list(members))
    left = {name: body for name, body in members.items() if name != gone}
    return Part(
        ask=draw.one(
            (
                f"remove the member {gone} from the tar archive {archive}",
                f"delete {gone} inside {archive}, keeping the rest",
            )
        ),
        files=(file(archive, _packed(members, zipped=False)),),
        do=(f"tar --delete -f {archive} {gone}",),
        instead=(f"tar -xf {archive}", f"rm {gone}", f"tar -cf {archive} {inner}"),
        wrong=(
            (f"rm {archive}",),
            (f"tar -xf {archive} {gone}", f"rm {gone}"),
            (f"tar --delete -f {archive} {inner}",),
        ),
        goals=(c.check(f"member out of {archive}", _holds(archive, left, zipped=False, only=True)),),
    )


def _list_members(draw: Draw) -> Part:
    inner, archive, out = draw.directory(), f"{draw.stem()}.tar.gz", draw.file("txt")
    members = {f"{inner}/{draw.file()}": draw.body(2) for _ in range(draw.number(3, 5))}
    return Part(
        ask=draw.one(
            (
                f"write the member names of {archive} to {out}, one a line",
                f"list what is in {archive} in the file {out}, one name a line",
            )
        ),
        files=(file(archive, _packed(members, zipped=True)),),
        do=(f"tar -tzf {archive} > {out}",),
        instead=(f"gzip -dc {archive} | tar -tf - | sort > {out}",),
        wrong=((f"tar -tzvf {archive} > {out}",), (f"tar -tzf {archive} | head -n 2 > {out}",)),
        goals=(c.check(f"members in {out}", c.has_lines_in_any_order(out, list(members))),),
    )


def _zip_tar(draw: Draw) -> Part:
    inner, stem = draw.directory(), draw.stem()
    members = {f"{inner}/{draw.file()}": draw.body(2) for _ in range(3)}
    old, new = f"{stem}.tar", f"{stem}.tar.gz"
    right = _holds(new, members, zipped=True, only=True)
    return Part(
        ask=f"replace {old} by a gzipped tar {new} with the same members",
        files=(file(old, _packed(members, zipped=False)),),
        do=(f"gzip -k {old}", f"rm {old}"),
        instead=(f"gzip {old}",),
        wrong=((f"mv {old} {new}",), (f"tar -czf {new} {old}", f"rm {old}"), (f"gzip -k {old}",)),
        goals=(c.check(f"{new} made", right), c.check(f"{old} gone", right, c.absent(old))),
    )


_EASY = (_pack, _unpack, _extract_one, _compress, _decompress)
_SMALL = (_add, _remove, _list_members, _zip_tar)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_EASY)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EASY, 2), *draw.some(_SMALL[:3], draw.number(0, 1))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EASY, 2), *draw.some(_SMALL, draw.number(2, 3))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "archives",
    levels(_easy, _medium, _hard),
    "pack, unpack, list and change tar archives and gzip files",
)
