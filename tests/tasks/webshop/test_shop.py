from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import InfrastructureError
from agentenv.tasks.webshop.shop import Shop, State, clean, read_action
from tests.tasks.webshop.small_shop import EVIL, MUG, MemoryCatalogue, mugs

SHOP = Shop(MemoryCatalogue([MUG, EVIL, *mugs(23)]))


def walk(*actions: str, shop: Shop = SHOP, state: State | None = None) -> State:
    """Where valid actions lead."""
    state = state or State()
    for action in actions:
        move = shop.move(state, action)
        assert move is not None, f"{action} is not valid on {state}"
        state = move.state
    return state


ITEM = walk("search[blue mug]", "click[b0testaaaa]")


def test_a_search_starts_on_its_first_page_and_forgets_product_and_options() -> None:
    chosen = walk("click[red]", state=ITEM)
    found = walk("search[mug number]", state=chosen)
    assert (found.page, found.keywords, found.number) == ("search_results", ("mug", "number"), 1)
    assert (found.asin, found.options) == ("", ())


def test_a_search_is_valid_on_every_page_but_after_the_purchase() -> None:
    for state in (State(), walk("search[x]"), ITEM, walk("click[reviews]", state=ITEM)):
        assert walk("search[blue mug]", state=state).page == "search_results"
    assert SHOP.move(walk("click[buy now]", state=ITEM), "search[blue mug]") is None


def test_a_query_is_split_at_single_spaces_in_lower_case() -> None:
    assert walk("search[Blue  Mug]").keywords == ("blue", "", "mug")


def test_paging_goes_ten_by_ten_and_past_the_end() -> None:
    first = walk("search[mug number]")
    third = walk("click[next >]", "click[next >]", state=first)
    assert (len(SHOP.on_page(first)), len(SHOP.on_page(third))) == (10, 3)
    beyond = walk("click[next >]", state=third)
    assert list(SHOP.clicks(beyond)) == ["back to search", "< prev", "next >"]
    assert walk("click[< prev]", state=beyond) == third


def test_the_first_page_of_results_has_no_prev() -> None:
    assert SHOP.move(walk("search[mug]"), "click[< prev]") is None


def test_prev_leads_from_a_sub_page_to_the_product_with_its_options_and_from_there_to_the_results_without() -> None:
    chosen = walk("click[red]", state=ITEM)
    assert walk("click[features]", "click[< prev]", state=chosen) == chosen
    results = walk("click[< prev]", state=chosen)
    assert (results.page, results.asin, results.options) == ("search_results", "", ())


def test_prev_from_a_product_leads_to_the_page_of_results_it_was_found_on() -> None:
    second = walk("search[mug number]", "click[next >]")
    asin = SHOP.on_page(second)[0]
    assert walk(f"click[{asin.lower()}]", "click[< prev]", state=second).number == 2


def test_back_to_search_resets_all_but_what_was_visited() -> None:
    assert walk("click[red]", "click[back to search]", state=ITEM) == State(visited=frozenset({MUG.asin}))


def test_an_option_replaces_another_of_its_name_only() -> None:
    assert walk("click[red]", "click[large]", "click[blue]", state=ITEM).options == (
        ("color", "blue"),
        ("size", "large"),
    )


def test_states_with_the_same_options_have_one_digest_whatever_the_order() -> None:
    one = walk("click[red]", "click[large]", state=ITEM)
    other = walk("click[large]", "click[red]", state=ITEM)
    assert one.digest() == other.digest() != ITEM.digest()


def test_clickables_are_those_of_the_original_in_its_order() -> None:
    assert SHOP.clicks(State()) == {}
    assert list(SHOP.clicks(walk("search[tea]"))) == [
        "back to search",
        "next >",
        "b0testaaaa",
        *map(str.lower, mug_asins(9)),
    ]
    assert list(SHOP.clicks(ITEM)) == (
        ["back to search", "< prev", "description", "features", "reviews", "buy now", "blue", "red", "small", "large"]
    )
    assert list(SHOP.clicks(walk("click[reviews]", state=ITEM))) == ["back to search", "< prev"]
    assert SHOP.clicks(walk("click[buy now]", state=ITEM)) == {}


def mug_asins(count: int) -> list[str]:
    return [product.asin for product in mugs(count)]


def test_attributes_are_a_button_only_where_they_are_shown() -> None:
    shop = Shop(SHOP.catalogue, show_attributes=True)
    assert SHOP.move(ITEM, "click[attributes]") is None
    assert list(shop.clicks(ITEM)).index("attributes") == 5
    assert walk("click[attributes]", shop=shop, state=ITEM).sub_page == "Attributes"


@pytest.mark.parametrize(
    "action",
    ["", "buy it", "click[]", "search[]", "click[search]", "Click[red]", "click[green]", "click[red", "click red",
     "think[red]", "click[buy now] click[red]", "say click[red]", "[red]", "click[red]]", "\x00", "click[b0testaaaa]"],
)  # fmt: skip
def test_what_is_not_in_the_grammar_or_on_the_page_moves_nothing(action: str) -> None:
    assert SHOP.move(ITEM, action) is None


