"""`LimitObservation` keeps a prefix and a suffix, counts what is gone, and never exceeds its limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from agentenv.errors import ConfigurationError
from agentenv.wrappers import LimitObservation
from tests.helpers.keys import KeysEnv
from tests.helpers.replay import Beat, ReplayEnv

NOTE = re.compile(r"\n\[\.\.\. (\d+) (characters|tokens) left out \.\.\.\]\n")
UNITS = st.sampled_from(["a", "word ", "\n", "日", "😀", "\x00", "[... 3 characters left out ...]", "  "])
LONG = st.lists(st.tuples(UNITS, st.integers(0, 80)), max_size=8).map(lambda runs: "".join(u * n for u, n in runs))


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        ["a word of words aaaa left out"] * 9, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    )
    path = tmp_path_factory.mktemp("tokenizer")
    made.save(str(path / "tokenizer.json"))
    return str(path)


def shortener(**kwargs: object) -> LimitObservation:
    return LimitObservation(ReplayEnv([Beat(0.0)]), **kwargs)  # type: ignore[arg-type]


@given(LONG, st.integers(64, 300))
def test_characters_kept_and_left_out_add_up(text: str, limit: int) -> None:
    short = shortener(max_chars=limit).shorten(text)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text
        return
    notes = [note for note in NOTE.finditer(short) if _fits(text, short, note)]
    assert notes, short


def _fits(text: str, short: str, note: re.Match[str]) -> bool:
    head, tail = short[: note.start()], short[note.end() :]
    left_out = len(text) - len(head) - len(tail)
    return text.startswith(head) and text.endswith(tail) and left_out == int(note[1]) and abs(len(head) - len(tail)) < 2


@settings(deadline=None)
@given(text=LONG, limit=st.integers(64, 300))
def test_tokens_never_exceed_the_limit_and_the_ends_are_kept(tokenizer: str, text: str, limit: int) -> None:
    encode = Tokenizer.from_file(f"{tokenizer}/tokenizer.json").encode
    short = shortener(max_tokens=limit, tokenizer=tokenizer).shorten(text)
    assert len(encode(short).ids) <= limit
    if len(encode(text).ids) <= limit:
        assert short == text
        return
    cuts = [(short[: note.start()], short[note.end() :]) for note in NOTE.finditer(short)]
    assert any(text.startswith(head) and text.endswith(tail) and head and tail for head, tail in cuts), short


def test_half_of_the_limit_at_least_is_used(tokenizer: str) -> None:
    encode = Tokenizer.from_file(f"{tokenizer}/tokenizer.json").encode
    short = shortener(max_tokens=100, tokenizer=tokenizer).shorten("word " * 10_000)
    assert 50 < len(encode(short).ids) <= 100


def test_a_megabyte_is_shortened() -> None:
    assert 95 < len(shortener(max_chars=100).shorten("x" * 1_000_000)) <= 100


def test_the_task_and_every_observation_obey_the_limit() -> None:
    env = LimitObservation(KeysEnv(start="\n" + "read this " * 50), max_chars=80)
    observation, _ = env.reset(options={"task_id": "keys-train-3"})
    assert observation.startswith("set a=")
    assert NOTE.search(observation)
    assert len(observation) <= 80
    observation, reward, terminated, truncated, info = env.step("say " + "y" * 500)
    assert len(observation) <= 80
    assert (reward, terminated, truncated, info["turn"]) == (0.0, False, False, 1)
    assert env.step("say short")[0] == "short"


@pytest.mark.parametrize(
    ("kwargs", "told"),
    [
        ({}, "max_chars or max_tokens"),
        ({"max_chars": 100, "max_tokens": 100, "tokenizer": "x"}, "not both"),
        ({"max_chars": 63}, "63"),
        ({"max_tokens": 100}, "tokenizer="),
    ],
)
def test_bad_arguments_are_refused(kwargs: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        shortener(**kwargs)


def test_a_tokenizer_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    missing = str(tmp_path / "no-such-tokenizer")
    with pytest.raises(ConfigurationError, match="no-such-tokenizer"):
        shortener(max_tokens=100, tokenizer=missing)
