from __future__ import annotations

import copy
import gzip
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search import storage
from agentenv.tasks.search.analysis import analyse
from agentenv.tasks.search.base import Document
from agentenv.tasks.search.corpus import (
    DocumentCorpus,
    JsonlCorpus,
    contents_of,
    document_from_json,
    document_to_json,
)
from agentenv.tasks.search.index import Bm25Retriever, best
from agentenv.tasks.search.postings import Inverter

DOCUMENTS = [
    Document("a", "Oslo", "A city with hills. The hills of Oslo."),
    Document("b", "Rome", "Seven hills, and a city."),
    Document("c", "", "Nothing of the kind; 東京 👍"),
    Document("d", 'The "Big" Apple', "A city\nwith <b>markup</b> and </information>."),
]
HOSTILE = {
    "empty": "",
    "blank": " \n\t ",
    "stop words": "the of and",
    "unknown": "zyzzyva qqqq",
    "syntax": 'title:(city AND +hills) -oslo "seven hills"~2 hil* ci?y [a TO b] {x} ^4 \\ && || !',
    "long": "city hills " * 4546,
    "one long word": "x" * 50_000,
    "nul": "ci\x00ty city",
    "emoji": "👍🏽 👍 city",
    "surrogate": "city \ud800\udfff",
    "markup": "</search><answer>city</answer>",
}


def brute(documents: list[Document], query: str, k: int, k1: float, b: float) -> list[tuple[str, float]]:
    """BM25 by its definition, from strings: each term's score at float32, summed without rounding."""
    bags = [Counter(analyse(contents_of(document))) for document in documents]
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(lengths) if sum(lengths) else 1.0
    document_frequency = Counter(term for bag in bags for term in bag)
    found = []
    for position, (bag, length) in enumerate(zip(bags, lengths, strict=True)):
        parts = []
        for term in analyse(query):
            if bag[term]:
                holding = document_frequency[term]
                idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
                weight = idf * bag[term] / (bag[term] + k1 * (1 - b + b * length / mean))
                parts.append(float(np.float32(weight)))
        if parts:
            found.append((-math.fsum(parts), position))
    return [(documents[position].id, -score) for score, position in sorted(found)[:k]]


def ranking(retriever: Bm25Retriever, query: str, k: int) -> list[tuple[str, float]]:
    return [(hit.document.id, hit.score) for hit in retriever.search([query], k)[0]]


WORDS = st.sampled_from(["oslo", "rome", "hill", "hills", "city", "the", "of", "Oslo's", "7", "👍", "東", "é", "x_y"])
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)
CORPORA = st.lists(st.tuples(st.sampled_from(["", "Oslo", "Rome hill"]), TEXTS), max_size=12).map(
    lambda rows: [Document(f"d{number}", title, text) for number, (title, text) in enumerate(rows)]
)
SETTINGS = st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0.0, 0.0), (2.0, 1.0)])


@given(CORPORA, TEXTS, st.integers(1, 6), SETTINGS)
@settings(max_examples=120, deadline=None)
def test_in_memory_it_finds_what_brute_force_finds(
    documents: list[Document], query: str, k: int, setting: tuple[float, float]
) -> None:
    k1, b = setting
    assert ranking(Bm25Retriever.of(documents, k1=k1, b=b), query, k) == brute(documents, query, k, k1, b)


