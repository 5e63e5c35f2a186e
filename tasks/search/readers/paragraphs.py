"""Paragraphs that a question brings along become its documents. Invariant: a document's id is its title, made unique.

Titles are what supporting facts name, and what an agent can write after `<open>`.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentenv.tasks.search.base import Document
from agentenv.tasks.search.pages import one_line

__all__ = ["as_documents"]


def as_documents(paragraphs: Iterable[tuple[str, str]]) -> tuple[Document, ...]:
    """Documents of (title, text); a title that comes again gets a number.

    >>> [document.id for document in as_documents([("Oslo", "A city."), ("Oslo", "A film.")])]
    ['Oslo', 'Oslo (2)']
    """
    made: dict[str, Document] = {}
    for title, text in paragraphs:
        base = document_id = one_line(title) or "untitled"
        number = 1
        while document_id in made:
            number += 1
            document_id = f"{base} ({number})"
        made[document_id] = Document(document_id, title, text)
    return tuple(made.values())
