"""The field's question files, in small files written by hand in the real formats: what is read, and what is refused."""

from __future__ import annotations

import copy
import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, DataFileError, UnknownTaskError
from agentenv.task import SPLITS
from agentenv.tasks.search.base import Document, Question
from agentenv.tasks.search.loading import load
from agentenv.tasks.search.readers import question_set
from agentenv.tasks.search.readers.browsecomp_plus import decrypted, encrypted, qrels
from agentenv.tasks.search.readers.records import read_records

HOTPOT: dict[str, Any] = {
    "_id": "h1",
    "question": "Which river runs through the home town of Ada Berg?",
    "answer": "the Orla",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Ada Berg", 0], ["Lund", 1]],
    "context": [
        ["Ada Berg", ["Ada Berg grew up in Lund.", " She painted boats."]],
        ["Lund", ["Lund is a town.", " The Orla runs through it."]],
        ["Orlando", ["A city with lakes."]],
    ],
}
HOTPOT_HUB = {
    **{key: HOTPOT[key] for key in ("question", "answer", "type", "level")},
    "id": "h1",
    "supporting_facts": {"title": ["Ada Berg", "Lund"], "sent_id": [0, 1]},
    "context": {
        "title": [title for title, _ in HOTPOT["context"]],
        "sentences": [sentences for _, sentences in HOTPOT["context"]],
    },
}
WIKI = {
    **{key: value for key, value in HOTPOT.items() if key != "level"},
    "type": "compositional",
    "evidences": [["Ada Berg", "home town", "Lund"], ["Lund", "river", "the Orla"]],
    "evidences_id": [["Q1", "home town", "Q2"], ["Q2", "river", "Q3"]],
    "answer_id": "Q3",
    "entity_ids": "Q1_Q2",
}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__7_9",
    "question": "Which river runs through the home town of Ada Berg?",
    "answer": "Orla",
    "answer_aliases": ["the Orla", "Orla"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Lund", "paragraph_text": "A film of 1950.", "is_supporting": False},
        {"idx": 1, "title": "Ada Berg", "paragraph_text": "Ada Berg grew up in Lund.", "is_supporting": True},
        {"idx": 2, "title": "Lund", "paragraph_text": "The Orla runs through it.", "is_supporting": True},
    ],
    "question_decomposition": [
        {"id": 7, "question": "Ada Berg >> home town", "answer": "Lund", "paragraph_support_idx": 1},
        {"id": 9, "question": "Which river runs through #1?", "answer": "Orla", "paragraph_support_idx": 2},
    ],
}
SEARCH_R1: dict[str, Any] = {
    "data_source": "nq",
    "prompt": [{"role": "user", "content": "Give <answer> Beijing </answer>. Question: who painted boats\n"}],
    "ability": "fact-reasoning",
    "reward_model": {"style": "rule", "ground_truth": {"target": ["Ada Berg", "Berg"]}},
    "extra_info": {"split": "test", "index": 4},
}
CANARY = "a canary of our own"
BROWSE: dict[str, Any] = {
    "query_id": "12",
    "query": "Who painted boats in Lund?",
    "answer": "Ada Berg",
    "gold_docs": [{"docid": "d1", "text": "---\ntitle: Ada Berg\ndate: 1950\n---\nBoats.", "url": "http://a.test"}],
    "evidence_docs": [
        {"docid": "d1", "text": "---\ntitle: Ada Berg\ndate: 1950\n---\nBoats.", "url": "http://a.test"},
        {"docid": "d2", "text": "Lund is a town.", "url": "http://b.test"},
    ],
    "negative_docs": [{"docid": "d3", "text": "Orlando.", "url": "http://c.test"}],
}

Write = Callable[[str, Any], Path]


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTENV_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes values in the format that the file's name tells."""

    def written(name: str, values: Any) -> Path:
        path = tmp_path / name
        if isinstance(values, str):
            path.write_text(values, encoding="utf-8")
        elif name.endswith(".json"):
            path.write_text(json.dumps(values, indent=1), encoding="utf-8")
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
        elif name.endswith(".parquet"):
            pyarrow = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(pyarrow.Table.from_pylist(values), path)
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, list(values[0]))
                table.writeheader()
                table.writerows(values)
        return path

    return written


