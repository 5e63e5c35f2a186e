"""Readers of the original data files, on small files in their format."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, DataFileError, UnknownTaskError
from agentenv.tasks.webshop import json_stream
from agentenv.tasks.webshop.base import Product
from agentenv.tasks.webshop.json_stream import JsonStream, Record
from agentenv.tasks.webshop.loading import load
from agentenv.tasks.webshop.originals import OriginalGoals, splits_of
from agentenv.tasks.webshop.readers import WebShopFiles, open_store, read_product


def entry(asin: str = "B0TABLE000", **changes: Any) -> dict[str, Any]:
    """A product as the original file has them."""
    values: dict[str, Any] = {
        "asin": asin,
        "name": "Oak Console Table",
        "full_description": "A narrow table.",
        "small_description": ["Solid oak", "Two drawers"],
        "pricing": "$1,012.50",
        "images": ["https://example.org/1.jpg", "https://example.org/2.jpg"],
        "product_category": "Home › Furniture › Tables",
        "category": "garden",
        "query": " Console Tables",
        "customization_options": {
            "Color": [
                {
                    "is_selected": True,
                    "url": None,
                    "value": " Oak/Brown ",
                    "price_string": "",
                    "price": 0,
                    "image": None,
                },
                {"is_selected": False, "is_available": True, "value": "White", "asin": "B0TABLE001"},
            ],
            "Size": None,
        },
        "brand": "dropped",
        "average_rating": math.nan,
        "page": 3,
    }
    return {**values, **changes}


def told(instruction: str = "I want a table.", options: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    """A human instruction as the original file has them."""
    values = {
        "asin": "B0TABLE000",
        "instruction": instruction,
        "attributes": ["solid oak"],
        "options": ["color: white"],
        "instruction_attributes": ["solid oak"],
        "instruction_options": ["white"] if options is None else options,
        "assignment_id": "1",
        "worker_id": "2",
    }
    return {**values, **changes}


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a directory of data files; None leaves a file out, and a string is written as it is."""

    def make(
        products: Any,
        attributes: Any = None,
        instructions: Any = None,
        reviews: Any = None,
    ) -> Path:
        names = ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json", "reviews.json")
        contents = (products, {} if attributes is None else attributes, instructions, reviews)
        for name, content in zip(names, contents, strict=True):
            if content is not None:
                text = content if isinstance(content, str) else json.dumps(content)
                (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return make


def human(directory: Path, **arguments: Any) -> OriginalGoals:
    return OriginalGoals(directory, cache=directory / "cache", **arguments)


def product(values: dict[str, Any]) -> Product:
    made = read_product(Record("here", values), [])
    assert made is not None
    return made


# -- products -------------------------------------------------------------------------------------------------------


def test_a_product_is_read_by_the_rules_of_the_original(write: Write) -> None:
    reviews = [
        {
            "asin": "B0TABLE000",
            "average_rating": 4.5,
            "reviews": [{"title": "Fine", "stars": 4, "review": "It stands."}, {"title": "Bad", "score": "1.0"}],
        }
    ]
    directory = write([entry()], {"B0TABLE000": {"attributes": ["solid oak", "narrow"]}}, {}, reviews)
    assert human(directory).catalogue.product("B0TABLE000") == Product(
        asin="B0TABLE000",
        title="Oak Console Table",
        description="A narrow table.",
        bullets=("Solid oak", "Two drawers"),
        category="garden",
        product_category="Home › Furniture › Tables",
        query="console tables",
        attributes=("solid oak", "narrow"),
        prices=(1012.5,),
        price=1012.5,
        options={"color": ("oak | brown", "white")},
        option_prices={},
        image="https://example.org/1.jpg",
        reviews=(("Fine", "It stands.", 4.0), ("Bad", "", 1.0)),
    )


@pytest.mark.parametrize(
    ("pricing", "prices"),
    [
        (None, (100.0,)),
        ("", (100.0,)),
        ("$12.99", (12.99,)),
        ("$16.99$26.99", (16.99, 26.99)),
        ("$1,016.99 - $2,026", (1016.99, 2026.0)),
        ("from $3 to $5 to $9", (3.0, 5.0)),
    ],
)
def test_prices(pricing: str | None, prices: tuple[float, ...]) -> None:
    made = product(entry(pricing=pricing))
    assert made.prices == prices
    assert min(prices) <= made.price <= max(prices)


def test_a_price_within_a_range_depends_on_the_product_and_the_seed_only() -> None:
    values = entry(pricing="$10.00$90.00")
    prices = [read_product(Record("here", values), [], seed=seed).price for seed in (0, 0, 1)]  # type: ignore[union-attr]
    assert prices[0] == prices[1] != prices[2]
    assert product(entry("B0OTHER000", pricing="$10.00$90.00")).price != prices[0]


def test_a_variant_has_the_price_that_its_entry_tells() -> None:
    values = [
        {"value": "A", "price": 9.5},
        {"value": "B", "price_string": "$1,020.00"},
        {"value": "C", "price_string": "$5.00 ($1.00 / oz)", "price": 0},
        {"value": "D", "price": True, "price_string": "-"},
        {"value": "E", "price": 1012.5},
    ]
    made = product(entry(customization_options={"Kind": values}))
    assert made.option_prices == {("kind", "a"): 9.5, ("kind", "b"): 1020.0}


def test_fields_that_products_lack_are_empty() -> None:
    bare = {"asin": "B0", "name": "Mug", "category": "garden", "query": "mugs", "small_description": "One bullet"}
    made = product({**bare, "customization_options": "", "images": [], "product_category": None})
    assert (made.description, made.bullets, made.product_category) == ("", ("One bullet",), "")
    assert (made.image, made.options, made.price) == ("", {}, 100.0)


def test_wrong_asins_and_twins_are_left_out(write: Write) -> None:
    rows = [entry("nan"), entry("B0TOOLONG00"), entry(), entry(name="A twin"), entry("B0OTHER000")]
    store = human(write(rows, None, {})).catalogue
    assert [product.asin for product in store.products()] == ["B0TABLE000", "B0OTHER000"]
    assert store.product("B0TABLE000") == replace(product(entry()), attributes=("DUMMY_ATTR",))


def test_only_the_first_products_are_read_where_a_number_says_so(write: Write) -> None:
    directory = write([entry("nan"), entry(), entry("B0OTHER000")], None, {})
    assert len(human(directory, num_products=2).catalogue) == 1
    with pytest.raises(ConfigurationError, match="num_products"):
        human(directory, num_products=0)


# -- goals ----------------------------------------------------------------------------------------------------------


def test_a_human_goal_is_what_the_original_makes_of_it(write: Write) -> None:
    goals = human(write([entry(pricing="$12.00")], None, {"B0TABLE000": [told("..Find me a table...")]}))
    goal = goals.goal("human-0")
    assert goal.instruction == f"Find me a table, and price lower than {goal.price_upper:.2f} dollars"
    assert goal.price_upper in (30.0, 40.0, 50.0)
    assert (goal.asin, goal.attributes, goal.options) == ("B0TABLE000", ("solid oak",), {"0": "white"})
    assert not goal.options_are_named
    assert goals.task("human-0").instruction == goal.instruction
    assert goals.task("human-0").data == {}
    assert goals.grader("human-0").hidden["target"].asin == "B0TABLE000"


def test_an_instruction_without_attributes_is_no_goal_and_a_high_price_has_no_limit(write: Write) -> None:
    rows = [told(instruction_attributes=[]), told("Costly.")]
    goals = human(write([entry(pricing="$985.00")], None, {"B0TABLE000": rows, "B0UNKNOWN0": [told()]}))
    assert len(goals) == 1
    assert (goals.goal("human-0").instruction, goals.goal("human-0").price_upper) == ("Costly", 1_000_000)


def test_a_limit_lies_above_the_price_of_the_wanted_variant(write: Write) -> None:
    options = {"Size": [{"value": "Large", "price": 300.0}, {"value": "Small"}]}
    products = [entry(pricing="$12.00", customization_options=options)]
    rows = [told(options=["large"]), told(options=["small"])]
    goals = human(write(products, None, {"B0TABLE000": rows}))
    limits = {goal.options["0"]: goal.price_upper for goal in map(goals.goal, ("human-0", "human-1"))}
    assert limits["large"] > 300.0
    assert limits["small"] <= 50.0


def test_a_synthetic_goal_wants_one_combination_of_all_options(write: Write) -> None:
    options = {"Size": [{"value": "S"}, {"value": "L"}], "Color": [{"value": "Red"}, {"value": "Blue"}]}
    products = [
        entry(pricing="$12.00", customization_options=options),
        entry("B0PLAIN000", pricing="$3.00", customization_options=""),
    ]
    attributes = {
        "B0TABLE000": {"attributes": ["a"], "instruction": "I want a table", "instruction_attributes": ["solid oak"]},
        "B0PLAIN000": {"attributes": ["a"], "instruction": "I want it plain", "instruction_attributes": ["plain"]},
        "B0NOTHING0": {"attributes": ["a"]},
    }
    goals = human(write(products, attributes), kind="synthetic")
    made = [goals.goal(f"synthetic-{number}") for number in range(5)]
    assert len(goals) == 5
    assert {tuple(goal.options.items()) for goal in made} == {
        (),
        *((("color", color), ("size", size)) for color in ("red", "blue") for size in ("s", "l")),
    }
    table = next(goal for goal in made if goal.options == {"color": "red", "size": "l"})
    limit = f", and price lower than {table.price_upper:.2f} dollars"
    assert table.instruction == f"I want a table with color: red, and size: l{limit}"
    assert table.options_are_named
    assert next(goal for goal in made if not goal.options).instruction.startswith("I want it plain, and price")


def test_goals_are_counted_in_the_order_of_the_original(write: Write) -> None:
    rows = {"B0TABLE000": [told(str(number)) for number in range(50)]}
    goals = human(write([entry(pricing="$985.00")], None, rows))
    expected = list(range(50))
    random.Random(233).shuffle(expected)
    assert [goals.goal(f"human-{number}").instruction for number in range(50)] == list(map(str, expected))


def test_splits_are_the_published_ones_where_there_are_goals_enough(write: Write) -> None:
    assert splits_of(6910) == {"test": range(500), "val": range(500, 1500), "train": range(1500, 6910)}
    goals = human(write([entry()], None, {"B0TABLE000": [told()] * 50}))
    assert list(goals.ids("test")) == [f"human-{number}" for number in range(5)]
    assert [len(goals.ids(split)) for split in ("train", "val", "test", "ood")] == [40, 5, 5, 0]
    assert [goals.goal(goals.ids(split)[-1]).split for split in ("train", "val", "test")] == ["train", "val", "test"]
    assert list(goals.ids("train")[-2:]) == ["human-48", "human-49"]


@pytest.mark.parametrize("task_id", ["human-1", "human-01", "human--1", "human-²", "synthetic-0", "", "human"])
def test_unknown_tasks_are_refused(write: Write, task_id: str) -> None:
    goals = human(write([entry()], None, {"B0TABLE000": [told()]}))
    with pytest.raises(UnknownTaskError, match="human-0"):
        goals.task(task_id)


def test_a_seed_decides_limits_and_prices(write: Write) -> None:
    directory = write([entry(pricing="$12.00$80.00")], None, {"B0TABLE000": [told(str(number)) for number in range(9)]})
    ids = [f"human-{number}" for number in range(9)]
    one, again, other = ([human(directory, seed=seed).goal(id_).price_upper for id_ in ids] for seed in (0, 0, 1))
    assert one == again != other
    assert human(directory).fingerprint != human(directory, seed=1).fingerprint


def test_a_changed_file_is_read_anew(write: Write) -> None:
    first = human(write([entry()], None, {}))
    second = human(write([entry(), entry("B0OTHER000")], None, {}))
    assert (len(first.catalogue), len(second.catalogue)) == (1, 2)


def test_goals_are_loaded_by_name(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write([entry()], None, {"B0TABLE000": [told()]})
    monkeypatch.setenv("AGENTENV_CACHE", str(directory / "cache"))
    assert load(f"webshop-human:{directory}").name == "webshop-human"
    assert load(f"webshop-synthetic:{directory}").name == "webshop-synthetic"
    with pytest.raises(ConfigurationError, match="no difficulties"):
        load(f"webshop-human:{directory}", difficulty="hard")


def test_missing_files_are_named(tmp_path: Path, write: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"items_shuffle_1000\.json"):
        WebShopFiles.find(tmp_path)
    with pytest.raises(ConfigurationError, match=r"items_human_ins\.json"):
        human(write([entry()]))
    with pytest.raises(ConfigurationError, match="'robot'"):
        open_store(WebShopFiles.find(tmp_path), kind="robot")


# -- broken files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": None}, "name"),
        ({"asin": 5}, "asin"),
        ({"query": ["x"]}, "query"),
        ({"pricing": "12.99"}, "pricing"),
        ({"pricing": "$1.2.3"}, "pricing"),
        ({"pricing": "$1$"}, "pricing"),
        ({"small_description": [1]}, "small_description"),
        ({"customization_options": ["x"]}, "customization_options"),
        ({"customization_options": {"Size": "x"}}, "Size"),
        ({"customization_options": {"Size": [{"price": 1}]}}, "value"),
    ],
)
def test_a_broken_product_is_named_by_file_entry_character_and_key(write: Write, change: Any, key: str) -> None:
    rows = [entry(), {**entry("B0OTHER000"), **change}]
    at = len(json.dumps(rows[0])) + 3
    with pytest.raises(DataFileError, match=rf"items_shuffle\.json, entry 1 \(character {at}\).*key '{key}'"):
        human(write(rows, None, {}))


