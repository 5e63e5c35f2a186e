"""The strict rule: its words, what texts claim, and its properties beside the original's."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward import NO_LIMIT, Score, Terms, WordTagger, original, price_of, score, strict
from agentenv.tasks.webshop.reward.words import Phrase, words
from tests.tasks.webshop.reward_cases import GOAL, MUG, OTHER, RIGHT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X-Large", "x large"),
        ("2-pack", "2 Pack"),
        ("6oz", "6 oz"),
        ("1,000 mAh", "1000mah"),
        ("10.50 in", "10.5in"),
        (".5 l", "0.5 l"),
        ("1/2 inch", "1 | 2 inch"),
        ("8 × 10", "8x10"),
        ("3–5 years", "3 - 5 years"),
        ("café", "café"),
        ("ＲＥＤ", "red"),
        ("Gray", "grey"),
        ("women’s", "women's"),
    ],
)
def test_one_thing_in_two_ways_of_writing_has_equal_words(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("large", "x-large"),
        ("8.5", "8 5"),
        ("8.5", "85"),
        ("1/2", "1 2"),
        ("1/2", "1-2"),
        ("-5", "5"),
        ("5", "5+"),
        ("50", "50%"),
        ('6"', "6'"),
        ("10²", "102"),
        ("2½", "21/2"),
        ("007", "7"),
        ("red", "infrared"),
        ("🐱", "🐶"),
        ("कि", "की"),
    ],
)
def test_different_things_have_different_words(one: str, other: str) -> None:
    assert words(one) != words(other)


@given(st.decimals(0, 10**9, places=3), st.decimals(0, 10**9, places=3))
def test_numbers_have_equal_words_only_if_equal(one: Decimal, other: Decimal) -> None:
    assert (words(f"{one:,}") == words(f"{other:f}")) == (one == other)


@pytest.mark.parametrize(
    ("phrase", "text", "claims"),
    [
        ("water proof", "A water-proof case", [True]),
        ("water proof", "It is not a very water proof case", [False]),
        ("water proof", "It isn't water proof", [False]),
        ("water proof", "No fuss. Water proof!", [True]),
        ("water proof", "Soft water. Proof of origin", []),
        ("gluten", "Gluten free", [False]),
        ("machine washable", "Machine washable. Free shipping.", [True]),
        ("slip", "slippers, non-slip", [False]),
        ("5 inch", "3-5 inch", []),
        ("5 inch", "15 inch or 1.5 inch", []),
        ("pack of 1", "pack of 1/2", []),
        ("non slip", "Non slip, non slip", [True, True]),
        ("!", "anything!", []),
    ],
)
def test_texts_claim_and_deny_at_word_borders(phrase: str, text: str, claims: list[bool]) -> None:
    assert Phrase(phrase).claims(text) == claims


def test_one_denial_outweighs_claims_but_not_what_is_known() -> None:
    goal = replace(GOAL, attributes=("dishwasher safe",))
    doubtful = replace(OTHER, title="Dishwasher Safe Mug", description="The lid is not dishwasher safe.")
    assert not strict(goal, MUG, Purchase(doubtful, {}, 9.5)).terms.attributes_met[0]
    known = replace(doubtful, attributes=("dishwasher safe",))
    assert strict(goal, MUG, Purchase(known, {}, 9.5)).terms.attributes_met[0]


@pytest.mark.parametrize(
    ("query", "path", "expected"),
    [
        ("Coffee Mug", "Home › Dining › Mugs", 1.0),
        ("mugs coffee", "", 1.0),
        ("coffee mugs", "Home › Dining", 1.0),
        ("coffee mugs", "Toys › Tea Sets", 0.5),
        ("tea mugs", "Home › Dining › Mugs", 0.5),
        ("", "home › dining › mugs", 1.0),
        ("", "Home › Dining", 0.5),
        ("tea mugs", "Home › Garden", 0.0),
        ("", "", 0.0),
    ],
)
def test_type_is_decided_by_query_and_category(query: str, path: str, expected: float) -> None:
    bought = replace(OTHER, title=MUG.title, query=query, product_category=path)
    assert strict(GOAL, MUG, Purchase(bought, RIGHT, 9.5)).terms.type == expected


def test_unnamed_options_match_any_name_but_each_click_once() -> None:
    goal = replace(GOAL, options={"0": "red", "1": "red", "2": "large"}, options_are_named=False)
    clicked = {"trim": "red", "size": "large"}
    assert strict(goal, MUG, Purchase(MUG, clicked, 9.5)).terms.options_met == (True, False, True)
    both = clicked | {"color": "red"}
    assert strict(goal, MUG, Purchase(MUG, both, 9.5)).terms.options == 1.0


def test_option_without_words_is_met_by_itself_only() -> None:
    goal = replace(GOAL, options={"mark": "*"})
    assert strict(goal, MUG, Purchase(MUG, {"mark": "*"}, 9.5)).terms.options == 1.0
    assert strict(goal, MUG, Purchase(MUG, {"mark": "-"}, 9.5)).terms.options == 0.0


def test_price_of_takes_the_highest_price_set_by_an_option() -> None:
    product = replace(MUG, option_prices={("size", "x-large"): 21.0, ("color", "red"): 8.0})
    assert price_of(product, {"size": "x-large", "color": "red"}) == 21.0
    assert price_of(product, {"color": "red"}) == 8.0
    assert price_of(product, {"color": "blue"}) == 9.5


def test_a_price_that_is_no_number_is_not_within_the_limit() -> None:
    assert strict(GOAL, MUG, Purchase(MUG, RIGHT, float("nan"))).terms.price == 0.0


_TEXT = st.text(max_size=20)
_NEAR = st.sampled_from(["red", "infrared", "light grey", "grey", "non slip", "slip", "2 pack", "12 pack", "", "large"])
_WORDY = _TEXT | _NEAR
_PRODUCTS = st.builds(
    Product,
    asin=st.sampled_from(["A", "B", "C"]),
    title=_WORDY,
    description=_WORDY,
    bullets=st.lists(_WORDY, max_size=2).map(tuple),
    category=st.just("garden"),
    product_category=st.sampled_from(["", "Home › Mugs", "Home › Mugs › Tea", "Toys"]),
    query=st.sampled_from(["", "mugs", "tea mugs"]),
    attributes=st.lists(_WORDY, max_size=3).map(tuple),
    prices=st.just((9.5,)),
    price=st.floats(allow_nan=True),
)
_OPTIONS = st.dictionaries(_WORDY, _WORDY, max_size=3)
_GOALS = st.builds(
    Goal,
    id=st.just("g"),
    asin=st.just("A"),
    instruction=_TEXT,
    attributes=st.lists(_WORDY, max_size=3).map(tuple),
    options=_OPTIONS,
    price_upper=st.sampled_from([10.0, 20.0, float(NO_LIMIT)]),
    options_are_named=st.booleans(),
)
_PURCHASES = st.builds(Purchase, product=_PRODUCTS, options=_OPTIONS, price=st.floats())
_RULES = st.sampled_from(["original", "strict"])
_WORDS = WordTagger()


def _score(rule: str, goal: Goal, target: Product, purchase: Purchase) -> Score:
    return score(rule, goal, target, purchase, _WORDS)


@given(_RULES, _GOALS, _PRODUCTS, _PURCHASES)
def test_scores_are_bounded_and_one_only_if_all_terms_are(
    rule: str, goal: Goal, target: Product, purchase: Purchase
) -> None:
    found = _score(rule, goal, target, purchase)
    parts = (found.terms.type, found.terms.attributes, found.terms.options, found.terms.price)
    assert all(0 <= part <= 1 for part in (*parts, found.total))
    assert (found.total == 1.0) == all(part == 1.0 for part in parts)


@given(_RULES, _GOALS, _PRODUCTS, _PURCHASES, st.randoms(use_true_random=False))
def test_order_of_attributes_and_options_does_not_matter(
    rule: str, goal: Goal, target: Product, purchase: Purchase, random: object
) -> None:
    turned = replace(goal, attributes=goal.attributes[::-1], options=dict(reversed(goal.options.items())))
    product = replace(purchase.product, attributes=purchase.product.attributes[::-1])
    other = Purchase(product, dict(reversed(purchase.options.items())), purchase.price)
    assert _score(rule, goal, target, purchase).total == _score(rule, turned, target, other).total


@given(
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.lists(st.booleans(), max_size=4),
    st.lists(st.booleans(), max_size=4),
    st.sampled_from([None, False, True]),
)
def test_meeting_one_more_term_raises_the_total(
    type_: float, attributes: list[bool], options: list[bool], price: bool | None
) -> None:
    before = Terms(type_, tuple(attributes), tuple(options), price)
    for index in range(len(attributes)):
        if not attributes[index]:
            after = replace(before, attributes_met=(*attributes[:index], True, *attributes[index + 1 :]))
            assert (after.total > before.total) == (type_ > 0)
    if price is False:
        assert (replace(before, price_met=True).total > before.total) == (type_ > 0)


@given(_RULES, _GOALS, _PRODUCTS, _PURCHASES, _WORDY)
def test_knowing_more_of_a_product_never_lowers_its_score(
    rule: str, goal: Goal, target: Product, purchase: Purchase, attribute: str
) -> None:
    richer = replace(purchase.product, attributes=(*purchase.product.attributes, attribute))
    before = _score(rule, goal, target, purchase).total
    assert _score(rule, goal, target, replace(purchase, product=richer)).total >= before


@given(_GOALS, _PRODUCTS, _PURCHASES)
def test_choosing_a_wanted_option_never_lowers_and_another_never_changes_the_strict_score(
    goal: Goal, target: Product, purchase: Purchase
) -> None:
    named = replace(goal, options_are_named=True)
    before = strict(named, target, purchase)
    for name, value in named.options.items():
        chosen = {key: kept for key, kept in purchase.options.items() if words(key) != words(name)}
        assert strict(named, target, replace(purchase, options=chosen | {name: value})).total >= before.total
    extra = replace(purchase, options={**purchase.options, "no such name": "red"})
    assert strict(named, target, extra).terms == before.terms


@given(_GOALS, _PRODUCTS)
def test_the_goals_own_product_with_the_wanted_options_is_right(goal: Goal, target: Product) -> None:
    assert strict(goal, target, Purchase(target, dict(goal.options), 5.0)).total == 1.0


_HOSTILE = {
    "words": "a " * 50_000,
    "one word": "a" * 100_000,
    "spaces": "\n" * 100_000,
    "thousands": "1," * 50_000,
    "groups": "111," * 25_000 + "1111",
    "ranges": "1 - " * 25_000,
    "spaced digits": ("1" + " " * 999) * 100,
    "points": ".5" * 50_000,
    "dashes": "-" * 100_000,
    "denials": "not non slip " * 7_700,
    "quotes": "1'\"" * 33_000,
    "marks": "\u0301\u0316" * 50_000,
    "long casefold": "ŉß" * 50_000,
    "nul": "\0" * 100_000,
    "emoji": "\U0001f431\u200d" * 50_000,
    "surrogate": "\ud800" * 100_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE)
def test_hostile_texts_are_scored(text: str) -> None:
    product = Product(
        *("B", text, text, (text, text), "garden", text, text, (text[1:], "non slip"), (9.5,), 9.5),
        options={"color": (text,)},
    )
    goal = Goal("g", "A", "", (text, "slip", "non slip"), {"color": text[:-1], text: "red"}, 20.0)
    purchase = Purchase(product, {"color": text}, 9.5)
    assert 0 <= strict(goal, MUG, purchase).total <= 1
    assert 0 <= original(goal, MUG, purchase, _WORDS).total <= 1
