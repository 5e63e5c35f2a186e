"""Answer rules: the hand-worked table of docs/search-answers.md, and what must hold for any text."""

from __future__ import annotations

import json
import unicodedata
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.tasks.search.answer_tokens import fold, tokens
from agentenv.tasks.search.answers import ABSTENTIONS, RULES, abstains, score, squad_normalise

DOCS = Path(__file__).parents[3] / "docs" / "search-answers.md"
SOUND = ("exact", "f1", "contains")
any_text = st.text(st.characters(exclude_categories=()), max_size=40)


def worked_cases() -> list[tuple[str, tuple[str, ...], dict[str, float]]]:
    """The lines of the page's last table."""
    cases = []
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 6 and cells[0].startswith('`"'):
            answer, golds = (json.loads(cell.strip("`")) for cell in cells[:2])
            scores = [float(Fraction(cell)) for cell in cells[2:]]
            cases.append(
                (answer, tuple(golds), dict(zip(("exact", "f1", "contains", "squad_em"), scores, strict=True)))
            )
    return cases


CASES = worked_cases()


def test_the_table_works_at_least_forty_pairs_per_rule() -> None:
    assert len(CASES) >= 40
    assert len({(answer, golds) for answer, golds, _ in CASES}) == len(CASES)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}~{','.join(case[1])}")
