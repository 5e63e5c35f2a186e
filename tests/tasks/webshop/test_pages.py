from __future__ import annotations

import random
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentenv.tasks.webshop.pages import OBSERVATIONS, Visit, render, urls
from agentenv.tasks.webshop.shop import Shop, State
from tests.tasks.webshop.small_shop import EVIL, MUG, MemoryCatalogue, mugs
from tests.tasks.webshop.test_shop import walk

T = "I want a mug"
SHOP = Shop(MemoryCatalogue([MUG]))
RESULTS = walk("search[blue mug]", shop=SHOP)
ITEM = walk("click[b0testaaaa]", shop=SHOP, state=RESULTS)
BLUE = walk("click[blue]", shop=SHOP, state=ITEM)
DONE = walk("click[buy now]", shop=SHOP, state=BLUE)
FEATURES = walk("click[features]", shop=SHOP, state=BLUE)
STATES = {"index": State(), "results": RESULTS, "item": ITEM, "chosen": BLUE, "features": FEATURES, "done": DONE}


def shown(mode: str, state: State, shop: Shop = SHOP, **visit: Any) -> str:
    score = 1.0 if state.page == "done" else None
    return render(mode, Visit(shop, state, T, "s", score=score, **visit))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "WebShop [SEP] Instruction: [SEP] I want a mug [SEP] Search"),
        (
            RESULTS,
            "Instruction: [SEP] I want a mug [SEP] Back to Search [SEP] Page 1 (Total results: 1) [SEP] Next > [SEP] "
            "B0TESTAAAA [SEP] Blue Mug, Large [SEP] $9.5",
        ),
        (
            walk("click[next >]", shop=SHOP, state=RESULTS),
            "Instruction: [SEP] I want a mug [SEP] Back to Search [SEP] Page 2 (Total results: 1) [SEP] < Prev [SEP] "
            "Next >",
        ),
        (
            BLUE,
            "Instruction: [SEP] I want a mug [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] blue [SEP] red [SEP] "
            "size [SEP] small [SEP] large [SEP] Blue Mug, Large [SEP] Price: $9.5 [SEP] Rating: N.A. [SEP] "
            "Description [SEP] Features [SEP] Reviews [SEP] Buy Now",
        ),
        (
            FEATURES,
            "Instruction: [SEP] I want a mug [SEP] Back to Search [SEP] < Prev [SEP] holds 300 ml [SEP] "
            "dishwasher safe",
        ),
        (
            walk("click[reviews]", shop=SHOP, state=ITEM),
            "Instruction: [SEP] I want a mug [SEP] Back to Search [SEP] < Prev",
        ),
        (
            DONE,
            "Thank you for shopping with us! [SEP] Your code: [SEP] (Paste it in your MTurk interface.) [SEP] "
            'Purchased [SEP] asin [SEP] B0TESTAAAA [SEP] options [SEP] {"color": "blue"} [SEP] Target [SEP] None [SEP] '
            "Reward [SEP] Your score (min 0.0, max 1.0) [SEP] 1.0 [SEP] Reward Details [SEP] None",
        ),
    ],
)
def test_text(state: State, expected: str) -> None:
    assert shown("text", state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "WebShop\nInstruction: \nI want a mug\n[button] Search [button_]\n"),
        (
            RESULTS,
            "Instruction:\nI want a mug\n[button] Back to Search [button_]\nPage 1 (Total results: 1)\n"
            "[button] Next > [button_]\n\n[button] B0TESTAAAA [button_]\nBlue Mug, Large\n$9.5\n",
        ),
        (
            BLUE,
            "You have clicked blue.\nInstruction:\nI want a mug\n[button] Back to Search [button_]\n"
            "[button] < Prev [button_]\ncolor\n  [clicked button] blue [clicked button_]\n  [button] red [button_]\n"
            "size\n  [button] small [button_]\n  [button] large [button_]\nBlue Mug, Large\nPrice: $9.5\n"
            "Rating: N.A.\n[button] Description [button_]\n[button] Features [button_]\n[button] Reviews [button_]\n"
            "[button] Buy Now [button_]\n",
        ),
    ],
)
def test_text_rich(state: State, expected: str) -> None:
    assert shown("text_rich", state) == expected


