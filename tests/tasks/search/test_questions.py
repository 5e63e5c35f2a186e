"""Every kind of question, solved again by brute force over the relation graph as a set of triples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.chains import held
from agentenv.tasks.search.generated import GeneratedQuestions
from agentenv.tasks.search.world import RELATIONS, Entity

TASKS = GeneratedQuestions()
BLOCK = TASKS.world.block(0)
TRIPLES = [(subject, relation, value) for relation, facts in BLOCK.facts.items() for subject, value in facts.items()]
OBJECTS: dict[tuple[int, str], set[object]] = {}
for _subject, _relation, _value in TRIPLES:
    OBJECTS.setdefault((_subject, _relation), set()).add(_value)
BY_PAGE = {page: BLOCK.entities[index] for index, page in enumerate(BLOCK.pages)}
SPLITS = {"train": 1600, "val": 800, "test": 1600, "ood": 500}
SHARES = {"train": set(range(8)), "val": {8}, "test": {9}, "ood": set(range(10))}
LISTED_BY = {"film_year": "director", "studio": "director", "novel_year": "author", "publisher": "author"}
LISTED_BY |= {"born_in": "employer", "born_year": "employer", "mentor": "employer"}


def forms(entity: Entity) -> Iterator[str]:
    """All that may stand for an entity in a question."""
    yield from (entity.name, *entity.aliases)
    yield f"the {entity.kind} {entity.bare}"
    if entity.name != entity.bare and entity.kind == "person":
        yield f"the {entity.role} {entity.bare}"


FORMS: dict[str, set[int]] = {}
for _entity in BLOCK.entities:
    for _form in forms(_entity):
        FORMS.setdefault(_form, set()).add(_entity.index)


def named(text: str) -> list[int]:
    """The entities that a question names, in order; the longest of overlapping names counts."""
    words = text.replace(",", "").replace(":", "").rstrip("?").split()
    found, at = [], 0
    while at < len(words):
        for length in range(10, 0, -1):
            meant = FORMS.get(" ".join(words[at : at + length]))
            if meant is not None:
                assert len(meant) == 1, (text, meant)
                found += meant
                at += length - 1
                break
        at += 1
    return found


def questions(kind: str) -> list[Question]:
    every = (TASKS.question(task_id) for split, count in SPLITS.items() for task_id in TASKS.ids(split)[:count])
    found = [question for question in every if question.kind == kind]
    assert len(found) >= 100
    return found


def follow(starts: set[object], relations: tuple[str, ...]) -> set[object]:
    """Everything that relations lead to."""
    for relation in relations:
        starts = {value for start in starts for value in OBJECTS.get((start, relation), ())}  # type: ignore[arg-type]
    return starts


def said(value: object, relation: str) -> str:
    return BLOCK.entities[value].bare if RELATIONS[relation][1] not in ("year", "text") else str(value)  # type: ignore


def year(subject: int, relation: str) -> int:
    (found,) = OBJECTS[subject, relation]
    assert isinstance(found, int)
    return found


def members(owner: Entity, relation: str) -> set[int]:
    """What belongs to the owner: the inverse of a relation, or the events of a series."""
    if owner.kind == "series":
        return {event.index for event in BLOCK.entities if event.kind == "event" and event.name.endswith(owner.name)}
    by = LISTED_BY[relation]
    return {subject for subject, name, value in TRIPLES if name == by and value == owner.index}


def evidence(question: Question) -> list[Entity]:
    return [BY_PAGE[page] for page in question.evidence]


def test_bridge_questions_have_the_one_answer_of_their_chain() -> None:
    for question in questions("bridge"):
        relations = question.extra["relations"]
        (anchor,) = named(question.text)
        (answer,) = follow({anchor}, relations)
        assert question.answers[0] == said(answer, relations[-1])
        path = [anchor, *(next(iter(follow({anchor}, relations[:hops]))) for hops in range(1, len(relations)))]
        assert [entity.index for entity in evidence(question)] == path
        assert question.bridges == tuple(entity.name for entity in evidence(question)[1:])
        assert question.hops == len(relations)
        assert question.hops in {"easy": (1,), "medium": (2,), "hard": (3, 4)}[question.difficulty]


def test_unanswerable_questions_have_a_chain_that_ends_before_its_answer() -> None:
    for question in questions("unanswerable"):
        relations = question.extra["relations"]
        (anchor,) = named(question.text)
        assert len(follow({anchor}, relations[:-1])) == 1
        assert follow({anchor}, relations) == set()
        assert question.answers == ()
        assert {evidence(question)[-1].index} == follow({anchor}, relations[:-1])


def test_intersections_have_one_member_that_fits() -> None:
    for question in questions("intersection"):
        relations = question.extra["relations"]
        route = relations[: -2 if relations[-1] == "region" else -1]
        conditions = relations[len(route) :]
        anchor, wanted = named(question.text)
        (owner,) = follow({anchor}, route)
        pool = members(BLOCK.entities[owner], conditions[0])  # type: ignore[index]
        fitting = [member for member in pool if wanted in follow({member}, conditions)]
        assert [BLOCK.entities[member].bare for member in fitting] == [question.answers[0]]
        assert len(pool) > 1
        assert {owner, *fitting} <= {entity.index for entity in evidence(question)}
        assert question.hops == (2 if question.difficulty == "medium" else 3)


def test_counts_are_the_number_of_members_that_fit() -> None:
    for question in questions("count"):
        _, relation = question.extra["relations"]
        owner, *wanted = named(question.text)
        pool = members(BLOCK.entities[owner], relation)
        assert {entity.index for entity in evidence(question)} == {owner, *pool}
        if wanted:
            count = sum(wanted[0] in follow({member}, (relation,)) for member in pool)
        else:
            when, cut = question.text.rstrip("?").split()[-2:]
            years = [year(member, relation) for member in pool]
            count = sum(found < int(cut) if when == "before" else found > int(cut) for found in years)
            assert int(cut) not in years
        assert question.answers == (str(count),)
        assert count >= 1
        assert question.hops <= 4


def test_comparisons_are_decided_by_their_years_or_places() -> None:
    verdicts = []
    for question in questions("comparison"):
        sort, *relations = question.extra["relations"]
        pair = named(question.text)
        assert len(set(pair)) == 2
        found = [follow({entity}, tuple(relations)) for entity in pair]
        assert [len(values) for values in found] == [1, 1]
        if sort == "same":
            assert question.answers == ("yes" if found[0] == found[1] else "no",)
            verdicts.append(question.answers[0])
        else:
            best = min if " earlier" in question.text else max
            years = {next(iter(values)): entity for values, entity in zip(found, pair, strict=True)}
            assert len(years) == 2
            assert question.answers[0] == BLOCK.entities[years[best(years)]].bare  # type: ignore[type-var]
        assert set(pair) <= {entity.index for entity in evidence(question)}
        assert question.hops == 2 * len(relations)
    assert 0.3 < verdicts.count("yes") / len(verdicts) < 0.7


def test_temporal_questions_are_decided_by_years() -> None:
    for question in questions("temporal"):
        sort, *relations = question.extra["relations"]
        anchor, *others = named(question.text)
        if sort == "span":
            link, begin, end = relations
            (other,) = follow({anchor}, (link,))
            assert question.answers == (str(year(anchor, end) - year(other, begin)),)  # type: ignore[arg-type]
        elif sort == "first":
            works = members(BLOCK.entities[anchor], relations[0])
            best = min if " first " in question.text else max
            assert question.answers[0] == BLOCK.entities[best(works, key=lambda work: year(work, relations[0]))].bare
            assert len({year(work, relations[0]) for work in works}) == len(works)
        else:
            *route, dated = relations
            (company,) = follow({anchor}, tuple(route))
            when = year(others[0], dated)
            terms = BLOCK.heads[company]  # type: ignore[index]
            heads = [term.person for term in terms if term.first <= when <= term.last]
            assert [BLOCK.entities[head].bare for head in heads] == [question.answers[0]]


@pytest.mark.parametrize("split", SPLITS)
def test_what_a_question_is_about_belongs_to_its_split(split: str) -> None:
    for task_id in TASKS.ids(split)[: SPLITS[split]]:
        question = TASKS.question(task_id)
        about = named(question.text)
        if question.kind != "comparison":
            about = about[:1]
        assert {BLOCK.shares[index] for index in about} <= SHARES[split]


def test_only_ood_asks_for_held_relations_and_for_times() -> None:
    for split, count in SPLITS.items():
        for task_id in TASKS.ids(split)[:count]:
            question = TASKS.question(task_id)
            assert (question.kind == "temporal" or held(question.extra["relations"])) == (split == "ood")


def test_no_question_gives_away_its_bridges_or_its_answer() -> None:
    for split, count in SPLITS.items():
        for task_id in TASKS.ids(split)[:count]:
            question = TASKS.question(task_id)
            shown = set(named(question.text))
            for entity in evidence(question):
                assert entity.name not in question.bridges or entity.index not in shown
            if question.kind != "comparison" and question.kind != "count":
                assert not any(f" {answer} " in f" {question.text[:-1]} " for answer in question.answers)