def test_a_pair_scores_as_worked_by_hand(rule: str, case: tuple[str, tuple[str, ...], dict[str, float]]) -> None:
    answer, golds, expected = case
    assert score(rule, answer, golds) == pytest.approx(expected[rule], abs=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5'10\"", ["5", "'", "10", '"']),
        ('the film "Apollo 13"', ["the", "film", "apollo", "13"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("Star Wars: A New Hope", ["star", "wars", "a", "new", "hope"]),
        ("9:30 p.m.", ["9", ":", "30", "pm"]),
        ("Yahoo!", ["yahoo"]),
        ("5!", ["5", "!"]),
        (".NET", [".", "net"]),
        ("google.com", ["google", ".", "com"]),
        ("10⁻³", ["10", "^", "-3"]),
        ("H₂O", ["h2o"]),
        ("x - 3", ["x", "-", "3"]),
        ("A -", ["a", "-"]),
        ("5 -3", ["5", "-3"]),
        ("-0.0", ["0"]),
        (".50", ["0.5"]),
        ("12,34,567", ["12", ",", "34", ",", "567"]),
        ("1,234,567,8901", ["1", ",", "234", ",", "567", ",", "8901"]),
        ("1\u202f000\u2009kg", ["1000", "kg"]),
        ("-1 1/2", ["-1.5"]),
        ("1/3", ["1/3"]),
        ("24/7", ["24", "/", "7"]),
        ("2/4/6", ["2", "/", "4", "/", "6"]),
        ("two hundred", ["two", "hundred"]),
        ("2 hundred", ["200"]),
        ("-0.25 thousand", ["-250"]),
        ("٣ ５", ["3", "5"]),
        ("5 Gb", ["5", "gb"]),
        ("5 GB", ["5", "gB"]),
        ("5th of Sept. 1999", ["5", "september", "1999"]),
        ("May 5", ["5", "may"]),
        ("February 30, 2001", ["february", "30", ",", "2001"]),
        ("2001-02-30", ["2001", "-", "2", "-", "30"]),
        ("March 15, 44 BC", ["15", "march", "44", "bc"]),
        ("AD 70", ["70", "ad"]),
        ("1990's", ["1990", "s"]),
    ],
)
def test_tokens_are_canonical(text: str, expected: list[str]) -> None:
    assert list(tokens(text)) == expected


numbers = st.decimals(min_value=-(10**9), max_value=10**9, places=3)


@given(numbers, numbers)
def test_numbers_are_equal_exactly_as_numbers(one: Decimal, other: Decimal) -> None:
    for written in (f"{one:f}", f"{one:,f}", f"{one:f}00"):
        assert score("exact", written, [f"{other:,f}"]) == float(one == other)
        assert score("exact", written, [f"{one:f}"]) == 1.0


@given(st.sampled_from(RULES), any_text, st.lists(any_text, max_size=3))
def test_any_text_gets_a_score_between_zero_and_one(rule: str, answer: str, golds: list[str]) -> None:
    assert 0.0 <= score(rule, answer, golds) <= 1.0


@given(any_text)
def test_a_text_equals_itself_unless_nothing_of_it_is_visible(text: str) -> None:
    expected = float(bool(tokens(text)))
    assert [score(rule, text, [text]) for rule in SOUND] == [expected] * 3
    assert bool(tokens(text)) == bool(fold(text))


@given(any_text, any_text)
def test_exact_is_symmetric(one: str, other: str) -> None:
    assert score("exact", one, [other]) == score("exact", other, [one])


@given(any_text, st.sampled_from(["NFC", "NFD"]))
def test_canonical_unicode_forms_are_one(text: str, form: str) -> None:
    assert tokens(unicodedata.normalize(form, text)) == tokens(text)


@given(any_text, st.text(" \t\n\r\u00a0\u2028\u3000\x00\u200b\ufeff", min_size=1, max_size=5))
def test_what_is_invisible_never_counts(text: str, padding: str) -> None:
    assert tokens(padding + text + padding) == tokens(text)
    assert score("exact", padding, [text]) == 0.0


@given(st.permutations(["Oslo", "3", "-3", "New York", "1,000", "5 May 1990"]))
def test_lists_are_equal_in_any_order(items: list[str]) -> None:
    gold = ["Oslo, 3, -3, New York, 1,000, 5 May 1990"]
    assert score("exact", "; ".join(items), gold) == 1.0
    assert score("exact", ", ".join(items[:-1]) + ", and " + items[-1], gold) == 1.0
    assert score("exact", ", ".join(items[1:]), gold) == 0.0


@pytest.mark.parametrize("rule", SOUND)
def test_an_over_long_answer_never_wins(rule: str) -> None:
    assert score(rule, " " * 200 + "Paris", ["Paris"]) == 1.0
    assert score(rule, " " * 300 + "Paris", ["Paris"]) == 0.0
    assert score("contains", "city " * 30 + "Paris", ["Paris"]) == 0.0
    assert score(rule, "x" * 1000, ["x" * 1000]) == 1.0


@pytest.mark.parametrize("rule", RULES)
def test_every_abstention_is_right_where_there_is_no_answer_and_nowhere_else(rule: str) -> None:
    for phrase in ABSTENTIONS:
        assert abstains(phrase.title() + ".")
        assert score(rule, phrase, []) == 1.0
        assert score(rule, phrase, ["Answer Road"]) == 0.0 or rule == "f1"


def test_abstaining_earns_no_partial_credit() -> None:
    assert score("f1", "no answer", ["the answer is 3"]) == 0.0


def test_squad_normalisation_is_the_official_one() -> None:
    assert squad_normalise(" The A-Team, and  an APPLE\n(no. 1.5)") == "ateam and apple no 15"
    assert squad_normalise("a the an") == ""
    assert squad_normalise("Panthéon theatre") == "panthéon theatre"


def test_an_unknown_rule_or_a_bare_string_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'exat' is not one of .* Did you mean 'exact'"):
        score("exat", "a", ["a"])
    with pytest.raises(ConfigurationError, match=r"write \['Paris'\]"):
        score("exact", "Paris", "Paris")


HUNDRED_KB = 100_000
HOSTILE = {
    "digits": "1" * HUNDRED_KB,
    "groups": "1" + ",234" * (HUNDRED_KB // 4) + "5",
    "thin groups": "1" + "\u2009234" * (HUNDRED_KB // 4) + "5",
    "versions": "1." * (HUNDRED_KB // 2),
    "scales": "1 " + "trillion " * (HUNDRED_KB // 9),
    "initials": "a. " * (HUNDRED_KB // 3),
    "quotes": "'\"" * (HUNDRED_KB // 2),
    "dashes": "- " * (HUNDRED_KB // 2),
    "marks": "a" + "\u0301\u0327" * (HUNDRED_KB // 2),
    "slashes": "1/" * (HUNDRED_KB // 2),
    "dates": "Jan 5 " * (HUNDRED_KB // 6),
    "superscripts": "²" * HUNDRED_KB,
    "spaces": " " * HUNDRED_KB + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_scored_in_one_pass(name: str) -> None:
    """A rule that were quadratic, or made an `int` of the digits, would not come back from these."""
    text = HOSTILE[name]
    assert score("exact", text, [text]) == 1.0
    assert score("contains", text, ["1"]) == 0.0
    assert score("squad_em", text, ["Paris"]) == 0.0
