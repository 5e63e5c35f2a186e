"""Questions over what a page lists: `intersection` and `count`.

Invariant: lists are complete and closed (who is on no list is in no company), and exactly one member of a list fits an
intersection.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentenv.tasks.search import asking
from agentenv.tasks.search.drafts import Accept, Candidate, Draft, apart, entity_answers
from agentenv.tasks.search.world import Block, Entity

__all__ = ["Count", "Intersection"]

_MOST_COUNTED = 3
_PLACES = ("born_in", "venue")


@dataclass(frozen=True)
class _Listing:
    """Lists of one kind: whose, and how a condition on a member is said.

    Args:
        owner: The kind of the page.
        role: The role of the page's entity; empty for any.
        members: "the films by {owner}".
        conditions: By relation how "of which town" is said, `{x}` being the object.
        year: The relation of the members' year, and how before and after it are said, `{y}` being the year.
        routes: Relations that lead to an owner, one each.
    """

    owner: str
    role: str
    members: str
    conditions: dict[str, tuple[str, ...]]
    year: tuple[str, str]
    routes: tuple[str, ...]

    def owners(self, block: Block) -> Iterator[Entity]:
        for entity in block.of_kind(self.owner):
            if self.role in ("", entity.role) and len(block.lists.get(entity.index, ())) > 1:
                yield entity


_LISTINGS = (
    _Listing(
        owner="person",
        role="film director",
        members="of the films by {owner}",
        conditions={"studio": ("was produced by {x}", "was made by {x}")},
        year=("film_year", "came out {when} {y}"),
        routes=("mentor", "founder", "director", "chair"),
    ),
    _Listing(
        owner="person",
        role="novelist",
        members="of the novels by {owner}",
        conditions={"publisher": ("was published by {x}", "was brought out by {x}")},
        year=("novel_year", "appeared {when} {y}"),
        routes=("mentor", "founder", "author", "chair"),
    ),
    _Listing(
        owner="company",
        role="",
        members="of the people at {owner}",
        conditions={"born_in": ("was born in {x}", "is a native of {x}"), "mentor": ("studied under {x}",)},
        year=("born_year", "was born {when} {y}"),
        routes=("studio", "publisher", "employer"),
    ),
    _Listing(
        owner="series",
        role="",
        members="of the meetings of {owner}",
        conditions={"venue": ("was held in {x}", "took place in {x}"), "chair": ("was chaired by {x}",)},
        year=("event_year", "was held {when} {y}"),
        routes=(),
    ),
)


class Intersection:
    """ "Which of the people at X was born in Y?"

    Args:
        hops: 2: as above. 3: the list's owner is described, or the condition's place is given by its region.
    """

    def __init__(self, hops: int) -> None:
        self._hops = hops

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for number, listing in enumerate(_LISTINGS):
            for owner in listing.owners(block):
                starts: list[tuple[tuple[int, ...], str]]
                if self._hops == 2:
                    starts = [((owner.index,), "")] if accept(owner) else []
                else:
                    starts = _routes(block, listing, owner.index, accept)
                for path, route in starts:
                    for relation in listing.conditions:
                        for value, member in _lone(block, owner.index, (relation,)):
                            if apart(block, (*path, value, member)):
                                yield Candidate(self, f"{relation} {route}", (number, path, route, (relation,), value))
                if self._hops == 3 and accept(owner):
                    for relation in filter(_PLACES.__contains__, listing.conditions):
                        for value, _ in _lone(block, owner.index, (relation, "region")):
                            values = (number, (owner.index,), "", (relation, "region"), value)
                            yield Candidate(self, f"{relation} region", values)

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        number, path, route, relations, value = values
        listing = _LISTINGS[number]
        owner = path[-1]
        member = next(found for wanted, found in _lone(block, owner, relations) if wanted == value)
        said = asking.phrase(block, path[0], (route,) if route else (), rng)
        place = asking.name(block.entities[value], rng)
        if len(relations) > 1:
            place = f"a town in {place}"
        condition = asking.picked(listing.conditions[relations[0]], rng, x=place)
        text = f"Which {listing.members.format(owner=said)} {condition}?"
        evidence, bridges = (*path, member), path[1:]
        if len(relations) > 1:
            town = block.facts[relations[0]][member]
            evidence, bridges = (*evidence, town), (*bridges, town)
        others = tuple(block.entities[other].bare for other in block.lists[owner] if other != member)
        wrong = (*others, "unanswerable")
        named = (route,) if route else ()
        return Draft(text, entity_answers(block.entities[member]), evidence, bridges, wrong, (*named, *relations))


class Count:
    """ "How many of the films by X came out before 1950?" Every member of the list must be looked at."""

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for number, listing in enumerate(_LISTINGS):
            for owner in listing.owners(block):
                members = block.lists[owner.index]
                if not accept(owner) or len(members) > _MOST_COUNTED:
                    continue
                relation = listing.year[0]
                years = sorted(block.facts[relation].get(member, 0) for member in members)
                if years[0]:
                    for low, high in zip([years[0] - 20, *years], [*years, years[-1] + 20], strict=True):
                        if high - low > 1:
                            cut = rng.randint(low + 1, high - 1)
                            for when in ("before", "after"):
                                if (cut > years[0]) if when == "before" else (cut < years[-1]):
                                    yield Candidate(self, relation, (number, owner.index, relation, when, cut))
                for relation in listing.conditions:
                    values = [block.facts[relation].get(member) for member in members]
                    if None not in values:
                        for value in sorted({value for value in values if value is not None}):
                            if apart(block, (owner.index, value, *members)):
                                yield Candidate(self, relation, (number, owner.index, relation, "", value))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        number, owner, relation, when, value = values
        listing = _LISTINGS[number]
        members = block.lists[owner]
        found = [block.facts[relation][member] for member in members]
        if when:
            condition = listing.year[1].format(when=when, y=value)
            count = sum((year < value) if when == "before" else (year > value) for year in found)
        else:
            condition = asking.picked(listing.conditions[relation], rng, x=asking.name(block.entities[value], rng))
            count = found.count(value)
        condition = condition.replace("was ", "were ", 1).replace("is a native", "are natives", 1)
        said = listing.members.format(owner=asking.name(block.entities[owner], rng))
        wrong = (str(count + 1), str(len(members) + 2), "unanswerable")
        text = f"How many {said} {condition}?"
        return Draft(text, (str(count),), (owner, *members), members, wrong, ("list", relation))


def _lone(block: Block, owner: int, relations: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Objects that exactly one member of a list leads to, with the member."""
    found: dict[int, list[int]] = {}
    for member in block.lists[owner]:
        value: int | None = member
        for relation in relations:
            value = None if value is None else block.facts[relation].get(value)
        if value is not None:
            found.setdefault(value, []).append(member)
    yield from ((value, members[0]) for value, members in found.items() if len(members) == 1)


def _routes(block: Block, listing: _Listing, owner: int, accept: Accept) -> list[tuple[tuple[int, ...], str]]:
    """Accepted entities that a relation leads from to the list's owner, outside of the list."""
    listed = block.lists[owner]
    return [
        ((start, owner), relation)
        for relation in listing.routes
        for start in block.leading_to(relation, owner)
        if start not in listed and accept(block.entities[start])
    ]
