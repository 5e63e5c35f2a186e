"""Products on disk with a search over them. Invariant: a store is written once, published whole, then only read.

SQLite holds the products as JSON, found by asin; the index beside it is the search environment's BM25. Neither is read
into memory, so that a store of a million products opens at once and processes share its pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.task import stable_rng
from agentenv.tasks.search.analysis import ANALYSIS
from agentenv.tasks.search.base import Document
from agentenv.tasks.search.corpus import DocumentCorpus
from agentenv.tasks.search.index import Bm25Retriever
from agentenv.tasks.search.storage import cache_root, made_once
from agentenv.tasks.webshop.base import Product

__all__ = ["GoalRow", "ProductStore", "StoreWriter", "contents", "product_from_json", "product_to_json"]

_FORMAT = 1
_FILE = "products.sqlite"
_ORDER = "goal_order.npy"
_CACHE_KIB = 4096
_MOST_GOALS = 100_000_000
# The original's: goals of data files are counted in the order that it shuffles them into.
_SHUFFLE_SEED = 233
_SCHEMA = """
CREATE TABLE products (position INTEGER PRIMARY KEY, asin TEXT UNIQUE, category TEXT, query TEXT, body TEXT);
CREATE TABLE attributes (attribute TEXT, position INTEGER);
CREATE TABLE goals (first INTEGER PRIMARY KEY, count INTEGER, body TEXT);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
"""
_INDICES = """
CREATE INDEX by_attribute ON attributes (attribute, position);
CREATE INDEX by_category ON products (category, position);
CREATE INDEX by_query ON products (query, position);
"""
_BY_KEYWORD = {
    "<a>": "SELECT asin FROM attributes JOIN products USING (position) WHERE attribute = ? ORDER BY position LIMIT ?",
    "<c>": "SELECT asin FROM products WHERE category = ? ORDER BY position LIMIT ?",
    "<q>": "SELECT asin FROM products WHERE query = ? ORDER BY position LIMIT ?",
}

GoalRow = Mapping[str, Any]
"""A goal of a data file, as JSON values; `count` consecutive goals may share a row."""


class StoreWriter:
    """Fills a store. The first product of an asin is kept, and later ones are not."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._digest = hashlib.sha256(f"store {_FORMAT}\n".encode())
        self.products = 0
        self.goals = 0

    def add(self, product: Product) -> bool:
        """Adds a product at the end; whether it was the first of its asin."""
        body = json.dumps(product_to_json(product), ensure_ascii=False)
        row = (self.products, *map(_storable, (product.asin, product.category, product.query, body)))
        cursor = self._connection.execute("INSERT OR IGNORE INTO products VALUES (?, ?, ?, ?, ?)", row)
        if cursor.rowcount == 0:
            return False
        attributes = ((_storable(attribute), self.products) for attribute in dict.fromkeys(product.attributes))
        self._connection.executemany("INSERT INTO attributes VALUES (?, ?)", attributes)
        self._update(body)
        self.products += 1
        return True

    def add_goal(self, row: GoalRow, count: int = 1) -> None:
        """Adds `count` goals that a row tells."""
        if 0 < count <= _MOST_GOALS:
            body = json.dumps(row, ensure_ascii=False)
            self._connection.execute("INSERT INTO goals VALUES (?, ?, ?)", (self.goals, count, _storable(body)))
            self._update(f"{count} {body}")
            self.goals += count
        if max(count, self.goals) > _MOST_GOALS:
            raise ConfigurationError(f"the files tell of over {_MOST_GOALS} goals: read fewer products (num_products)")

    def finish(self) -> None:
        """Writes what opening needs."""
        facts = {"fingerprint": self._digest.hexdigest(), "products": self.products, "goals": self.goals}
        self._connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        self._connection.executescript(_INDICES)
        self._connection.commit()

    def _update(self, text: str) -> None:
        self._digest.update(text.encode("utf-8", "surrogatepass"))
        self._digest.update(b"\n")


