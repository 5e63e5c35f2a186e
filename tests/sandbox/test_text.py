from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentenv.sandbox.text import clean


@given(st.lists(st.text("ab", max_size=6), min_size=1, max_size=8))
def test_a_redrawn_line_shows_what_a_terminal_would(parts: list[str]) -> None:
    shown: list[str] = []
    for part in parts:
        shown[: len(part)] = part
    assert clean("\r".join(parts).encode()) == "".join(shown)


def test_a_line_redrawn_a_million_times_is_read_once() -> None:
    assert clean(b"\r".join([b"x" * 1000, *([b"y"] * 1_000_000)])) == "y" + "x" * 999
