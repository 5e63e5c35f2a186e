"""The encyclopaedia: pages state the relation graph and nothing beside it, names mean one thing, any size streams."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError
from agentenv.tasks.search import names
from agentenv.tasks.search.prose import MOST_WORDS
from agentenv.tasks.search.world import KINDS, RELATIONS, Block, Entity, World, documents, make_world

WORLD = make_world(0, 2000)
BLOCK = WORLD.block(0)
TEXTS = {document.id: document.text for document in BLOCK.documents}
LISTS = {"director": "person", "author": "person", "employer": "company"}


def all_names(block: Block) -> Iterator[tuple[str, Entity]]:
    for entity in block.entities:
        for name in (entity.name, *entity.aliases):
            yield name, entity


def mentioned(text: str, known: dict[str, Entity], most_words: int = 8) -> set[int]:
    """Entities named in a text; of overlapping names the longest counts."""
    words = re.sub(r"[;,:.]", "", text).split()
    found, at = set(), 0
    while at < len(words):
        for length in range(most_words, 0, -1):
            entity = known.get(" ".join(words[at : at + length]))
            if entity is not None:
                found.add(entity.index)
                at += length - 1
                break
        at += 1
    return found


KNOWN = dict(all_names(BLOCK))


@pytest.mark.parametrize("size", [100, 101, 137, 999, 2001, 4500])
def test_a_world_has_as_many_documents_as_asked_numbered_in_order(size: int) -> None:
    assert [document.id for document in documents(5, size)] == [f"d{number}" for number in range(size)]


def test_a_million_documents_stream() -> None:
    stream = documents(0, 1_000_000)
    assert [next(stream).id for _ in range(2)] == ["d0", "d1"]


def test_blocks_are_the_same_whether_streamed_or_asked_for() -> None:
    world = World(3, 4100)
    last = World(3, 4100).block(2).documents
    assert tuple(world.documents())[-len(last) :] == last
    assert world.block(1).documents[0].id == f"d{len(world.block(0).documents)}"


def test_a_size_below_the_smallest_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 100 documents, got size=99"):
        make_world(0, 99)


def test_seed_and_size_decide_the_world() -> None:
    first = list(documents(0, 200))
    assert first == list(documents(0, 200))
    assert first != list(documents(1, 200))
    assert first != list(documents(0, 201))[:200]


_HASH = """
import hashlib
from agentenv.tasks.search.world import documents
print(hashlib.sha256(repr(list(documents(7, 2100))).encode()).hexdigest())
"""


def test_processes_with_different_hash_seeds_make_the_same_world() -> None:
    printed = {hashlib.sha256(repr(list(documents(7, 2100))).encode()).hexdigest()}
    for seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _HASH], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout.strip())
    assert len(printed) == 1


def test_names_and_aliases_are_unique_over_all_blocks() -> None:
    world = World(2, 4500)
    said = [name for number in range(world.blocks) for name, _ in all_names(world.block(number))]
    assert len(set(said)) == len(said)


def test_titles_are_unique() -> None:
    titles = Counter(document.title for document in documents(2, 4500))
    assert titles.most_common(1)[0][1] == 1


def test_no_name_holds_another_but_events_their_series() -> None:
    for name, entity in KNOWN.items():
        words = name.split()
        spans = {(a, b) for a in range(len(words)) for b in range(a + 1, len(words) + 1)} - {(0, len(words))}
        for inner in (" ".join(words[a:b]) for a, b in spans):
            other = KNOWN.get(inner)
            assert other is None or (entity.kind, other.kind) == ("event", "series"), (name, inner)


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_two_numbers_never_give_one_name(one: int, other: int) -> None:
    makers = (names.family_name, names.town_name, names.region_name, names.river_name, names.work_title)
    for name in (*makers, names.series_name):
        assert (name(one) == name(other)) == (one == other)


def test_the_first_names_of_each_kind_differ() -> None:
    for name in (names.family_name, names.town_name, names.work_title, names.series_name, names.region_name):
        assert len({name(number) for number in range(20_000)}) == 20_000


def test_pages_are_short() -> None:
    assert max(len(f"{document.title} {document.text}".split()) for document in documents(4, 4000)) < MOST_WORDS


def test_every_fact_is_stated_on_its_subjects_page() -> None:
    for relation, facts in BLOCK.facts.items():
        for subject, value in facts.items():
            text = TEXTS[BLOCK.pages[subject]]
            if RELATIONS[relation][1] in KINDS:
                entity = BLOCK.entities[value]
                assert any(name in text for name in (entity.name, *entity.aliases)), (relation, text)
            else:
                assert re.search(rf"\b{value}\b", text), (relation, text)


def test_a_page_names_nothing_that_is_no_fact_of_its_entity() -> None:
    for entity in BLOCK.entities:
        text = TEXTS[BLOCK.pages[entity.index]].replace(entity.bare, "")
        facts = {relation: found[entity.index] for relation, found in BLOCK.facts.items() if entity.index in found}
        terms = BLOCK.heads.get(entity.index, ())
        true = {value for relation, value in facts.items() if RELATIONS[relation][1] in KINDS}
        true |= {entity.index, *BLOCK.lists.get(entity.index, ()), *(term.person for term in terms)}
        assert mentioned(text, KNOWN) <= true, text
        years = {value for relation, value in facts.items() if RELATIONS[relation][1] == "year"}
        years |= {year for term in terms for year in (term.first, term.last)}
        assert {int(year) for year in re.findall(r"\b\d{3,4}\b", text)} <= years, text


def test_what_a_subject_lacks_no_other_page_of_an_entity_tells() -> None:
    for relation, owner in LISTS.items():
        inverse: dict[int, set[int]] = {}
        for subject, value in BLOCK.facts[relation].items():
            inverse.setdefault(value, set()).add(subject)
        listed = {index: set(BLOCK.lists[index]) for index in inverse}
        assert listed == inverse
        assert all(BLOCK.entities[index].kind == owner for index in inverse)
    capitals = BLOCK.facts["capital"]
    assert all(BLOCK.facts["region"][town] == region for region, town in capitals.items())


def test_series_list_all_their_events_in_order_of_time() -> None:
    for series in BLOCK.of_kind("series"):
        events = [BLOCK.entities[index].name for index in BLOCK.lists[series.index]]
        assert events == [event.name for event in BLOCK.of_kind("event") if event.name.endswith(series.name)]
        years = [BLOCK.facts["event_year"].get(index) for index in BLOCK.lists[series.index]]
        known = [year for year in years if year is not None]
        assert known == sorted(set(known))


def test_a_film_comes_out_after_its_novel_and_heads_follow_each_other() -> None:
    years = BLOCK.facts["novel_year"], BLOCK.facts["film_year"]
    for film, novel in BLOCK.facts["source"].items():
        assert years[0].get(novel, 0) < years[1].get(film, 9999)
    for terms in BLOCK.heads.values():
        assert all(one.last + 1 == other.first for one, other in pairwise(terms))


def test_relations_have_the_kinds_they_declare_and_some_subjects_lack_each() -> None:
    for relation, (subject_kind, object_kind) in RELATIONS.items():
        facts = BLOCK.facts[relation]
        assert all(BLOCK.entities[subject].kind == subject_kind for subject in facts)
        if object_kind in KINDS:
            assert all(BLOCK.entities[value].kind == object_kind for value in facts.values())
        assert 0 < len(facts) < len(BLOCK.of_kind(subject_kind))


def test_the_world_is_full_of_things_that_look_alike() -> None:
    people = BLOCK.of_kind("person")
    bare = Counter(person.bare for person in people)
    families = Counter(person.bare.split(" ", 1)[1] for person in people)
    shared = {entity.bare for entity in BLOCK.of_kind("film")} & {entity.bare for entity in BLOCK.of_kind("novel")}
    twins = {town.name.split()[1] for town in BLOCK.of_kind("town") if " " in town.name}
    assert sum(count > 1 for count in bare.values()) >= 10
    assert sum(count > 1 for count in families.values()) >= 100
    assert len(shared) >= 20
    assert len(twins) >= 10
    assert sum(bool(entity.aliases) for entity in BLOCK.entities) >= 200
    pages = set(BLOCK.pages)
    assert sum(document.id not in pages for document in BLOCK.documents) == 200


def test_each_relation_is_said_in_several_ways() -> None:
    for relation, (_, kind) in RELATIONS.items():
        said = set()
        for subject, value in BLOCK.facts[relation].items():
            name = BLOCK.entities[value].name if kind in KINDS else str(value)
            subject_name = BLOCK.entities[subject].bare
            sentences = re.split(r"(?<=\.) ", TEXTS[BLOCK.pages[subject]].replace(name, "_"))
            for sentence in sentences[1:]:
                if "_" in sentence and ";" not in sentence:
                    said.add(sentence.replace(subject_name, "X").replace(subject_name.split(" ")[-1], "X"))
        assert len(said) >= 3, relation
