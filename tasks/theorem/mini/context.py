"""What a goal is: local names with their types and formulas, and a target. Names live here, never in the kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentenv.tasks.theorem.mini import kernel
from agentenv.tasks.theorem.mini.kernel import Term, Type

__all__ = ["Goal", "Local", "Locals", "declare", "find", "names_of"]


@dataclass(frozen=True)
class Local:
    """A name in scope: a sort, a variable (predicate, function, proposition, individual) or a hypothesis.

    Args:
        name: As the user wrote it; a name that was never given, or is shadowed, is not accessible.
        type: Of a variable.
        number: Of a variable, for the kernel.
        formula: Of a hypothesis.
        accessible: Whether the name can be used.
    """

    name: str
    type: Type | None = None
    number: int = 0
    formula: Term | None = None
    accessible: bool = True

    @property
    def is_sort(self) -> bool:
        """Whether it is a type."""
        return self.type is None and self.formula is None

    def term(self, *arguments: Term) -> Term:
        """A variable applied to arguments."""
        if self.type is None:
            raise ValueError(f"{self.name} is no variable")
        return kernel.variable(self.number, self.type, *arguments)


Locals = tuple[Local, ...]


@dataclass(frozen=True)
class Goal:
    """Something to be proved.

    Args:
        number: Unique in a proof; a goal's parts have larger numbers.
        locals: In the order of their introduction.
        target: The formula.
        tag: Lean's name of the case ("inl", "succ"); may be empty.
    """

    number: int
    locals: Locals
    target: Term
    tag: str = ""


def find(locals: Locals, name: str) -> Local | None:
    """The accessible local of a name."""
    return next((local for local in reversed(locals) if local.accessible and local.name == name), None)


def declare(locals: Locals, new: Local) -> Locals:
    """The locals with one more; one of the same name is no longer accessible."""
    older = tuple(
        replace(local, accessible=False) if local.accessible and local.name == new.name and new.accessible else local
        for local in locals
    )
    return (*older, new)


def names_of(locals: Iterable[Local]) -> dict[int, str]:
    """What variables are called when shown."""
    return {
        local.number: local.name if local.accessible else f"{local.name}✝" for local in locals if local.type is not None
    }
