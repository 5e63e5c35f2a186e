"""The embedded prover, behind the interface of all. Pure Python, in this process: states are values, forks are free."""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.envs.theorem.provers.base import Goal, Piece, ProofState, Prover, TacticFailed, Verdict
from agentenv.envs.theorem.provers.layout import split_layout
from agentenv.errors import DataFileError
from agentenv.tasks.theorem import mini
from agentenv.tasks.theorem.base import Statement

__all__ = ["MiniProver"]


class MiniProver(Prover):
    """See `Prover`.

    >>> prover = MiniProver()
    >>> state = prover.start(Statement("mini", "id", "theorem id (p : Prop) : p → p"))
    >>> state = prover.apply(prover.apply(state, "intro h"), "exact h")
    >>> prover.check(state.statement, state.text).ok
    True
    """

    name = "mini"

    def split(self, action: str) -> Sequence[Piece]:
        """See `Prover.split`."""
        return split_layout(action)

    def start(self, statement: Statement) -> ProofState:
        """See `Prover.start`."""
        try:
            inner = mini.start(statement.text)
        except mini.MiniError as fault:
            raise DataFileError(f"statement {statement.name!r} is none of the mini prover's: {fault}") from fault
        return ProofState(statement, (), _goals(inner), handle=inner)

    def apply(self, state: ProofState, tactic: str) -> ProofState:
        """See `Prover.apply`."""
        inner = state.handle
        if inner is None:
            inner = mini.start(state.statement.text)
            for earlier in state.tactics:
                inner = mini.apply(inner, earlier)
        try:
            after = mini.apply(inner, tactic)
        except mini.MiniError as fault:
            raise TacticFailed(fault.message, fault.line, fault.column) from fault
        return ProofState(state.statement, (*state.tactics, tactic), _goals(after), handle=after)

    def check(self, statement: Statement, proof: str) -> Verdict:
        """See `Prover.check`."""
        try:
            mini.check(statement.text, proof)
        except mini.MiniError as fault:
            return Verdict(False, fault.message)
        return Verdict(True)

    def close(self) -> None:
        """There is nothing to free."""


def _goals(inner: mini.State) -> tuple[Goal, ...]:
    return tuple(Goal(tuple(goal.hypotheses), goal.target, goal.text) for goal in mini.goals(inner))
