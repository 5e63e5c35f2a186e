"""MuSiQue's files (`musique_*.jsonl`), answerable and full.

A record: `id` ("2hop__..."), `question`, `answer`, `answer_aliases`, `answerable`, `paragraphs` [{`idx`, `title`,
`paragraph_text`, `is_supporting`}, ...] and `question_decomposition` [{`id`, `question`, `answer`,
`paragraph_support_idx`}, ...]. A question that is not answerable has no accepted answer: abstaining is right. The full
version asks every id twice, once answerable and once not: the second gets a number ("2hop__... (2)").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agentenv.tasks.search.base import Question
from agentenv.tasks.search.readers.paragraphs import as_documents
from agentenv.tasks.search.readers.records import Record, read_records

__all__ = ["musique"]

_HOPS = re.compile(r"(\d)hop")


def musique(path: Path) -> Iterator[Question]:
    """The questions of a MuSiQue file, each with its paragraphs; steps of the decomposition are its bridges."""
    asked: Counter[str] = Counter()
    for record in read_records(path):
        original_id = record.text("id")
        asked[original_id] += 1
        again = asked[original_id]
        yield _question(record, original_id if again == 1 else f"{original_id} ({again})")


def _question(record: Record, question_id: str) -> Question:
    original_id = record.text("id")
    counted = _HOPS.match(original_id)
    if counted is None:
        raise record.fault("id", f"should begin with the number of hops ('2hop__...'), is {original_id!r:.60}")
    paragraphs = list(record.objects("paragraphs"))
    documents = as_documents((paragraph.text("title"), paragraph.text("paragraph_text")) for paragraph in paragraphs)
    supporting = [paragraph.flag("is_supporting") for paragraph in paragraphs]
    numbers = {document.id: paragraph.number("idx") for document, paragraph in zip(documents, paragraphs, strict=True)}
    answerable = record.flag("answerable") if record.has("answerable") else True
    aliases = record.texts("answer_aliases") if record.has("answer_aliases") else ()
    answers = tuple(dict.fromkeys(answer.strip() for answer in (record.text("answer"), *aliases) if answer.strip()))
    steps = list(record.objects("question_decomposition")) if record.has("question_decomposition") else []
    bridges = [step.text("answer").strip() for step in steps[:-1]]
    evidence = tuple(document.id for document, supports in zip(documents, supporting, strict=True) if supports)
    return Question(
        id=question_id,
        text=record.text("question").strip(),
        answers=answers if answerable else (),
        evidence=evidence if answerable else (),
        bridges=tuple(dict.fromkeys(name for name in bridges if name not in answers)) if answerable else (),
        documents=documents,
        kind="bridge" if answerable else "unanswerable",
        hops=int(counted[1]),
        difficulty=f"{counted[1]}hop",
        extra={
            "original_id": original_id,
            "answerable": answerable,
            "paragraph_numbers": numbers,
            "support_numbers": sorted(numbers[document_id] for document_id in evidence),
            "decomposition": [dict(step.values) for step in steps],
        },
    )
