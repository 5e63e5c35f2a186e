"""The original rule: fuzzy matching, colours, type, and what is told beside the total."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace

import pytest

from agentenv.errors import ConfigurationError
from agentenv.tasks.webshop.base import Product, Purchase
from agentenv.tasks.webshop.colours import COLOURS, normalise_colour
from agentenv.tasks.webshop.reward import WordTagger, load_tagger, original, score
from agentenv.tasks.webshop.reward.original import token_set_ratio
from tests.tasks.webshop.reward_cases import GOAL, LONG, MUG, OTHER, RIGHT

# Recorded from thefuzz 0.22.1, `fuzz.token_set_ratio`; scores up to 85 stand as 0.
_RECORDED = [
    ("Non-Slip sole", "sole, non slip", 100),
    ("slip", "non slip", 100),
    ("pack of 12", "('pack', 'pack of 2')", 95),
    ("x-large", "('size', 'large')", 0),
    ("under_score", "under score", 100),
    ("rosé", "ros", 100),
    ("É", "é", 0),
    ("", "", 0),
    ("日本 茶", "茶 日本", 100),
    ("abcdefghijklm", "abcdefghijklmnopq", 87),
    ("abcdefghijk", "abcdefghijklmno", 0),
]


@pytest.mark.parametrize(("one", "other", "expected"), _RECORDED)
def test_token_set_ratio_is_that_of_thefuzz(one: str, other: str, expected: int) -> None:
    assert token_set_ratio(one, other) == token_set_ratio(other, one) == expected


def test_colour_words_are_in_alphabetical_order_and_single_words() -> None:
    assert list(COLOURS) == sorted(set(COLOURS))
    assert all(colour.isalpha() and colour.islower() for colour in COLOURS)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("light grey", "grey"),
        ("black forest", "black"),
        ("infrared", "red"),
        ("xl tan", "tan"),
        ("standard", "tan"),
        ("titanium", "tan"),
        ("small", "small"),
        ("medium", "medium"),
        ("large", "large"),
        ("x-large", "x-large"),
        ("", ""),
    ],
)
def test_first_colour_word_anywhere_in_an_option_stands_for_it(option: str, expected: str) -> None:
    assert normalise_colour(option) == expected


def test_another_list_of_colours_can_be_given() -> None:
    purchase = Purchase(MUG, {"color": "mulberry", "size": "large"}, 9.5)
    goal = replace(GOAL, options={"color": "red mulberry", "size": "large"}, options_are_named=False)
    assert original(goal, MUG, purchase, WordTagger()).terms.counts["options_met"] == 1
    mulberry = original(goal, MUG, purchase, WordTagger(), colours=("mulberry",))
    assert mulberry.terms.counts["options_met"] == 2


def _type_of(title: str, target: Product, query: str = "other", path: str = "") -> float:
    bought = replace(OTHER, title=title, query=query, product_category=path)
    return original(GOAL, target, Purchase(bought, {}, 1.0), WordTagger()).terms.type


@pytest.mark.parametrize(
    ("title", "query", "path", "expected"),
    [
        ("Ceramic", "coffee mugs", "", 0.1),
        ("Ceramic", "other", "Home › Dining", 0.1),
        ("Ceramic Lid", "other", "", 0.5),
        ("Ceramic Lid", "coffee mugs", "", 1.0),
        ("Ceramic Lid Rim", "other", "", 1.0),
        ("Plate", "coffee mugs", "Home › Dining › Mugs", 0.0),
    ],
)
def test_small_title_scores_overrule_query_and_category(title: str, query: str, path: str, expected: float) -> None:
    assert _type_of(title, LONG, query, path) == expected


def test_title_without_nouns_counts_as_a_fifth() -> None:
    nothing = replace(MUG, title="with the")
    assert _type_of("Plate", nothing) == 0.5
    assert _type_of("Plate", nothing, query="coffee mugs") == 1.0


def test_repeated_nouns_lower_the_title_score_of_the_target_itself() -> None:
    twice = replace(MUG, title="Mug Mug Lid")
    found = original(GOAL, twice, Purchase(twice, RIGHT, 9.5), WordTagger())
    assert found.details["title_score"] == pytest.approx(2 / 3)
    assert found.total == 1.0


def test_verbose_details_have_the_original_names_and_add_up() -> None:
    found = original(GOAL, MUG, Purchase(MUG, {"color": "red"}, 9.5), WordTagger())
    told = found.details
    assert set(told) == {
        *("r_type", "r_att", "w_att", "query_match", "category_match", "title_score"),
        *("r_option", "w_option", "r_price", "w_price"),
    }
    parts = told["r_att"] * told["w_att"] + told["r_option"] * told["w_option"] + told["r_price"] * told["w_price"]
    assert parts * told["r_type"] == pytest.approx(found.total)


def test_words_tagger_keeps_words_with_letters_that_are_not_function_words() -> None:
    assert WordTagger().nouns("The 4K TV-Stand, 55 in. for You_Me") == ["4k", "tv", "stand"]


@pytest.mark.parametrize("name", ["", "spaCy", "word"])
def test_unknown_tagger_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not one of auto, spacy, words"):
        load_tagger(name)


def test_unknown_rule_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'strict'"):
        score("stric", GOAL, MUG, Purchase(MUG, {}, 9.5))


def test_spacy_tagger_names_its_versions_and_finds_nouns() -> None:
    pytest.importorskip("spacy")
    tagger = load_tagger("spacy")
    assert re.fullmatch(r"spacy-3\.8\.\d+-en_core_web_sm-3\.8\.0", tagger.name)
    assert tagger.nouns("A red mug with two handles") == ("mug", "handles")
    assert load_tagger("auto").name == tagger.name


def test_without_spacy_the_words_are_taken_or_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert load_tagger("auto").name == "words-1"
    with pytest.raises(ConfigurationError, match=r"agentenv-gym\[webshop\]"):
        load_tagger("spacy")
