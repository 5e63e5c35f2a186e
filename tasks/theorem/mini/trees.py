"""What the parser makes: terms and tactics as plain data, each with its place in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentenv.tasks.theorem.mini.errors import MiniError

__all__ = ["MAX_NESTING", "Alternative", "Binder", "Pattern", "Rewrite", "Statement", "Tactic", "Tree"]

MAX_NESTING = 60


@dataclass(frozen=True)
class Tree:
    """A term: formula, arithmetic, proof or type.

    Args:
        kind: "name" (value: the name), "number" (value), "apply" (function, arguments...), "op" (value: the symbol),
            "not", "all" and "ex" (value: binders), "tuple" (⟨...⟩), "fun" (value: patterns), "field" (value: its name),
            "hole" (value: "_" or "?_"), "by" (value: tactics), "typed" (term, type), "show" (formula, proof).
        parts: Subterms.
        value: See `kind`.
    """

    kind: str
    line: int
    column: int
    parts: tuple[Tree, ...] = ()
    value: Any = None
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts), default=0)
        object.__setattr__(self, "depth", depth)
        if depth > MAX_NESTING:
            raise MiniError(f"a term nested more than {MAX_NESTING} levels deep", self.line, self.column)


@dataclass(frozen=True)
class Binder:
    """Names with a type: `(a b : Nat)`; None where the type is to be found from use."""

    names: tuple[str, ...]
    type: Tree | None
    implicit: bool = False
    line: int = 1
    column: int = 0


@dataclass(frozen=True)
class Statement:
    """`theorem name binders : goal`."""

    name: str
    binders: tuple[Binder, ...]
    goal: Tree


@dataclass(frozen=True)
class Pattern:
    """How to take a proof apart: a name ("_": unnamed, "rfl": substitute, "-": drop), a tuple or alternatives."""

    kind: str
    line: int
    column: int
    name: str = ""
    parts: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class Rewrite:
    """One rule of `rw [...]`."""

    term: Tree
    backward: bool


@dataclass(frozen=True)
class Alternative:
    """`| constructor names => body`; the body is None for `?_`, which leaves the goal for later."""

    constructor: str
    names: tuple[str, ...]
    body: tuple[Tactic, ...] | None
    line: int
    column: int


@dataclass(frozen=True)
class Tactic:
    """One tactic. Which of the fields mean something depends on `kind`, the tactic's word."""

    kind: str
    line: int
    column: int
    terms: tuple[Tree, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    rules: tuple[Rewrite, ...] = ()
    places: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] | None = None
    body: tuple[Tactic, ...] = ()
