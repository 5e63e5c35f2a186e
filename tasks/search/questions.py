"""What can be asked about a block, kind by kind, split by split.

Invariant: `train`, `val` and `test` never name the same entity as what a question is about, since each entity belongs
to one of them; `ood` asks for relations that the others never combine, of any entity.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.chains import Bridge, Unanswerable
from agentenv.tasks.search.checks import saw
from agentenv.tasks.search.compared import Earlier, FirstWork, Head, Same, Span
from agentenv.tasks.search.drafts import Candidate, Pattern
from agentenv.tasks.search.gathered import Count, Intersection
from agentenv.tasks.search.world import Block, Entity

__all__ = ["MIX", "OOD_MIX", "make", "pool"]

_BUCKETS = {"train": range(8), "val": range(8, 9), "test": range(9, 10), "ood": range(10)}

# By difficulty the patterns of each kind: those of train, val and test, and those of ood alone.
_PATTERNS: dict[str, dict[str, tuple[Pattern, ...]]] = {
    "easy": {"bridge": (Bridge(1),), "unanswerable": (Unanswerable(1),)},
    "medium": {"bridge": (Bridge(2),), "intersection": (Intersection(2),), "unanswerable": (Unanswerable(2),)},
    "hard": {
        "bridge": (Bridge(3, 4),),
        "comparison": (Earlier(), Same()),
        "count": (Count(),),
        "intersection": (Intersection(3),),
        "unanswerable": (Unanswerable(3),),
    },
}
_OOD_PATTERNS: dict[str, dict[str, tuple[Pattern, ...]]] = {
    "easy": {"bridge": (Bridge(1, ood=True),)},
    "medium": {"bridge": (Bridge(2, ood=True),), "temporal": (Head(described=False), Span())},
    "hard": {"bridge": (Bridge(3, 4, ood=True),), "temporal": (Head(described=True), FirstWork())},
}

MIX = {
    "easy": ("bridge",) * 4 + ("unanswerable",),
    "medium": ("bridge",) * 3 + ("intersection", "unanswerable"),
    "hard": ("bridge", "bridge", "comparison", "count", "intersection", "unanswerable"),
}
"""How often each kind comes: of five or six consecutive questions these, in some order."""

OOD_MIX = {"easy": ("bridge",), "medium": ("bridge", "temporal"), "hard": ("bridge", "temporal")}
"""The same for `ood`."""


def pool(block: Block, kind: str, difficulty: str, split: str, seed: str, most: int) -> tuple[Candidate, ...]:
    """Different things to ask, at most `most`, in random order; groups of candidates take turns.

    Args:
        block: What is asked about.
        kind: As in `MIX`.
        difficulty: "easy", "medium" or "hard".
        split: "train", "val", "test" or "ood".
        seed: Decides the order.
        most: How many to keep.
    """
    key = f"{seed} {block.number} {kind} {difficulty} {split}"
    rng = random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))
    buckets = _BUCKETS[split]
    accepted = [share in buckets for share in block.shares]
    groups: dict[str, list[Candidate]] = {}
    for pattern in (_OOD_PATTERNS if split == "ood" else _PATTERNS)[difficulty][kind]:
        for candidate in pattern.candidates(block, lambda entity: accepted[entity.index], rng):
            groups.setdefault(candidate.group, []).append(candidate)
    for group in groups.values():
        rng.shuffle(group)
    turns = chain.from_iterable(zip_longest(*groups.values()))
    return tuple(islice((candidate for candidate in turns if candidate is not None), most))


def make(block: Block, candidate: Candidate, question_id: str, kind: str, difficulty: str, split: str) -> Question:
    """The question of a candidate. Its wording depends on the id; `extra` holds what graders and oracles need besides.

    `extra` keys: "bridge_names" (every name of each bridge), "wrong" (plausible wrong answers), "relations", "queries"
    (for each evidence document one that finds it), "said" (the answer as the last of them has it).
    """
    rng = random.Random(int.from_bytes(hashlib.sha256(f"wording {question_id}".encode()).digest(), "big"))
    draft = candidate.pattern.draft(block, candidate.values, rng)
    bridges = [block.entities[bridge] for bridge in dict.fromkeys(draft.bridges)]
    evidence = tuple(dict.fromkeys(draft.evidence))
    return Question(
        id=question_id,
        text=draft.text[0].upper() + draft.text[1:],
        answers=draft.answers,
        evidence=tuple(block.pages[entity] for entity in evidence),
        bridges=tuple(bridge.name for bridge in bridges),
        kind=kind,
        hops=len(evidence),
        split=split,
        difficulty=difficulty,
        extra={
            "bridge_names": tuple((bridge.name, *bridge.aliases) for bridge in bridges),
            "wrong": draft.wrong,
            "relations": draft.relations,
            "queries": tuple(_queries(block, evidence, draft.text)),
            "said": _said(draft.answers, block.page(evidence[-1]).text),
        },
    )


def _queries(block: Block, evidence: Sequence[int], question: str) -> Iterator[str]:
    """For each page of the evidence a query that finds it: what the question, or a page before it, calls the entity."""
    read = [question]
    for index in evidence:
        entity = block.entities[index]
        kind = _kind_of(entity)
        names = sorted((f"{kind} {entity.bare}", entity.name, *entity.aliases), key=len, reverse=True)
        # A company's short name is also a word of its products, people and rivals: only its full name finds its page.
        known = [name for name in names if entity.kind != "company" or name not in entity.aliases]
        said = next((name for text in read for name in known if saw(text, name)), entity.name)
        yield f"{said} town" if entity.kind == "town" else said
        read.append(block.page(index).text)


def _said(answers: Sequence[str], text: str) -> str:
    """The accepted answer that a text names, the canonical one if it can be, or an abstention."""
    named = (answer for answer in answers if saw(text, answer))
    return next(named, answers[0] if answers else "unanswerable")


def _kind_of(entity: Entity) -> str:
    """The word by which a question tells an entity from its namesakes."""
    return entity.role if entity.kind == "person" else entity.kind
