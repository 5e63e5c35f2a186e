"""The original data files, streamed into a store. Invariant: the same files and seed give the same products and goals.

Load rules are the original's. What it draws without a seed (prices within a range, price limits of goals) is drawn
here from the product's asin, so that nothing depends on the process or on what was read before.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError
from agentenv.task import stable_rng
from agentenv.tasks.webshop.base import Product
from agentenv.tasks.webshop.json_stream import JsonStream, Record
from agentenv.tasks.webshop.store import GoalRow, ProductStore, StoreWriter

__all__ = ["KINDS", "WebShopFiles", "open_store", "read_product"]

KINDS = ("human", "synthetic")
"""Kinds of goals: people's instructions, or the products' own with every combination of options."""

_VERSION = 1
_LONGEST_ASIN = 10
_NO_PRICE = 100.0
_NAMES = {
    "products": ("items_shuffle.json", "items_shuffle_1000.json"),
    "attributes": ("items_ins_v2.json", "items_ins_v2_1000.json"),
    "instructions": ("items_human_ins.json",),
    "reviews": ("reviews.json",),
}
_NOT_IN_A_PRICE = re.compile(r"[^\d.]", re.ASCII)
_NO_ATTRIBUTES = ("DUMMY_ATTR",)


@dataclass(frozen=True)
class WebShopFiles:
    """Where the original data files lie.

    Args:
        products: `items_shuffle.json`.
        attributes: `items_ins_v2.json`.
        instructions: `items_human_ins.json`; needed for human goals.
        reviews: `reviews.json`, if there is one.
    """

    products: Path
    attributes: Path
    instructions: Path | None = None
    reviews: Path | None = None

    @classmethod
    def find(cls, directory: str | Path) -> WebShopFiles:
        """The files of a directory, under their original names; the full ones before those of 1,000 products.

        Raises:
            ConfigurationError: If products or attributes are missing.
        """
        found = {
            role: next((path for name in names if (path := Path(directory) / name).is_file()), None)
            for role, names in _NAMES.items()
        }
        for role in ("products", "attributes"):
            if found[role] is None:
                raise ConfigurationError(f"directory {str(directory)!r} holds no {' or '.join(_NAMES[role])}")
        return cls(**found)  # type: ignore[arg-type]

    @property
    def key(self) -> str:
        """Tells versions of the files apart, by place, size and time."""
        paths = [getattr(self, field.name) for field in fields(self)]
        stats = [(str(path.resolve()), path.stat()) for path in paths if path is not None]
        return json.dumps([[name, stat.st_size, stat.st_mtime_ns, stat.st_ino] for name, stat in stats])


def open_store(
    files: WebShopFiles,
    *,
    kind: str = "human",
    num_products: int | None = None,
    seed: int = 0,
    cache: str | Path | None = None,
) -> ProductStore:
    """The store of data files with their goals, made if this machine has not made it before.

    Args:
        files: The data files.
        kind: One of `KINDS`.
        num_products: Only so many products, the first ones; None reads all.
        seed: Decides prices within ranges.
        cache: Where stores are kept; see `agentenv.tasks.search.storage.cache_root`.

    Raises:
        ConfigurationError: On an argument that cannot be used.
        DataFileError: Where a file breaks its format; names the file, the entry, the character and the key.
    """
    if kind not in KINDS:
        raise ConfigurationError(f"goals of kind {kind!r} are not known; known: {', '.join(KINDS)}")
    if kind == "human" and files.instructions is None:
        raise ConfigurationError(f"human goals need {_NAMES['instructions'][0]} beside {files.products}")
    if num_products is not None and num_products < 1:
        raise ConfigurationError(f"num_products must be at least 1, got {num_products}")
    key = f"files {_VERSION} {kind} {num_products} {seed} {files.key}"
    return ProductStore.open(key, lambda writer: _fill(writer, files, kind, num_products, seed), cache=cache)


def read_product(
    record: Record, attributes: Sequence[str], reviews: Sequence[tuple[str, str, float]] = (), *, seed: int = 0
) -> Product | None:
    """The product of an entry of the product file; None for one that the original leaves out.

    >>> entry = {"asin": "B0TEST", "name": "Mug", "category": "garden", "query": " Mugs ", "pricing": "$9.50"}
    >>> mug = read_product(Record("here", entry), ["dishwasher safe"])
    >>> mug.query, mug.price
    ('mugs', 9.5)
    """
    asin = record.text("asin")
    if asin == "nan" or len(asin) > _LONGEST_ASIN:
        return None
    prices = _prices(record)
    low, high = prices[0], prices[-1]
    # Python's own `uniform` accepts ends in either order, and so did the original.
    price = low if low == high else low + (high - low) * float(stable_rng("webshop price", seed, asin).random())
    options, option_prices = _options(record, price)
    bullets = record.values.get("small_description")
    images = record.values.get("images")
    return Product(
        asin=asin,
        title=record.text("name"),
        description=record.text("full_description", ""),
        bullets=(bullets,) if isinstance(bullets, str) else tuple(record.texts("small_description")),
        category=record.text("category"),
        product_category=record.text("product_category", ""),
        query=record.text("query").lower().strip(),
        attributes=tuple(attributes),
        prices=prices,
        price=price,
        options=options,
        option_prices=option_prices,
        image=images[0] if isinstance(images, list) and images and isinstance(images[0], str) else "",
        reviews=tuple(reviews),
    )


def _prices(record: Record) -> tuple[float, ...]:
    pricing = record.text("pricing", "")
    if not pricing:
        return (_NO_PRICE,)
    prices = [_number(_NOT_IN_A_PRICE.sub("", piece)) for piece in pricing.split("$")[1:]][:2]
    if not prices or None in prices:
        raise record.fault("pricing", 'must be "", "$1.50" or "$1.50$2.50"', pricing)
    return tuple(price for price in prices if price is not None)


def _options(record: Record, product_price: float) -> tuple[dict[str, tuple[str, ...]], dict[tuple[str, str], float]]:
    groups = record.values.get("customization_options") or {}
    if not isinstance(groups, dict):
        raise record.fault("customization_options", 'must be "" or an object', groups)
    inside = Record(f"{record.where}, key 'customization_options'", groups)
    options: dict[str, tuple[str, ...]] = {}
    prices: dict[tuple[str, str], float] = {}
    for name in groups:
        if groups[name] is None:
            continue
        entries = inside.records(name)
        values = [entry.text("value").strip().replace("/", " | ").lower() for entry in entries]
        options[name.lower()] = tuple(values)
        for entry, value in zip(entries, values, strict=True):
            price = _entry_price(entry)
            if price is not None and price != product_price:
                prices[name.lower(), value] = price
    return options, prices


def _entry_price(entry: Record) -> float | None:
    price, text = entry.values.get("price"), entry.values.get("price_string")
    if isinstance(price, int | float) and not isinstance(price, bool) and 0 < price < math.inf:
        return float(price)
    found = _number(_NOT_IN_A_PRICE.sub("", text)) if isinstance(text, str) and text.count("$") == 1 else None
    return found or None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class _Kept:
    """JSON values by asin, on disk while a store is made: the side files do not fit into memory together."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection, self._table = connection, table
        connection.execute(f"CREATE TABLE {table} (asin BLOB PRIMARY KEY, body TEXT) WITHOUT ROWID")

    def fill(self, rows: Iterable[tuple[str, Any]]) -> None:
        encoded = ((_key(asin), json.dumps(value)) for asin, value in rows)
        self._connection.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", encoded)

    def get(self, asin: str, default: Any) -> Any:
        found = self._connection.execute(f"SELECT body FROM {self._table} WHERE asin = ?", (_key(asin),)).fetchone()
        return default if found is None else json.loads(found[0])


