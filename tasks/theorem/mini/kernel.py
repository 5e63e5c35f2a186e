"""The trusted core: terms, and theorems that only the inference rules below can make.

Invariant: a `Theorem` object is a sequent that is derivable in classical natural deduction over one-sorted-at-a-time
first-order logic with equality, quantification over propositions, and natural numbers with induction. Everything else
in this package (elaboration, tactics, printing) may be wrong without making a false theorem: it can only propose
steps, and `replay` runs them through the rules.

Terms are locally nameless: bound variables are indices, free variables are numbers, so there is no capture and names
do not matter. Every constructor checks types and bounds; terms beyond `MAX_SIZE` or `MAX_DEPTH` are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentenv.tasks.theorem.mini.errors import KernelError, LimitError

__all__ = ["MAX_DEPTH", "MAX_NUMERAL", "MAX_SIZE", "NAT", "PROP", "RULES", "Term", "Theorem", "Type"]

PROP, NAT = "Prop", "Nat"
MAX_SIZE = 2000
MAX_DEPTH = 80
MAX_NUMERAL = 10**9
_MOST_UNFOLDED = 32


@dataclass(frozen=True)
class Type:
    """The type of a variable: base types of its arguments, and the base type of its value ("Prop", "Nat", a sort)."""

    arguments: tuple[str, ...]
    result: str

    def __post_init__(self) -> None:
        if PROP in self.arguments:
            raise KernelError("a predicate or function cannot take a Prop as an argument")


class Term:
    """A term or formula. Make one with the functions of this module, never directly.

    Attributes:
        kind: "free", "bound", "num", "succ", "add", "mul", "true", "false", "not", "and", "or", "imp", "iff", "eq",
            "ne", "all" or "ex".
        data: Number and `Type` of a free variable, index of a bound one, value of a numeral, (base type, name to show)
            of a quantifier; else None.
        arguments: Subterms.
        base: The base type of its value.
        free: Numbers of the free variables in it.
        loose: One more than the largest index that no quantifier inside binds; 0: closed.
    """

    __slots__ = ("_hash", "_normal", "arguments", "base", "data", "depth", "free", "kind", "loose", "size")

    def __init__(self, kind: str, data: Any, arguments: tuple[Term, ...], base: str) -> None:
        self.kind, self.data, self.arguments, self.base = kind, data, arguments, base
        self.size: int = 1 + sum(argument.size for argument in arguments)
        self.depth: int = 1 + max((argument.depth for argument in arguments), default=0)
        if self.size > MAX_SIZE or self.depth > MAX_DEPTH:
            raise LimitError(f"a term is too large: more than {MAX_SIZE} symbols or {MAX_DEPTH} levels")
        inner = max((argument.loose for argument in arguments), default=0)
        self.free: frozenset[int] = frozenset().union(*(argument.free for argument in arguments))
        if kind == "free":
            self.free |= {data[0]}
        self.loose: int = data + 1 if kind == "bound" else max(inner - 1, 0) if kind in ("all", "ex") else inner
        self._hash = hash((kind, self._key(), arguments))
        self._normal: Term | None = None

    def _key(self) -> Any:
        """What tells apart two terms of one kind with equal arguments: the name that a quantifier shows does not."""
        if self.kind in ("all", "ex"):
            return self.data[0]
        return (self.data, self.base) if self.kind == "bound" else self.data

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Term) or self._hash != other._hash:
            return False
        return self.kind == other.kind and self._key() == other._key() and self.arguments == other.arguments

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Term, (self.kind, self.data, self.arguments, self.base)

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.arguments))
        return f"{self.kind}:{self.data}({inside})" if self.data is not None else f"{self.kind}({inside})"


def _need(holds: bool, message: str) -> None:
    if not holds:
        raise KernelError(message)


# Terms


def variable(number: int, type: Type, *arguments: Term) -> Term:
    """A free variable, predicate or function applied to all its arguments."""
    bases = tuple(argument.base for argument in arguments)
    _need(bases == type.arguments, f"arguments of types {bases} do not fit {type.arguments}")
    return Term("free", (number, type), arguments, type.result)


def numeral(value: int) -> Term:
    """A natural number."""
    if not 0 <= value <= MAX_NUMERAL:
        raise LimitError(f"the number {value} is not in 0..{MAX_NUMERAL}")
    return Term("num", value, (), NAT)


_SIGNATURES = {
    "succ": ((NAT,), NAT), "add": ((NAT, NAT), NAT), "mul": ((NAT, NAT), NAT),
    "true": ((), PROP), "false": ((), PROP), "not": ((PROP,), PROP),
    "and": ((PROP, PROP), PROP), "or": ((PROP, PROP), PROP), "imp": ((PROP, PROP), PROP), "iff": ((PROP, PROP), PROP),
}  # fmt: skip


def apply(kind: str, *arguments: Term) -> Term:
    """A connective, an equation ("eq", "ne") or arithmetic."""
    bases = tuple(argument.base for argument in arguments)
    if kind in ("eq", "ne"):
        _need(len(bases) == 2 and bases[0] == bases[1] != PROP, f"an equation between {bases}")
        return Term(kind, None, arguments, PROP)
    expected, base = _SIGNATURES[kind]
    _need(bases == expected, f"{kind} takes {expected}, not {bases}")
    return Term(kind, None, arguments, base)


def quantify(kind: str, bound: Term, body: Term, name: str) -> Term:
    """∀ ("all") or ∃ ("ex") over a free variable without arguments, which becomes bound in the body."""
    _need(kind in ("all", "ex") and bound.kind == "free" and not bound.arguments, "only a variable can be quantified")
    _need(body.base == PROP and (kind == "all" or bound.base != PROP), f"{kind} over {bound.base} of a {body.base}")
    return Term(kind, (bound.base, name), (_abstract(body, bound, 0),), PROP)


def _rebuilt(term: Term, arguments: tuple[Term, ...]) -> Term:
    return term if arguments == term.arguments else Term(term.kind, term.data, arguments, term.base)


def _abstract(term: Term, bound: Term, index: int) -> Term:
    if bound.data[0] not in term.free:
        return term
    if term == bound:
        return Term("bound", index, (), bound.base)
    deeper = index + 1 if term.kind in ("all", "ex") else index
    return _rebuilt(term, tuple(_abstract(argument, bound, deeper) for argument in term.arguments))


def instantiate(quantified: Term, value: Term) -> Term:
    """The body of a quantified formula with a closed term for its variable."""
    _need(quantified.kind in ("all", "ex"), "not a quantified formula")
    _need(value.base == quantified.data[0] and value.loose == 0, f"a {value.base} for a {quantified.data[0]}")
    return _open(quantified.arguments[0], value, 0)


def _open(term: Term, value: Term, index: int) -> Term:
    if term.loose <= index:
        return term
    if term.kind == "bound":
        return value if term.data == index else term
    deeper = index + 1 if term.kind in ("all", "ex") else index
    return _rebuilt(term, tuple(_open(argument, value, deeper) for argument in term.arguments))


def substitute(term: Term, old: Term, new: Term) -> Term:
    """The term with a closed one for a free variable without arguments."""
    _need(old.kind == "free" and not old.arguments and old.base == new.base and new.loose == 0, "bad substitution")
    if old.data[0] not in term.free:
        return term
    if term == old:
        return new
    return _rebuilt(term, tuple(substitute(argument, old, new) for argument in term.arguments))


def normal(term: Term) -> Term:
    """The normal form: ¬p is p → False, and arithmetic is computed by recursion on the right argument.

    A successor is t + k with a numeral k > 0, as in `n + 2`; two terms with one normal form are equal by definition.
    """
    if term._normal is None:
        term._normal = _normalised(term, tuple(normal(argument) for argument in term.arguments))
    return term._normal


def _normalised(term: Term, arguments: tuple[Term, ...]) -> Term:
    match term.kind:
        case "not":
            return apply("imp", arguments[0], apply("false"))
        case "ne":
            return apply("imp", apply("eq", *arguments), apply("false"))
        case "succ":
            return _plus(arguments[0], 1)
        case "add":
            return _sum(*arguments)
        case "mul":
            return _product(*arguments)
    return _rebuilt(term, arguments)


def split_successor(term: Term) -> tuple[Term, int]:
    """A normal Nat term as (t, k), equal to t + k with the largest k; a numeral is (0, k)."""
    if term.kind == "num":
        return numeral(0), term.data
    if term.kind == "add" and term.arguments[1].kind == "num":
        return term.arguments[0], term.arguments[1].data
    return term, 0


def _plus(term: Term, more: int) -> Term:
    rest, count = split_successor(term)
    if rest.kind == "num":
        return numeral(count + more)
    return rest if count + more == 0 else apply("add", rest, numeral(count + more))


def _sum(left: Term, right: Term) -> Term:
    rest, count = split_successor(right)
    return _plus(left if rest == numeral(0) else apply("add", left, rest), count)


def _product(left: Term, right: Term) -> Term:
    rest, count = split_successor(right)
    if left.kind == "num" and rest == numeral(0):
        return numeral(left.data * count)
    if count > _MOST_UNFOLDED:
        return apply("mul", left, right)
    result = numeral(0) if rest == numeral(0) else apply("mul", left, rest)
    for _ in range(count):
        result = _sum(result, left)
    return result


# Theorems

_MAKE = object()


class Theorem:
    """A sequent that the rules derived: the conclusion follows from the hypotheses.

    `variables` holds the numbers of all free variables that the derivation speaks of outside of their binders. A
    sort may be empty, so the theorem holds only where these exist.
    """

    __slots__ = ("conclusion", "hypotheses", "variables")

    def __init__(self, hypotheses: frozenset[Term], conclusion: Term, used: frozenset[int], key: object = None) -> None:
        _need(key is _MAKE, "a theorem is made by the inference rules only")
        _need(conclusion.base == PROP and conclusion.loose == 0, "a conclusion must be a closed proposition")
        self.hypotheses, self.conclusion = hypotheses, conclusion
        self.variables = used.union(conclusion.free, *(hypothesis.free for hypothesis in hypotheses))

    def __reduce__(self) -> tuple[Any, ...]:
        raise KernelError("a theorem is not serialised: replay its steps")


def _theorem(conclusion: Term, *premises: Theorem, used: frozenset[int] = frozenset()) -> Theorem:
    hypotheses = frozenset().union(*(premise.hypotheses for premise in premises))
    return Theorem(hypotheses, conclusion, used.union(*(premise.variables for premise in premises)), _MAKE)


def _without(theorem: Theorem, hypothesis: Term | None, variable: Term | None = None) -> Theorem:
    """The premise with a hypothesis discharged, and then a variable that must be arbitrary in the rest. Not a rule."""
    rest = theorem.hypotheses - {hypothesis}
    used = theorem.variables
    if variable is not None:
        _need(variable.kind == "free" and not variable.arguments, "not a variable")
        _need(all(variable.data[0] not in term.free for term in rest), "the variable is not arbitrary")
        used -= {variable.data[0]}
    return Theorem(rest, theorem.conclusion, used, _MAKE)


def _parts(theorem: Theorem, kind: str) -> tuple[Term, ...]:
    _need(theorem.conclusion.kind == kind, f"a theorem of kind {kind} is needed, not {theorem.conclusion.kind}")
    return theorem.conclusion.arguments


def _assume(formula: Term) -> Theorem:
    return Theorem(frozenset({formula}), formula, formula.free, _MAKE)


def _true_intro() -> Theorem:
    return _theorem(apply("true"))


def _false_elim(false: Theorem, formula: Term) -> Theorem:
    _parts(false, "false")
    return _theorem(formula, false)


def _and_intro(left: Theorem, right: Theorem) -> Theorem:
    return _theorem(apply("and", left.conclusion, right.conclusion), left, right)


def _and_elim(both: Theorem, side: int) -> Theorem:
    return _theorem(_parts(both, "and")[side], both)


def _or_intro(one: Theorem, disjunction: Term, side: int) -> Theorem:
    _need(disjunction.kind == "or" and disjunction.arguments[side] == one.conclusion, "not a side of this disjunction")
    return _theorem(disjunction, one)


def _or_elim(either: Theorem, left: Theorem, right: Theorem) -> Theorem:
    first, second = _parts(either, "or")
    _need(left.conclusion == right.conclusion, "the cases prove different things")
    return _theorem(left.conclusion, either, _without(left, first), _without(right, second))


def _imp_intro(body: Theorem, hypothesis: Term) -> Theorem:
    return _theorem(apply("imp", hypothesis, body.conclusion), _without(body, hypothesis))


def _imp_elim(implication: Theorem, premise: Theorem) -> Theorem:
    hypothesis, conclusion = _parts(implication, "imp")
    _need(hypothesis == premise.conclusion, "the premise is not what the implication needs")
    return _theorem(conclusion, implication, premise)


def _iff_intro(forward: Theorem, backward: Theorem) -> Theorem:
    left, right = _parts(forward, "imp")
    _need(_parts(backward, "imp") == (right, left), "not the converse")
    return _theorem(apply("iff", left, right), forward, backward)


def _iff_elim(both: Theorem, side: int) -> Theorem:
    left, right = _parts(both, "iff")
    return _theorem(apply("imp", left, right) if side == 0 else apply("imp", right, left), both)


def _all_intro(body: Theorem, variable: Term, name: str) -> Theorem:
    conclusion = quantify("all", variable, body.conclusion, name)
    rest = _without(body, None, variable)
    return Theorem(rest.hypotheses, conclusion, body.variables - {variable.data[0]}, _MAKE)


def _all_elim(general: Theorem, value: Term) -> Theorem:
    _parts(general, "all")
    return _theorem(instantiate(general.conclusion, value), general, used=value.free)


def _ex_intro(instance: Theorem, existential: Term, witness: Term) -> Theorem:
    _need(existential.kind == "ex" and instantiate(existential, witness) == instance.conclusion, "not an instance")
    return _theorem(existential, instance, used=witness.free)


def _ex_elim(existential: Theorem, body: Theorem, variable: Term) -> Theorem:
    _parts(existential, "ex")
    rest = _without(body, instantiate(existential.conclusion, variable), variable)
    _need(variable.data[0] not in body.conclusion.free | existential.conclusion.free, "the variable is not arbitrary")
    return _theorem(body.conclusion, existential, rest)


def _refl(term: Term) -> Theorem:
    return _theorem(apply("eq", term, term))


def _rewrite(equation: Theorem, body: Theorem, variable: Term, motive: Term) -> Theorem:
    _need(equation.conclusion.kind in ("eq", "iff"), "not an equation")
    old, new = equation.conclusion.arguments
    _need(substitute(motive, variable, old) == body.conclusion, "the motive does not fit")
    return _theorem(substitute(motive, variable, new), equation, body)


def _convert(theorem: Theorem, formula: Term) -> Theorem:
    _need(normal(formula) == normal(theorem.conclusion), "not equal by definition")
    return _theorem(formula, theorem)


def _induction(base: Theorem, step: Theorem, variable: Term, motive: Term, name: str) -> Theorem:
    _need(base.conclusion == substitute(motive, variable, numeral(0)), "not the base case")
    successor = apply("add", variable, numeral(1))
    _need(step.conclusion == substitute(motive, variable, successor), "not the step")
    rest = _without(step, motive, variable)
    conclusion = quantify("all", variable, motive, name)
    return Theorem(
        base.hypotheses | rest.hypotheses, conclusion, base.variables | step.variables - {variable.data[0]}, _MAKE
    )


def _no_confusion(equation: Theorem) -> Theorem:
    """From t + k = u + k with the largest k: t = u, or False if one of t and u is 0 and the other v + j, j > 0."""
    (left, i), (right, j) = (split_successor(normal(side)) for side in _parts(equation, "eq"))
    _need(left.base == NAT, "not an equation between numbers")
    common, zero = min(i, j), numeral(0)
    if (i > common and right == zero) or (j > common and left == zero):
        return _theorem(apply("false"), equation)
    return _theorem(apply("eq", _plus(left, i - common), _plus(right, j - common)), equation)


def _excluded_middle(formula: Term) -> Theorem:
    return _theorem(apply("or", formula, apply("not", formula)))


RULES: dict[str, Callable[..., Theorem]] = {
    "assume": _assume, "true_intro": _true_intro, "false_elim": _false_elim, "and_intro": _and_intro,
    "and_elim": _and_elim, "or_intro": _or_intro, "or_elim": _or_elim, "imp_intro": _imp_intro, "imp_elim": _imp_elim,
    "iff_intro": _iff_intro, "iff_elim": _iff_elim, "all_intro": _all_intro, "all_elim": _all_elim,
    "ex_intro": _ex_intro, "ex_elim": _ex_elim, "refl": _refl, "rewrite": _rewrite, "convert": _convert,
    "induction": _induction, "no_confusion": _no_confusion, "excluded_middle": _excluded_middle,
}  # fmt: skip