def test_text_rich_marks_products_that_were_visited() -> None:
    back = walk("click[< prev]", shop=SHOP, state=ITEM)
    assert "\n\n[clicked button] B0TESTAAAA [clicked button_]\nBlue Mug, Large\n" in shown("text_rich", back)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "http://127.0.0.1:3000/s"),
        (RESULTS, "http://127.0.0.1:3000/search_results/s/blue+mug/1"),
        (ITEM, "http://127.0.0.1:3000/item_page/s/B0TESTAAAA/blue+mug/1/{}"),
        (BLUE, 'http://127.0.0.1:3000/item_page/s/B0TESTAAAA/blue+mug/1/{"color": "blue"}'),
        (FEATURES, "http://127.0.0.1:3000/item_sub_page/s/B0TESTAAAA/blue+mug/1/Features/{'color': 'blue'}"),
        (DONE, "http://127.0.0.1:3000/done/s/B0TESTAAAA/{'color': 'blue'}"),
    ],
)
def test_url(state: State, expected: str) -> None:
    assert shown("url", state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "\nWebShop \nInstruction:  \nI want a mug \n[Search] "),
        (
            RESULTS,
            "\n[Back to Search] \nPage 1 (Total results: 1) \n[Next >] \n[B0TESTAAAA] \nBlue Mug, Large \n$9.5 ",
        ),
        (
            BLUE,
            "\n[Back to Search] \n[< Prev] \ncolor [[blue]][red]\nsize [small][large]\nBlue Mug, Large \n"
            "Price: $9.5 \nRating: N.A. \n[Description] \n[Features] \n[Reviews] \n[Buy Now] ",
        ),
        (DONE, "Your score (min 0.0, max 1.0): 1.0"),
    ],
)
def test_react(state: State, expected: str) -> None:
    assert shown("react", state) == expected


def test_react_answers_an_option_with_just_that() -> None:
    move = SHOP.move(BLUE, "click[large]")
    assert move is not None
    assert shown("react", move.state, click=move.click) == "You have clicked large."


def test_react_shows_three_products() -> None:
    shop = Shop(MemoryCatalogue(mugs(12)))
    page = shown("react", walk("search[mug]", shop=shop), shop)
    assert [line for line in page.split("\n") if "B0MUG" in line] == [f"[B0MUG0000{n}] " for n in range(3)]
    assert page.endswith("\nMug number 2 \n$2.5 ")


def test_compact_says_what_to_type() -> None:
    assert shown("compact", State()) == "I want a mug\nsearch[...]"
    assert shown("compact", RESULTS) == (
        "page 1, 1 results\n[b0testaaaa] $10 blue mug, large\n[back to search] [next >]"
    )
    assert shown("compact", BLUE) == (
        "blue mug, large\nprice: $10\ncolor: [blue]*[red]\nsize: [small][large]\n"
        "[back to search] [< prev] [description] [features] [reviews] [buy now]"
    )
    assert shown("compact", DONE) == "score 1.0"


def test_compact_shows_three_products_and_the_part_of_a_long_title_that_was_searched_for() -> None:
    title = "Porcelain Collection by Acme and Sons of Sheffield, Mug with a Lid, Dishwasher Safe"
    shop = Shop(MemoryCatalogue([replace(MUG, title=title), *mugs(12)]))
    assert shown("compact", walk("search[mug]", shop=shop), shop).count("[b0") == 3
    assert "..and sons of sheffield, mug with a lid,.." in shown("compact", walk("search[lid]", shop=shop), shop)
    assert walk("search[mug]", "click[b0mug00008]", shop=shop).asin == "B0MUG00008"


def test_compact_is_short_whatever_the_product_and_tells_what_is_chosen() -> None:
    many = tuple(f"a rather long colour name, number {n}" for n in range(300))
    options = {f"name {n}": many[n * 30 : n * 30 + 30] for n in range(9)}
    long = replace(MUG, title="mug " * 500, description="tea " * 5000, options=options)
    shop = Shop(MemoryCatalogue([long, *mugs(60)]))
    item = walk("search[mug]", "click[b0testaaaa]", f"click[{many[250]}]", shop=shop)
    for state in (walk("search[mug]", shop=shop), item, walk("click[description]", shop=shop, state=item)):
        assert len(shown("compact", state, shop)) <= 480
        assert shown("compact", state, shop).splitlines()[-1].startswith("[back to search]")


def test_prices_ranges_ratings_and_reviews() -> None:
    reviews = (("Good", "It holds tea.", 5), ("Bad", "No.", 2))
    sold = replace(MUG, prices=(16.99, 26.99), price=20.0, reviews=reviews)
    shop = Shop(MemoryCatalogue([sold]))
    item = walk("search[mug]", "click[b0testaaaa]", shop=shop)
    assert "Price: $16.99 to $26.99 [SEP] Rating: 3.5 [SEP]" in shown("text", item, shop)
    assert "Price: $12.0 [SEP]" in shown("text", walk("click[large]", shop=shop, state=item), shop)
    page = shown("text", walk("click[reviews]", shop=shop, state=item), shop)
    assert page.endswith('< Prev [SEP] "Good" [SEP] 5 [SEP] It holds tea. [SEP] "Bad" [SEP] 2 [SEP] No.')


