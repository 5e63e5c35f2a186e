"""The table of purchases worked by hand, and the docs page that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenv.tasks.webshop.reward import WordTagger, original, score, strict
from tests.tasks.webshop.reward_cases import CASES, Case, table

_PAGE = Path(__file__).parents[3] / "docs" / "webshop-reward.md"
_NUMBERED = [pytest.param(case, id=str(number)) for number, case in enumerate(CASES, start=1)]


def test_there_are_thirty_cases() -> None:
    assert len(CASES) == 30


@pytest.mark.parametrize("case", _NUMBERED)
def test_original_scores_as_worked_by_hand(case: Case) -> None:
    assert original(case.goal, case.target, case.purchase, WordTagger()).total == float(case.original)


@pytest.mark.parametrize("case", _NUMBERED)
def test_strict_scores_as_worked_by_hand(case: Case) -> None:
    assert strict(case.goal, case.target, case.purchase).total == float(case.strict)


@pytest.mark.parametrize("case", _NUMBERED)
def test_rules_are_chosen_by_name(case: Case) -> None:
    found = score("original", case.goal, case.target, case.purchase, WordTagger())
    assert (found.rule, found.tagger) == ("original", "words-1")
    assert score("strict", case.goal, case.target, case.purchase) == strict(case.goal, case.target, case.purchase)


def test_docs_page_shows_the_table() -> None:
    assert table() in _PAGE.read_text(encoding="utf-8")