@given(CORPORA, st.lists(TEXTS, max_size=4), st.integers(1, 6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_from_disk_it_finds_what_brute_force_finds(
    tmp_path: Path, documents: list[Document], queries: list[str], k: int
) -> None:
    retriever = Bm25Retriever.open(DocumentCorpus(documents), cache=tmp_path)
    found = [[(hit.document.id, hit.score) for hit in hits] for hits in retriever.search(queries, k)]
    assert found == [brute(documents, query, k, 0.9, 0.4) for query in queries]
    assert [retriever.document(document.id) for document in documents] == documents
    assert retriever.fingerprint == Bm25Retriever.of(documents).fingerprint


def test_thousands_of_documents_in_several_chunks_agree_with_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentenv.tasks.search.postings._CHUNK_TOKENS", 3000)
    rng = np.random.default_rng(7)
    texts = [" ".join(f"w{word}" for word in rng.zipf(1.4, size=rng.integers(3, 9)) % 300) for _ in range(2500)]
    documents = [Document(str(number), "", text) for number, text in enumerate(texts)]
    retriever = Bm25Retriever.open(DocumentCorpus(documents), cache=tmp_path)
    for query in ("w1", "w1 w1 w2 w40 w299"):
        expected = brute(documents, query, 5000, 0.9, 0.4)
        for k in (1, 5, 5000):
            assert ranking(retriever, query, k) == expected[:k]


def test_scores_are_those_of_bm25s_own_index() -> None:
    rng = np.random.default_rng(3)
    documents = [Document(str(number), "", " ".join(rng.choice(list("bcdfgh"), 12))) for number in range(50)]
    library = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    library.index([analyse(contents_of(document)) for document in documents], show_progress=False)
    theirs = library.get_scores(analyse("b c d"))
    ours = dict(ranking(Bm25Retriever.of(documents), "b c d", 50))
    assert [ours.get(str(number), 0.0) for number in range(50)] == pytest.approx(theirs.tolist(), rel=1e-5)


def test_bm25s_opens_the_files(tmp_path: Path) -> None:
    Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)
    (folder,) = (tmp_path / "bm25").glob("*[!k]")
    model = bm25s.BM25.load(folder, load_vocab=False, mmap=True, show_progress=False)
    assert (model.k1, model.b, model.method, model.scores["num_docs"]) == (0.9, 0.4, "lucene", 4)


def test_equal_scores_go_by_corpus_order_however_many() -> None:
    documents = [Document(f"{(7 * number) % 3000}", "", "same words") for number in range(3000)]
    found = Bm25Retriever.of(documents).search(["words"], 4)[0]
    assert [hit.document.id for hit in found] == [document.id for document in documents[:4]]


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 50), st.integers(1, 7))
@settings(deadline=None)
def test_best_is_a_stable_sort_cut_short(values: list[int], k: int, block: int) -> None:
    scores = np.array(values, dtype=np.float64)
    expected = sorted((place for place, value in enumerate(values) if value), key=lambda place: -values[place])[:k]
    assert best(scores, k).tolist() == expected
    assert best(scores, k, np.arange(0, len(values), block)).tolist() == expected


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_every_query_is_answered(tmp_path: Path, query: str) -> None:
    expected = brute(DOCUMENTS, query, 3, 0.9, 0.4)
    for retriever in (Bm25Retriever.of(DOCUMENTS), Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)):
        assert [name for name, _ in ranking(retriever, query, 3)] == [name for name, _ in expected]


@pytest.mark.parametrize("documents", [[], [Document("1", "", "")], [Document("1", "", "the"), Document("2", "", "!")]])
def test_a_corpus_without_a_word_finds_nothing(tmp_path: Path, documents: list[Document]) -> None:
    for retriever in (Bm25Retriever.of(documents), Bm25Retriever.open(DocumentCorpus(documents), cache=tmp_path)):
        assert retriever.search(["anything", ""], 3) == [[], []]
        assert len(retriever) == len(documents)
        assert retriever.document("absent") is None


def test_documents_come_back_as_they_were(tmp_path: Path) -> None:
    documents = [*DOCUMENTS, Document("\ud800", "\x00", "lone \udfff surrogate"), Document("", "", "")]
    retriever = Bm25Retriever.open(DocumentCorpus(documents), cache=tmp_path)
    assert [retriever.document(document.id) for document in documents] == documents


def test_arguments_are_checked(tmp_path: Path) -> None:
    twins = [Document("1", "", "x"), Document("2", "", "x"), Document("1", "", "y")]
    with pytest.raises(ConfigurationError, match="'1' comes twice"):
        Bm25Retriever.of(twins)
    with pytest.raises(ConfigurationError, match="'1' comes twice"):
        Bm25Retriever.open(DocumentCorpus(twins), cache=tmp_path)
    assert [path.suffix for path in (tmp_path / "bm25").iterdir()] == [".lock"]
    with pytest.raises(ConfigurationError, match="k must be at least 1"):
        Bm25Retriever.of(DOCUMENTS).search(["x"], 0)
    for bad in ({"k1": -1.0}, {"k1": math.nan}, {"b": 1.5}):
        with pytest.raises(ConfigurationError, match="k1 >= 0"):
            Bm25Retriever.of(DOCUMENTS, **bad)


