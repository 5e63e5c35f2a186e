"""What a search task is made of: documents, questions, and whoever finds documents for a query.

Invariant: a `Question` is whole grader's knowledge; only its id, text and corpus name may enter a `Task`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Document", "Hit", "Question", "Retriever"]


@dataclass(frozen=True)
class Document:
    """One passage or page.

    Args:
        id: Unique in its corpus.
        title: May be empty.
        text: The body, without the title.
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Hit:
    """A document that was found, and how well it matched (larger is better)."""

    document: Document
    score: float


@dataclass(frozen=True)
class Question:
    """A question with all that decides its answer.

    Args:
        id: Unique in its task set.
        text: The question.
        answers: Every accepted answer, the canonical one first; empty for a question without one (abstaining is right).
        evidence: Ids of the documents that together prove the answer.
        bridges: Names of entities that lie between the question and its answer, in the order of the hops.
        documents: The question's own corpus (HotpotQA's paragraphs); None: the task set's shared corpus.
        kind: "bridge", "comparison", "intersection", "count", "temporal", "unanswerable", or the data's own word.
        hops: Documents that a reader must combine.
        split: "train", "val", "test" or "ood".
        difficulty: The task set's own word.
        extra: What official metrics need besides (supporting sentences, decomposition).
    """

    id: str
    text: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    bridges: tuple[str, ...] = ()
    documents: tuple[Document, ...] | None = None
    kind: str = ""
    hops: int = 1
    split: str = "train"
    difficulty: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Retriever(Protocol):
    """Finds documents. Every query is answered, whatever is in it; nothing found is an empty list.

    A retriever that cannot answer (down, slow, broken) raises `InfrastructureError`: that is never "no results".
    """

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides what is found: the corpus and the settings."""
        ...

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query the `k` best documents, best first, ties by the documents' order in the corpus."""
        ...

    def document(self, document_id: str) -> Document | None:
        """The document of an id; None if there is none."""
        ...