def only(tasks: str, **options: Any) -> Question:
    """The one question of a set."""
    task_set = load(tasks, **options)
    (task_id,) = [task_id for split in SPLITS for task_id in task_set.ids(split)]
    return task_set.question(task_id)


def ids(documents: tuple[Document, ...] | None) -> list[str]:
    return [document.id for document in documents or ()]


# What is read.


@pytest.mark.parametrize(("name", "row"), [("a.json", HOTPOT), ("a.jsonl", HOTPOT_HUB), ("a.parquet", HOTPOT_HUB)])
def test_hotpotqa_gives_paragraphs_and_supporting_facts(write: Write, name: str, row: dict[str, Any]) -> None:
    question = only(f"hotpotqa:{write(name, [row])}")
    assert (question.id, question.answers, question.kind, question.difficulty) == (
        "h1",
        ("the Orla",),
        "bridge",
        "hard",
    )
    assert (question.evidence, question.hops) == (("Ada Berg", "Lund"), 2)
    assert ids(question.documents) == ["Ada Berg", "Lund", "Orlando"]
    assert question.documents is not None
    assert question.documents[1].text == "Lund is a town. The Orla runs through it."
    assert question.extra["supporting_facts"] == [("Ada Berg", 0), ("Lund", 1)]
    assert question.extra["sentences"] == ["Ada Berg grew up in Lund.", "The Orla runs through it."]


def test_2wiki_gives_bridges_from_its_triples(write: Write) -> None:
    question = only(f"2wiki:{write('a.json', [WIKI])}")
    assert question.bridges == ("Lund",)
    assert question.extra["evidences"][0] == ("Ada Berg", "home town", "Lund")
    assert question.extra["answer_id"] == "Q3"


def test_musique_tells_paragraphs_of_one_title_apart(write: Write) -> None:
    question = only(f"musique:{write('a.jsonl', [MUSIQUE])}")
    assert ids(question.documents) == ["Lund", "Ada Berg", "Lund (2)"]
    assert question.evidence == ("Ada Berg", "Lund (2)")
    assert question.answers == ("Orla", "the Orla")
    assert (question.bridges, question.hops, question.difficulty) == (("Lund",), 2, "2hop")
    assert question.extra["paragraph_numbers"] == {"Lund": 0, "Ada Berg": 1, "Lund (2)": 2}


def test_a_musique_question_that_is_not_answerable_asks_for_abstaining(write: Write) -> None:
    question = only(f"musique:{write('a.jsonl', [{**MUSIQUE, 'answerable': False}])}")
    assert (question.answers, question.evidence, question.kind) == ((), (), "unanswerable")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("a.csv", {"Question": "Who painted, and where?", "Answer": "Ada, Lund"}),
        ("a.jsonl", {"id": "b0", "question": "Who painted, and where?", "golden_answers": ["Ada, Lund"]}),
    ],
)
def test_bamboogle_is_read_in_both_forms(write: Write, name: str, row: dict[str, Any]) -> None:
    question = only(f"bamboogle:{write(name, [row])}")
    assert (question.text, question.answers) == ("Who painted, and where?", ("Ada, Lund",))


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_search_r1_takes_the_question_from_the_prompt_and_the_split_from_the_row(write: Write, name: str) -> None:
    question = only(f"search_r1:{write(name, [SEARCH_R1])}")
    assert (question.text, question.answers) == ("who painted boats?", ("Ada Berg", "Berg"))
    assert (question.id, question.split, question.kind) == ("nq-test-4", "test", "nq")