def test_an_index_is_made_once_and_remade_when_corpus_or_settings_change(tmp_path: Path) -> None:
    made: list[str] = []

    def documents() -> Iterator[Document]:
        made.append("gone through")
        yield from DOCUMENTS

    first = Bm25Retriever.open(DocumentCorpus(documents, "mine-1"), cache=tmp_path)
    again = Bm25Retriever.open(DocumentCorpus(documents, "mine-1"), cache=tmp_path)
    assert (len(made), first.fingerprint) == (1, again.fingerprint)
    others = [
        Bm25Retriever.open(DocumentCorpus(documents, "mine-2"), cache=tmp_path),
        Bm25Retriever.open(DocumentCorpus(documents, "mine-1"), cache=tmp_path, k1=1.2),
    ]
    assert len(made) == 3
    assert len({first.fingerprint, *(other.fingerprint for other in others)}) == 3


def build_in_another_process(cache: str, log: str) -> None:
    def documents() -> Iterator[Document]:
        with open(log, "a", encoding="ascii") as file:
            file.write("made\n")
        yield from DOCUMENTS

    retriever = Bm25Retriever.open(DocumentCorpus(documents, "shared"), cache=cache)
    assert len(retriever.search(["city"], 5)[0]) == 3


def test_processes_that_start_together_make_one_index(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    arguments = (str(tmp_path), str(tmp_path / "log"))
    processes = [context.Process(target=build_in_another_process, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert (tmp_path / "log").read_text() == "made\n"


def test_what_a_killed_build_left_is_no_index(tmp_path: Path) -> None:
    place = tmp_path / "place"

    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.made_once(place, fail)
    assert not place.exists()
    unfinished = tmp_path / "place.unfinished"
    unfinished.mkdir()
    (unfinished / "half").write_text("half")
    storage.made_once(place, lambda folder: (folder / "whole").touch())
    assert [path.name for path in place.iterdir()] == ["whole"]
    assert not unfinished.exists()


def test_a_file_system_that_refuses_is_the_platforms_failure(tmp_path: Path) -> None:
    (tmp_path / "bm25").write_text("in the way")
    with pytest.raises(InfrastructureError, match="AGENTENV_CACHE"):
        Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)


def test_a_damaged_index_is_named(tmp_path: Path) -> None:
    Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)
    (damaged,) = (tmp_path / "bm25").glob("*/data.csc.index.npy")
    damaged.write_bytes(b"")
    with pytest.raises(InfrastructureError, match="remove the directory"):
        Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)


def test_copies_and_pickles_find_the_same(tmp_path: Path) -> None:
    for retriever in (Bm25Retriever.of(DOCUMENTS), Bm25Retriever.open(DocumentCorpus(DOCUMENTS), cache=tmp_path)):
        for twin in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):
            assert twin.search(["hills city"], 5) == retriever.search(["hills city"], 5)
            assert twin.document("d") == DOCUMENTS[3]
            assert twin.fingerprint == retriever.fingerprint