class Visible(HTMLParser):
    """The strings of a body, and the tags and attributes of a document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.strings: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self._in_body = False
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_body |= tag == "body"
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        if self._in_body and data.strip():
            self.strings.append(data.strip())


@pytest.mark.parametrize("name", STATES)
def test_the_visible_strings_of_html_are_those_of_text(name: str) -> None:
    assert " [SEP] ".join(Visible(shown("html", STATES[name])).strings) == shown("text", STATES[name])


def test_links_lead_where_clicks_do() -> None:
    texts = {"Back to Search": "click[back to search]", "< Prev": "click[< prev]", "red": "click[red]"}
    for text, action in texts.items():
        target = urls.path(walk(action, shop=SHOP, state=BLUE), "s")
        escaped = text.replace("<", "&lt;")
        assert f'href="{target}">{escaped}</a>' in shown("html", BLUE)


def test_hostile_products_queries_and_instructions_make_no_markup() -> None:
    shop = Shop(MemoryCatalogue([EVIL]))
    plain = Visible("".join(shown("html", state) for state in STATES.values()))
    results = walk("search[mug buy now]", shop=shop)
    item = walk("click[b0evil0000]", 'click["><script>]', shop=shop, state=results)
    states = [results, item, *(walk(f"click[{name}]", shop=shop, state=item) for name in ("description", "features"))]
    states.append(walk('search[</p><script>"x"]', shop=shop))
    for state in states:
        page = render("html", Visit(shop, state, "<script>alert(2)</script>", "s"))
        assert Visible(page).tags <= plain.tags
        assert Visible(page).attributes <= plain.attributes
        assert all(link.startswith("/") for link in Visible(page).links)


def test_a_products_text_cannot_pass_for_structure() -> None:
    shop = Shop(MemoryCatalogue([EVIL]))
    results = walk("search[mug buy now]", shop=shop)
    assert shown("text", results, shop).count("[SEP]") == shown("text", RESULTS).count("[SEP]")
    assert shown("text_rich", results, shop).count("\n") == shown("text_rich", RESULTS).count("\n")
    assert shown("text_rich", results, shop).count("[button]") == 3
    assert shown("react", results, shop).count("[") == shown("react", RESULTS).count("[")
    assert shown("compact", results, shop).count("[") == shown("compact", RESULTS).count("[")


@pytest.mark.parametrize("mode", OBSERVATIONS)
def test_every_mode_shows_every_page(mode: str) -> None:
    pages = {shown(mode, state) for state in STATES.values()}
    # As in the original, `text` does not tell which options are chosen.
    assert len(pages) == len(STATES) - (mode == "text")
    assert all("\x1b" not in page for page in pages)


WORDS = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=3)


@given(WORDS, st.integers(1, 50), st.sampled_from(["", "red", "blue"]), st.sampled_from(["", "Features"]))
def test_a_path_tells_the_whole_page(words: list[str], number: int, color: str, sub_page: str) -> None:
    assume("+".join(words) not in (".", ".."))  # browsers resolve these; see urls.path
    options: tuple[tuple[str, str], ...] = (("color", color),) if color else ()
    for state in (
        State("search_results", tuple(words), number),
        State("item_sub_page" if sub_page else "item_page", tuple(words), number, MUG.asin, sub_page, options),
    ):
        assert urls.parse(urls.path(state, "s"), SHOP) == ("s", state)


@pytest.mark.parametrize(
    "path",
    [
        "/search_results/s/x", "/search_results/s/x/0", "/search_results/s/x/-1", "/search_results/s/x/99999999999",
        "/search_results/s/x/٣", "/item_page/s/NOPE/x/1/{}", "/item_page/s/B0TESTAAAA/x/1/{",
        "/item_page/s/B0TESTAAAA/x/1/[]",
        "/item_page/s/B0TESTAAAA/x/1/" + "[" * 100_000, '/item_page/s/B0TESTAAAA/x/1/{"color":"green"}',
        '/item_page/s/B0TESTAAAA/x/1/{"color":["red"]}', "/item_sub_page/s/B0TESTAAAA/x/1/Attributes/{}",
        "/done/s/B0TESTAAAA/1",
        "/other/s/x/1", "/a/b", "", "/done/s/../{}",
    ],
)  # fmt: skip
def test_other_paths_are_no_pages(path: str) -> None:
    assert urls.parse(path, SHOP) is None


@pytest.mark.parametrize("seed", range(10))
def test_what_html_offers_is_what_can_be_clicked(seed: int) -> None:
    shop = Shop(MemoryCatalogue([MUG, EVIL, *mugs(25)]))
    rng, state = random.Random(seed), State()
    for _ in range(30):
        if state.page == "done":
            break
        clicks = [piece.click for piece in Visit(shop, state, T, "s").pieces() if piece.click]
        assert set(clicks) <= set(shop.clicks(state))
        assert {shop.clicks(state)[click] for click in clicks} == set(shop.clicks(state).values())
        actions = [action.replace("<keywords>", "mug") for action in shop.valid_actions(state)]
        state = walk(rng.choice(actions), shop=shop, state=state)
