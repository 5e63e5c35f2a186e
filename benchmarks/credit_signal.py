"""How far two kinds of credit differ on the same episodes: `python -m benchmarks.credit_signal runs/ablation`.

Reads the groups of episodes that training runs saved, gives each both kinds of credit, and tells in how many groups the
outcome says nothing, how alike both are where it says something, and how much of procredit is about turns at all.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentenv.baselines.advantages import TurnBatch, outcome_advantages, procredit_advantages
from agentenv.trajectory import Trajectory, read_trajectories


@dataclass(frozen=True)
class Signal:
    """Counts of groups, and figures over the turns of those groups.

    Attributes:
        groups: Groups read.
        silent: Groups whose members all earned the same outcome: no credit for the outcome alone.
        silent_heard: Those of them in which procredit gives credit.
        correlation: Of both credits over the turns of groups that are not silent.
        agreement: Share of those turns at which both have the same sign.
        turn_share: Of procredit's mean square there, what goes when each episode's turns get their mean instead.
    """

    groups: int
    silent: int
    silent_heard: int
    correlation: float
    agreement: float
    turn_share: float


def groups_of(run: Path) -> list[list[Trajectory]]:
    """The whole groups that the training runs below a directory saved."""
    found: list[list[Trajectory]] = []
    for path in sorted(run.rglob("trajectories-*.jsonl")):
        members: dict[str, list[Trajectory]] = defaultdict(list)
        for trajectory in read_trajectories(path):
            members[trajectory.group_id].append(trajectory)
        found += [group for group in members.values() if len(group) > 1]
    return found


def signal(groups: list[list[Trajectory]]) -> Signal:
    """Both credits, side by side."""
    silent = heard = 0
    pairs: list[np.ndarray] = []
    within: list[np.ndarray] = []
    for group in groups:
        batch = TurnBatch.of(group)
        outcome, procredit = outcome_advantages(batch).numpy(), procredit_advantages(batch).numpy()
        mask = batch.mask.numpy()
        if not outcome.any():
            silent += 1
            heard += bool(procredit.any())
            continue
        pairs.append(np.stack([outcome[mask], procredit[mask]]))
        means = procredit.sum(1, keepdims=True) / mask.sum(1, keepdims=True)
        within.append((procredit - means)[mask])
    if not pairs:
        return Signal(len(groups), silent, heard, float("nan"), float("nan"), float("nan"))
    outcome, procredit = np.concatenate(pairs, axis=1)
    return Signal(
        groups=len(groups),
        silent=silent,
        silent_heard=heard,
        correlation=float(np.corrcoef(outcome, procredit)[0, 1]),
        agreement=float(np.mean(np.sign(outcome) == np.sign(procredit))),
        turn_share=float(np.mean(np.concatenate(within) ** 2) / np.mean(procredit**2)),
    )


def main(run: Path) -> None:
    """Prints the figures."""
    found = signal(groups_of(run))
    sys.stdout.write(
        f"{found.groups} groups; in {found.silent} all members earned the same, and procredit gives credit in "
        f"{found.silent_heard} of those\n"
        f"in the others, over turns: correlation {found.correlation:.2f}, same sign {found.agreement:.0%}; "
        f"{found.turn_share:.0%} of procredit's mean square lies between the turns of an episode\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
