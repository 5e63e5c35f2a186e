"""What every pattern of questions yields. Invariant: a draft's answer is decided by the relation graph alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from agentenv.tasks.search.world import RELATIONS, Block, Entity

__all__ = [
    "Accept",
    "Candidate",
    "Draft",
    "Pattern",
    "apart",
    "entity_answers",
    "ring",
    "value_answers",
    "wrong_values",
]

Accept = Callable[[Entity], bool]


@dataclass(frozen=True)
class Draft:
    """A question on a block, by the indices of its entities.

    Args:
        text: The question.
        answers: Every accepted answer, the canonical one first; none for a question without one.
        evidence: Entities whose pages together prove the answer, in the order in which a reader meets them.
        bridges: Entities between question and answer.
        wrong: Plausible wrong answers.
        relations: What must be combined.
    """

    text: str
    answers: tuple[str, ...]
    evidence: tuple[int, ...]
    bridges: tuple[int, ...]
    wrong: tuple[str, ...]
    relations: tuple[str, ...]


class Pattern(Protocol):
    """A way of asking: what it can ask of a block, and how it says it."""

    def candidates(self, block: Block, accept: Accept, rng: random.Random) -> Iterator[Candidate]:
        """All that can be asked where only accepted entities may be named as what the question is about."""
        ...

    def draft(self, block: Block, values: tuple[Any, ...], rng: random.Random) -> Draft:
        """The question of a candidate's values; `rng` decides its wording only."""
        ...


class Candidate(NamedTuple):
    """One thing to ask. Candidates of different groups take turns in a pool, so that none crowds out the others."""

    pattern: Pattern
    group: str
    values: tuple[Any, ...]


def entity_answers(entity: Entity) -> tuple[str, ...]:
    """The accepted answers for an entity: its bare name, its unique one, its aliases."""
    return tuple(dict.fromkeys((entity.bare, entity.name, *entity.aliases)))


def value_answers(block: Block, relation: str, value: Any) -> tuple[str, ...]:
    """The accepted answers for a relation's object."""
    kind = RELATIONS[relation][1]
    if kind == "year":
        return (str(value),)
    if kind == "text":
        return (value, f"River {value}", f"{value} river")
    return entity_answers(block.entities[value])


def wrong_values(block: Block, relation: str, subject: int, rng: random.Random) -> tuple[str, ...]:
    """What the relation gives for namesakes of its subject, and for some other subject."""
    facts = block.facts[relation]
    entity = block.entities[subject]
    alike = [other.index for other in block.of_kind(entity.kind) if _alike(other, entity) and other.index in facts]
    others = [*alike[:1], *(rng.choice(sorted(facts)) for _ in range(2))] if facts else []
    return tuple(value_answers(block, relation, facts[other])[0] for other in others if other != subject)


def apart(block: Block, indices: tuple[int, ...]) -> bool:
    """Whether no two of the entities share a bare name: then naming one never gives away another."""
    return len({block.entities[index].bare for index in indices}) == len(indices)


def ring(entities: list[Entity], rng: random.Random, steps: int = 3) -> Iterator[tuple[Entity, Entity]]:
    """Random pairs in which every entity comes equally often; none twice while there are enough entities."""
    order = list(entities)
    rng.shuffle(order)
    for step in range(1, min(steps, (len(order) - 1) // 2) + 1):
        for place, one in enumerate(order):
            yield one, order[(place + step) % len(order)]


def _alike(other: Entity, entity: Entity) -> bool:
    if other.index == entity.index:
        return False
    if entity.kind == "person":
        return other.bare == entity.bare or other.bare.split(" ")[-1] == entity.bare.split(" ")[-1]
    return other.bare.split(" ")[-1] == entity.bare.split(" ")[-1]
