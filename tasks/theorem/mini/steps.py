"""Proposed proofs as data. Nothing here is trusted: `replay` makes theorems by calling the kernel's rules only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentenv.tasks.theorem.mini.errors import KernelError, LimitError
from agentenv.tasks.theorem.mini.kernel import RULES, Term, Theorem

__all__ = ["MAX_STEPS", "Hole", "Proof", "Step", "assume", "replay"]

MAX_STEPS = 50_000


@dataclass(frozen=True)
class Hole:
    """The proof of a goal, which comes later."""

    goal: int


@dataclass(frozen=True, eq=False)
class Step:
    """A proposed inference: a rule's name, the steps of its premises, and the rule's other arguments.

    Args:
        rule: A name in `kernel.RULES`.
        premises: Steps or holes.
        arguments: Terms, numbers and names.
        closed: Whether it is a whole proof of a lemma, without unknowns.
    """

    rule: str
    premises: tuple[Proof, ...] = ()
    arguments: tuple[Any, ...] = ()
    closed: bool = False


Proof = Step | Hole


def assume(formula: Term) -> Step:
    """A hypothesis."""
    return Step("assume", (), (formula,))


def replay(root: Proof, holes: Mapping[int, Proof] | None = None) -> Theorem:
    """Runs steps through the rules, premises first, and returns the theorem of the last.

    Args:
        root: The last step.
        holes: What fills the holes.

    Raises:
        KernelError: If a rule does not apply (the proposed proof is no proof), or a hole is not filled.
    """
    holes = holes or {}
    made: dict[int, Theorem] = {}
    stack: list[tuple[Proof, bool]] = [(root, False)]
    while stack:
        item, ready = stack.pop()
        step = _filled(item, holes)
        if id(step) in made:
            continue
        if not ready:
            stack.append((step, True))
            stack.extend((premise, False) for premise in step.premises)
            if len(stack) > MAX_STEPS:
                raise LimitError(f"a proof of more than {MAX_STEPS} steps")
            continue
        premises = [made[id(_filled(premise, holes))] for premise in step.premises]
        try:
            made[id(step)] = RULES[step.rule](*premises, *step.arguments)
        except (TypeError, ValueError, AttributeError, LookupError) as wrong:
            raise KernelError(f"rule {step.rule!r} cannot take these arguments") from wrong
        if len(made) > MAX_STEPS:
            raise LimitError(f"a proof of more than {MAX_STEPS} steps")
    return made[id(_filled(root, holes))]


def _filled(item: Proof, holes: Mapping[int, Proof]) -> Step:
    seen = 0
    while isinstance(item, Hole):
        if item.goal not in holes or seen > len(holes):
            raise KernelError(f"goal {item.goal} is not proved")
        item, seen = holes[item.goal], seen + 1
    return item
