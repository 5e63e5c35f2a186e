"""What a theorem task is made of: a statement for one prover, and a set of them.

Invariant: a `Statement` holds no proof. What is proved is always this text, never what a submission says it is.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentenv.progress import Check
from agentenv.task import GraderData, TaskSet

__all__ = ["PROVERS", "ProofView", "Statement", "TheoremTasks", "proof_check"]

PROVERS = ("mini", "rocq", "lean")


@dataclass(frozen=True)
class Statement:
    """A theorem without its proof.

    Args:
        prover: One of `PROVERS`.
        name: The theorem's name, as it stands in `text`.
        text: The declaration up to where its proof begins. For "mini" and "lean": `theorem NAME binders : prop`,
            without `:=`. For "rocq": `Theorem NAME binders : prop.`, with the full stop.
        header: What stands before it in its file: imports, opened names, definitions, earlier lemmas.

    >>> Statement("mini", "id", "theorem id (p : Prop) : p → p").header
    ''
    """

    prover: str
    name: str
    text: str
    header: str = ""

    def to_json(self) -> dict[str, str]:
        """The statement as JSON values, as a `Task.data` holds it."""
        return {"prover": self.prover, "name": self.name, "text": self.text, "header": self.header}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Statement:
        """The inverse of `to_json`."""
        return cls(values["prover"], values["name"], values["text"], values["header"])


@dataclass(frozen=True)
class ProofView:
    """What the check reads of an environment's state.

    Args:
        measure: The sound measure of what is proved, in [0, 1] (`agentenv.envs.theorem.measure`).
        checked: Whether the prover accepted the assembled proof from scratch.
    """

    measure: float
    checked: bool


def _score(view: Any) -> float:
    if view.checked:
        return 1.0
    return min(float(view.measure), 0.99)


def proof_check() -> Check:
    """The one check of a theorem task: 1.0 if and only if the assembled proof was accepted, else the measure.

    >>> proof_check().score(ProofView(0.5, False)), proof_check().score(ProofView(1.0, False))
    (0.5, 0.99)
    """
    return Check("proof", 1.0, _score, hint="the assembled proof checks")


class TheoremTasks(TaskSet):
    """A task set whose tasks are statements to prove."""

    @abc.abstractmethod
    def statement(self, task_id: str) -> Statement:
        """The statement of a task. Raises `UnknownTaskError` for an id that is not in the set."""

    def grader(self, task_id: str) -> GraderData:
        """The proof is the only check; nothing is hidden, since a prover decides."""
        self.statement(task_id)
        return GraderData((proof_check(),))