def scrambled(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: scrambled(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [scrambled(item, key) for item in value]
    return value if key == "query_id" else encrypted(value, CANARY)


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_browsecomp_plus_is_decrypted_and_pooled(write: Write, name: str) -> None:
    path, canary = write(name, [scrambled(BROWSE)]), write("canary.txt", f"{CANARY}\n")
    for option in (f"canary={CANARY}".replace(" ", "+"), f"canary_file={canary}"):
        tasks = load(f"browsecomp_plus:{path}?split=test&{option}")
        question = tasks.question("12")
        assert (question.text, question.answers) == ("Who painted boats in Lund?", ("Ada Berg",))
        assert (question.evidence, question.documents) == (("d1", "d2"), None)
        found = tasks.retriever().search(["boats"], 3)[0]
        assert [hit.document.title for hit in found] == ["Ada Berg"]


def test_browsecomp_plus_takes_its_evidence_from_a_relevance_file(write: Write) -> None:
    path = write("a.jsonl", [{key: BROWSE[key] for key in ("query_id", "query", "answer")}])
    relevance = write("qrel.txt", "12 Q0 d7 1\n12 Q0 d8 0\n13 Q0 d9 1\n")
    corpus = write("corpus.parquet", [{"docid": "d7", "text": "---\ntitle: Boats\n---\nOf Lund.", "url": ""}])
    tasks = load(f"browsecomp_plus:{path}?qrels={relevance}&corpus={corpus}")
    assert tasks.question("12").evidence == ("d7",)
    assert tasks.retriever().document("d7") == Document("d7", "Boats", "---\ntitle: Boats\n---\nOf Lund.")


@settings(max_examples=25)
@given(st.text(), st.text())
def test_scrambling_is_undone(text: str, canary: str) -> None:
    assert decrypted(encrypted(text, canary), canary) == text


def test_any_table_is_read_by_its_columns(write: Write) -> None:
    rows = [
        {"q": "Who?", "a": ["Ada", "Berg"], "ev": ["1"], "docs": [{"id": "1", "title": "Ada", "text": "Boats."}]},
        {"q": "When?", "a": 1950, "ev": [], "docs": ["In 1950."]},
        {"q": "Why?", "a": None, "ev": [], "docs": []},
    ]
    path = write("mine.jsonl", rows)
    tasks = load(f"jsonl:{path}?question=q&answer=a&evidence=ev&documents=docs&split=val")
    assert tasks.ids("val") == ("mine-0", "mine-1", "mine-2")
    first, second, third = map(tasks.question, tasks.ids("val"))
    assert (first.answers, first.evidence, ids(first.documents)) == (("Ada", "Berg"), ("1",), ["1"])
    assert (second.answers, ids(second.documents)) == (("1950",), ["0"])
    assert third.answers == ()


def test_a_data_set_is_read_by_its_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str) -> list[dict[str, Any]]:
        asked.append((name, config, split))
        return [{"question": "Who?", "answer": {"text": "Ada"}, "gold": "Ada"}]

    library = SimpleNamespace(load_dataset=load_dataset, load_from_disk=lambda _: {"dev": [{"question": "?"}]})
    monkeypatch.setitem(sys.modules, "datasets", library)
    question = only("datasets:some/qa?config=open&part=validation&answer=gold")
    assert asked == [("some/qa", "open", "validation")]
    assert (question.id, question.answers) == ("qa-validation-0", ("Ada",))
    with pytest.raises(DataFileError, match=r"\(dev\), row 1, key 'answer': missing"):
        load(f"datasets:{tmp_path}?part=dev")
    with pytest.raises(ConfigurationError, match="part 'train'"):
        load(f"datasets:{tmp_path}")


def test_a_data_set_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigurationError, match="pip install datasets"):
        load("datasets:some/other")


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(MUSIQUE).encode()))
    assert only(f"musique:{path}").id == "2hop__7_9"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataFileError, match=r"a\.jsonl\.gz"):
        list(read_records(path))


# Corpora and splits.


