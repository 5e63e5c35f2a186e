"""Taking proofs apart by patterns, and replacing a variable by what it equals. Used by tactics and by `fun`."""

from __future__ import annotations

from collections.abc import Callable

from agentenv.tasks.theorem.mini import kernel
from agentenv.tasks.theorem.mini.context import Local, Locals, declare
from agentenv.tasks.theorem.mini.errors import MiniError
from agentenv.tasks.theorem.mini.formulas import Supply
from agentenv.tasks.theorem.mini.kernel import Term, Type
from agentenv.tasks.theorem.mini.steps import Proof, Step, assume
from agentenv.tasks.theorem.mini.trees import Pattern

__all__ = ["Finish", "Item", "cut", "equals_by", "introduce", "replace_variable", "take_apart"]

Finish = Callable[[Locals, Term, tuple[str, ...]], Proof]
"""Proves the target from the locals that a branch ends with; the names say which branch it is."""

Item = tuple[Proof, Term, Pattern]
"""A proof, its formula, and the pattern to take it apart by."""


def introduce(locals: Locals, name: str, formula: Term) -> Locals:
    """The locals with a hypothesis; `_` gives it a name that cannot be used."""
    return declare(locals, Local("this" if name == "_" else name, formula=formula, accessible=name != "_"))


def cut(proof: Proof, formula: Term, body: Proof) -> Proof:
    """The body with a proof in place of the hypothesis that it assumes."""
    if isinstance(proof, Step) and proof.rule == "assume":
        return body
    return Step("imp_elim", (Step("imp_intro", (body,), (formula,)), proof))


def equals_by(equation: Proof, body: Proof, motive: Callable[[Term], Term], variable: Term) -> Step:
    """From a = b and M[a], M[b], where `motive` makes M of a variable."""
    return Step("rewrite", (equation, body), (variable, motive(variable)))


def swapped(equation: Proof, left: Term, supply: Supply) -> Step:
    """From a = b (or a ↔ b), b = a."""
    variable = supply.variable(left.base)
    if left.base == kernel.PROP:
        same = Step("imp_intro", (assume(left),), (left,))
        reflexive = Step("iff_intro", (same, same))
        return Step("rewrite", (equation, reflexive), (variable, kernel.apply("iff", variable, left)))
    return Step("rewrite", (equation, Step("refl", (), (left,))), (variable, kernel.apply("eq", variable, left)))


def take_apart(
    locals: Locals, target: Term, items: tuple[Item, ...], finish: Finish, supply: Supply, tag: tuple[str, ...] = ()
) -> Proof:
    """A proof of the target that takes every item apart in turn and then goes on with `finish` in each branch.

    Raises:
        MiniError: If a pattern does not fit its formula.
    """
    if not items:
        return finish(locals, target, tag)
    (proof, formula, pattern), rest = items[0], items[1:]

    def go(locals: Locals, *more: Item, tag: tuple[str, ...] = tag) -> Proof:
        return take_apart(locals, target, (*more, *rest), finish, supply, tag)

    if pattern.kind == "name":
        return cut(proof, formula, go(introduce(locals, pattern.name, formula)))
    if pattern.kind == "rfl":
        if rest:
            # What is still to be taken apart may speak of the variable: it is made a hypothesis first.
            raise _misfit(pattern, "'rfl' must come last in a pattern")
        return replace_variable(
            locals, target, proof, formula, lambda new, goal: finish(new, goal, tag), supply, pattern
        )
    if formula.kind == "false" and pattern.kind == "tuple" and not pattern.parts:
        return Step("false_elim", (proof,), (target,))
    if pattern.kind == "or":
        return _cases(locals, target, proof, formula, pattern, go, tag)
    return _fields(locals, proof, formula, pattern, go, supply)


def _misfit(pattern: Pattern, message: str) -> MiniError:
    return MiniError(message, pattern.line, pattern.column)


