"""`UnicodeText` holds real strings, also through vector environments' shared memory."""

from __future__ import annotations

import copy

import pytest
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from agentenv import UnicodeText
from agentenv.errors import ConfigurationError, TextTooLongError

real_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(real_text)
def test_every_string_without_lone_surrogates_is_a_member(text: str) -> None:
    assert text in UnicodeText()


@pytest.mark.parametrize("text", ["", "\n", "\x00\x1b[31m", "日本", "👩‍🔬", "∀ε>0", "x" * 100_000])
def test_the_strings_that_other_spaces_refuse_are_members(text: str) -> None:
    assert text in UnicodeText()


@pytest.mark.parametrize("value", ["\ud800", b"bytes", None, 3, "é" * 6])
def test_what_is_not_text_or_too_long_is_refused(value: object) -> None:
    assert value not in UnicodeText(max_bytes=10)


def test_samples_are_members_and_repeat_under_a_seed() -> None:
    first, second = UnicodeText(seed=3), UnicodeText(seed=3)
    samples = [first.sample() for _ in range(200)]
    assert samples == [second.sample() for _ in range(200)]
    assert all(text in first for text in samples)
    assert any(not text.isascii() for text in samples)


@given(st.lists(real_text, min_size=1, max_size=4))
def test_shared_memory_gives_back_what_was_written(texts: list[str]) -> None:
    space = UnicodeText(max_bytes=1 << 12)
    shared = create_shared_memory(space, n=len(texts))
    seen = read_from_shared_memory(space, shared, n=len(texts))
    for index, text in enumerate(texts):
        write_to_shared_memory(space, index, text, shared)
    assert tuple(seen) == tuple(texts)
    kept = copy.deepcopy(seen)
    write_to_shared_memory(space, 0, "later", shared)
    assert kept == tuple(texts)
    assert seen[0] == "later"
    assert seen[-1] == (texts[-1] if len(texts) > 1 else "later")


def test_a_shorter_text_leaves_nothing_of_a_longer_one() -> None:
    space = UnicodeText(max_bytes=64)
    shared = create_shared_memory(space, n=1)
    write_to_shared_memory(space, 0, "a long text", shared)
    write_to_shared_memory(space, 0, "", shared)
    assert read_from_shared_memory(space, shared, n=1)[0] == ""


def test_a_text_that_does_not_fit_raises_and_says_what_to_do() -> None:
    space = UnicodeText(max_bytes=8)
    shared = create_shared_memory(space, n=1)
    with pytest.raises(TextTooLongError, match="max_bytes=9"):
        write_to_shared_memory(space, 0, "123456789", shared)


def test_batches_are_tuples_of_members() -> None:
    space = UnicodeText(max_bytes=100)
    batch = batch_space(space, 3)
    assert ("a", "", "日") in batch
    assert ("a", "b") not in batch
    assert len(batch.sample()) == 3
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]
    assert concatenate(space, ["a", "b"], create_empty_array(space, 2)) == ("a", "b")


def test_sampling_a_batch_does_not_advance_the_single_space() -> None:
    space, alone = UnicodeText(seed=1), UnicodeText(seed=1)
    batch_space(space, 3).sample()
    assert [space.sample() for _ in range(9)] == [alone.sample() for _ in range(9)]


def test_equality_and_limits() -> None:
    assert UnicodeText(5) == UnicodeText(5) != UnicodeText(6)
    with pytest.raises(ConfigurationError):
        UnicodeText(max_bytes=0)