def test_pooled_paragraphs_are_one_corpus_in_which_evidence_keeps_its_documents(write: Write) -> None:
    other = copy.deepcopy(HOTPOT)
    other.update(_id="h2", question="Which town has lakes?", answer="Lund")
    other["context"][1][1] = ["Lund has lakes."]
    tasks = load(f"hotpotqa:{write('a.json', [HOTPOT, other])}?corpus=pooled")
    first, second = tasks.question("h1"), tasks.question("h2")
    assert (first.documents, first.evidence, second.evidence) == (None, ("Ada Berg", "Lund"), ("Ada Berg", "Lund (2)"))
    corpus = tasks.retriever()
    lund = corpus.document("Lund (2)")
    assert lund is not None
    assert (lund.title, lund.text) == ("Lund", "Lund has lakes.")
    assert [hit.document.id for hit in corpus.search(["lakes"], 5)[0]] == ["Orlando", "Lund (2)"]


def test_pooling_keeps_the_numbers_of_paragraphs(write: Write) -> None:
    other = copy.deepcopy(MUSIQUE)
    other["id"] = "2hop__8_9"
    other["paragraphs"][0]["paragraph_text"] = "A song."
    tasks = load(f"musique:{write('a.jsonl', [MUSIQUE, other])}?corpus=pooled")
    assert tasks.question("2hop__8_9").extra["paragraph_numbers"] == {"Lund (3)": 0, "Ada Berg": 1, "Lund (2)": 2}


def test_a_question_without_a_corpus_says_how_to_name_one(write: Write) -> None:
    tasks = load(f"search_r1:{write('a.jsonl', [SEARCH_R1])}")
    with pytest.raises(ConfigurationError, match=r"corpus=FILE.*retriever="):
        tasks.retriever()
    with pytest.raises(ConfigurationError, match="has documents of its own"):
        load(f"search_r1:{write('a.jsonl', [SEARCH_R1])}?corpus=pooled")


def test_every_question_is_in_one_split_whatever_file_it_comes_from(write: Write) -> None:
    rows = [{"question": f"Who is {number % 30}?", "answer": "Ada"} for number in range(60)]
    tasks = load(f"jsonl:{write('a.jsonl', rows)}")
    texts = [{tasks.task(task_id).instruction for task_id in tasks.ids(split)} for split in SPLITS]
    assert sum(map(len, texts)) == 30
    assert all(texts[:3])
    again = load(f"jsonl:{write('b.csv', rows)}")
    assert [{again.task(task_id).instruction for task_id in again.ids(split)} for split in SPLITS] == texts
    assert len(load(f"jsonl:{write('a.jsonl', rows)}?split=ood").ids("ood")) == 60


def test_only_questions_of_a_difficulty_are_kept(write: Write) -> None:
    path = write("a.json", [HOTPOT, {**HOTPOT, "_id": "h2", "level": "easy"}])
    tasks = load(f"hotpotqa:{path}?split=test", difficulty="easy")
    assert tasks.ids("test") == ("h2",)
    with pytest.raises(ConfigurationError, match=r"difficulty 'esay'.*Did you mean 'easy'"):
        load(f"hotpotqa:{path}", difficulty="esay")


def test_the_same_arguments_give_the_same_object_until_the_file_changes(write: Write) -> None:
    path = write("a.json", [HOTPOT])
    first = load(f"hotpotqa:{path}")
    assert load(f"hotpotqa:{path}") is first
    write("a.json", [HOTPOT, {**HOTPOT, "_id": "h2"}])
    assert len(load(f"hotpotqa:{path}")) == 2


def test_the_fingerprint_tells_what_decides_tasks_and_grading(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.json", [HOTPOT])
    base = load(f"hotpotqa:{path}").fingerprint
    moved = tmp_path / "folder"
    moved.mkdir()
    assert load(f"hotpotqa:{path.rename(moved / 'a.json')}").fingerprint == base
    others = [
        load(f"hotpotqa:{write('a.json', [{**HOTPOT, 'answer': 'Orla'}])}").fingerprint,
        load(f"hotpotqa:{write('b.json', [HOTPOT])}", answer_rule="f1").fingerprint,
        load(f"hotpotqa:{write('b.json', [HOTPOT])}?corpus=pooled").fingerprint,
    ]
    assert len({base, *others}) == 4
    monkeypatch.setattr(question_set, "ANALYSIS", "another")
    write("c.json", [HOTPOT])
    assert load(f"hotpotqa:{tmp_path / 'c.json'}").fingerprint != base


def test_a_task_shows_the_question_and_nothing_of_the_answer(write: Write) -> None:
    task = load(f"2wiki:{write('a.json', [WIKI])}?split=test").task("h1")
    shown = json.dumps(task.to_json())
    assert task.instruction == WIKI["question"]
    assert not any(hidden in shown for hidden in ("Orla", "Lund", "compositional"))


# What is refused.


def without(row: dict[str, Any], *keys: Any) -> dict[str, Any]:
    changed = copy.deepcopy(row)
    inner: Any = changed
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return changed


@pytest.mark.parametrize(
    ("tasks", "name", "good", "bad", "message"),
    [
        ("hotpotqa", "a.json", HOTPOT, without(HOTPOT, "answer"), r"a\.json, line \d+, item 1, key 'answer': missing"),
        ("hotpotqa", "a.json", HOTPOT, {**HOTPOT, "question": " "}, "key 'question': is blank"),
        (
            "hotpotqa",
            "a.json",
            HOTPOT,
            {**HOTPOT, "context": [["Lund"]]},
            r"key 'context\[0\]': should be a list of two",
        ),
        (
            "hotpotqa",
            "a.json",
            HOTPOT,
            {**HOTPOT, "supporting_facts": [["Oslo", 0]]},
            "names 'Oslo', which is no title",
        ),
        (
            "hotpotqa",
            "a.jsonl",
            HOTPOT_HUB,
            without(HOTPOT_HUB, "context", "title"),
            r"line 2, in 'context', key 'title'",
        ),
        ("2wiki", "a.json", WIKI, {**WIKI, "evidences": [["Ada"]]}, "key 'evidences'"),
        (
            "musique",
            "a.jsonl",
            MUSIQUE,
            {**MUSIQUE, "id": "7_9"},
            "line 2, key 'id': should begin with the number of hops",
        ),
        ("musique", "a.jsonl", MUSIQUE, {**MUSIQUE, "answerable": "yes"}, "line 2, key 'answerable': should be true"),
        (
            "musique",
            "a.jsonl",
            MUSIQUE,
            without(MUSIQUE, "paragraphs", 1, "paragraph_text"),
            r"line 2, in 'paragraphs\[1\]', key 'paragraph_text': missing",
        ),
        ("search_r1", "a.jsonl", SEARCH_R1, without(SEARCH_R1, "reward_model"), "line 2, key 'reward_model': missing"),
        ("search_r1", "a.jsonl", SEARCH_R1, {**SEARCH_R1, "extra_info": {"split": "dve", "index": 1}}, "key 'split'"),
        ("search_r1", "a.parquet", SEARCH_R1, {**SEARCH_R1, "prompt": []}, "row 2, key 'prompt': holds no message"),
        (
            "bamboogle",
            "a.csv",
            {"Question": "Who?", "Answer": "Ada"},
            {"Question": "?", "Answer": ""},
            "line 3, key 'An",
        ),
        ("browsecomp_plus", "a.jsonl", BROWSE, without(BROWSE, "query"), "line 2, key 'query': missing"),
        (
            "jsonl",
            "a.jsonl",
            {"question": "?", "answer": "Ada"},
            {"question": "?", "answr": "Ada"},
            "Did you mean 'answr'",
        ),
        ("jsonl", "a.jsonl", {"question": "?", "answer": "Ada"}, {"question": "?", "answer": [" "]}, "null or "),
    ],
)
def test_a_broken_record_is_named_with_file_place_and_key(
    write: Write, tasks: str, name: str, good: Any, bad: Any, message: str
) -> None:
    with pytest.raises(DataFileError, match=message):
        load(f"{tasks}:{write(name, [good, bad])}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{}", r"a\.json, line 1: should hold one array"),
        ("a.json", "[\n{},\n{]", r"line 3, item 1: is not JSON"),
        ("a.json", "[{} {}]", "item 0: neither a comma"),
        ("a.json", "[{}", "item 0: neither a comma"),
        ("a.json", "[{},", "item 1: is not JSON"),
        ("a.json", "[1]", "item 0: should be an object, is 1"),
        ("a.json", "[" * 100_000, "item 0: is not JSON"),
        ("a.jsonl", '{}\n\n{"a"', "line 3: is not JSON"),
        ("a.jsonl", "3\n", "line 1: should be an object"),
        ("a.csv", "Question,Answer\nWho?\n", "line 2: has not as many columns"),
        ("a.csv", 'Question,Answer\n"Who?,Ada\n', "line 2: unexpected end"),
        ("a.parquet", "PAR1", "is no parquet file"),
    ],
)
def test_a_file_that_breaks_its_format_is_named_with_the_place(
    write: Write, name: str, text: str, message: str
) -> None:
    with pytest.raises(DataFileError, match=message):
        list(read_records(write(name, text)))


def test_bytes_that_are_not_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(DataFileError, match=r"a\.jsonl: is not UTF-8"):
        list(read_records(path))


def test_a_wrong_canary_is_named(write: Write) -> None:
    path = write("a.jsonl", [scrambled(BROWSE)])
    with pytest.raises(DataFileError, match=r"a\.jsonl, line 1, key 'query': cannot be decrypted"):
        load(f"browsecomp_plus:{path}?canary=another")


@pytest.mark.parametrize("line", ["12 Q0 d7", "12 Q0 d7 one"])
def test_a_broken_relevance_file_is_named(write: Write, line: str) -> None:
    with pytest.raises(DataFileError, match=r"qrel\.txt, line 2"):
        qrels(write("qrel.txt", f"12 Q0 d6 1\n{line}\n"))


def test_an_id_that_comes_twice_is_refused(write: Write) -> None:
    with pytest.raises(DataFileError, match="two questions have the id 'h1'"):
        load(f"hotpotqa:{write('a.json', [HOTPOT, HOTPOT])}")


@pytest.mark.parametrize(
    ("tasks", "error", "message"),
    [
        ("hotpot:a.json", UnknownTaskError, "Did you mean 'hotpotqa'"),
        ("generated?sise=1000", ConfigurationError, "option 'sise'.*Did you mean 'size'"),
        ("generated?size=many", ConfigurationError, "size='many' of 'generated' is no number"),
        ("hotpotqa:", ConfigurationError, "needs a file"),
        ("hotpotqa:nowhere.json", ConfigurationError, "there is no file 'nowhere.json'"),
        ("hotpotqa:nowhere.parquet", ConfigurationError, "there is no file 'nowhere.parquet'"),
        ("hotpotqa:nowhere.txt", ConfigurationError, "should end in one of .json"),
        ("hotpotqa:a.json?splitt=test", ConfigurationError, "option 'splitt'.*Did you mean 'split'"),
        ("hotpotqa:a.json?split=dev", ConfigurationError, "split='dev' is not one of"),
        ("hotpotqa:a.json?split=", ConfigurationError, "has no value"),
        ("hotpotqa:a.json?split=val&split=test", ConfigurationError, "stands twice"),
        ("hotpotqa:a.json?canary=x", ConfigurationError, "option 'canary' of 'hotpotqa' is not known"),
        ("browsecomp_plus:a.jsonl?canary_file=nowhere", ConfigurationError, "canary_file='nowhere'"),
    ],
)
def test_a_name_that_cannot_be_loaded_says_why(tasks: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(tasks)


def test_an_unknown_answer_rule_is_named(write: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"answer_rule='exakt'.*Did you mean 'exact'"):
        load(f"hotpotqa:{write('a.json', [HOTPOT])}", answer_rule="exakt")