def _key(asin: str) -> bytes:
    # A file may hold lone surrogates, which SQLite takes for no text.
    return asin.encode("utf-8", "surrogatepass")


def _fill(writer: StoreWriter, files: WebShopFiles, kind: str, num_products: int | None, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "kept.sqlite")) as connection:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        known, told, reviews = (_Kept(connection, name) for name in ("known", "told", "reviews"))
        _keep_attributes(files.attributes, known, told if kind == "synthetic" else None)
        if kind == "human" and files.instructions is not None:
            _keep_instructions(files.instructions, told)
        if files.reviews is not None:
            _keep_reviews(files.reviews, reviews)
        with JsonStream(files.products) as stream:
            for number, record in enumerate(stream.items()):
                if number == num_products:
                    break
                asin = record.text("asin")
                product = read_product(record, known.get(asin, _NO_ATTRIBUTES), reviews.get(asin, ()), seed=seed)
                if product is not None and writer.add(product):
                    _add_goals(writer, product, told.get(asin, []))


def _keep_attributes(path: Path, known: _Kept, told: _Kept | None) -> None:
    with JsonStream(path) as stream:
        for asin, record in stream.pairs():
            if "attributes" in record.values:
                known.fill([(asin, record.texts("attributes"))])
            wanted = record.texts("instruction_attributes")
            if told is not None and wanted and record.values.get("instruction") is not None:
                told.fill([(asin, [{"instruction": record.text("instruction"), "attributes": wanted}])])


def _keep_instructions(path: Path, told: _Kept) -> None:
    with JsonStream(path) as stream:
        for asin, records in stream.lists():
            wanted = [
                {
                    "instruction": record.text("instruction").strip("."),
                    "attributes": record.texts("instruction_attributes"),
                    "options": record.texts("instruction_options"),
                }
                for record in records
            ]
            told.fill([(asin, [goal for goal in wanted if goal["attributes"]])])


def _keep_reviews(path: Path, reviews: _Kept) -> None:
    with JsonStream(path) as stream:
        for record in stream.items():
            kept = [
                (entry.text("title", ""), _review_text(entry), _stars(entry)) for entry in record.records("reviews")
            ]
            reviews.fill([(record.text("asin"), kept)])


def _review_text(entry: Record) -> str:
    return entry.text("body", "") or entry.text("review", "")


def _stars(entry: Record) -> float:
    value = entry.values.get("score", entry.values.get("stars"))
    found = _number(str(value))
    if found is None:
        raise entry.fault("stars", "must be a number", value)
    return found


def _add_goals(writer: StoreWriter, product: Product, told: Sequence[Mapping[str, Any]]) -> None:
    for number, goal in enumerate(told):
        row: GoalRow = {"asin": product.asin, "number": number, **goal}
        # A goal without listed options is synthetic: one for every combination.
        count = 1 if "options" in goal else math.prod(len(values) for values in product.options.values())
        writer.add_goal(row, count)
