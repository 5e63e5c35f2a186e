"""`agentenv/Theorem-v0`: a statement, and tactics until its proof checks.

Invariant: success is what the prover says of the whole assembled proof, checked from scratch against the original
statement. That no goals are left is only the occasion to ask.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentenv.env import AgentEnv, Reply
from agentenv.envs.theorem import actions, scripts
from agentenv.envs.theorem.labels import TacticLabel, label
from agentenv.envs.theorem.measure import Account, charge, measure, opened
from agentenv.envs.theorem.provers import open_prover
from agentenv.envs.theorem.provers.base import Goal, ProofState, Prover, TacticFailed, Verdict
from agentenv.errors import ConfigurationError, SnapshotError, did_you_mean
from agentenv.progress import Check
from agentenv.scripts import Scripts
from agentenv.task import Task
from agentenv.tasks.theorem.base import ProofView, Statement, proof_check
from agentenv.tasks.theorem.loading import load

__all__ = ["OBSERVATIONS", "TheoremEnv"]

_MOST_TACTICS = 64
_MOST_PROOF_CHARS = 50_000


@dataclass(frozen=True)
class _Sizes:
    """How much an observation shows: goals, characters of each, characters of a message, whether the header."""

    goals: int
    goal_chars: int
    message_chars: int
    header: bool


OBSERVATIONS = {"full": _Sizes(8, 4000, 2000, True), "compact": _Sizes(2, 400, 160, False)}


@dataclass(frozen=True)
class _Step:
    """A state of the proof, and what its open goals stand for."""

    proof: ProofState
    account: Account


@dataclass(frozen=True)
class _State:
    """An episode's state, by value: saved by reference, shared freely.

    `steps` are all states of the proof from the statement on, the last one the current; `labels` what became of each
    tactic of the episode, in order, those taken back included.
    """

    steps: tuple[_Step, ...]
    verdict: Verdict | None = None
    labels: tuple[TacticLabel, ...] = ()
    turn: int = 0

    @property
    def step(self) -> _Step:
        return self.steps[-1]


class TheoremEnv(AgentEnv, RecordConstructorArgs):
    """A statement to prove, tactic by tactic, with a prover as the judge.

    An action is one or more tactics of the task's prover, or `undo` (`undo 3`) or `restart`. Tactics are applied in
    order up to the first that fails; those before it count. The episode ends when the assembled proof checks.

    Args:
        tasks: The task set ("generated", "rocq", or a file; see `agentenv.tasks.theorem.loading`).
        split: "train", "val", "test" or "ood".
        difficulty: Only tasks of this difficulty, a word of the task set's own; None for all.
        max_turns: Turns after which the episode is cut.
        tactic_timeout_s: Seconds for one tactic, where the prover is a program of its own.
        observation: "full", or "compact" for small policies (two goals, short messages).
        lean: Command that starts the Lean REPL (for `lean` statements); None: `repl` on PATH.
        render_mode: None or "ansi".

    Raises:
        ConfigurationError: On an argument that cannot be used.
        DataFileError: If a data file breaks its format, or a statement is none of its prover's.
        InfrastructureError: When a prover cannot be started or failed; the episode must not be scored.

    >>> env = TheoremEnv()
    >>> observation, info = env.reset(seed=1)
    >>> info["progress"], info["turn"]
    (0.0, 0)
    >>> observation, reward, terminated, truncated, info = env.step("no such tactic")
    >>> reward, terminated, info["valid_action"]
    (0.0, False, True)
    >>> env.close()
    """

    instructions: ClassVar[str] = (
        "Prove the statement. Reply with one or more tactics of its language (Lean 4, or Coq, where each ends with a "
        "full stop), each on a line of its own. They are applied in order, up to the first that fails.\n"
        "`undo` takes the last tactic back, `undo N` the last N; `restart` goes back to the statement.\n"
        "You see the open goals; tactics work on the first. The episode ends when the whole proof checks. Only tactics "
        "are allowed: no commands, no axioms, nothing that leaves a goal unproved."
    )
    stop: ClassVar[tuple[str, ...]] = ()
    tool_schema: ClassVar[dict[str, Any]] = {
        "name": "prove",
        "description": "Applies tactics to the open goals, or goes back.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "description": "One or more tactics, `undo`, `undo N` or `restart`."}
            },
            "required": ["action"],
        },
    }
    scripts: ClassVar[Scripts] = scripts.THEOREM
    grades_unsubmitted: ClassVar[bool] = False

    def __init__(
        self,
        *,
        tasks: str = "generated",
        split: str = "train",
        difficulty: str | None = None,
        max_turns: int = 16,
        tactic_timeout_s: int = 5,
        observation: str = "full",
        lean: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            tasks=tasks,
            split=split,
            difficulty=difficulty,
            max_turns=max_turns,
            tactic_timeout_s=tactic_timeout_s,
            observation=observation,
            lean=lean,
            render_mode=render_mode,
        )
        if observation not in OBSERVATIONS:
            raise ConfigurationError(
                f"observation={observation!r} is not one of {', '.join(OBSERVATIONS)}."
                f"{did_you_mean(observation, OBSERVATIONS)}"
            )
        if tactic_timeout_s < 1:
            raise ConfigurationError(f"tactic_timeout_s must be a whole number from 1 on, got {tactic_timeout_s}")
        self._sizes = OBSERVATIONS[observation]
        self._tasks = load(tasks, difficulty=difficulty)
        super().__init__(self._tasks, split=split, max_turns=max_turns, render_mode=render_mode)
        self._timeout_s = tactic_timeout_s
        self._lean = lean
        self._provers: dict[str, Prover] = {}
        self._checks = (proof_check(),)
        self._statement = Statement("", "", "")
        self._state: _State | None = None

    def begin(self, task: Task, rng: np.random.Generator) -> str:
        """The statement and its goals."""
        self.on_restore(task)
        proof = self._prover().start(self._statement)
        self._state = _State((_Step(proof, opened(proof)),))
        header = (
            f"{self._statement.header.strip()}\n\n" if self._sizes.header and self._statement.header.strip() else ""
        )
        return f"{task.instruction}\n\n{header}{self._statement.text}\n\n{self._shown(proof)}"

    def act(self, action: str) -> Reply:
        """Applies tactics, or goes back."""
        state = self._here()
        parsed = actions.parse(action)
        if isinstance(parsed, actions.Refused):
            self._state = replace(state, turn=state.turn + 1)
            return Reply(f"Invalid action: {parsed.reason}", valid=False)
        if isinstance(parsed, actions.Restart):
            return self._go_back(len(state.steps) - 1)
        if isinstance(parsed, actions.Undo):
            return self._go_back(parsed.count)
        return self._apply(parsed.text)

    def checks(self) -> Sequence[Check]:
        """The proof: the measure until it checks."""
        return self._checks

    def view(self) -> ProofView:  # type: ignore[override]
        """The measure of the current state, and the verdict where there is one."""
        state = self._here()
        if state.verdict is not None:
            return ProofView(float(state.verdict.ok), state.verdict.ok)
        return ProofView(float(measure(state.step.account)), False)

    def save(self) -> object:
        """The state is a value: nothing is copied."""
        return self._here()

    def load(self, saved: object) -> None:
        """Takes a saved state."""
        if not isinstance(saved, _State):
            raise SnapshotError(f"a proof's saved state is no {type(saved).__name__}")
        self._state = saved

    def on_restore(self, task: Task) -> None:
        """The task's statement."""
        self._statement = self._tasks.statement(task.id)

    def hash_state(self) -> str:
        """Covers the statement, the open goals in order, what they stand for, and the verdict."""
        state = self._here()
        proof, account = state.step.proof, state.step.account
        values = [
            self._statement.to_json(),
            [goal.text for goal in proof.goals],
            proof.hidden,
            [[share.position, share.own] for share in account.shares],
            account.hidden,
            None if state.verdict is None else state.verdict.ok,
        ]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def submission(self) -> dict[str, Any]:
        """The assembled proof, its verdict, and every tactic of the episode with its label."""
        state = self._here()
        return {
            "proof": state.step.proof.text,
            "checked": state.verdict is not None and state.verdict.ok,
            "axioms": list(state.verdict.axioms) if state.verdict is not None else [],
            "tactics": [one.to_json() for one in state.labels],
        }

    @property
    def labels(self) -> tuple[TacticLabel, ...]:
        """Every tactic of the episode so far, with its label."""
        return self._here().labels

    def release(self) -> None:
        """Ends the provers."""
        self._state = None
        for prover in self._provers.values():
            prover.close()
        self._provers.clear()

    # -- inside ---------------------------------------------------------------------------------------------------

    def _here(self) -> _State:
        if self._state is None:
            raise SnapshotError("there is no proof before reset()")
        return self._state

    def _prover(self) -> Prover:
        name = self._statement.prover
        if name not in self._provers:
            self._provers[name] = open_prover(name, timeout_s=self._timeout_s, lean=self._lean)
        return self._provers[name]

    def _apply(self, text: str) -> Reply:
        state = self._here()
        turn = state.turn + 1
        prover = self._prover()
        try:
            pieces = prover.split(text)
        except TacticFailed as fault:
            self._state = replace(state, turn=turn)
            return Reply(
                f"Invalid action: {fault.message} (line {fault.line}, column {fault.column}). {actions.FORMS}",
                valid=False,
            )
        steps = list(state.steps)
        fault_text = ""
        accepted = 0
        for number, piece in enumerate(pieces, 1):
            before = steps[-1]
            try:
                self._bound(before.proof, piece.text)
                proof = prover.apply(before.proof, piece.text)
            except TacticFailed as fault:
                line, column = piece.place(fault.line, fault.column)
                which = f"tactic {number} of {len(pieces)}, " if len(pieces) > 1 else ""
                fault_text = f"Error at {which}line {line}, column {column}: {self._cut(fault.message)}"
                break
            steps.append(_Step(proof, charge(before.account, before.proof, piece.text, proof)))
            accepted += 1
        labels = (*state.labels, *label(turn, pieces, accepted))
        verdict = state.verdict if accepted == 0 else None
        proof = steps[-1].proof
        if proof.complete and verdict is None:
            verdict = prover.check(self._statement, proof.text)
        self._state = _State(tuple(steps), verdict, labels, turn)
        if verdict is not None and verdict.ok:
            return Reply("The proof is complete and checks.", done=True, stop_reason="proved")
        return Reply("\n\n".join(filter(None, [fault_text, self._shown(proof)])))

    def _bound(self, proof: ProofState, tactic: str) -> None:
        if len(proof.tactics) >= _MOST_TACTICS or len(proof.text) + len(tactic) > _MOST_PROOF_CHARS:
            raise TacticFailed(
                f"a proof has at most {_MOST_TACTICS} tactics and {_MOST_PROOF_CHARS} characters here: undo some"
            )

    def _go_back(self, count: int) -> Reply:
        state = self._here()
        kept = state.steps[: max(1, len(state.steps) - count)]
        gone = len(state.steps) - len(kept)
        verdict = state.verdict if gone == 0 else None
        self._state = _State(kept, verdict, state.labels, state.turn + 1)
        note = f"Took back {gone} tactic{'s' * (gone != 1)}."
        return Reply(f"{note}\n\n{self._shown(kept[-1].proof)}")

    def _shown(self, proof: ProofState) -> str:
        state = self._state
        if proof.complete:
            reason = state.verdict.reason if state is not None and state.verdict is not None else ""
            return f"No goals are left, but the assembled proof is refused: {self._cut(reason)}"
        if not proof.goals:
            return f"No goal is in front, but {proof.hidden} that other tactics left open must still be filled."
        count = len(proof.goals)
        goals = [self._goal(goal) for goal in proof.goals[: self._sizes.goals]]
        lines = [f"{count} goal{'s' * (count != 1)}:", *goals]
        if count > len(goals):
            lines.append(f"({count - len(goals)} more)")
        if proof.hidden:
            lines.append(f"({proof.hidden} hidden)")
        return "\n\n".join(lines)

    def _goal(self, goal: Goal) -> str:
        text, most = goal.text.strip("\n"), self._sizes.goal_chars
        # What is to be proved stands at the end.
        return text if len(text) <= most else f"{text[: most // 2]} ... {text[-(most - most // 2) :]}"

    def _cut(self, message: str) -> str:
        text, most = message.strip(), self._sizes.message_chars
        return text if len(text) <= most else f"{text[:most]} ..."
