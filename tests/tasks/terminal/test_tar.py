"""Tars that agents made are read in linear time and memory, whatever they say of themselves."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import NotInStateError
from agentenv.tasks.terminal.families._tar import Entry, read_tar

NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=200).filter(
    lambda name: not name.endswith("/")
)


def packed(members: dict[str, bytes], form: int) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
        for name, body in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return raw.getvalue()


def header(name: str = "a", *, size: bytes = b"00000000000", kind: bytes = b"0", rest: bytes = b"") -> bytes:
    """A header block whose sum is right."""
    block = bytearray(512)
    block[: len(name)] = name.encode()
    block[124 : 124 + len(size)] = size
    block[156:157] = kind
    block[257:263] = b"ustar\0"
    block[345 : 345 + len(rest)] = rest
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_reads_what_python_writes(members: dict[str, bytes], form: int) -> None:
    entries = read_tar(packed(members, form), most_entries=10)
    assert {entry.name: entry.content for entry in entries} == members
    assert all(entry.kind == "file" for entry in entries)


def test_directories_and_links_are_told_apart_from_files() -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, kind in (("d", tarfile.DIRTYPE), ("l", tarfile.SYMTYPE), ("p", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "x" * 300
            tar.addfile(entry)
    kinds = [(entry.name.rstrip("/"), entry.kind) for entry in read_tar(raw.getvalue(), most_entries=9)]
    assert kinds == [("d", "directory"), ("l", "other"), ("p", "other")]


def test_a_prefix_is_part_of_the_name() -> None:
    assert read_tar(header("b", rest=b"a"), most_entries=1) == [Entry("a/b", "file")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 100,
        b"x" * 512,
        header(size=b"77777777777"),
        header(size=b"\x80" + b"\xff" * 11),
        header(size=b"-1"),
        header(kind=b"S", size=b"00000000000"),
        header(kind=b"?"),
        header()[:-1],
        header(kind=b"x", size=b"00000100000") + b"9" * 32768,
        header(kind=b"x", size=b"00000000024") + b"9" * 20 + b"\0" * 492 + header(),
        header(kind=b"x", size=b"00000000024") + b"20 size=99999999999\n" + b"\0" * 492 + header(),
        header(kind=b"x", size=b"00000000031") + b"25 GNU.sparse.size=99999\n" + b"\0" * 487 + header(),
        header(kind=b"L", size=b"77777777777"),
        header() + header() + header(),
    ],
)
def test_malformed_and_boundless_tars_are_refused(data: bytes) -> None:
    with pytest.raises(NotInStateError):
        read_tar(data, most_entries=2)


def test_headers_without_members_are_read_one_after_the_other() -> None:
    assert read_tar(header(kind=b"L") * 5000, most_entries=1) == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=1200), st.integers(0, 511), st.binary(max_size=20))
def test_any_bytes_give_members_or_the_one_error(body: bytes, place: int, patch: bytes) -> None:
    data = bytearray(header(size=b"%011o" % min(len(body), 600)) + body)
    data[place : place + len(patch)] = patch
    try:
        entries = read_tar(bytes(data), most_entries=5)
    except NotInStateError:
        return
    assert sum(len(entry.content) for entry in entries) <= len(data)