@pytest.mark.parametrize("action", ["click[Red]", " click[red]\n", "click[red] and more", "click[red]\nclick[blue]"])
def test_case_and_what_follows_do_not_count(action: str) -> None:
    assert walk(action, state=ITEM) == walk("click[red]", state=ITEM)


@given(st.text(alphabet="ab[] \n", max_size=12))
def test_actions_are_read_as_the_original_expression_reads_them(action: str) -> None:
    match = re.match(r"(.+)\[(.+)\]", action.strip())
    assert read_action(action) == (match.groups() if match else ("", ""))


def test_reading_an_action_takes_linear_time() -> None:
    assert read_action("[" * 200_000 + "]") != ("", "")
    assert read_action("[" * 200_000) == ("", "")


def test_a_value_under_two_names_belongs_to_the_last_and_can_be_clicked_by_name() -> None:
    product = replace(MUG, asin="B0TWICE000", options={"cup": ("xl", "s"), "lid": ("xl",)})
    shop = Shop(MemoryCatalogue([product]))
    item = walk("search[mug]", "click[b0twice000]", shop=shop)
    assert walk("click[xl]", shop=shop, state=item).options == (("lid", "xl"),)
    assert walk("click[cup: xl]", shop=shop, state=item).options == (("cup", "xl"),)
    assert walk("click[lid: xl]", shop=shop, state=item).options == (("lid", "xl"),)


def test_an_option_cannot_take_a_buttons_place() -> None:
    item = walk("search[mug buy now]", "click[b0evil0000]")
    assert walk("click[buy now]", state=item).page == "done"
    assert walk("click[< prev]", state=item).page == "search_results"
    assert walk("click[<b>size</b>: buy now]", state=item).options == (("<b>size</b>", "buy now"),)


def test_options_with_brackets_can_be_chosen() -> None:
    item = walk("search[mug buy now]", "click[b0evil0000]")
    assert walk("click[a [2 pack]]", state=item).options == (("<b>size</b>", "a [2 pack]"),)


def test_the_price_is_the_chosen_variants_except_in_an_original_shop() -> None:
    large = walk("click[large]", "click[buy now]", state=ITEM)
    for variant_prices, price in ((True, 12.0), (False, 9.5)):
        purchase = Shop(SHOP.catalogue, variant_prices=variant_prices).view(large).purchase
        assert purchase is not None
        assert (purchase.product, purchase.options, purchase.price) == (MUG, {"size": "large"}, price)


def test_the_view_tells_what_is_looked_at_and_what_was_bought() -> None:
    assert SHOP.view(walk("search[blue mug]")).product_in_view is None
    view = SHOP.view(walk("click[red]", "click[description]", state=ITEM))
    assert (view.product_in_view, view.options, view.purchase) == (MUG, {"color": "red"}, None)


def test_a_search_is_asked_of_the_catalogue_once() -> None:
    catalogue = MemoryCatalogue([MUG])
    shop = Shop(catalogue)
    for _ in range(3):
        shop.on_page(walk("search[mug]", shop=shop))
    assert catalogue.searches == ["mug"]


def test_an_index_that_names_what_the_store_lacks_is_a_platform_failure() -> None:
    class Stale(MemoryCatalogue):
        def product(self, asin: str) -> None:
            return None

    shop = Shop(Stale([MUG]))
    with pytest.raises(InfrastructureError, match="B0TESTAAAA"):
        shop.card(shop.on_page(walk("search[mug]", shop=shop))[0])


@given(st.text())
def test_clean_text_has_no_line_ends_controls_or_structure(text: str) -> None:
    shown = clean(f"{text}[SEP]\n[Button] {text}")
    assert len((shown + ".").splitlines()) == 1
    assert not re.search(r"\[(sep|button_?|clicked button_?)\]", shown, re.IGNORECASE)
    assert clean(shown) == shown


def test_clean_removes_what_is_not_seen_and_keeps_what_is() -> None:
    assert clean("a\u202eb\u200b\ud800c\U000e0041") == "abc"
    assert clean("👩‍🔬 café 日本 [2 pack] <b>") == "👩‍🔬 café 日本 [2 pack] <b>"
    assert len(clean("x" * 100_000)) == 20_000


def test_long_queries_are_cut() -> None:
    assert sum(map(len, walk(f"search[{'mug ' * 20_000}]").keywords)) < 1_000


@pytest.mark.parametrize("seed", range(20))
def test_any_walk_over_offered_actions_is_valid_and_states_are_values(seed: int) -> None:
    rng, state = random.Random(seed), State()
    while state.page != "done" and len(state.visited) < 5:
        offered = [action.replace("<keywords>", "mug") for action in SHOP.valid_actions(state)]
        action = rng.choice(offered)
        assert walk(action, state=state) == walk(action, state=state)
        state = walk(action, state=state)
