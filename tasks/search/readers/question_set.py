"""`QuestionSet`: questions read from files, as tasks. Invariant: a question's text is in one split only.

Where a file does not say which split a question is in, its text decides: of ten buckets eight are "train", one is
"val", one is "test".
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError, DataFileError, did_you_mean
from agentenv.progress import Check
from agentenv.task import SPLITS, GraderData, OfficialScore, Task, TaskSet
from agentenv.tasks.search.analysis import ANALYSIS
from agentenv.tasks.search.base import Document, Question, Retriever
from agentenv.tasks.search.checks import question_checks
from agentenv.tasks.search.corpus import Corpus, DocumentCorpus
from agentenv.tasks.search.index import Bm25Retriever
from agentenv.tasks.search.official.episodes import BENCHMARKS, Benchmark, write_official

__all__ = ["QuestionSet", "pooled", "split_by_text"]

_KEPT_GRADERS = 1024
_KEPT_INDEXES = 64


class QuestionSet(TaskSet):
    """Questions with one shared corpus, or with paragraphs of their own.

    Args:
        name: What results files call it.
        questions: With ids that differ.
        corpus: The shared corpus; None if every question brings documents, or a retrieval server has them.
        answer_rule: How answers are scored.
        difficulty: Only questions of this difficulty; None for all.
        evidence_by_title: Evidence is known by its documents' titles, not by their ids in the corpus.
        benchmark: The benchmark that the questions are all of, in its data file's order.

    Raises:
        ConfigurationError: If no question has the difficulty.
        DataFileError: If two questions share an id.
    """

    def __init__(
        self,
        name: str,
        questions: Iterable[Question],
        *,
        corpus: Corpus | None = None,
        answer_rule: str = "exact",
        difficulty: str | None = None,
        evidence_by_title: bool = False,
        benchmark: Benchmark | None = None,
    ) -> None:
        self.name = name
        self._questions: dict[str, Question] = {}
        for question in questions:
            if question.id in self._questions:
                raise DataFileError(f"{name}: two questions have the id {question.id!r}")
            self._questions[question.id] = question
        if not self._questions:
            raise ConfigurationError(f"{name} holds no question")
        words = sorted({question.difficulty for question in self._questions.values()})
        if difficulty is not None and difficulty not in words:
            raise ConfigurationError(
                f"difficulty {difficulty!r} is not one of {name}'s: {', '.join(map(repr, words))}."
                f"{did_you_mean(difficulty, words)}"
            )
        self._difficulty = difficulty
        self._corpus = corpus
        self._rule = answer_rule
        self._by_title = evidence_by_title
        self._benchmark = benchmark
        self._checks = lru_cache(maxsize=_KEPT_GRADERS)(self._make_checks)
        self._own = lru_cache(maxsize=_KEPT_INDEXES)(self._index)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of every question, the answer rule, the shared corpus and the analysis of searches."""
        digest = hashlib.sha256()
        corpus = "" if self._corpus is None else self._corpus.fingerprint
        for value in (self._rule, str(self._by_title), corpus, ANALYSIS):
            digest.update(f"{len(value)}:{value}".encode("utf-8", "surrogatepass"))
        for question in self._questions.values():
            digest.update(repr(question).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split, in the file's order."""
        return self._ids_by_split.get(split, ())

    def task(self, task_id: str) -> Task:
        """The task of an id, whatever the difficulty asked for."""
        question = self.question(task_id)
        return Task(task_id, question.text, {"corpus": self.name}, question.split, question.difficulty)

    def question(self, task_id: str) -> Question:
        """The question of an id, answers and all. Raises `UnknownTaskError`."""
        question = self._questions.get(task_id)
        if question is None:
            raise self.unknown(task_id)
        return question

    def grader(self, task_id: str) -> GraderData:
        """Evidence, bridges and the answer."""
        return GraderData(self._checks(task_id))

    def retriever_of(self, task_id: str) -> Retriever:
        """Where a task is searched: its own paragraphs, or else the shared corpus.

        Raises:
            ConfigurationError: If it has neither.
        """
        return self.retriever() if self.question(task_id).documents is None else self._own(task_id)

    def retriever(self) -> Retriever:
        """The shared corpus, indexed when first asked for.

        Raises:
            ConfigurationError: If there is none.
        """
        return self._shared

    def prepare(self, split: str) -> None:
        """Nothing: questions are read already, and a shared corpus may take long to index."""

    def sentences(self, task_id: str, document_id: str) -> list[str]:
        """A document's sentences, as the questions' data file numbers them; none where it does not."""
        ends = self._sentence_ends(task_id).get(document_id, ())
        document = self.retriever_of(task_id).document(document_id) if ends else None
        if document is None:
            return []
        return [document.text[start:end].strip() for start, end in itertools.pairwise((0, *ends))]

    @property
    def official_formats(self) -> Mapping[str, str]:
        """The benchmark that the questions are of, if it has a script of its own."""
        return {} if self._benchmark is None else {self._benchmark.name: BENCHMARKS[self._benchmark.name][1]}

    def write_official(
        self, format: str, path: Path, submissions: Mapping[str, Mapping[str, Any] | None]
    ) -> OfficialScore:
        """See `agentenv.tasks.search.official.episodes`."""
        if self._benchmark is None or format != self._benchmark.name:
            raise self.no_format(format)
        return write_official(self._benchmark, path, list(self._questions.values()), submissions, self._title)

    def oracle(self, task_id: str) -> list[str]:
        """Opens each document of the evidence once, and answers."""
        question = self.question(task_id)
        answer = question.answers[0] if question.answers else "unanswerable"
        return [*(f"<open>{document_id}</open>" for document_id in question.evidence), f"<answer>{answer}</answer>"]

    def alternatives(self, task_id: str) -> list[list[str]]:
        """The other accepted answers."""
        question = self.question(task_id)
        opens = self.oracle(task_id)[:-1]
        return [[*opens, f"<answer>{answer}</answer>"] for answer in question.answers[1:]]

    def near_misses(self, task_id: str) -> list[list[str]]:
        """All the evidence and no answer; abstaining where there is one."""
        question = self.question(task_id)
        opens = self.oracle(task_id)[:-1]
        wrong = ["", "unanswerable"] if question.answers else ["", "yes"]
        return [[*opens, f"<answer>{answer}</answer>"] for answer in wrong]

    @cached_property
    def _ids_by_split(self) -> dict[str, tuple[str, ...]]:
        kept = [q for q in self._questions.values() if self._difficulty in (None, q.difficulty)]
        return {split: tuple(q.id for q in kept if q.split == split) for split in SPLITS}

    @cached_property
    def _shared(self) -> Retriever:
        if self._corpus is None:
            raise ConfigurationError(
                f"{self.name} has no corpus: name one with '?corpus=FILE', or a server with retriever='http://...'"
            )
        return Bm25Retriever.open(self._corpus)

    def _sentence_ends(self, task_id: str) -> Mapping[str, Sequence[int]]:
        if self._benchmark is None or not self._benchmark.numbered:
            return {}
        question = self.question(task_id)
        return self._all_sentence_ends if question.documents is None else question.extra.get("sentence_ends", {})

    @cached_property
    def _all_sentence_ends(self) -> dict[str, Sequence[int]]:
        """Of a pool, in which any question's paragraphs may be shown."""
        return {key: ends for q in self._questions.values() for key, ends in q.extra.get("sentence_ends", {}).items()}

    def _title(self, task_id: str, document_id: str) -> str | None:
        document = self.retriever_of(task_id).document(document_id)
        return None if document is None else document.title

    def _index(self, task_id: str) -> Retriever:
        return Bm25Retriever.of(self.question(task_id).documents or ())

    def _make_checks(self, task_id: str) -> tuple[Check, ...]:
        checks = question_checks(self.question(task_id), self._rule)
        return tuple(replace(check, score=_ByTitle(check.score)) for check in checks) if self._by_title else checks


@dataclass(frozen=True)
class _ByTitle:
    """A check's score that is shown titles in the place of ids."""

    score: Callable[[Any], float]

    def __call__(self, view: Any) -> float:
        return self.score(replace(view, shown=view.titles))


def split_by_text(text: str) -> str:
    """The split of a question of no known split: the same for equal texts, in any file.

    >>> {split_by_text(f"Who is {n}?") for n in range(50)} == {"train", "val", "test"}
    True
    """
    bucket = int.from_bytes(hashlib.sha256(" ".join(text.casefold().split()).encode()).digest()[:8], "big") % 10
    return {8: "val", 9: "test"}.get(bucket, "train")


def pooled(questions: Sequence[Question]) -> tuple[list[Question], Corpus]:
    """The questions with one corpus of all their documents in the place of their own: equal documents become one.

    A document's id stays where no other document has it, and gets a number where one has.
    """
    ids: dict[tuple[str, str, str], str] = {}
    corpus: dict[str, Document] = {}
    shared: list[Question] = []
    for question in questions:
        renamed: dict[str, str] = {}
        for document in question.documents or ():
            key = (_base_of(document), document.title, document.text)
            if key not in ids:
                new, number = key[0], 1
                while new in corpus:
                    number += 1
                    new = f"{key[0]} ({number})"
                ids[key] = new
                corpus[new] = replace(document, id=new)
            renamed[document.id] = ids[key]
        evidence = tuple(renamed.get(document_id, document_id) for document_id in question.evidence)
        extra = dict(question.extra)
        for name in ("paragraph_numbers", "sentence_ends"):
            if name in extra:
                extra[name] = {renamed[old]: value for old, value in extra[name].items()}
        shared.append(replace(question, documents=None, evidence=evidence, extra=extra))
    return shared, DocumentCorpus(corpus.values())


def _base_of(document: Document) -> str:
    title = " ".join(document.title.split())
    return title if title and document.id.startswith(title) else document.id
