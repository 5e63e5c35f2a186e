"""Chains of relations: `bridge` questions, and `unanswerable` ones, whose last relation no page states.

Invariant: a chain meets no entity twice and none that shares a name with another; each but the last is a bridge.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from agentenv.tasks.search import asking
from agentenv.tasks.search.drafts import Accept, Candidate, Draft, apart, entity_answers, value_answers, wrong_values
from agentenv.tasks.search.world import KINDS, RELATIONS, Block

__all__ = ["HELD_PAIRS", "HELD_RELATIONS", "Bridge", "Unanswerable", "held"]

HELD_RELATIONS = frozenset({"lead"})
"""Relations that only the `ood` split asks for."""

HELD_PAIRS = frozenset(
    {("director", "mentor"), ("founder", "born_in"), ("seat", "river"), ("chair", "employer"), ("author", "born_year")}
)
"""Relations that follow each other in the `ood` split only."""

_OF_KIND = {kind: [name for name, (subject, _) in RELATIONS.items() if subject == kind] for kind in KINDS}


@lru_cache(maxsize=4096)
def held(relations: tuple[str, ...]) -> bool:
    """Whether a chain is kept for the `ood` split.

    >>> held(("director", "mentor")), held(("director", "born_in"))
    (True, False)
    """
    return not HELD_RELATIONS.isdisjoint(relations) or any(pair in HELD_PAIRS for pair in pairwise(relations))


class Bridge:
    """ "In which region is the birthplace of the director of the film X?"

    Args:
        hops: Lengths of the chains.
        ood: Whether to make the chains that are held back for the `ood` split, or all others.
    """

    def __init__(self, *hops: int, ood: bool = False) -> None:
        self._hops = hops
        self._ood = ood

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for path, relations in _paths(block, accept, max(self._hops) - 1):
            hops = len(relations) + 1
            if hops not in self._hops:
                continue
            for relation in _OF_KIND[block.entities[path[-1]].kind]:
                value = block.facts[relation].get(path[-1])
                whole = (*relations, relation)
                if value is None or held(whole) != self._ood:
                    continue
                if RELATIONS[relation][1] in KINDS and not apart(block, (*path, value)):
                    continue
                yield Candidate(self, f"{hops} {relation}", (path, whole))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        path, relations = values
        answers = value_answers(block, relations[-1], block.facts[relations[-1]][path[-1]])
        wrong = [*wrong_values(block, relations[-1], path[-1], rng), "unanswerable"]
        if len(path) > 1:
            wrong.append(entity_answers(block.entities[path[-1]])[0])
        return Draft(asking.chain(block, path[0], relations, rng), answers, path, path[1:], tuple(wrong), relations)


class Unanswerable:
    """A chain like any other, but nothing is stated of its last relation.

    Args:
        hops: Lengths of the chains.
    """

    def __init__(self, *hops: int) -> None:
        self._hops = hops

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """See `Pattern`."""
        for path, relations in _paths(block, accept, max(self._hops) - 1):
            hops = len(relations) + 1
            if hops not in self._hops:
                continue
            for relation in _OF_KIND[block.entities[path[-1]].kind]:
                whole = (*relations, relation)
                if path[-1] not in block.facts[relation] and not held(whole):
                    yield Candidate(self, f"{hops} {relation}", (path, whole))

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """See `Pattern`."""
        path, relations = values
        wrong = wrong_values(block, relations[-1], path[-1], rng)
        wrong += tuple(entity_answers(block.entities[bridge])[0] for bridge in path[1:])
        return Draft(asking.chain(block, path[0], relations, rng), (), path, path[1:], wrong, relations)


def _paths(block: Block, accept: Accept, longest: int) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Every walk of at most `longest` relations from an accepted entity to other entities, none of them namesakes."""
    kinds, names = ([getattr(entity, of) for entity in block.entities] for of in ("kind", "bare"))
    ways = {kind: [(name, block.facts[name]) for name in _OF_KIND[kind] if name in asking.PHRASES] for kind in KINDS}
    walks: list[tuple[tuple[int, ...], tuple[str, ...]]]
    walks = [((entity.index,), ()) for entity in block.entities if accept(entity)]
    yield from walks
    for _ in range(longest):
        walks = [
            ((*path, value), (*relations, relation))
            for path, relations in walks
            for relation, facts in ways[kinds[path[-1]]]
            if (value := facts.get(path[-1])) is not None and names[value] not in [names[index] for index in path]
        ]
        yield from walks
