"""Episodes as training sequences. Invariant: the mask is True exactly at sampled ids, by position."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agentenv.errors import TokenMismatchError
from agentenv.trajectory import Trajectory

__all__ = ["TokenRow", "rows_of"]


@dataclass(frozen=True)
class TokenRow:
    """One training sequence. All arrays are of its length T.

    Attributes:
        ids: int64 [T].
        loss_mask: bool [T]; True exactly at sampled ids.
        logprobs: float64 [T]; of sampled ids when they were sampled, 0.0 elsewhere.
        turn_index: int64 [T]; the turn of a sampled id, -1 elsewhere.
    """

    ids: NDArray[np.int64] = field(repr=False)
    loss_mask: NDArray[np.bool_] = field(repr=False)
    logprobs: NDArray[np.float64] = field(repr=False)
    turn_index: NDArray[np.int64] = field(repr=False)


def rows_of(trajectory: Trajectory) -> list[TokenRow]:
    """The training rows of an episode: a new one at each turn whose prompt was built anew.

    Raises:
        TokenMismatchError: If a turn's ids and log-probs differ in number, or a turn has ids without a prompt.

    >>> from agentenv import Trajectory, Turn
    >>> turns = [Turn("o", "a", [1, 5, 2], [7, 4], [-0.5, -0.1]), Turn("p", "b", [1, 6, 2], [8, 4], [-0.2, -0.3])]
    >>> [row] = rows_of(Trajectory("t", turns))
    >>> row.ids.tolist(), row.turn_index.tolist()
    ([1, 5, 2, 7, 4, 1, 6, 2, 8, 4], [-1, -1, -1, 0, 0, -1, -1, -1, 1, 1])
    """
    rows: list[TokenRow] = []
    ids: list[int] = []
    logprobs: list[float] = []
    turns: list[int] = []

    def close() -> None:
        if any(turn >= 0 for turn in turns):
            index = np.asarray(turns, dtype=np.int64)
            rows.append(
                TokenRow(np.asarray(ids, dtype=np.int64), index >= 0, np.asarray(logprobs, dtype=np.float64), index)
            )

    for number, turn in enumerate(trajectory.turns):
        if len(turn.logprobs) != len(turn.action_ids):
            raise TokenMismatchError(
                f"task {trajectory.task_id!r}, turn {number}: {len(turn.logprobs)} logprobs for "
                f"{len(turn.action_ids)} sampled ids"
            )
        if turn.action_ids and not turn.observation_ids:
            raise TokenMismatchError(f"task {trajectory.task_id!r}, turn {number} has sampled ids but no prompt ids")
        if turn.restart:
            close()
            ids, logprobs, turns = [], [], []
        ids = ids + list(turn.observation_ids) + list(turn.action_ids)
        logprobs = logprobs + [0.0] * len(turn.observation_ids) + list(turn.logprobs)
        turns = turns + [-1] * len(turn.observation_ids) + [number] * len(turn.action_ids)
    close()
    return rows
