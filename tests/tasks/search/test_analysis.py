from __future__ import annotations

import string
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentenv.tasks.search import analysis
from agentenv.tasks.search.analysis import STOP_WORDS, analyse, stem, words


class Porter:
    """Porter's algorithm by its definition, with the changes that its author made in his C program (Lucene's)."""

    STEP_2 = (
        "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
        "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log"
    )
    STEP_3 = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
    STEP_4 = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"

    @staticmethod
    def form(word: str) -> str:
        made = ""
        for letter in word:
            vowel = letter in "aeiou" or (letter == "y" and made.endswith("c"))
            made += "v" if vowel else "c"
        return made

    def measure(self, word: str) -> int:
        return sum(a + b == "vc" for a, b in zip(self.form(word), self.form(word)[1:], strict=False))

    def short(self, word: str) -> bool:
        return self.form(word)[-3:] == "cvc" and word[-1] not in "wxy"

    def doubled(self, word: str) -> bool:
        return len(word) > 1 and word[-1] == word[-2] and self.form(word)[-1] == "c"

    def longest(self, word: str, endings: list[str]) -> str | None:
        return max((ending for ending in endings if word.endswith(ending)), key=len, default=None)

    def replace(self, word: str, table: str) -> str:
        rules = dict(rule.split(":") for rule in table.split())
        ending = self.longest(word, list(rules))
        if ending is None or not self.measure(word[: -len(ending)]):
            return word
        return word[: -len(ending)] + rules[ending]

    def first(self, word: str) -> str:
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith("ss"):
            word = word[:-1]
        if word.endswith("eed"):
            return word[:-1] if self.measure(word[:-3]) else word
        base = next((word[: -len(ending)] for ending in ("ed", "ing") if word.endswith(ending)), "")
        if "v" not in self.form(base):
            return word
        if base.endswith(("at", "bl", "iz")):
            return base + "e"
        if self.doubled(base):
            return base if base[-1] in "lsz" else base[:-1]
        return base + "e" if self.measure(base) == 1 and self.short(base) else base

    def __call__(self, word: str) -> str:
        if len(word) <= 2:
            return word
        word = self.first(word)
        if word.endswith("y") and "v" in self.form(word[:-1]):
            word = word[:-1] + "i"
        word = self.replace(self.replace(word, self.STEP_2), self.STEP_3)
        ending = self.longest(word, self.STEP_4.split())
        if ending is not None:
            base = word[: -len(ending)]
            if self.measure(base) > 1 and (ending != "ion" or base.endswith(("s", "t"))):
                word = base
        if word.endswith("e"):
            base = word[:-1]
            if self.measure(base) > 1 or (self.measure(base) == 1 and not self.short(base)):
                word = base
        return word[:-1] if word.endswith("ll") and self.measure(word) > 1 else word


_PIECES = (
    "s es ies sses ed eed ing y at bl iz ational tional enci izer bli abli alli entli eli ousli "
    "ization ation ator alism iveness fulness aliti iviti biliti logi logy bly icate ative alize "
    "ical ful ness al ance er ic able ible ant ement ment ent ion sion ou ism ate iti ous ive ize e "
    "ll kk xx yy cc a o u tr st c v w "
)
_PARTS = st.sampled_from(_PIECES.split())


@given(st.lists(st.one_of(_PARTS, st.text(string.ascii_lowercase + "'1é", min_size=1, max_size=3)), max_size=6))
@example(["a", "yy", "ing"])
@example(["ax", "x", "ed", "s"])
@example(["es", "abli", "ational"])
@settings(max_examples=300, deadline=None)
def test_stems_are_those_of_lucenes_porter(parts: list[str]) -> None:
    word = "".join(parts)
    assert stem(word) == Porter()(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("relational", "relat"),
        ("generalizations", "gener"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("falling", "fall"),
        ("us", "us"),
        ("possibly", "possibl"),
        ("technology", "technolog"),
        ("geology", "geologi"),
        ("trekked", "trek"),
        ("controlling", "control"),
    ],
)
def test_stems_worked_by_hand(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\x00", []),
        ("Don't stop-words", ["Don't", "stop", "words"]),
        ("a.b.c. x..y", ["a.b.c", "x", "y"]),
        ("1,000.50, 3.", ["1,000.50", "3"]),
        ("a,b 1:2", ["a", "b", "1", "2"]),
        ("a.1 1.a a:b", ["a", "1", "1", "a", "a:b"]),
        ("_ __ _x_ a_1", ["_x_", "a_1"]),
        ("C++ C# R&D $5 50%", ["C", "C", "R", "D", "5", "50"]),
        ('title:(oslo AND +city) "x y"~2 *', ["title", "oslo", "AND", "city", "x", "y", "2"]),
        ("caf\u00e9 cafe\u0301s na\u00efve\u2019s", ["caf\u00e9", "cafe\u0301s", "na\u00efve\u2019s"]),
        ("東京タワーは", ["東", "京", "タワー", "は"]),
        ("서울 ภาษาไทย", ["서울", "ภาษาไทย"]),
        ("x² Ⅷ ½", ["x", "Ⅷ"]),
        ("👍🏽👍 👨‍👩‍👧 🇳🇴🇸🇪 ☀️", ["👍🏽", "👍", "👨‍👩‍👧", "🇳🇴", "🇸🇪", "☀️"]),
        ("soft\u00adhyphen zero\u200bspace", ["soft\u00adhyphen", "zero", "space"]),
        ("\ud800x", ["x"]),
    ],
)
def test_words_follow_unicodes_rules(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_the_chain_drops_possessives_case_and_stop_words() -> None:
    assert analyse("The CAT'S cat\u2019s and Cats\uff07s AN ANd s's") == ["cat", "cat", "cat", "s"]
    assert len(STOP_WORDS) == 33
    assert analyse(" ".join(STOP_WORDS)) == []
    assert analyse("ΟΔΟΣ İ") == ["οδοσ", "i"]


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_ascii_text_has_the_same_words_on_either_path(text: str) -> None:
    # A word of another script at the end makes the text take the path of all scripts.
    assert words(text + " 東") == [*words(text), "東"]


@given(st.text(max_size=60))
def test_words_are_parts_of_the_text_in_order(text: str) -> None:
    at = 0
    for word in words(text):
        at = text.index(word, at) + len(word)
    assert analyse(text) == analyse(text)


def test_a_long_word_is_cut_every_255_characters() -> None:
    assert [len(word) for word in words("x" * 600 + " é")] == [255, 255, 90, 1]


@pytest.mark.parametrize("unit", ["_", "a.", "_a", "1,", "a1", "é", "a\u0301", "👍\u200d", "🇳", "_é", "\u0301"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    def spent(count: int) -> float:
        started = time.process_time()
        words(unit * count)
        return time.process_time() - started

    spent(10)
    # Quadratic time would be 256 times as much.
    assert spent(80_000) < 60 * max(spent(5_000), 0.001)


def test_threads_agree() -> None:
    analysis._term.cache_clear()
    texts = [f"running{index} possibly{index} relational{index}s" for index in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyse, texts)) == [analyse(text) for text in texts]
