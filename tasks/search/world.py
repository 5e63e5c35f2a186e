"""A generated encyclopaedia: entities, what is true of them, and the documents that tell it.

Invariant: what a block states is decided by (seed, size, block) alone, and a relation without an object is stated by
no document. A world is made of independent blocks of at most `BLOCK_SIZE` documents that share no name, so that a
world of any size streams in the memory of one block.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from agentenv.errors import ConfigurationError
from agentenv.tasks.search.base import Document

__all__ = ["BLOCK_SIZE", "KINDS", "RELATIONS", "Block", "Entity", "Term", "World", "documents", "make_world"]

VERSION = 1
BLOCK_SIZE = 2000
_SMALLEST = 100
_KEPT_BLOCKS = 8

KINDS = ("region", "town", "person", "company", "novel", "film", "series", "event")

# Subject's kind and object's kind of each relation; every one is a function: a subject has one object or none.
RELATIONS: dict[str, tuple[str, str]] = {
    "capital": ("region", "town"),
    "region": ("town", "region"),
    "town_year": ("town", "year"),
    "river": ("town", "text"),
    "born_in": ("person", "town"),
    "born_year": ("person", "year"),
    "employer": ("person", "company"),
    "mentor": ("person", "person"),
    "founder": ("company", "person"),
    "company_year": ("company", "year"),
    "seat": ("company", "town"),
    "author": ("novel", "person"),
    "novel_year": ("novel", "year"),
    "publisher": ("novel", "company"),
    "director": ("film", "person"),
    "film_year": ("film", "year"),
    "studio": ("film", "company"),
    "source": ("film", "novel"),
    "lead": ("film", "person"),
    "venue": ("event", "town"),
    "event_year": ("event", "year"),
    "chair": ("event", "person"),
}


@dataclass(frozen=True)
class Entity:
    """Something that has a page.

    Args:
        index: Its place in `Block.entities`.
        kind: One of `KINDS`.
        name: Unique in the world; also the page's title. Documents name an entity by this or an alias.
        bare: The name without what tells it from its namesakes ("Ada Barabby" of "Ada Barabby (painter)").
        aliases: Other names, each unique in its block.
        role: Profession of a person, trade of a company.
    """

    index: int
    kind: str
    name: str
    bare: str
    aliases: tuple[str, ...] = ()
    role: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, the unique one first."""
        return tuple(dict.fromkeys((self.name, self.bare, *self.aliases)))


@dataclass(frozen=True)
class Term:
    """Who headed a company from a year to a year, both included."""

    person: int
    first: int
    last: int


@dataclass
class Block:
    """One block's relation graph. Entities are named by their index.

    Attributes:
        entities: All that have a page.
        facts: By relation and subject the object: an entity's index, a year, or a text.
        lists: By entity what its page lists, complete: a person's works, a company's people, a series' events.
        heads: By company its heads, oldest first, without gaps.
        documents: Every page, in corpus order.
        pages: By entity the id of its page.
    """

    number: int
    entities: list[Entity] = field(default_factory=list)
    facts: dict[str, dict[int, Any]] = field(default_factory=lambda: {name: {} for name in RELATIONS})
    lists: dict[int, tuple[int, ...]] = field(default_factory=dict)
    heads: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    pages: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> list[Entity]:
        """The entities of a kind; for finished blocks."""
        return self._by_kind[kind]

    def page(self, entity: int) -> Document:
        """The page of an entity; for finished blocks."""
        return self._by_id[self.pages[entity]]

    def follow(self, subject: int, relations: Sequence[str]) -> Any:
        """What relations lead to from a subject, one after the other; None where one is not known."""
        value: Any = subject
        for relation in relations:
            value = self.facts[relation].get(value)
            if value is None:
                return None
        return value

    def leading_to(self, relation: str, value: Any) -> list[int]:
        """The subjects of which a relation's object is the value; for finished blocks."""
        if relation not in self._inverse:
            inverse = self._inverse[relation] = {}
            for subject, found in self.facts[relation].items():
                inverse.setdefault(found, []).append(subject)
        return self._inverse[relation].get(value, [])

    @cached_property
    def shares(self) -> list[int]:
        """By entity, which tenth of the world's entities it belongs to, by its name; for finished blocks."""
        digests = (hashlib.sha256(entity.name.encode()).digest() for entity in self.entities)
        return [int.from_bytes(digest[:8], "big") % 10 for digest in digests]

    @cached_property
    def _inverse(self) -> dict[str, dict[Any, list[int]]]:
        return {}

    @cached_property
    def _by_id(self) -> dict[str, Document]:
        return {document.id: document for document in self.documents}

    @cached_property
    def _by_kind(self) -> dict[str, list[Entity]]:
        return {kind: [entity for entity in self.entities if entity.kind == kind] for kind in KINDS}


class World:
    """The blocks of an encyclopaedia, made when they are asked for.

    Args:
        seed: Any integer.
        size: Documents in all; at least 100.

    Raises:
        ConfigurationError: If the size is too small.

    >>> world = World(0, 300)
    >>> len(list(world.documents()))
    300
    """

    def __init__(self, seed: int, size: int) -> None:
        if size < _SMALLEST:
            raise ConfigurationError(f"a world has at least {_SMALLEST} documents, got size={size}")
        self.seed = seed
        self.size = size
        self.blocks = -(-size // BLOCK_SIZE)
        self.block = lru_cache(maxsize=_KEPT_BLOCKS)(self._make)

    def documents(self) -> Iterator[Document]:
        """Every page of the corpus, one block at a time."""
        for number in range(self.blocks):
            yield from self._make(number).documents

    def _make(self, number: int) -> Block:
        # Both are made of this module's classes.
        from agentenv.tasks.search.building import build_block
        from agentenv.tasks.search.prose import write

        even, more = divmod(self.size, self.blocks)
        key = f"world {VERSION} {self.seed} {self.size} {number}"
        rng = random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))
        block = build_block(number, even + (number < more), rng)
        write(block, first_id=number * even + min(number, more), total=even + (number < more), rng=rng)
        return block


def make_world(seed: int = 0, size: int = 2000) -> World:
    """The world of a seed and a number of documents, the same in every process."""
    return World(seed, size)


def documents(seed: int = 0, size: int = 2000) -> Iterator[Document]:
    """The world's corpus as a stream, in the memory of one block.

    >>> next(documents(0, 100)).id
    'd0'
    """
    return World(seed, size).documents()
