"""Conditions stay conditions on hostile data, and tell what they should."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import archives, files_and_folders
from agentenv.tasks.terminal.families._draw import Draw, levels
from tests.tasks.terminal.fake_view import FakeBox


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    return FakeBox(tmp_path)


def put(box: FakeBox, name: str, data: bytes) -> None:
    (box.root / "workspace" / name).write_bytes(data)


@pytest.mark.parametrize("data", [b"[" * 200_000, b"\xff\xfe", b"", b"{]", b"1" * 5000], ids=range(5))
def test_malformed_json_is_not_in_state(box: FakeBox, data: bytes) -> None:
    put(box, "x.json", data)
    with pytest.raises(NotInStateError):
        c.json_of(box, "x.json")


@pytest.mark.parametrize("data", [b'"open', b'a"b"\x00,"c"d', b"x" * 200_000], ids=range(3))
def test_malformed_csv_is_not_in_state(box: FakeBox, data: bytes) -> None:
    put(box, "x.csv", data)
    with pytest.raises(NotInStateError):
        c.csv_rows(box, "x.csv")


def test_csv_rows_ignore_quoting_and_line_ends(box: FakeBox) -> None:
    put(box, "x.csv", b'"a",b\r\n\r\n1,"2"')
    assert c.csv_rows(box, "x.csv") == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("text", ["7", " 7\n", "+7", "007\n"])
def test_number_may_stand_in_white_space(box: FakeBox, text: str) -> None:
    put(box, "n", text.encode())
    assert c.number_of(box, "n") == 7


@pytest.mark.parametrize("text", ["", "7 lines", "7\n8", "9" * 5000, "７", "7.0"])
def test_anything_beside_one_number_is_not_in_state(box: FakeBox, text: str) -> None:
    put(box, "n", text.encode())
    with pytest.raises(NotInStateError):
        c.number_of(box, "n")


def test_link_to_accepts_relative_and_absolute_but_not_dangling_by_the_wrong_base(box: FakeBox) -> None:
    box.bash("mkdir a b; echo x > a/f; ln -s ../a/f b/relative; ln -s /workspace/a/f b/absolute; ln -s a/f b/wrong")
    assert c.link_to("b/relative", "a/f")(box)
    assert c.link_to("b/absolute", "a/f")(box)
    assert not c.link_to("b/wrong", "a/f")(box)
    assert not c.link_to("a/f", "a/f")(box)


def test_a_link_in_place_of_a_file_does_not_count_as_the_file(box: FakeBox) -> None:
    box.bash("echo x > real; ln -s real link")
    assert c.has_text("real", "x")(box)
    with pytest.raises(NotInStateError):
        c.has_text("link", "x")(box)


def test_hard_links_are_one_file_and_copies_are_two(box: FakeBox) -> None:
    box.bash("echo x > a; ln a b; cp a d")
    assert c.same_file("a", "b")(box)
    assert c.separate_files("a", "d")(box)
    assert not c.same_file("a", "d")(box)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"a\nb\n", True), (b"a\nb", True), (b"a\nb\n\n", False), (b"a\nb \n", False), (b"b\na\n", False)],
)
def test_lines_forgive_only_the_last_newline(box: FakeBox, data: bytes, expected: bool) -> None:
    put(box, "x", data)
    assert c.has_lines("x", ["a", "b"])(box) is expected


def test_gzip_bomb_is_refused_without_being_unpacked(box: FakeBox) -> None:
    put(box, "x.tar.gz", gzip.compress(bytes(50 << 20)))
    with pytest.raises(NotInStateError, match="too much"):
        archives._members(box, "x.tar.gz", zipped=True)


class OneFile:
    """A view that holds the same bytes under every name."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, path: str, max_bytes: int = 0) -> bytes:
        return self.data

    def stat(self, path: str) -> object:
        return type("Stat", (), {"kind": "file"})


def _tar_bytes() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("a" * 120, "d/é"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            tar.addfile(entry, io.BytesIO(b"abc"))
    return raw.getvalue()[:6000]


@settings(max_examples=300, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 5999), st.integers(0, 255)), max_size=12), cut=st.integers(0, 6000))
def test_a_damaged_tar_is_read_or_not_in_state(changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(_tar_bytes())
    for place, value in changes:
        data[place % len(data)] = value
    view: StateView = OneFile(bytes(data[: max(cut, 512)]))  # type: ignore[assignment]
    with contextlib.suppress(NotInStateError):
        assert isinstance(archives._members(view, "x", zipped=False), dict)


def test_drawn_names_never_hold_one_another() -> None:
    draw = Draw(np.random.default_rng(0))
    names = [draw.directory() for _ in range(8)] + [draw.stem() for _ in range(8)] + draw.words(8)
    assert not any(one in other for place, one in enumerate(names) for other in names[:place] + names[place + 1 :])


def test_exhausted_words_and_unknown_difficulties_are_named() -> None:
    draw = Draw(np.random.default_rng(0))
    draw.new(["only"])
    with pytest.raises(ConfigurationError, match="no unused word"):
        draw.new(["only", "on"])
    build = levels(files_and_folders._easy, files_and_folders._medium, files_and_folders._hard)
    with pytest.raises(ConfigurationError, match="Did you mean 'easy'"):
        build(np.random.default_rng(0), "esy")