def test_broken_side_files_are_named(write: Write) -> None:
    table = "B0TABLE000"
    with pytest.raises(
        DataFileError, match=r"items_ins_v2\.json, entry 'B0TABLE000' \(character 1\), key 'attributes'"
    ):
        human(write([entry()], {table: {"attributes": "oak"}}, {}))
    with pytest.raises(DataFileError, match=r"items_human_ins\.json, entry 'B0TABLE000'.*, 1, key 'instruction'"):
        human(write([entry()], {}, {table: [told(), told(instruction=None)]}))  # type: ignore[arg-type]
    review = {"asin": table, "reviews": [{"title": "x", "stars": "many"}]}
    with pytest.raises(DataFileError, match=r"reviews\.json, entry 0 .*entry 0, key 'stars'"):
        human(write([entry()], {}, {}, [review]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected '\\[', got the end of the file"),
        ("{}", "character 0: expected '\\['"),
        ("[{}, 5]", "entry 1 \\(character 5\\): must be an object, got int"),
        ("[{} {}]", "character 4: expected ',', got '{'"),
        ("[{}] x", "character 5: text follows the end"),
        ("[{},]", "character 4"),
        ('[{"a": tru}]', "character 7.*began at 1"),
        ('[{"a": 1}, {"b": ', "character 17.*began at 11"),
        ("[{}", "character 3: expected ',', got the end"),
        ('[{"a": ' + "[" * 100_000, "cannot be decoded"),
        ('[{"a": ' + "9" * 5_000 + "}]", "cannot be decoded"),
    ],
)
def test_broken_json_is_named_by_its_character(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "file.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=f"file.json, .*{message}"), JsonStream(tmp_path / "file.json") as stream:
        list(stream.items())


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(b'[{"a": "\xff"}]')
    with pytest.raises(DataFileError, match="not UTF-8"), JsonStream(tmp_path / "file.json") as stream:
        list(stream.items())


# -- streaming ------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\', max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.dictionaries(st.text('ab"\\é', max_size=3), VALUES, max_size=3), max_size=5),
    st.integers(1, 9),
    st.booleans(),
)
def test_any_array_is_read_as_the_standard_library_reads_it_whatever_the_buffer(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], chunk: int, spread: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(rows, ensure_ascii=spread, indent=2 if spread else None), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, JsonStream(path) as stream:
        patch.setattr(json_stream, "_CHUNK", chunk)
        assert [record.values for record in stream.items()] == rows
    path.write_text(json.dumps({str(at): row for at, row in enumerate(rows)}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, JsonStream(path) as stream:
        patch.setattr(json_stream, "_CHUNK", chunk)
        assert [record.values for _, record in stream.pairs()] == rows


def test_a_large_file_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [entry(f"B0{number:08d}") for number in range(500)]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(json_stream, "_CHUNK", 4096)
    largest = 0
    with JsonStream(path) as stream:
        for number, record in enumerate(stream.items()):
            assert record.values["asin"] == rows[number]["asin"]
            largest = max(largest, len(stream._buffer))
    assert largest < 10_000 < path.stat().st_size / 30


def test_an_element_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_MOST_CHARACTERS", 10_000)
    monkeypatch.setattr(json_stream, "_CHUNK", 1_000)
    path = tmp_path / "endless.json"
    path.write_text('[{"a": "' + "x" * 1_000_000, encoding="utf-8")
    with JsonStream(path) as stream:
        with pytest.raises(DataFileError, match="Unterminated string"):
            list(stream.items())
        assert len(stream._buffer) < 50_000
