"""What an estimator reads: a batch of episodes as arrays of turns. Invariant: shapes agree and every number is finite.

B episodes, K turns (the longest episode's). Turns that were not played are masked and hold 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from agentenv.errors import ConfigurationError
from agentenv.trajectory import Trajectory

__all__ = ["TurnBatch"]


@dataclass(frozen=True)
class TurnBatch:
    """Episodes as arrays.

    Attributes:
        rewards: float64 [B, K]; each turn's reward, shaping included.
        mask: bool [B, K]; True at played turns, which come first.
        group: int64 [B]; equal for members of one group.
        outcome: float64 [B]; the outcome alone, without shaping.
        progress: float64 [B, K + 1]; verified progress before the first turn and after each; past an episode's end,
            its last value.
        checks_met: float64 [B, K + 1]; of the checks that the start state did not meet, the share met then; 0 at the
            start, and throughout where the start met them all (METHODS 36). Past the end, the last value.
        state_hash: int64 [B, K]; equal for equal states *before* the turn's action; -1 at turns not played.
        terminated: bool [B]; False for episodes that a limit cut.

    Raises:
        ConfigurationError: Naming the field whose shape, type or values do not fit.
    """

    rewards: Tensor
    mask: Tensor
    group: Tensor
    outcome: Tensor
    progress: Tensor
    checks_met: Tensor
    state_hash: Tensor
    terminated: Tensor

    def __post_init__(self) -> None:
        if self.rewards.dim() != 2:
            raise ConfigurationError(f"rewards must be [B, K], got shape {tuple(self.rewards.shape)}")
        rows, turns = self.rewards.shape
        for name, shape, dtype in (
            ("rewards", (rows, turns), torch.float64),
            ("mask", (rows, turns), torch.bool),
            ("group", (rows,), torch.int64),
            ("outcome", (rows,), torch.float64),
            ("progress", (rows, turns + 1), torch.float64),
            ("checks_met", (rows, turns + 1), torch.float64),
            ("state_hash", (rows, turns), torch.int64),
            ("terminated", (rows,), torch.bool),
        ):
            value: Tensor = getattr(self, name)
            if tuple(value.shape) != shape or value.dtype != dtype:
                raise ConfigurationError(
                    f"{name} must be {dtype} of shape {shape}, got {value.dtype} of shape {tuple(value.shape)}"
                )
            if dtype == torch.float64 and not bool(torch.isfinite(value).all()):
                raise ConfigurationError(f"{name} holds a number that is not finite")
        if turns > 1 and bool((self.mask[:, 1:] & ~self.mask[:, :-1]).any()):
            raise ConfigurationError("mask must be True at an episode's first turns and False after them")

    @property
    def lengths(self) -> Tensor:
        """Turns played, int64 [B]."""
        return self.mask.sum(dim=1)

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> TurnBatch:
        """The batch of these episodes; group members are told by `group_id`, never by position.

        An episode without a `group_id` is a group of its own.

        >>> from agentenv import Turn
        >>> turn = Turn("o", "a", reward=1.0, reward_parts={"outcome": 1.0}, progress=0.5, checks={"x": 1.0, "y": 0.0})
        >>> episode = Trajectory("t", [turn], group_id="g", start_checks={"x": 0.0, "y": 0.0})
        >>> batch = TurnBatch.of([episode])
        >>> batch.rewards.tolist(), batch.checks_met.tolist()
        ([[1.0]], [[0.0, 0.5]])
        """
        rows, turns = len(trajectories), max((len(t.turns) for t in trajectories), default=0)
        rewards = torch.zeros(rows, turns, dtype=torch.float64)
        mask = torch.zeros(rows, turns, dtype=torch.bool)
        progress = torch.zeros(rows, turns + 1, dtype=torch.float64)
        checks_met = torch.zeros(rows, turns + 1, dtype=torch.float64)
        state_hash = torch.full((rows, turns), -1, dtype=torch.int64)
        groups: dict[str, int] = {}
        hashes: dict[str, int] = {}
        group = torch.zeros(rows, dtype=torch.int64)
        for row, episode in enumerate(trajectories):
            played = len(episode.turns)
            key = f"group {episode.group_id}" if episode.group_id else f"row {row}"
            group[row] = groups.setdefault(key, len(groups))
            rewards[row, :played] = _column([turn.reward for turn in episode.turns])
            mask[row, :played] = True
            values = [episode.start_progress, *(turn.progress for turn in episode.turns)]
            met = _share_met(episode)
            progress[row] = _column(values + values[-1:] * (turns - played))
            checks_met[row] = _column(met + met[-1:] * (turns - played))
            before = [episode.start_hash, *(turn.state_hash for turn in episode.turns)][:played]
            for place, state in enumerate(before):
                state_hash[row, place] = hashes.setdefault(state, len(hashes))
        return cls(
            rewards=rewards,
            mask=mask,
            group=group,
            outcome=_column([episode.outcome for episode in trajectories]),
            progress=progress,
            checks_met=checks_met,
            state_hash=state_hash,
            terminated=torch.tensor([episode.terminated for episode in trajectories], dtype=torch.bool),
        )


def _share_met(episode: Trajectory) -> list[float]:
    unmet = [name for name, score in episode.start_checks.items() if score < 1.0]
    if not unmet:
        return [0.0] * (len(episode.turns) + 1)
    return [0.0, *(sum(turn.checks.get(name, 0.0) >= 1.0 for name in unmet) / len(unmet) for turn in episode.turns)]


def _column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