class ProductStore:
    """A catalogue of any size. Made by `open`; safe to use in threads, after a fork, and to pickle.

    Args:
        folder: What `open` made.
        cache: Where the index is kept, if not in the usual cache.

    >>> import tempfile
    >>> from agentenv.tasks.webshop.catalogue import GeneratedCatalogue
    >>> def fill(writer):
    ...     for product in GeneratedCatalogue(size=40):
    ...         _ = writer.add(product)
    >>> store = ProductStore.open("example", fill, cache=tempfile.mkdtemp())
    >>> len(store), store.product(store.search("face serum", 3)[0]).query
    (40, 'face serum')
    """

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        self._folder = folder
        self._cache = cache
        self._local = threading.local()

    @classmethod
    def open(cls, key: str, fill: Callable[[StoreWriter], object], *, cache: str | Path | None = None) -> ProductStore:
        """Opens the store of a key, made first if this machine has not made it before.

        Args:
            key: Tells everything that decides the products.
            fill: Adds the products to a writer; called at most once.
            cache: Where stores and their indexes are kept; see `agentenv.tasks.search.storage.cache_root`.

        Raises:
            InfrastructureError: If the store cannot be written or read.
        """
        root = cache_root() if cache is None else Path(cache)
        name = hashlib.sha256(f"{_FORMAT} {key}".encode()).hexdigest()[:32]
        folder = made_once(root / "webshop" / name, lambda unfinished: _write(unfinished, fill))
        return cls(folder, None if cache is None else root)

    def __len__(self) -> int:
        return int(self._fact("products"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all products, in order, goals, and the analysis of searches."""
        return hashlib.sha256(f"{self._fact('fingerprint')} {ANALYSIS}".encode()).hexdigest()

    @property
    def goals(self) -> int:
        """How many goals lie in the store (those of data files do)."""
        return int(self._fact("goals"))

    def goal_row(self, number: int) -> tuple[GoalRow, int]:
        """The row that holds a goal, in file order, and which of the row's goals it is."""
        found = self._one("SELECT first, body FROM goals WHERE first <= ? ORDER BY first DESC LIMIT 1", number)
        if found is None or not 0 <= number < self.goals:
            raise InfrastructureError(f"{self._folder} holds {self.goals} goals, and so none of number {number}")
        return json.loads(_text(found[1])), number - found[0]

    @cached_property
    def goal_order(self) -> np.ndarray:
        """The goals' numbers in the order in which benchmarks count them."""
        order: np.ndarray = np.load(self._folder / _ORDER, mmap_mode="r")
        return order

    def product(self, asin: str) -> Product | None:
        """The product of an asin; None if there is none."""
        found = self._one("SELECT body FROM products WHERE asin = ?", _storable(asin))
        return None if found is None else product_from_json(json.loads(_text(found[0])))

    def products(self) -> Iterator[Product]:
        """All products, in order."""
        for (body,) in self._rows("SELECT body FROM products ORDER BY position"):
            yield product_from_json(json.loads(_text(body)))

    def search(self, keywords: str, limit: int = 50) -> list[str]:
        """Asins of the products that match best, best first.

        As in the original, a first keyword `<r>` gives random products (the same ones for the same text), `<a>` those
        with an attribute, `<c>` those of a category, `<q>` those of a query.
        """
        first, _, rest = keywords.partition(" ")
        if first == "<r>":
            count = min(limit, len(self))
            places = stable_rng("webshop <r>", self.fingerprint, rest).choice(len(self), size=count, replace=False)
            return [self._asin(int(place)) for place in places]
        if first in _BY_KEYWORD:
            wanted = _storable(rest.strip())
            return [_text(asin) for (asin,) in self._rows(_BY_KEYWORD[first], wanted, limit)]
        return [hit.document.id for hit in self.index.search([keywords.lower()], limit)[0]]

    @cached_property
    def index(self) -> Bm25Retriever:
        """The search index, made at first use."""
        documents = DocumentCorpus(
            lambda: (Document(product.asin, "", contents(product)) for product in self.products()),
            fingerprint=f"webshop:{_FORMAT}:{self.fingerprint}",
        )
        return Bm25Retriever.open(documents, cache=self._cache)

    def _asin(self, position: int) -> str:
        found = self._one("SELECT asin FROM products WHERE position = ?", position)
        return "" if found is None else _text(found[0])

    def _fact(self, name: str) -> str:
        found = self._one("SELECT value FROM facts WHERE name = ?", name)
        if found is None:
            raise InfrastructureError(f"store {self._folder} is not whole; remove the directory")
        return str(found[0])

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        return next(self._rows(query, *values), None)

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection().execute(query, values)
        except sqlite3.Error as fault:
            raise InfrastructureError(f"store {self._folder} cannot be read ({fault}); remove the directory") from fault

    def _connection(self) -> sqlite3.Connection:
        # SQLite forbids a connection to be carried over a fork, or to another thread.
        if getattr(self._local, "process", None) != os.getpid():
            path = (self._folder / _FILE).resolve()
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._local.connection, self._local.process = connection, os.getpid()
        opened: sqlite3.Connection = self._local.connection
        return opened

    def __reduce__(self) -> tuple[Any, ...]:
        return ProductStore, (self._folder, self._cache)


def contents(product: Product) -> str:
    """What the search reads: title, description, first bullet and options, in lower case, as the original indexed."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    return " ".join([product.title, product.description, *product.bullets[:1], options]).lower()


def product_to_json(product: Product) -> dict[str, Any]:
    """A product as JSON values.

    >>> options, prices = {"size": ("small", "large")}, {("size", "large"): 12.0}
    >>> mug = Product("B1", "Mug", "", (), "garden", "", "mugs", (), (9.5,), 9.5, options, prices)
    >>> product_from_json(json.loads(json.dumps(product_to_json(mug)))) == mug
    True
    """
    values = {name: getattr(product, name) for name in Product.__dataclass_fields__}
    values["options"] = list(product.options.items())
    values["option_prices"] = [[*key, price] for key, price in product.option_prices.items()]
    return values


def product_from_json(values: Mapping[str, Any]) -> Product:
    """The inverse of `product_to_json`."""
    return Product(
        asin=values["asin"],
        title=values["title"],
        description=values["description"],
        bullets=tuple(values["bullets"]),
        category=values["category"],
        product_category=values["product_category"],
        query=values["query"],
        attributes=tuple(values["attributes"]),
        prices=tuple(values["prices"]),
        price=values["price"],
        options={name: tuple(entries) for name, entries in values["options"]},
        option_prices={(name, value): price for name, value, price in values["option_prices"]},
        image=values["image"],
        reviews=tuple((title, text, rating) for title, text, rating in values["reviews"]),
    )


def _write(folder: Path, fill: Callable[[StoreWriter], object]) -> None:
    connection = sqlite3.connect(folder / _FILE, isolation_level="DEFERRED")
    try:
        # A store that is not finished is thrown away: it needs no journal.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
        writer = StoreWriter(connection)
        fill(writer)
        writer.finish()
        order = array("I", range(writer.goals))
        random.Random(_SHUFFLE_SEED).shuffle(order)
        np.save(folder / _ORDER, np.frombuffer(order, dtype=np.uintc))
    except sqlite3.Error as fault:
        raise InfrastructureError(f"store {folder} cannot be written: {fault}") from fault
    finally:
        connection.close()


def _storable(text: str) -> str | bytes:
    """Text that SQLite takes; with lone surrogates in it, as bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(stored: str | bytes) -> str:
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored
