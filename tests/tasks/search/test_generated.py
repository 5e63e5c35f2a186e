"""The generated set: splits that share nothing, the same task in any process, oracles that find what they claim."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentenv.errors import ConfigurationError, GraderError, UnknownTaskError
from agentenv.progress import Progress, verify_checks
from agentenv.task import SPLITS, Task
from agentenv.tasks.search import generated
from agentenv.tasks.search.base import Question
from agentenv.tasks.search.checks import question_checks, saw
from agentenv.tasks.search.generated import GeneratedQuestions
from agentenv.tasks.search.index import Bm25Retriever

TASKS = GeneratedQuestions()
RETRIEVER = Bm25Retriever.of(TASKS.world.documents())
LEAST_SHOWN = 2
ACTION = re.compile(r"<(search|open|answer)>(.*)</\1>")
DOCS = Path(__file__).parents[3] / "docs" / "tasks-search.md"
SOME = [task_id for split in SPLITS for task_id in TASKS.ids(split)[:48]]


@dataclass
class View:
    shown: set[str]
    shown_text: str = ""
    answer: str | None = None


def play(task_id: str, actions: list[str], tasks: GeneratedQuestions = TASKS) -> list[Progress]:
    """What verification finds at the start and after each action, with two passages shown for a search."""
    view, checks = View(set()), tasks.grader(task_id).checks
    found = [verify_checks(checks, view)]  # type: ignore[arg-type]
    for action in actions:
        matched = ACTION.fullmatch(action)
        assert matched is not None
        verb, content = matched.groups()
        documents = []
        if verb == "search":
            documents = [hit.document for hit in RETRIEVER.search([content], LEAST_SHOWN)[0]]
        elif verb == "open":
            document = RETRIEVER.document(content)
            assert document is not None
            documents = [document]
        else:
            view.answer = content
        for document in documents:
            view.shown.add(document.id)
            view.shown_text += f"\n{document.title}: {document.text}"
        found.append(verify_checks(checks, view))  # type: ignore[arg-type]
    return found


def test_splits_have_their_sizes_and_ids_differ() -> None:
    assert {split: len(TASKS.ids(split)) for split in SPLITS} == {"train": 16000, "val": 800, "test": 1600, "ood": 500}
    ids = [task_id for split in SPLITS for task_id in TASKS.ids(split)]
    assert len(set(ids)) == len(ids) == len(TASKS)


@pytest.fixture(scope="module")
def asked() -> dict[str, list[tuple[str, str]]]:
    """Kind and text of every question of each split."""
    made = {split: [TASKS.question(task_id) for task_id in TASKS.ids(split)] for split in SPLITS}
    return {split: [(question.kind, question.text) for question in questions] for split, questions in made.items()}


def test_each_kind_has_a_thousand_training_questions_or_more(asked: dict[str, list[tuple[str, str]]]) -> None:
    kinds = Counter(kind for kind, _ in asked["train"])
    assert set(kinds) == {"bridge", "comparison", "count", "intersection", "unanswerable"}
    assert min(kinds.values()) == 1000


def test_a_prefix_of_ids_mixes_difficulties_and_kinds() -> None:
    questions = [TASKS.question(task_id) for task_id in TASKS.ids("test")[:16]]
    assert Counter(question.difficulty for question in questions) == {"easy": 5, "medium": 5, "hard": 6}
    assert {question.kind for question in questions} == {
        "bridge",
        "comparison",
        "count",
        "intersection",
        "unanswerable",
    }


def test_splits_share_no_question(asked: dict[str, list[tuple[str, str]]]) -> None:
    texts = [{text for _, text in asked[split]} for split in SPLITS]
    assert len(set.union(*texts)) == sum(map(len, texts))


@pytest.mark.parametrize(("split", "least"), [("val", 0.99), ("test", 0.97), ("ood", 0.99), ("train", 0.95)])
def test_questions_of_a_split_hardly_repeat(split: str, least: float, asked: dict[str, list[tuple[str, str]]]) -> None:
    assert len(set(asked[split])) >= least * len(asked[split])


def test_filters_keep_ids_of_the_whole_set() -> None:
    counts = GeneratedQuestions(kinds=["count"], difficulty="hard")
    assert len(counts.ids("test")) == 100
    assert set(counts.ids("test")) < set(TASKS.ids("test"))
    assert {TASKS.question(task_id).kind for task_id in counts.ids("test")} == {"count"}
    assert counts.ids("ood") == ()
    assert {task_id.split("-")[0] for task_id in GeneratedQuestions(difficulty="easy").ids("val")} == {"easy"}


def test_answers_are_not_always_the_same() -> None:
    for kind in ("count", "comparison"):
        questions = (TASKS.question(task_id) for task_id in GeneratedQuestions(kinds=[kind]).ids("test"))
        answers = Counter(question.answers[0] for question in questions)
        assert answers.most_common(1)[0][1] <= 0.6 * answers.total()


_PRINT = """
import hashlib, json, sys
from agentenv.tasks.search.generated import GeneratedQuestions
tasks = GeneratedQuestions(seed=3, size=2100)
for split in ("train", "val", "test", "ood"):
    for task_id in tasks.ids(split)[:32]:
        kept = (tasks.task(task_id).to_json(), tasks.oracle(task_id), tasks.alternatives(task_id),
                tasks.near_misses(task_id), [check.name for check in tasks.grader(task_id).checks])
        print(task_id, hashlib.sha256(json.dumps(kept).encode()).hexdigest())
"""


def test_tasks_are_the_same_in_processes_with_different_hash_seeds() -> None:
    printed = set()
    for seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _PRINT], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert printed.pop().count("\n") == 128


def test_a_task_does_not_depend_on_what_was_asked_before() -> None:
    ids = list(TASKS.ids("val")[:20])
    fresh = GeneratedQuestions()
    assert [fresh.task(task_id) for task_id in reversed(ids)] == [TASKS.task(task_id) for task_id in reversed(ids)]


def test_a_task_holds_its_question_and_the_name_of_its_corpus_only() -> None:
    for task_id in SOME:
        task = TASKS.task(task_id)
        assert task.data == {"corpus": "generated-0-2000"}
        assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
        assert "kind" not in json.dumps(task.to_json())
        assert TASKS.question(task_id).kind not in task_id


def test_instructions_are_short() -> None:
    words = [len(TASKS.task(task_id).instruction.split()) for split in SPLITS for task_id in TASKS.ids(split)[:500]]
    assert max(words) < 40


def test_oracles_find_all_evidence_and_bridges_with_two_passages_a_search() -> None:
    for task_id in SOME:
        found = play(task_id, TASKS.oracle(task_id))
        values = [progress.value for progress in found]
        assert values[0] == 0
        assert values == sorted(values)
        assert values[-2] == pytest.approx(0.5)
        assert not found[-2].success
        assert (values[-1], found[-1].success) == (1.0, True), task_id


def test_every_evidence_document_is_found_by_its_query() -> None:
    for task_id in TASKS.ids("test")[::5]:
        question = TASKS.question(task_id)
        for query, document_id in zip(question.extra["queries"], question.evidence, strict=True):
            hits = RETRIEVER.search([query], LEAST_SHOWN)[0]
            assert document_id in [hit.document.id for hit in hits], query


def test_alternatives_solve_it_too() -> None:
    for task_id in SOME:
        for actions in TASKS.alternatives(task_id):
            last = play(task_id, actions)[-1]
            assert (last.value, last.success) == (1.0, True), actions


@pytest.mark.parametrize("rule", ["exact", "f1", "contains", "squad_em"])
def test_near_misses_fail_under_every_rule(rule: str) -> None:
    tasks = GeneratedQuestions(answer_rule=rule)
    for task_id in SOME[::7]:
        misses = tasks.near_misses(task_id)
        assert len(misses) >= 2
        for actions in misses:
            last = play(task_id, actions, tasks)[-1]
            assert last.value < 1, actions
            assert not last.success, actions


def test_unanswerable_questions_want_an_abstention() -> None:
    unanswerable = GeneratedQuestions(kinds=["unanswerable"]).ids("test")[:20]
    for task_id in unanswerable:
        assert play(task_id, ["<answer>unanswerable</answer>"])[-1].success
        assert not play(task_id, ["<answer>Barabberg</answer>"])[-1].success
    others = set(TASKS.ids("test")[:100]) - set(GeneratedQuestions(kinds=["unanswerable"]).ids("test"))
    assert not any(play(task_id, ["<answer>unanswerable</answer>"])[-1].success for task_id in others)


QUESTION = Question("q", "Where?", ("Oslo",), evidence=("d1", "d2", "d1"), bridges=("Ann Lee (painter)",), extra={})


def test_checks_weigh_what_was_found_as_much_as_the_answer() -> None:
    checks = question_checks(QUESTION)
    assert [check.name for check in checks] == ["evidence_1", "evidence_2", "bridge_1", "answer"]
    assert sum(check.weight for check in checks[:-1]) == pytest.approx(checks[-1].weight)
    assert [check.required for check in checks] == [False, False, False, True]


def test_checks_without_evidence_are_the_answer_alone() -> None:
    (answer,) = question_checks(Question("q", "Where?", ("Oslo",)))
    assert verify_checks([answer], View(set(), answer="Oslo")).value == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("view", "scores"),
    [
        (View(set()), [0, 0, 0, 0]),
        (View({"d2"}), [0, 1, 0, 0]),
        (View(set(), "x: By Ann Lee (painter)."), [0, 0, 1, 0]),
        (View(set(), "x: By Ann Lee (chemist), of Ann Lee."), [0, 0, 0, 0]),
        (View(set(), answer="Oslo"), [0, 0, 0, 1]),
        (View({"d1", "d2"}, "ANN  LEE (painter)", "Oslo."), [1, 1, 1, 1]),
        (View(set(), answer=""), [0, 0, 0, 0]),
        (View(set(), answer="unanswerable"), [0, 0, 0, 0]),
        (View(set(), answer="d1 d2 Ann Lee (painter)"), [0, 0, 0, 0]),
    ],
)
def test_each_check_reads_its_own_part_of_the_view(view: View, scores: list[int]) -> None:
    assert list(verify_checks(question_checks(QUESTION), view).checks.values()) == scores  # type: ignore[arg-type]


def test_a_bridge_counts_under_any_of_its_names() -> None:
    question = Question("q", "?", ("x",), bridges=("Ann Lee",), extra={"bridge_names": (("Ann Lee", "Wren Lee"),)})
    assert verify_checks(question_checks(question), View(set(), "by Wren Lee.")).value == 0.5  # type: ignore[arg-type]


def test_a_name_is_seen_as_whole_words_only() -> None:
    assert saw("(or Ann Lee)", "Ann Lee")
    assert not saw("Joann Lee", "Ann Lee")
    assert not saw("Ann Leeds", "Ann Lee")
    assert not saw("anything", " ")


def test_a_view_without_what_checks_read_is_a_fault_of_the_platform() -> None:
    with pytest.raises(GraderError):
        verify_checks(question_checks(QUESTION), object())  # type: ignore[arg-type]


def test_a_larger_world_is_asked_about_in_all_its_blocks() -> None:
    tasks = GeneratedQuestions(seed=1, size=4100)
    pages = {document_id for task_id in tasks.ids("val")[:96] for document_id in tasks.question(task_id).evidence}
    size = len(tasks.world.block(0).documents)
    assert {int(page[1:]) // size for page in pages} >= {0, 1, 2}


def test_the_smallest_world_asks_every_kind() -> None:
    tasks = GeneratedQuestions(seed=5, size=1000)
    for split in SPLITS:
        for task_id in tasks.ids(split)[:48]:
            assert tasks.question(task_id).text.endswith("?")


def test_the_fingerprint_tells_worlds_and_rules_apart() -> None:
    variants = [{}, {"seed": 1}, {"size": 2001}, {"answer_rule": "f1"}]
    assert len({GeneratedQuestions(**arguments).fingerprint for arguments in variants}) == 4  # type: ignore[arg-type]
    assert GeneratedQuestions().fingerprint == TASKS.fingerprint


def test_the_fingerprint_covers_the_analysis_of_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "ANALYSIS", "another")
    assert GeneratedQuestions().fingerprint != TASKS.fingerprint


@pytest.mark.parametrize("arguments", [{}, {"size": 4500, "kinds": ["bridge", "count"], "difficulty": "hard"}])
def test_after_preparing_no_question_of_the_split_waits_for_a_pool(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    tasks, plain = GeneratedQuestions(**arguments), GeneratedQuestions(**arguments)
    tasks.prepare("val")
    ids = tasks.ids("val")[:60]
    expected = [plain.question(task_id) for task_id in ids]
    monkeypatch.setattr(generated, "pool", None)
    assert [tasks.question(task_id) for task_id in ids] == expected
    with pytest.raises(TypeError):
        tasks.question(tasks.ids("test")[0])


def test_a_large_world_is_not_made_to_prepare_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "pool", None)
    GeneratedQuestions(size=20_000).prepare("train")


def test_the_retriever_is_indexed_once_and_finds_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENV_CACHE", str(tmp_path))
    tasks = GeneratedQuestions(size=1000)
    page = tasks.world.block(0).documents[5]
    assert tasks.retriever().document("d5") == page
    assert tasks.retriever() is tasks.retriever_of("easy-val-0")
    assert GeneratedQuestions(size=1000).retriever().fingerprint == tasks.retriever().fingerprint
    assert GeneratedQuestions(size=1000, seed=1).retriever().fingerprint != tasks.retriever().fingerprint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ["brigde"]}, "Did you mean 'bridge'"),
        ({"difficulty": "extreme"}, "easy, medium, hard"),
        ({"answer_rule": "em"}, "'em' is not one of"),
        ({"size": 999}, "at least 1000 documents, got size=999"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        GeneratedQuestions(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "task_id",
    ["", "easy", "easy-train", "easy-train-5000", "easy-train-01", "easy-train--1", "easy-train-١", "hard-ood-1-2"],
)
def test_ids_outside_the_set_are_unknown(task_id: str) -> None:
    for use in (TASKS.task, TASKS.grader, TASKS.oracle, TASKS.near_misses, TASKS.retriever_of):
        with pytest.raises(UnknownTaskError, match="is not in 'generated'"):
            use(task_id)


def test_an_unknown_id_is_answered_with_a_near_one() -> None:
    with pytest.raises(UnknownTaskError, match=r"Did you mean 'easy-train-7'\?"):
        TASKS.task("easy-trian-7")


def test_docs_show_questions_that_exist() -> None:
    rows = re.findall(
        r"\| `((?:easy|medium|hard)-\w+-\d+)` \| \S+ \| (.*) \| (.*) \|", DOCS.read_text(encoding="utf-8")
    )
    assert len(rows) >= 10
    for task_id, text, answer in rows:
        question = TASKS.question(task_id)
        assert (question.text, (*question.answers, "none")[0]) == (text, answer)
