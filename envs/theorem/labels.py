"""Labels of tactics, for process-verified rewards. Invariant: an action has at most one first error.

Of the tactics of an action, those before the first that fails are sound, that one is the first error, and those after
it were never tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentenv.envs.theorem.provers.base import Piece

__all__ = ["AFTER", "FIRST_ERROR", "SOUND", "TacticLabel", "label", "tactic_scores"]

SOUND, FIRST_ERROR, AFTER = "sound", "first_error", "after"


@dataclass(frozen=True)
class TacticLabel:
    """What became of one tactic.

    Args:
        turn: The turn whose action held it, from 1.
        text: The tactic.
        line: Where it starts in the action: line from 1.
        column: Column from 0.
        label: "sound", "first_error" or "after".
    """

    turn: int
    text: str
    line: int
    column: int
    label: str

    def to_json(self) -> dict[str, Any]:
        """The label as JSON values."""
        return {"turn": self.turn, "text": self.text, "line": self.line, "column": self.column, "label": self.label}


def label(turn: int, pieces: Sequence[Piece], accepted: int) -> tuple[TacticLabel, ...]:
    """Labels the tactics of an action of which the first `accepted` were accepted.

    >>> [one.label for one in label(1, [Piece("intro h"), Piece("oops", 2), Piece("exact h", 3)], 1)]
    ['sound', 'first_error', 'after']
    """
    names = [SOUND] * accepted + [FIRST_ERROR] + [AFTER] * len(pieces)
    return tuple(
        TacticLabel(turn, piece.text, piece.line, piece.column, name)
        for piece, name in zip(pieces, names, strict=False)
    )


def tactic_scores(
    labels: Sequence[TacticLabel], success: bool, before: float = -0.05, from_error: float = -0.1
) -> list[float]:
    """The score of each tactic: 1 for all if the proof passed; else `before` the first error, and from it on.

    >>> labels = label(1, [Piece("intro h"), Piece("oops", 2)], 1)
    >>> tactic_scores(labels, success=False), tactic_scores(labels, success=True)
    ([-0.05, -0.1], [1.0, 1.0])
    """
    if success:
        return [1.0] * len(labels)
    first = next((at for at, one in enumerate(labels) if one.label == FIRST_ERROR), len(labels))
    return [before] * first + [from_error] * (len(labels) - first)
