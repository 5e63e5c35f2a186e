"""Convert text between encodings and line endings, and clean it of marks. Results are judged by their bytes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("txt", "csv", "md", "html", "text", "dat", "list", "ini")
_BOM = b"\xef\xbb\xbf"


def _accented(draw: Draw, count: int = 3) -> str:
    """Lines each of which holds a letter beyond ASCII."""
    lines = [f"{draw.one(_words.ACCENTED)} {' '.join(draw.some(_words.WORDS, 2))}\n" for _ in range(count)]
    return "".join(lines)


def _paths(draw: Draw) -> tuple[str, str]:
    where, kind = draw.directory(), draw.one(_KINDS)
    return f"{where}/{draw.file(kind)}", f"{where}/{draw.file(kind)}"


def _to_utf8(draw: Draw) -> Part:
    (source, out), text = _paths(draw), _accented(draw)
    called, typed, codec, wrong = draw.one(
        (
            ("Latin-1", "latin1", "latin-1", "latin2"),
            ("Latin-1", "latin1", "latin-1", "utf-16"),
            ("UTF-16", "utf-16", "utf-16", "utf-16be"),
            ("UTF-16", "utf-16", "utf-16", "latin1"),
        )
    )
    body = b"\xff\xfe" + text.encode("utf-16-le") if codec == "utf-16" else text.encode(codec)
    name = out.rpartition("/")[2]
    right = c.has_text(out, text)
    plain = [line.split()[1:] for line in text.splitlines()]
    return Part(
        ask=draw.one(
            (
                f"convert {source} from {called} to UTF-8 and write the result to {out}",
                f"write {source}, which is encoded in {called}, to {out} in UTF-8",
            )
        ),
        files=(file(source, body),),
        do=(f"iconv -f {typed} -t utf-8 {source} > {out}",),
        instead=(f"python3 -c \"open('{out}', 'w').write(open('{source}', encoding='{codec}').read())\"",),
        wrong=((f"cp {source} {out}",), (f"iconv -f {wrong} -t utf-8 {source} > {out}",)),
        goals=(
            c.check(f"{name} is UTF-8", lambda view: [line.split()[1:] for line in c.lines_of(view, out)] == plain),
            c.check(f"{name} text", right),
            c.check(f"{name} from intact source", right, c.has_bytes(source, body)),
        ),
    )


def _from_utf8(draw: Draw) -> Part:
    (source, out), text = _paths(draw), _accented(draw)
    called, codec, wrong = draw.one((("Latin-1", "latin1", "utf-16"), ("UTF-16", "utf-16", "utf-8")))
    marked = codec == "utf-16"
    name = out.rpartition("/")[2]

    def right(view: StateView) -> bool:
        data = c.regular(view, out)
        if marked and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return False
        return data.decode(codec, "replace").rstrip("\n") == text.rstrip("\n")

    tail = " with a byte order mark" if marked else ""
    return Part(
        ask=draw.one(
            (
                f"write the UTF-8 file {source} in {called}{tail} to {out}",
                f"convert {source} from UTF-8 to {called}{tail} in {out}",
            )
        ),
        files=(file(source, text),),
        do=(f"iconv -f utf-8 -t {codec} {source} > {out}",),
        instead=(f"python3 -c \"open('{out}', 'w', encoding='{codec}').write(open('{source}').read())\"",),
        wrong=((f"cp {source} {out}",), (f"iconv -f utf-8 -t {wrong} {source} > {out}",)),
        goals=(c.check(f"{name} in {called}", right, c.has_bytes(source, text)),),
    )


def _in_place(
    draw: Draw,
    asks: Sequence[str],
    before: Callable[[str], bytes],
    after: Callable[[str], bytes],
    do: str,
    instead: str,
    wrong: Sequence[str],
) -> Part:
    """A change of three files of one kind in place (KIND, TOP, ONE stand for names); another kind must not change."""
    kind, spared = draw.some(_KINDS, 2)
    top, names, kept = draw.directory(), [draw.file(kind) for _ in range(3)], draw.file(spared)
    texts, rest = [draw.body(3) for _ in names], before(draw.body(3))

    def filled(template: str) -> str:
        return template.replace("TOP", top).replace("KIND", kind).replace("ONE", names[0])

    safe = c.has_bytes(f"{top}/{kept}", rest)
    return Part(
        ask=filled(draw.one(asks)),
        files=(
            *(file(f"{top}/{name}", before(text)) for name, text in zip(names, texts, strict=True)),
            file(f"{top}/{kept}", rest),
        ),
        do=(filled(do),),
        instead=(filled(instead),),
        wrong=tuple((filled(way),) for way in (*wrong, do.replace("*.KIND", "*"), do.replace("*.KIND", "ONE"))),
        goals=tuple(
            c.check(f"{name} converted", c.has_bytes(f"{top}/{name}", after(text)), safe)
            for name, text in zip(names, texts, strict=True)
        ),
    )


def _lf(text: str) -> bytes:
    return text.encode()


def _crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def _bom(text: str) -> bytes:
    return _BOM + text.encode()


def _to_lf(draw: Draw) -> Part:
    return _in_place(
        draw,
        (
            "change the line endings of the .KIND files in TOP from CRLF to LF, and of no other file",
            "give all .KIND files in TOP, and only these, Unix line endings (LF)",
        ),
        _crlf,
        _lf,
        r"sed -i 's/\r$//' TOP/*.KIND",
        r"for f in TOP/*.KIND; do tr -d '\r' < $f > /tmp/lf; cp /tmp/lf $f; done",
        (r"sed -i 's/\n$//' TOP/*.KIND", r"sed -i '1s/\r$//' TOP/*.KIND"),
    )


def _to_crlf(draw: Draw) -> Part:
    return _in_place(
        draw,
        (
            "change the line endings of the .KIND files in TOP from LF to CRLF, and of no other file",
            "give all .KIND files in TOP, and only these, Windows line endings (CRLF)",
        ),
        _lf,
        _crlf,
        r"sed -i 's/$/\r/' TOP/*.KIND",
        r"perl -pi -e 's/\n/\r\n/' TOP/*.KIND",
        (r"sed -i 's/^/\r/' TOP/*.KIND", r"sed -i '1s/$/\r/' TOP/*.KIND"),
    )


def _no_bom(draw: Draw) -> Part:
    return _in_place(
        draw,
        (
            "remove the UTF-8 byte order mark (EF BB BF) from the .KIND files in TOP, and from no other file",
            "strip the byte order mark from every .KIND file in TOP, and only from these",
        ),
        _bom,
        _lf,
        r"sed -i '1s/^\xEF\xBB\xBF//' TOP/*.KIND",
        r"for f in TOP/*.KIND; do tail -c +4 $f > /tmp/text; cp /tmp/text $f; done",
        (r"sed -i '1d' TOP/*.KIND", r"sed -i '1s/^.//;1s/^.//' TOP/*.KIND"),
    )


def _add_bom(draw: Draw) -> Part:
    return _in_place(
        draw,
        ("put a UTF-8 byte order mark (EF BB BF) at the start of each .KIND file in TOP, and of no other file",),
        _lf,
        _bom,
        r"sed -i '1s/^/\xEF\xBB\xBF/' TOP/*.KIND",
        r"for f in TOP/*.KIND; do { printf '\357\273\277'; cat $f; } > /tmp/text; cp /tmp/text $f; done",
        (r"sed -i 's/^/\xEF\xBB\xBF/' TOP/*.KIND", r"sed -i '1s/^/\xFE\xFF/' TOP/*.KIND"),
    )


def _decode(draw: Draw) -> Part:
    (source, out), text = _paths(draw), draw.body(3)
    body = base64.encodebytes(text.encode()).decode()
    name, right = out.rpartition("/")[2], c.has_bytes(out, text)
    return Part(
        ask=draw.one(
            (f"decode the base64 in {source} into {out}", f"write what the base64 file {source} encodes to {out}")
        ),
        files=(file(source, body),),
        do=(f"base64 -d {source} > {out}",),
        instead=(f"python3 -m base64 -d {source} > {out}",),
        wrong=((f"base64 {source} > {out}",), (f"base64 -d {source} | head -n 2 > {out}",)),
        goals=(c.check(f"{name} decoded", right, c.has_bytes(source, body)),),
    )


def _encode(draw: Draw) -> Part:
    (source, out), text = _paths(draw), draw.body(3)
    name = out.rpartition("/")[2]

    def right(view: StateView) -> bool:
        try:
            return base64.b64decode("".join(c.text_of(view, out).split()), validate=True) == text.encode()
        except (binascii.Error, ValueError):
            return False

    return Part(
        ask=draw.one((f"write {source} in base64 to {out}", f"encode {source} as base64 into {out}")),
        files=(file(source, text),),
        do=(f"base64 {source} > {out}",),
        instead=(f"base64 -w 0 < {source} > {out}",),
        wrong=((f"cp {source} {out}",), (f"echo {source} | base64 > {out}",)),
        goals=(c.check(f"{name} encoded", right, c.has_bytes(source, text)),),
    )


def _odd_one_out(draw: Draw) -> Part:
    kind, top = draw.one(_KINDS), draw.directory()
    names = sorted(draw.file(kind) for _ in range(4))
    texts, odd = [_accented(draw, 2) for _ in names], draw.number(0, 3)
    bodies = [text.encode("latin-1" if place == odd else "utf-8") for place, text in enumerate(texts)]
    paths = [f"{top}/{name}" for name in names]
    safe = [
        c.has_bytes(path, body) for place, (path, body) in enumerate(zip(paths, bodies, strict=True)) if place != odd
    ]
    return Part(
        ask=f"one file in {top} is Latin-1 and not UTF-8 like the others: convert just that one to UTF-8 in place",
        files=tuple(file(path, body) for path, body in zip(paths, bodies, strict=True)),
        do=(
            f"grep -laxv '.*' {top}/*",
            f"iconv -f latin1 -t utf-8 {paths[odd]} > /tmp/converted",
            f"cp /tmp/converted {paths[odd]}",
        ),
        instead=(
            f"for f in {top}/*; do iconv -f utf-8 $f > /dev/null || iconv -f latin1 -t utf-8 $f -o /tmp/new; done",
            f"mv /tmp/new {paths[odd]}",
        ),
        wrong=(
            (f"for f in {top}/*; do iconv -f latin1 -t utf-8 $f > /tmp/new; cp /tmp/new $f; done",),
            (f"iconv -f latin1 -t utf-8 {paths[odd]} > {top}/new",),
        ),
        goals=(c.check(f"{names[odd]} in UTF-8", c.has_text(paths[odd], texts[odd]), *safe),),
    )


_EASY = (_to_utf8, _to_lf, _to_crlf, _no_bom, _add_bom)
_SMALL = (_from_utf8, _decode, _encode)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_EASY)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one(_EASY), *draw.some((*_EASY, *_SMALL), draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [_odd_one_out, draw.one(_EASY), *draw.some(_SMALL, draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "encodings",
    levels(_easy, _medium, _hard),
    "convert encodings and line endings, strip and add marks",
)
