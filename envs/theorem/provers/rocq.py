"""Coq (Rocq) behind the interface of all. Invariant: a state is its tactics; the process only remembers where it is.

One `coqtop` is kept, at some state of some proof. To work on another state, it goes back (`BackTo`) to what the two
have in common and plays the rest again, so that any state can be gone on from, also after the process was renewed. A
process is renewed when it has answered much, grown large, or died.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentenv.envs.theorem.provers.base import Goal, Piece, ProofState, Prover, TacticFailed, Verdict
from agentenv.envs.theorem.provers.rocq_check import check_file
from agentenv.envs.theorem.provers.rocq_goals import Shown, read_goal, read_goals
from agentenv.envs.theorem.provers.rocq_text import is_plain, sentences
from agentenv.envs.theorem.provers.rocq_top import Answer, Coqtop, ProverGoneError
from agentenv.errors import ConfigurationError, DataFileError, InfrastructureError
from agentenv.tasks.theorem.base import Statement

__all__ = ["RocqProver"]

_HEADER_S = 120.0
_GRACE_S = 3.0
_MOST_SENTENCES = 20_000
_MOST_BYTES = 1 << 30
_LOOK_EVERY = 64
_MOST_SHOWN = 8


@dataclass(frozen=True)
class _Entry:
    """A step of the live proof: what was said, the state's number after it, and the goals' own numbers there."""

    sentence: str
    state: int
    ids: tuple[int, ...]


class RocqProver(Prover):
    """See `Prover`. The process starts with the first statement.

    Args:
        timeout_s: Seconds for one tactic.

    Raises:
        ConfigurationError: On a limit below one second.
    """

    name = "rocq"

    def __init__(self, timeout_s: int = 5) -> None:
        if timeout_s < 1:
            raise ConfigurationError(f"timeout_s must be a whole number from 1 on, got {timeout_s}")
        self.timeout_s = timeout_s
        self.renewals = 0
        self._top: Coqtop | None = None
        self._header = ""
        self._start = 0
        self._statement: Statement | None = None
        self._line: list[_Entry] = []

    def split(self, action: str) -> Sequence[Piece]:
        """See `Prover.split`."""
        return sentences(action)

    def start(self, statement: Statement) -> ProofState:
        """See `Prover.start`."""
        try:
            shown = self._open(statement)
        except ProverGoneError:
            self._drop()
            try:
                shown = self._open(statement)
            except ProverGoneError as fault:
                self._drop()
                raise InfrastructureError(f"{fault} at the start of {statement.name!r}") from fault
        return ProofState(statement, (), _keyed(shown, (), 0), shown.hidden)

    def apply(self, state: ProofState, tactic: str) -> ProofState:
        """See `Prover.apply`."""
        for attempt in (1, 2):
            self._go_to(state)
            ids = self._line[-1].ids
            try:
                shown = self._say(tactic)
            except ProverGoneError as gone:
                self._drop()
                if gone.hung:
                    raise TacticFailed(f"it ran out of time ({self.timeout_s} s)") from gone
                if attempt == 2:
                    # The state before it was reached twice, and it ended the process twice.
                    raise TacticFailed("it ran out of memory") from gone
                continue
            goals = _keyed(shown, tuple(zip(ids, state.goals, strict=True)), len(state.tactics) + 1)
            return ProofState(state.statement, (*state.tactics, tactic), goals, shown.hidden)
        raise InfrastructureError("coqtop was started twice, and gave no answer")

    def check(self, statement: Statement, proof: str) -> Verdict:
        """See `Prover.check`."""
        try:
            for piece in sentences(proof) if proof.strip() else ():
                if not piece.text:
                    return Verdict(False, "the proof holds an empty sentence")
        except TacticFailed as fault:
            return Verdict(False, fault.message)
        return check_file(statement, proof)

    def close(self) -> None:
        """See `Prover.close`."""
        self._drop()

    # -- inside ---------------------------------------------------------------------------------------------------

    def _drop(self) -> None:
        if self._top is not None:
            self._top.close()
            self._top = None
            self.renewals += 1
        self._statement = None
        self._line = []

    def _live(self, header: str) -> Coqtop:
        """The process, with this header read and nothing after it."""
        top = self._top
        if top is not None and (
            header != self._header
            or top.sentences > _MOST_SENTENCES
            or (top.sentences % _LOOK_EVERY < 4 and top.resident_bytes > _MOST_BYTES)
        ):
            self._drop()
            top = None
        if top is None:
            self._top = top = Coqtop()
            self._header = header
            self._start = top.state
            if header.strip():
                answer = top.ask([header], _HEADER_S)[0]
                if answer.message:
                    self._drop()
                    raise DataFileError(f"Coq does not accept the header {header[:200]!r}: {answer.message}")
                self._start = answer.state
        elif self._line:
            top.ask([f"BackTo {self._start}."], _HEADER_S)
        self._statement, self._line = None, []
        return top

    def _open(self, statement: Statement) -> Shown:
        """Goes to the start of a statement."""
        top = self._live(statement.header)
        answer, show = top.ask([statement.text, "Show."], _HEADER_S)
        if not answer.accepted:
            self._drop()
            raise DataFileError(f"Coq does not accept {statement.name!r}: {answer.message or answer.output}")
        shown = read_goals(show.output)
        self._statement, self._line = statement, [_Entry("", answer.state, shown.ids)]
        return shown

    def _go_to(self, state: ProofState) -> None:
        """Brings the process to a state.

        Raises:
            InfrastructureError: If a state that was reached before cannot be reached again.
        """
        for _ in (1, 2):
            try:
                self._travel(state)
            except ProverGoneError:
                self._drop()
                continue
            except TacticFailed as fault:
                raise InfrastructureError(
                    f"a proof of {state.statement.name!r} went otherwise again: {fault}"
                ) from fault
            return
        raise InfrastructureError(f"coqtop ended twice on the way to a state of {state.statement.name!r}")

    def _travel(self, state: ProofState) -> None:
        top = self._top
        if top is None or self._statement != state.statement or not self._line or top.sentences > _MOST_SENTENCES:
            self._open(state.statement)
        common = 0
        for entry, tactic in zip(self._line[1:], state.tactics, strict=False):
            if entry.sentence != tactic:
                break
            common += 1
        if len(self._line) > common + 1 and self._top is not None:
            self._top.ask([f"BackTo {self._line[common].state}."], _HEADER_S)
            del self._line[common + 1 :]
        for tactic in state.tactics[common:]:
            self._say(tactic)

    def _say(self, tactic: str) -> Shown:
        """Says one tactic where the process is, and keeps it if it was accepted."""
        top = self._top
        if top is None:
            raise ProverGoneError(hung=False)
        before = self._line[-1]
        prefix = f"Timeout {self.timeout_s} " if is_plain(tactic) else ""
        answer, show = top.ask([prefix + tactic, "Show."], self.timeout_s + _GRACE_S)
        if not answer.accepted:
            raise _failed(answer, len(prefix), self.timeout_s)
        try:
            shown = self._with_hypotheses(top, read_goals(show.output), before.ids)
        except TacticFailed:
            top.ask([f"BackTo {before.state}."], _HEADER_S)
            raise
        self._line.append(_Entry(tactic, answer.state, shown.ids))
        return shown

    def _with_hypotheses(self, top: Coqtop, shown: Shown, known: tuple[int, ...]) -> Shown:
        """Coq shows the hypotheses of the first goal only; asks for those of the other new ones."""
        wanted = [at for at, one in enumerate(shown.ids) if at and one not in known][:_MOST_SHOWN]
        if not wanted:
            return shown
        goals = list(shown.goals)
        for at, answer in zip(wanted, top.ask([f"Show {at + 1}." for at in wanted], _HEADER_S), strict=True):
            head, _, rest = answer.output.partition("is:\n")
            if head.startswith("goal ") and not answer.message:
                goals[at] = read_goal(rest)
        return replace(shown, goals=tuple(goals))


def _failed(answer: Answer, prefix: int, timeout_s: int) -> TacticFailed:
    message = answer.message or answer.output or "it was not accepted"
    if message.startswith("Timeout!"):
        message = f"it ran out of time ({timeout_s} s)"
    return TacticFailed(message, 1, max(0, answer.at - prefix))


def _keyed(shown: Shown, before: Sequence[tuple[int, Goal]], depth: int) -> tuple[Goal, ...]:
    """The goals with keys that do not depend on the process: an untouched goal keeps its key and its hypotheses."""
    known = dict(before)
    made: list[Goal] = []
    for at, (one, goal) in enumerate(zip(shown.ids, shown.goals, strict=True)):
        old = known.get(one)
        if old is None:
            made.append(replace(goal, key=f"{depth}.{at}"))
        elif goal.hypotheses or old.target != goal.target:
            made.append(replace(goal, key=old.key))
        else:
            made.append(old)
    return tuple(made)
