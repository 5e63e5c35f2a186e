"""HotpotQA's files (`hotpot_*.json`, and the Hub's form as JSONL or parquet), and what 2WikiMultihopQA adds to them.

A record: `_id` (or `id`), `question`, `answer`, `type`, `level`, `context` [[title, [sentence, ...]], ...] and
`supporting_facts` [[title, sentence index], ...]; on the Hub the last two are objects of lists. 2WikiMultihopQA has no
`level`, and has `evidences` [[subject, relation, object], ...].
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.readers.paragraphs import as_documents
from agentenv.tasks.search.readers.records import Record, read_records

__all__ = ["hotpotqa", "two_wiki"]

_JOINT = " "


def hotpotqa(path: Path) -> Iterator[Question]:
    """The questions of a HotpotQA file, each with its paragraphs."""
    for record in read_records(path):
        yield _question(record)


def two_wiki(path: Path) -> Iterator[Question]:
    """The questions of a 2WikiMultihopQA file, each with its paragraphs; bridges come from the evidence triples."""
    for record in read_records(path):
        triples = [_triple(record, triple) for triple in record.list("evidences")] if record.has("evidences") else []
        more = {key: record.value(key) for key in ("evidences_id", "answer_id", "entity_ids") if record.has(key)}
        yield _question(record, _bridges(triples, record.text("answer")), {"evidences": triples, **more})


def _question(record: Record, bridges: Iterable[str] = (), more: dict[str, Any] | None = None) -> Question:
    paragraphs = list(_paragraphs(record))
    documents = as_documents((title, _JOINT.join(map(str.strip, sentences))) for title, sentences in paragraphs)
    by_title: dict[str, tuple[str, Sequence[str]]] = {}
    for document, (title, sentences) in zip(documents, paragraphs, strict=True):
        by_title.setdefault(title, (document.id, sentences))
    facts = list(_facts(record))
    absent = sorted({title for title, _ in facts if title not in by_title})
    if absent:
        raise record.fault("supporting_facts", f"names {absent[0]!r}, which is no title in 'context'")
    # A few facts of the published files count past the paragraph's end; they support nothing that could be shown.
    supporting = [by_title[title][1][index].strip() for title, index in facts if index < len(by_title[title][1])]
    evidence = dict.fromkeys(by_title[title][0] for title, _ in facts)
    ends = {document.id: _ends(sentences) for document, (_, sentences) in zip(documents, paragraphs, strict=True)}
    return Question(
        id=record.text("_id" if record.has("_id") else "id"),
        text=record.text("question").strip(),
        answers=(record.text("answer").strip(),),
        evidence=tuple(evidence),
        bridges=tuple(bridges),
        documents=documents,
        kind=record.text("type") if record.has("type") else "",
        hops=max(len(evidence), 1),
        difficulty=record.text("level") if record.has("level") else "",
        extra={"supporting_facts": facts, "sentences": supporting, "sentence_ends": ends, **(more or {})},
    )


def _ends(sentences: Sequence[str]) -> tuple[int, ...]:
    """Where each sentence ends in the document's text."""
    lengths = (len(sentence.strip()) for sentence in sentences)
    return tuple(end + number * len(_JOINT) for number, end in enumerate(itertools.accumulate(lengths)))


def _paragraphs(record: Record) -> Iterator[tuple[str, list[str]]]:
    if isinstance(record.value("context"), dict):
        columns = record.object("context")
        pairs: Iterable[tuple[Any, Any]] = _columns(columns, "title", "sentences")
    else:
        pairs = record.pairs("context")
    for title, sentences in pairs:
        whole = isinstance(title, str) and isinstance(sentences, list) and all(isinstance(s, str) for s in sentences)
        if not whole:
            raise record.fault("context", f"should hold titles with lists of sentences, holds {title!r:.60}")
        yield title, sentences


def _facts(record: Record) -> Iterator[tuple[str, int]]:
    if isinstance(record.value("supporting_facts"), dict):
        columns = record.object("supporting_facts")
        pairs: Iterable[tuple[Any, Any]] = _columns(columns, "title", "sent_id")
    else:
        pairs = record.pairs("supporting_facts")
    for title, index in pairs:
        if not (isinstance(title, str) and isinstance(index, int) and index >= 0):
            raise record.fault("supporting_facts", f"should hold titles with sentence numbers, holds {title!r:.60}")
        yield title, index


def _columns(record: Record, first: str, second: str) -> Iterator[tuple[Any, Any]]:
    left, right = record.list(first), record.list(second)
    if len(left) != len(right):
        raise record.fault(second, f"has {len(right)} entries for the {len(left)} of {first!r}")
    return zip(left, right, strict=True)


def _triple(record: Record, value: Any) -> tuple[str, str, str]:
    if not (isinstance(value, (list, tuple)) and len(value) == 3 and all(isinstance(part, str) for part in value)):
        raise record.fault("evidences", f"should hold lists of subject, relation, object, holds {value!r:.60}")
    return value[0], value[1], value[2]


def _bridges(triples: Sequence[tuple[str, str, str]], answer: str) -> list[str]:
    """What one triple ends in and a later one starts from."""
    subjects = {subject for subject, _, _ in triples}
    return list(dict.fromkeys(value for _, _, value in triples if value in subjects and value != answer.strip()))
