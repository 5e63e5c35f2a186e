"""How the questions on the generated encyclopaedia are worded. Invariant: a name in a question means one entity."""

from __future__ import annotations

import random

from agentenv.tasks.search.world import Block, Entity

__all__ = ["ASK", "PHRASES", "chain", "name", "on", "phrase", "picked"]

# `{x}` is the subject. Asking for the object of a relation, as a whole question:
ASK: dict[str, tuple[str, ...]] = {
    "capital": ("What is the capital of {x}?", "Which town is the capital of {x}?"),
    "region": ("In which region is {x}?", "Which region does {x} belong to?"),
    "town_year": ("In which year was {x} founded?", "What year was {x} founded in?"),
    "river": ("On which river does {x} stand?", "Which river runs through {x}?"),
    "born_in": ("In which town was {x} born?", "Which town is the birthplace of {x}?"),
    "born_year": ("In which year was {x} born?", "What is the year of birth of {x}?"),
    "employer": ("Which company does {x} work for?", "At which company is {x} employed?"),
    "mentor": ("Who taught {x}?", "Under whom did {x} study?"),
    "founder": ("Who founded {x}?", "Who is the founder of {x}?"),
    "company_year": ("In which year was {x} established?", "What year was {x} established in?"),
    "seat": ("In which town is {x} based?", "In which town is the head office of {x}?"),
    "author": ("Who wrote {x}?", "Who is the author of {x}?"),
    "novel_year": ("In which year was {x} first published?", "What year did {x} first appear in?"),
    "publisher": ("Which company published {x}?", "Who was the publisher of {x}?"),
    "director": ("Who directed {x}?", "Who was the director of {x}?"),
    "film_year": ("In which year was {x} released?", "What year did {x} come out in?"),
    "studio": ("Which company produced {x}?", "Which studio made {x}?"),
    "source": ("On which novel is {x} based?", "Which novel does {x} adapt?"),
    "lead": ("Who played the lead in {x}?", "Which actor had the leading role in {x}?"),
    "venue": ("In which town was {x} held?", "Which town hosted {x}?"),
    "event_year": ("In which year was {x} held?", "What was the year of {x}?"),
    "chair": ("Who chaired {x}?", "Who was the chair of {x}?"),
}

# The object of a relation, as part of a question:
PHRASES: dict[str, tuple[str, ...]] = {
    "capital": ("the capital of {x}",),
    "region": ("the region of {x}", "the region that {x} lies in"),
    "born_in": ("the birthplace of {x}", "the town where {x} was born"),
    "employer": ("the employer of {x}", "the company that {x} works for"),
    "mentor": ("the teacher of {x}", "the person who taught {x}"),
    "founder": ("the founder of {x}", "the person who founded {x}"),
    "seat": ("the town where {x} is based", "the home town of {x}"),
    "author": ("the author of {x}", "the person who wrote {x}"),
    "publisher": ("the publisher of {x}", "the company that published {x}"),
    "director": ("the director of {x}", "the person who directed {x}"),
    "studio": ("the studio of {x}", "the company that produced {x}"),
    "source": ("the novel behind {x}", "the novel that {x} is based on"),
    "lead": ("the lead actor of {x}", "the actor who played the lead in {x}"),
    "venue": ("the host town of {x}", "the town that hosted {x}"),
    "chair": ("the chair of {x}", "the person who chaired {x}"),
}

# The year of something, as part of a question:
_ON = {
    "born_year": "{x} was born",
    "film_year": "{x} came out",
    "novel_year": "{x} was first published",
    "event_year": "{x} was held",
    "company_year": "{x} was established",
}
_ALIAS_SHARE = 0.2


def name(entity: Entity, rng: random.Random) -> str:
    """A way to name an entity in a question: what it is called, an alias, or with its kind where that is needed."""
    if entity.aliases and rng.random() < _ALIAS_SHARE:
        return entity.aliases[0]
    if entity.kind in ("film", "novel"):
        return f"the {entity.kind} {entity.bare}"
    if entity.kind in ("event", "series"):
        return f"the {entity.name}"
    if entity.name != entity.bare:
        return f"the {entity.role} {entity.bare}"
    return entity.name


def picked(ways: tuple[str, ...], rng: random.Random, **values: object) -> str:
    """One of several wordings, filled in."""
    return rng.choice(ways).format(**values)


def phrase(block: Block, anchor: int, relations: tuple[str, ...], rng: random.Random) -> str:
    """What several relations lead to: "the birthplace of the director of the film X"."""
    said = name(block.entities[anchor], rng)
    for relation in relations:
        said = picked(PHRASES[relation], rng, x=said)
    return said


def chain(block: Block, anchor: int, relations: tuple[str, ...], rng: random.Random) -> str:
    """The question for the object of the last of several relations."""
    return picked(ASK[relations[-1]], rng, x=phrase(block, anchor, relations[:-1], rng))


def on(block: Block, relation: str, subject: int, rng: random.Random) -> str:
    """An event in words, for its year: "the film X came out"."""
    return _ON[relation].format(x=name(block.entities[subject], rng))