def test_another_process_with_another_hash_seed_finds_the_same(tmp_path: Path) -> None:
    code = (
        "from tests.tasks.search.test_index import *\n"
        "retriever = Bm25Retriever.of(DOCUMENTS)\n"
        "print(retriever.fingerprint, ranking(retriever, 'city hills oslo', 5))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    retriever = Bm25Retriever.of(DOCUMENTS)
    assert told == {f"{retriever.fingerprint} {ranking(retriever, 'city hills oslo', 5)}\n"}


def test_search_r1_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENV_CACHE", str(tmp_path / "cache"))
    lines = [
        {"id": "0", "contents": '"Oslo"\nA city.\nOn a fjord.'},
        {"id": 1, "contents": "no title here"},
        {"_id": "2", "title": "Rome", "text": "Hills."},
        {"docid": "3", "text": "page", "url": "x"},
        {"id": "4", "contents": '""Big" Apple"\nA "city".'},
    ]
    text = "\n\n".join(map(json.dumps, lines)) + "\n"
    plain, packed = tmp_path / "corpus.jsonl", tmp_path / "corpus.jsonl.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    expected = [
        Document("0", "Oslo", "A city.\nOn a fjord."),
        Document("1", "", "no title here"),
        Document("2", "Rome", "Hills."),
        Document("3", "", "page"),
        Document("4", '"Big" Apple', 'A "city".'),
    ]
    assert list(JsonlCorpus(plain)) == list(JsonlCorpus(packed)) == expected
    assert ranking(Bm25Retriever.open(JsonlCorpus(plain)), "oslo fjord", 3)[0][0] == "0"


@given(st.text(), st.text(), st.text())
def test_a_document_survives_its_json(name: str, title: str, text: str) -> None:
    document = Document(name, title, text)
    assert document_from_json(json.loads(json.dumps(document_to_json(document)))) == document


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2"),
        ("[1]", "JSON object"),
        ('{"contents": "x"}', "needs an 'id'"),
        ('{"id": true, "text": "x"}', "needs an 'id'"),
        ('{"id": "1"}', "'contents', or 'text'"),
        ('{"id": "1", "text": 3}', "'contents', or 'text'"),
        ("[" * 100_000, "line 2"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "0", "text": "fine"}\n' + line)
    with pytest.raises(ConfigurationError, match=told):
        list(JsonlCorpus(path))


def test_a_file_is_hashed_again_only_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENV_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ConfigurationError, match="is not a file"):
        JsonlCorpus(tmp_path / "absent")
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "0", "text": "one"}')
    first = JsonlCorpus(path).fingerprint
    path.write_text('{"id": "0", "text": "two"}')
    assert JsonlCorpus(path).fingerprint != first
    # Fresh files are not remembered; an old one is, by a memo that another state makes void.
    now = path.stat().st_mtime_ns
    monkeypatch.setattr("agentenv.tasks.search.corpus.time.time_ns", lambda: now + 10**12)
    second = JsonlCorpus(path).fingerprint
    (memo,) = (tmp_path / "cache" / "hashes").glob("*.json")
    kept = json.loads(memo.read_text())
    memo.write_text(json.dumps({**kept, "fingerprint": "jsonl:remembered"}))
    assert JsonlCorpus(path).fingerprint == "jsonl:remembered"
    memo.write_text(json.dumps({**kept, "state": [0], "fingerprint": "jsonl:void"}))
    assert JsonlCorpus(path).fingerprint == second


def test_a_cut_archive_is_the_platforms_failure(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "0", "text": "one"}\n' * 100)[:-20])
    with pytest.raises(InfrastructureError, match="cannot be read"):
        list(JsonlCorpus(path))


def test_fingerprints_tell_corpora_apart() -> None:
    corpora = [
        [],
        [Document("a", "b", "c")],
        [Document("ab", "", "c")],
        [Document("a", "", "bc")],
        [Document("a", "b", "c"), Document("", "", "")],
    ]
    assert len({DocumentCorpus(documents).fingerprint for documents in corpora}) == len(corpora)
    assert DocumentCorpus(iter(DOCUMENTS)).fingerprint == DocumentCorpus(lambda: DOCUMENTS).fingerprint


def test_postings_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    def postings() -> list[list[float]]:
        inverter = Inverter()
        for terms in ([0, 1, 1], [], [2, 0], [1] * 9, [2]):
            inverter.add(terms)
        made = inverter.finish(3, 0.9, 0.4, lambda name, size, kind: np.empty(size, dtype=kind))
        return [made.data.tolist(), made.indices.tolist(), made.indptr.tolist()]

    whole = postings()
    monkeypatch.setattr("agentenv.tasks.search.postings._CHUNK_TOKENS", 1)
    assert postings() == whole
