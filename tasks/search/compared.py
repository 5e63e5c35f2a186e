"""Questions over two things or over time: `comparison` and `temporal`.

Invariant: compared years differ, and a year asked about lies within one head's term only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

from agentenv.tasks.search import asking
from agentenv.tasks.search.drafts import Accept, Candidate, Draft, apart, entity_answers, ring
from agentenv.tasks.search.world import RELATIONS, Block

__all__ = ["Earlier", "FirstWork", "Head", "Same", "Span"]

# Relations to a year: the kind's word, and how the earlier and the later one are asked for.
_EARLIER = {
    ("born_year",): "Who was born {when}: {a} or {b}?",
    ("film_year",): "Which film came out {when}: {a} or {b}?",
    ("novel_year",): "Which novel appeared {when}: {a} or {b}?",
    ("company_year",): "Which company was established {when}: {a} or {b}?",
    ("town_year",): "Which town was founded {when}: {a} or {b}?",
    ("event_year",): "Which was held {when}: {a} or {b}?",
    ("director", "born_year"): "Which film has the director who was born {when}: {a} or {b}?",
    ("founder", "born_year"): "Which company has the founder who was born {when}: {a} or {b}?",
    ("born_in", "town_year"): "Whose birthplace was founded {when}: that of {a} or that of {b}?",
}
# Relations whose object may be the same.
_SAME = {
    ("born_in",): "Were {a} and {b} born in the same town?",
    ("studio",): "Were {a} and {b} made by the same company?",
    ("publisher",): "Were {a} and {b} published by the same company?",
    ("region",): "Are {a} and {b} in the same region?",
    ("seat",): "Are {a} and {b} based in the same town?",
    ("born_in", "region"): "Were {a} and {b} born in the same region?",
    ("seat", "region"): "Are {a} and {b} based in the same region?",
}
_MOST_YEARS = 4
_MOST_LISTED = 3
_DATED = ("film_year", "novel_year", "event_year", "born_year", "company_year")


class Earlier:
    """ "Which film came out earlier: X or Y?" """

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for relations in _EARLIER:
            subjects = [e for e in block.of_kind(RELATIONS[relations[0]][0]) if accept(e)]
            known = [entity for entity in subjects if block.follow(entity.index, relations) is not None]
            for one, other in ring(known, rng):
                paths = _legs(block, one.index, relations[:-1]), _legs(block, other.index, relations[:-1])
                years = [block.follow(path[-1], relations[-1:]) for path in paths]
                if years[0] != years[1] and apart(block, (*paths[0], *paths[1])):
                    yield Candidate(self, " ".join(relations), (relations, *paths, rng.random() < 0.5))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        relations, one, other, earlier = values
        first = block.facts[relations[-1]][one[-1]] < block.facts[relations[-1]][other[-1]]
        right, wrong = (one, other) if first == earlier else (other, one)
        text = _EARLIER[relations].format(
            when="earlier" if earlier else "later",
            a=asking.name(block.entities[one[0]], rng),
            b=asking.name(block.entities[other[0]], rng),
        )
        mistakes = (block.entities[wrong[0]].bare, "unanswerable")
        answers = entity_answers(block.entities[right[0]])
        return Draft(text, answers, (*one, *other), (*one[1:], *other[1:]), mistakes, ("earlier", *relations))


class Same:
    """ "Were X and Y born in the same town?", as often with yes as with no."""

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for relations in _SAME:
            subjects = [e for e in block.of_kind(RELATIONS[relations[0]][0]) if accept(e)]
            groups: dict[int, list[int]] = {}
            for entity in subjects:
                value = block.follow(entity.index, relations)
                if value is not None:
                    groups.setdefault(value, []).append(entity.index)
            alike = [pair for group in groups.values() for pair in pairwise(group)]
            loose = [index for group in groups.values() for index in group]
            rng.shuffle(loose)
            for one, other in alike:
                paths = _legs(block, one, relations[:-1]), _legs(block, other, relations[:-1])
                stranger = rng.choice(loose)
                if not apart(block, (*paths[0], *paths[1])) or stranger == one:
                    continue
                no = paths[0], _legs(block, stranger, relations[:-1])
                if not apart(block, (*no[0], *no[1])):
                    continue
                if block.follow(stranger, relations) != block.follow(one, relations):
                    yield Candidate(self, f"same {' '.join(relations)}", (relations, *paths))
                    yield Candidate(self, f"same {' '.join(relations)}", (relations, *no))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        relations, one, other = values
        same = block.follow(one[0], relations) == block.follow(other[0], relations)
        text = _SAME[relations].format(
            a=asking.name(block.entities[one[0]], rng), b=asking.name(block.entities[other[0]], rng)
        )
        answers, wrong = (("yes",), "no") if same else (("no",), "yes")
        bridges = (*one[1:], *other[1:])
        return Draft(text, answers, (*one, *other), bridges, (wrong, "unanswerable"), ("same", *relations))


class Head:
    """ "Who headed X in the year in which the film Y came out?"

    Args:
        described: Whether the company is described ("the company that produced the film Z").
    """

    def __init__(self, described: bool) -> None:
        self._described = described

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        dated = [(relation, subject) for relation in _DATED for subject in block.facts[relation]]
        for company, terms in block.heads.items():
            starts: list[tuple[tuple[int, ...], tuple[str, ...]]] = [((company,), ())]
            if self._described:
                starts = [
                    ((subject, company), (route,))
                    for route in ("studio", "publisher", "employer")
                    for subject in block.leading_to(route, company)
                ]
            for path, route in starts:
                if not accept(block.entities[path[0]]):
                    continue
                for relation, subject in rng.sample(dated, _MOST_YEARS):
                    year = block.facts[relation][subject]
                    head = next((term.person for term in terms if term.first <= year <= term.last), None)
                    if head is not None and apart(block, (*path, subject, head)):
                        yield Candidate(self, f"head {relation}", (path, route, relation, subject, head))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        path, route, relation, subject, head = values
        company = asking.phrase(block, path[0], route, rng)
        text = f"Who headed {company} in the year in which {asking.on(block, relation, subject, rng)}?"
        others = [term.person for term in block.heads[path[-1]] if term.person != head]
        wrong = (*(block.entities[other].bare for other in others), "unanswerable")
        answers = entity_answers(block.entities[head])
        return Draft(text, answers, (*path, subject), path[1:], wrong, ("head", *route, relation))


class FirstWork:
    """ "Which was the first film that X directed?" """

    _SAID: ClassVar[dict[str, tuple[str, str]]] = {
        "film director": ("film_year", "Which was the {which} film that {x} directed?"),
        "novelist": ("novel_year", "Which was the {which} novel that {x} published?"),
    }

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for person in block.of_kind("person"):
            works = block.lists.get(person.index, ())
            if person.role not in self._SAID or not 2 <= len(works) <= _MOST_LISTED or not accept(person):
                continue
            relation = self._SAID[person.role][0]
            years = [block.facts[relation].get(work) for work in works]
            if None not in years and len(set(years)) == len(years):
                for which in ("first", "last"):
                    yield Candidate(self, which, (person.index, which))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        person, which = values
        relation, said = self._SAID[block.entities[person].role]
        works = sorted(block.lists[person], key=block.facts[relation].__getitem__, reverse=which == "last")
        text = said.format(which=which, x=asking.name(block.entities[person], rng))
        answers = entity_answers(block.entities[works[0]])
        wrong = (*(block.entities[work].bare for work in works[1:]), "unanswerable")
        return Draft(text, answers, (person, *block.lists[person]), (), wrong, ("first", relation))


class Span:
    """ "How many years after the novel behind it did the film X come out?" and the age of a maker."""

    _SAID: ClassVar[dict[tuple[str, str, str], str]] = {
        ("source", "novel_year", "film_year"): "How many years after the novel that it is based on did {x} come out?",
        ("director", "born_year", "film_year"): "What age did the director of {x} reach in the year it came out?",
        ("author", "born_year", "novel_year"): "What age did the author of {x} reach in the year it appeared?",
        ("founder", "born_year", "company_year"): "How many years after the birth of its founder was {x} established?",
    }

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for relations in self._SAID:
            link, begin, end = relations
            for subject, other in block.facts[link].items():
                first, last = block.facts[begin].get(other), block.facts[end].get(subject)
                if first is not None and last is not None and last > first and accept(block.entities[subject]):
                    yield Candidate(self, f"span {link}", (relations, subject, other))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        relations, subject, other = values
        first, last = block.facts[relations[1]][other], block.facts[relations[2]][subject]
        text = self._SAID[relations].format(x=asking.name(block.entities[subject], rng))
        wrong = (str(last - first + 1), str(last), str(first), "unanswerable")
        return Draft(text, (str(last - first),), (subject, other), (other,), wrong, ("span", *relations))


def _legs(block: Block, subject: int, relations: tuple[str, ...]) -> tuple[int, ...]:
    """The subject and every entity that the relations lead to from it."""
    path = [subject]
    for relation in relations:
        path.append(block.facts[relation][path[-1]])
    return tuple(path)
