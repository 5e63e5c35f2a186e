"""The store: written once, whole or not at all, the same for whoever opens it."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.webshop import generated
from agentenv.tasks.webshop import store as store_module
from agentenv.tasks.webshop.catalogue import GeneratedCatalogue
from agentenv.tasks.webshop.generated import GeneratedGoals
from agentenv.tasks.webshop.store import ProductStore, StoreWriter, contents
from tests.tasks.webshop.small_shop import MUG, mugs

PRODUCTS = list(GeneratedCatalogue(60))


def adding(products: list[object]) -> Callable[[StoreWriter], None]:
    def fill(writer: StoreWriter) -> None:
        for product in products:
            writer.add(product)  # type: ignore[arg-type]

    return fill


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ProductStore:
    return ProductStore.open("sixty", adding(PRODUCTS), cache=tmp_path_factory.mktemp("cache"))


def test_products_come_back_equal_and_in_order(store: ProductStore) -> None:
    assert list(store.products()) == PRODUCTS
    assert [store.product(product.asin) for product in PRODUCTS] == PRODUCTS
    assert len(store) == 60
    assert store.product("B0NOTHING0") is None


def test_a_product_is_found_by_its_title(store: ProductStore) -> None:
    for product in PRODUCTS[::7]:
        assert product.asin in store.search(product.title.upper(), 10)


def test_the_first_product_of_an_asin_is_kept(tmp_path: Path) -> None:
    twin = replace(MUG, title="Another")
    store = ProductStore.open("twins", adding([MUG, twin, *mugs(2)]), cache=tmp_path)
    assert [product.title for product in store.products()] == [MUG.title, "Mug number 0", "Mug number 1"]


def test_search_reads_title_description_first_bullet_and_options(tmp_path: Path) -> None:
    texts = {"title": "alpha", "description": "beta", "bullets": ("gamma", "delta"), "options": {"hue": ("epsilon",)}}
    product = replace(MUG, **texts, option_prices={})  # type: ignore[arg-type]
    assert contents(product) == "alpha beta gamma hue: epsilon"
    assert (
        contents(replace(MUG, description=""))
        == "blue mug, large  holds 300 ml color: blue, red, and size: small, large"
    )
    store = ProductStore.open("one", adding([product]), cache=tmp_path)
    assert [bool(store.search(word)) for word in ("alpha", "BETA", "gamma", "hue", "epsilon")] == [True] * 5
    assert store.search("delta") == store.search("") == store.search("?") == []


def test_special_keywords_list_by_attribute_category_query_and_at_random(store: ProductStore) -> None:
    product = next(product for product in PRODUCTS if product.query == "face serum")
    by = {
        f"<a> {product.attributes[0]}": lambda other: product.attributes[0] in other.attributes,
        f"<c> {product.category}": lambda other: other.category == product.category,
        f"<q> {product.query}": lambda other: other.query == product.query,
    }
    for keywords, holds in by.items():
        assert store.search(keywords, 100) == [other.asin for other in PRODUCTS if holds(other)]
        assert len(store.search(keywords, 2)) == 2
    assert store.search("<r>") == store.search("<r>") != store.search("<r> again")
    assert len(set(store.search("<r>"))) == 50
    assert store.search("<a>") == store.search("<q> nothing") == []


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_any_text_is_answered(goals: GeneratedGoals, text: str) -> None:
    for keywords in (text, f"<a> {text}", f"<r> {text}"):
        assert len(goals.catalogue.search(keywords, 5)) <= 5
    assert goals.catalogue.product(text) is None


def test_text_of_any_kind_is_kept(tmp_path: Path) -> None:
    strange = replace(MUG, asin="\ud800", title="\ud800 \0 🙂 'x'); DROP TABLE products;--", attributes=("\udfff",))
    store = ProductStore.open("strange", adding([strange]), cache=tmp_path)
    assert store.product("\ud800") == strange
    assert store.search("<a> \udfff") == ["\ud800"]


def test_it_is_made_once(tmp_path: Path) -> None:
    made = []

    def fill(writer: StoreWriter) -> None:
        made.append(writer)
        adding(mugs(3))(writer)

    stores = [ProductStore.open("once", fill, cache=tmp_path) for _ in range(3)]
    assert len(made) == 1
    assert len({store.fingerprint for store in stores}) == 1


def test_fingerprints_tell_products_and_their_order(tmp_path: Path) -> None:
    lists = [mugs(3), mugs(4), mugs(3)[::-1], [*mugs(2), replace(mugs(3)[2], description="!")]]
    prints = {ProductStore.open(str(at), adding(each), cache=tmp_path).fingerprint for at, each in enumerate(lists)}
    assert len(prints) == 4
    assert ProductStore.open("same", adding(mugs(3)), cache=tmp_path).fingerprint in prints


def test_the_fingerprint_covers_the_analysis_of_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = ProductStore.open("same", adding(mugs(3)), cache=tmp_path)
    before = shop.fingerprint, GeneratedGoals(400).fingerprint
    monkeypatch.setattr(store_module, "ANALYSIS", "another")
    monkeypatch.setattr(generated, "ANALYSIS", "another")
    assert shop.fingerprint != before[0]
    assert GeneratedGoals(400).fingerprint != before[1]


def test_a_store_whose_making_failed_is_made_anew(tmp_path: Path) -> None:
    def fail(writer: StoreWriter) -> None:
        writer.add(MUG)
        raise ConfigurationError("no more products")

    with pytest.raises(ConfigurationError, match="no more products"):
        ProductStore.open("halves", fail, cache=tmp_path)
    assert len(ProductStore.open("halves", adding(mugs(2)), cache=tmp_path)) == 2


def test_a_damaged_store_says_what_to_do(tmp_path: Path) -> None:
    ProductStore.open("damaged", adding(mugs(2)), cache=tmp_path)
    (file,) = tmp_path.glob("webshop/*/products.sqlite")
    file.write_bytes(b"nothing like a database" * 100)
    with pytest.raises(InfrastructureError, match="remove the directory"):
        ProductStore.open("damaged", adding(mugs(2)), cache=tmp_path).product("B0")


def test_reading_leaves_no_files_and_needs_no_right_to_write(store: ProductStore, tmp_path: Path) -> None:
    own = ProductStore.open("plain", adding(mugs(2)), cache=tmp_path)
    (folder,) = (path for path in tmp_path.glob("webshop/*") if path.is_dir())
    before = sorted(path.name for path in folder.iterdir())
    assert own.product(mugs(1)[0].asin) is not None
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not [name for name in before if name.endswith(("-wal", "-journal", "-shm"))]


def test_it_goes_through_pickle_copies_threads_and_forks(store: ProductStore) -> None:
    asin = PRODUCTS[0].asin
    assert store.product(asin) == PRODUCTS[0]
    found = store.search("face serum")
    for twin in (pickle.loads(pickle.dumps(store)), copy.deepcopy(store)):
        assert twin.product(asin) == PRODUCTS[0]
        assert twin.search("face serum") == found
    answers = []
    thread = threading.Thread(target=lambda: answers.append(store.product(asin)))
    thread.start()
    thread.join()
    assert answers == [PRODUCTS[0]]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send((store.product(asin), store.search("face serum"))))
    child.start()
    assert receiver.poll(60)
    assert receiver.recv() == (PRODUCTS[0], found)
    child.join()


def test_goals_share_rows(tmp_path: Path) -> None:
    def fill(writer: StoreWriter) -> None:
        writer.add(MUG)
        for name, count in (("a", 1), ("none", 0), ("b", 3)):
            writer.add_goal({"name": name}, count)

    store = ProductStore.open("rows", fill, cache=tmp_path)
    assert [store.goal_row(number) for number in range(4)] == [
        ({"name": "a"}, 0),
        *(({"name": "b"}, place) for place in range(3)),
    ]
    assert sorted(store.goal_order.tolist()) == [0, 1, 2, 3]
    with pytest.raises(InfrastructureError, match="number 4"):
        store.goal_row(4)