def _cases(
    locals: Locals, target: Term, proof: Proof, formula: Term, pattern: Pattern, go: Callable[..., Proof],
    tag: tuple[str, ...],
) -> Proof:  # fmt: skip
    if formula.kind != "or":
        raise _misfit(pattern, "a pattern with | takes a disjunction apart")
    first, *others = pattern.parts
    second = others[0] if len(others) == 1 else Pattern("or", pattern.line, pattern.column, parts=tuple(others))
    left, right = formula.arguments
    branches = (
        go(locals, (assume(left), left, first), tag=(*tag, "inl")),
        go(locals, (assume(right), right, second), tag=(*tag, "inr")),
    )
    return Step("or_elim", (proof, *branches))


def _fields(
    locals: Locals, proof: Proof, formula: Term, pattern: Pattern, go: Callable[..., Proof], supply: Supply
) -> Proof:
    parts = pattern.parts
    if formula.kind == "true" and not parts:
        return go(locals)
    if formula.kind not in ("and", "iff", "ex"):
        raise _misfit(pattern, "⟨...⟩ takes a conjunction, an equivalence or an existential apart")
    if len(parts) < 2:
        raise _misfit(pattern, "⟨...⟩ needs two parts or more here")
    first, *others = parts
    second = others[0] if len(others) == 1 else Pattern("tuple", pattern.line, pattern.column, parts=tuple(others))
    if formula.kind == "ex":
        return _witness(locals, proof, formula, first, second, go, supply)
    rule = f"{formula.kind}_elim"
    sides = formula.arguments
    if formula.kind == "iff":
        sides = (kernel.apply("imp", *sides), kernel.apply("imp", *sides[::-1]))
    left, right = Step(rule, (proof,), (0,)), Step(rule, (proof,), (1,))
    return go(locals, (left, sides[0], first), (right, sides[1], second))


def _witness(
    locals: Locals, proof: Proof, formula: Term, first: Pattern, second: Pattern, go: Callable[..., Proof],
    supply: Supply,
) -> Proof:  # fmt: skip
    if first.kind != "name":
        raise _misfit(first, "a witness can only be given a name")
    variable = supply.variable(formula.data[0])
    body = kernel.instantiate(formula, variable)
    name = formula.data[1] if first.name == "_" else first.name
    witness = Local(name, Type((), variable.base), variable.data[0], accessible=first.name != "_")
    inner = go(declare(locals, witness), (assume(body), body, second))
    return Step("ex_elim", (proof, inner), (variable,))


def replace_variable(
    locals: Locals, target: Term, equation: Proof, formula: Term, finish: Callable[[Locals, Term], Proof],
    supply: Supply, pattern: Pattern,
) -> Proof:  # fmt: skip
    """A proof of the target by way of the same with a variable replaced by what an equation says it equals.

    From a = b with a variable b, b becomes a; else, with a variable a, a becomes b. The variable is gone from
    the locals afterwards.
    """
    if formula.kind != "eq":
        raise _misfit(pattern, "an equation is needed here")
    left, right = formula.arguments
    known = {local.number for local in locals if local.type is not None}
    for variable, value in ((right, left), (left, right)):
        if variable.kind == "free" and not variable.arguments and variable.data[0] in known - value.free:
            break
    else:
        raise _misfit(pattern, "one side of the equation must be a variable that the other side does not have")
    forward = equation if variable == left else swapped(equation, left, supply)  # variable = value
    backward = swapped(forward, variable, supply)
    kept: list[Local] = []
    moved: list[tuple[Term, Term]] = []
    for local in locals:
        if local.number == variable.data[0]:
            continue
        if local.formula is not None and variable.data[0] in local.formula.free:
            new = kernel.substitute(local.formula, variable, value)
            moved.append((local.formula, new))
            local = Local(local.name, formula=new, accessible=local.accessible)
        kept.append(local)
    body = finish(tuple(kept), kernel.substitute(target, variable, value))
    for old, new in moved:
        body = Step(
            "imp_elim", (Step("imp_intro", (body,), (new,)), _rewritten(forward, assume(old), old, variable, supply))
        )
    return _rewritten(backward, body, target, variable, supply)


def _rewritten(equation: Proof, body: Proof, formula: Term, variable: Term, supply: Supply) -> Step:
    """The formula with the equation's other side for the variable, or back; the motive is the formula's own shape."""
    place = supply.variable(variable.base)
    return Step("rewrite", (equation, body), (place, kernel.substitute(formula, variable, place)))
