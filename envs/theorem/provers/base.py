"""What every prover offers. Invariant: a wrong proof is a value or `TacticFailed`; a prover that fails is never either.

A prover that crashes, hangs beyond its limits or cannot be started raises `InfrastructureError`: such an episode is not
scored. Everything that an agent can cause by what it writes is a `TacticFailed`, or a `Verdict` that is not ok.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentenv.errors import AgentEnvError
from agentenv.tasks.theorem.base import Statement

__all__ = ["Goal", "Piece", "ProofState", "Prover", "TacticFailed", "Verdict"]


class TacticFailed(AgentEnvError):
    """A tactic that the prover did not accept; the state before it is as it was.

    Args:
        message: What the prover said, for the agent.
        line: Line of the fault in the tactic's text, from 1.
        column: Column of the fault in that line, from 0.
    """

    def __init__(self, message: str, line: int = 1, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Goal:
    """One open goal.

    Args:
        hypotheses: Names (of one type, blank between them) and what they are, in order.
        target: What is to be proved.
        text: The goal as the agent is shown it.
        key: Identifies the goal in its prover where it can: a goal that a tactic did not touch keeps its key. "" where
            it cannot; then goals are told by their text.
        case: The goal's tag, where it has one.
    """

    hypotheses: tuple[tuple[str, str], ...]
    target: str
    text: str
    key: str = ""
    case: str = ""


@dataclass(frozen=True)
class ProofState:
    """A state of a proof: a value, which stays usable whatever is done later. Cheap to keep.

    Args:
        statement: What is proved.
        tactics: The tactics so far, as they were written.
        goals: The open goals, the one that the next tactic works on first.
        hidden: Goals that are open and not shown (Coq's shelf; Lean's unassigned metavariables).
        handle: The prover's own; the state can be made anew from `statement` and `tactics` without it.
    """

    statement: Statement
    tactics: tuple[str, ...]
    goals: tuple[Goal, ...]
    hidden: int = 0
    handle: object = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The assembled proof so far: the tactics, each on a line of its own."""
        return "\n".join(self.tactics)

    @property
    def complete(self) -> bool:
        """Whether no goal is open. A proof is one only after `Prover.check`."""
        return not self.goals and not self.hidden


@dataclass(frozen=True)
class Verdict:
    """What a check from scratch said.

    Args:
        ok: Whether the proof was accepted.
        reason: Why not, for the agent; "" if it was.
        axioms: Axioms that the prover says the theorem depends on.
    """

    ok: bool
    reason: str = ""
    axioms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """One tactic in an action: its text, and where it starts (line from 1, column from 0).

    `indent` columns were taken from the front of its further lines.
    """

    text: str
    line: int = 1
    column: int = 0
    indent: int = 0

    def place(self, line: int, column: int) -> tuple[int, int]:
        """A place in the tactic as a place in the action.

        >>> Piece("split", line=3, column=7).place(1, 2)
        (3, 9)
        """
        return self.line + line - 1, column + (self.column if line == 1 else self.indent)


class Prover(abc.ABC):
    """A prover's life: states are started and extended, whole proofs are checked, and it is closed at the end."""

    name: str

    @abc.abstractmethod
    def split(self, action: str) -> Sequence[Piece]:
        """The tactics of an action, in order; raises `TacticFailed` (state unchanged) where it is no tactics at all."""

    @abc.abstractmethod
    def start(self, statement: Statement) -> ProofState:
        """The state before the first tactic.

        Raises:
            DataFileError: If the prover does not accept the statement.
            InfrastructureError: If the prover fails.
        """

    @abc.abstractmethod
    def apply(self, state: ProofState, tactic: str) -> ProofState:
        """The state after one tactic.

        Raises:
            TacticFailed: If the prover does not accept it (or it ran out of time or memory).
            InfrastructureError: If the prover fails.
        """

    @abc.abstractmethod
    def check(self, statement: Statement, proof: str) -> Verdict:
        """Whether the whole proof is accepted from scratch, by a clean process, against this statement.

        Raises:
            InfrastructureError: If the prover fails.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Frees what the prover holds; idempotent, never raises."""
