"""The checks of a question: each evidence document shown, each bridge seen, the answer right.

Invariant: evidence and bridges are read from what the environment showed, never from what the policy wrote, and success
is the answer alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from agentenv.progress import Check, Score
from agentenv.tasks.search.answers import score
from agentenv.tasks.search.base import Question

__all__ = ["SearchView", "question_checks", "saw"]

_FOUND_WEIGHT = 0.5
_ANSWER_WEIGHT = 0.5


class SearchView(Protocol):
    """What the checks read of an episode."""

    @property
    def shown(self) -> Iterable[str]:
        """Ids of the documents that were shown."""
        ...

    @property
    def shown_text(self) -> str:
        """Everything of these documents that was shown."""
        ...

    @property
    def answer(self) -> str | None:
        """What the agent answered; None before it did."""
        ...


def question_checks(question: Question, rule: str = "exact") -> tuple[Check, ...]:
    """What success and progress on a question are.

    Evidence and bridges share one half of progress equally, the answer has the other; only the answer is required. A
    bridge counts under each of its names in `question.extra["bridge_names"]`, where the question gives them.

    Args:
        question: The question.
        rule: How answers are scored (`agentenv.tasks.search.answers.score`).

    >>> checks = question_checks(Question("q", "Where was Ann born?", ("Oslo",), evidence=("d1",), bridges=("Ann",)))
    >>> [(check.name, check.weight, check.required) for check in checks]
    [('evidence_1', 0.25, False), ('bridge_1', 0.25, False), ('answer', 0.5, True)]
    """
    evidence = tuple(dict.fromkeys(question.evidence))
    names: Sequence[Sequence[str]] = question.extra.get("bridge_names") or [(name,) for name in question.bridges]
    share = _FOUND_WEIGHT / max(1, len(evidence) + len(names))
    checks = [
        Check(f"evidence_{number}", share, _view_score(_shown(document_id)), required=False)
        for number, document_id in enumerate(evidence, 1)
    ]
    checks += [
        Check(f"bridge_{number}", share, _view_score(_seen(any_of)), required=False)
        for number, any_of in enumerate(names, 1)
    ]
    answered = Check("answer", _ANSWER_WEIGHT, _view_score(_answered(rule, question.answers)), required=True)
    return (*checks, answered)


def saw(text: str, name: str) -> bool:
    """Whether a text names something: as whole words, whatever the case and the white space.

    >>> saw("Ann  Lee (painter) was born", "ann lee"), saw("Joann Leeds", "Ann Lee")
    (True, False)
    """
    words = name.split()
    if not words:
        return False
    pattern = r"\s+".join(map(re.escape, words))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) is not None


def _shown(document_id: str) -> Callable[[SearchView], float]:
    return lambda view: float(document_id in view.shown)


def _seen(names: Sequence[str]) -> Callable[[SearchView], float]:
    return lambda view: float(any(saw(view.shown_text, name) for name in names))


def _answered(rule: str, golds: Sequence[str]) -> Callable[[SearchView], float]:
    return lambda view: 0.0 if view.answer is None else score(rule, view.answer, golds)


def _view_score(of: Callable[[SearchView], float]) -> Score:
    """Checks are typed for views of files; a search environment gives a `SearchView` in their place."""
    return cast(Score, of)
