"""The encyclopaedia's pages: what a block knows, said in several ways, among pages that only look helpful.

Invariant: a page states facts of its own entity only, and no page (a misleading one neither) contradicts the graph or
answers what the graph leaves open. Every page has fewer than `MOST_WORDS` words.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from agentenv.tasks.search.base import Document
from agentenv.tasks.search.names import words
from agentenv.tasks.search.world import RELATIONS, Block, Entity

__all__ = ["MOST_WORDS", "write"]

MOST_WORDS = 80
_ALIAS_SHARE = 0.1

_STATEMENTS: dict[str, tuple[str, ...]] = {
    "capital": ("Its capital is {o}.", "The region is governed from its capital, {o}.", "{o} is the capital."),
    "region": ("It lies in {o}.", "The town belongs to the region of {o}.", "It is one of the towns of {o}."),
    "town_year": (
        "It was founded in {o}.",
        "The oldest charter dates it to {o}.",
        "Settlers founded it in {o}.",
    ),
    "river": (
        "It stands on the river {o}.",
        "The {o} river runs through it.",
        "The town lies on the banks of the {o}.",
    ),
    "born_in": ("{s} was born in {o}.", "{o} was the birthplace of {s}.", "{s} was a native of {o}."),
    "born_year": ("{s} was born in the year {o}.", "The year of birth is {o}.", "Born in {o}, {s} began work early."),
    "employer": ("{s} works for {o}.", "{s} is employed at {o}.", "{s} has a post at {o}."),
    "mentor": ("{s} studied under {o}.", "{s} was a student of {o}.", "The teacher of {s} was {o}."),
    "founder": ("It was founded by {o}.", "{o} founded {s}.", "Its founder was {o}."),
    "company_year": (
        "It was established in {o}.",
        "Its founding year is {o}.",
        "{s} opened for business in {o}.",
    ),
    "seat": ("Its head office is in {o}.", "{s} is based in {o}.", "It has its headquarters in {o}."),
    "author": ("It was written by {o}.", "Its author is {o}.", "{o} wrote {s}."),
    "novel_year": ("It was first published in {o}.", "The first edition is of {o}.", "The novel appeared in {o}."),
    "publisher": ("{o} published {s}.", "It was brought out by {o}.", "The publisher was {o}."),
    "director": ("It was directed by {o}.", "{o} directed {s}.", "The director was {o}."),
    "film_year": ("It was released in {o}.", "The film came out in {o}.", "Its release was in {o}."),
    "studio": ("It was produced by {o}.", "{o} made {s}.", "The studio behind it was {o}."),
    "source": ("It is based on {o}.", "Its story comes from {o}.", "It adapts {o}."),
    "lead": ("The leading role was played by {o}.", "{o} played the lead.", "It starred {o} in the main part."),
    "venue": ("It was held in {o}.", "{o} was the host town.", "{s} took place in {o}."),
    "event_year": ("It was held in the year {o}.", "Its date is {o}.", "The year of the meeting was {o}."),
    "chair": ("It was chaired by {o}.", "{o} chaired {s}.", "The chair was {o}."),
}

_OPENINGS: dict[str, tuple[str, ...]] = {
    "region": ("{n} is a region.", "{n} is a region known for its {thing}."),
    "town": ("{n}{called} is a town.", "{n}{called} is a town known for its {thing}.", "{n}{called} is a small town."),
    "person": (
        "{n}{called} was {a_role}.",
        "{n}{called} was {a_role} who collected {thing}.",
        "{n}{called}: {role}.",
    ),
    "film studio": ("{n}{called} is a film studio.", "{n}{called} is a company that makes films."),
    "publisher": ("{n}{called} is a publishing house.", "{n}{called} is a company that publishes books."),
    "maker": ("{n}{called} is a manufacturing company.", "{n}{called} is a company that also makes {thing}."),
    "novel": ("{n} is a novel.", "{n} is a novel about {thing}.", "The novel {n} has a slow start."),
    "film": ("{n} is a film.", "{n} is a film about {thing}.", "The film {n} was praised for its music."),
    "series": ("{n} is a series of meetings.", "{n} is a gathering held from time to time."),
    "event": ("{n} was a public event.", "{n} drew many visitors.", "{n} was remembered for its {thing}."),
}
_CALLED = (", also known as {a},", ", called {a},", " (or {a})")
_FORMERLY = (", formerly {a},", ", once called {a},", " (until lately {a})")
_THINGS = words("apples bells boats cheese clocks cloth honey kites lamps maps markets mushrooms pottery puppets rope")
_LISTS: dict[str, tuple[str, ...]] = {
    "film director": ("Films: {list}.", "The films of {s} are {list}.", "Works as director: {list}."),
    "novelist": ("Novels: {list}.", "The novels of {s} are {list}.", "Published novels: {list}."),
    "company": ("The people of {s} are {list}.", "Staff: {list}.", "On the payroll: {list}."),
    "series": ("Its meetings were the {list}.", "Held so far: {list}.", "The meetings: {list}."),
}
_HEADS = ("Its heads were {list}.", "{s} was headed by {list}.", "Heads of the company: {list}.")


def write(block: Block, first_id: int, total: int, rng: random.Random) -> None:
    """Fills `block.documents` and `block.pages`: a page for each entity, the rest misleading ones, in random order.

    Args:
        block: A finished relation graph.
        first_id: The number of the block's first document.
        total: Documents in all.
        rng: The block's generator.
    """
    pages = [(entity.name, _page(block, entity, rng)) for entity in block.entities]
    titles = {title for title, _ in pages}
    while len(pages) < total:
        title, text = rng.choice(_NOTES)(block, rng)
        if title not in titles:
            titles.add(title)
            pages.append((title, text))
    order = list(range(total))
    rng.shuffle(order)
    place = {page: number for number, page in enumerate(order)}
    block.pages = tuple(f"d{first_id + place[entity.index]}" for entity in block.entities)
    block.documents = tuple(Document(f"d{first_id + number}", *pages[page]) for number, page in enumerate(order))


def _page(block: Block, entity: Entity, rng: random.Random) -> str:
    opening = rng.choice(_OPENINGS[entity.role if entity.kind == "company" else entity.kind])
    called = ""
    if entity.aliases:
        called = rng.choice(_FORMERLY if entity.kind == "town" else _CALLED).format(a=entity.aliases[0])
    a_role = f"an {entity.role}" if entity.role[:1] in ("a", "e") else f"a {entity.role}"
    first = opening.format(n=entity.bare, called=called, role=entity.role, a_role=a_role, thing=rng.choice(_THINGS))
    rest = [
        rng.choice(_STATEMENTS[relation]).format(s=_subject(entity, rng), o=_object(block, relation, value, rng))
        for relation, (kind, _) in RELATIONS.items()
        if kind == entity.kind and (value := block.facts[relation].get(entity.index)) is not None
    ]
    if entity.index in block.heads:
        terms = [f"{block.entities[t.person].name}, {t.first} to {t.last}" for t in block.heads[entity.index]]
        rest.append(rng.choice(_HEADS).format(s=_subject(entity, rng), list="; ".join(terms)))
    if entity.index in block.lists:
        members = [block.entities[member].name for member in block.lists[entity.index]]
        ways = _LISTS[entity.role if entity.kind == "person" else entity.kind]
        rest.append(rng.choice(ways).format(s=_subject(entity, rng), list="; ".join(members)))
    rng.shuffle(rest)
    return " ".join([first, *(line[0].upper() + line[1:] for line in rest)])


def _subject(entity: Entity, rng: random.Random) -> str:
    if entity.kind == "person":
        return entity.bare if rng.random() < 0.3 else _family_of(entity)
    return entity.bare


def _object(block: Block, relation: str, value: int | str, rng: random.Random) -> str:
    kind = RELATIONS[relation][1]
    if kind in ("year", "text"):
        return str(value)
    entity = block.entities[int(value)]
    name = entity.name
    if entity.aliases and rng.random() < _ALIAS_SHARE:
        name = rng.choice(entity.aliases)
    return name


# Misleading pages: each names an entity beside a place, a year or a work that is no fact of it.


def _street(block: Block, rng: random.Random) -> tuple[str, str]:
    person, town = _some(block, "person", rng), _some(block, "town", rng)
    name = f"{_family_of(person)} Street"
    laid = f"{name} is a street in {town.name}, laid out in {rng.randint(1870, 1990)}."
    link = rng.choice(("had no tie to the town", "is not known to have come here"))
    return f"{name}, {town.name}", f"{laid} It is named after {person.name}, who {link}."


def _family(block: Block, rng: random.Random) -> tuple[str, str]:
    family = _family_of(_some(block, "person", rng))
    bearers = [person.name for person in block.of_kind("person") if _family_of(person) == family]
    rng.shuffle(bearers)
    text = f"{family} is a family name. People of this name, not all related: {'; '.join(bearers[:6])}."
    return f"{family} (family name)", f"{text} It is common around {_some(block, 'town', rng).name}."


def _poster(block: Block, rng: random.Random) -> tuple[str, str]:
    film, admirer, town = (_some(block, kind, rng) for kind in ("film", "person", "town"))
    text = f"The poster of {film.name} hangs in a museum in {town.name}."
    restored = f"It was restored in {rng.randint(1990, 2015)} by an admirer, {admirer.name}."
    return f"A poster in {town.name}", f"{text} {restored}"


def _reading(block: Block, rng: random.Random) -> tuple[str, str]:
    novel, reader, town = (_some(block, kind, rng) for kind in ("novel", "person", "town"))
    text = f"A public reading of {novel.name} was given by {reader.name} in {rng.randint(1960, 2015)}."
    return f"A reading by {reader.name}", f"{text} A second one followed in {town.name}."


def _warehouse(block: Block, rng: random.Random) -> tuple[str, str]:
    company, town = _some(block, "company", rng), _some(block, "town", rng)
    text = f"The old warehouse in {town.name} was let to {company.name} in {rng.randint(1930, 1990)}."
    return f"Old warehouse, {town.name}", f"{text} Only goods were kept there, and no office was."


def _some(block: Block, kind: str, rng: random.Random) -> Entity:
    return rng.choice(block.of_kind(kind))


def _family_of(person: Entity) -> str:
    return person.bare.split(" ", 1)[1]


_Note = Callable[[Block, random.Random], tuple[str, str]]
_NOTES: tuple[_Note, ...] = (_street, _family, _poster, _reading, _warehouse)
