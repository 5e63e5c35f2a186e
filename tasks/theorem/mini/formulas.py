"""From parsed text to kernel terms: names are resolved, types found and checked."""

from __future__ import annotations

from collections.abc import Callable

from agentenv.tasks.theorem.mini import kernel
from agentenv.tasks.theorem.mini.context import Local, Locals, declare, find
from agentenv.tasks.theorem.mini.errors import KernelError, MiniError
from agentenv.tasks.theorem.mini.kernel import NAT, PROP, Term, Type
from agentenv.tasks.theorem.mini.trees import Binder, Tree

__all__ = ["Supply", "elaborate", "formula", "read_type"]

_CONNECTIVES = {"∧": "and", "∨": "or", "↔": "iff", "→": "imp"}
_ARITHMETIC = {"+": "add", "*": "mul"}
_EQUATIONS = {"=": "eq", "≠": "ne"}


class Supply:
    """Numbers for variables, never given twice: positive ones for variables, negative for unknowns."""

    def __init__(self, next: int = 1) -> None:
        self.next = next

    def number(self) -> int:
        """A new number."""
        self.next += 1
        return self.next - 1

    def variable(self, base: str) -> Term:
        """A new variable of a base type."""
        return kernel.variable(self.number(), Type((), base))

    def unknown(self, base: str) -> Term:
        """A new unknown: a variable that unification may replace."""
        return kernel.variable(-self.number(), Type((), base))


def formula(tree: Tree, locals: Locals, supply: Supply) -> Term:
    """The proposition of a tree."""
    return elaborate(tree, locals, supply, PROP)


def elaborate(
    tree: Tree, locals: Locals, supply: Supply, expected: str | None = None, hole: Callable[[str], Term] | None = None
) -> Term:
    """The term of a tree.

    Args:
        tree: What was parsed.
        locals: Names in scope.
        supply: For variables that become bound.
        expected: The base type that is needed; None: any.
        hole: What stands for `_`, given its base type; None: nothing does.

    Raises:
        MiniError: On an unknown name or a type that does not fit.
    """
    made = _Elaboration(supply, hole).term(tree, locals, expected)
    if expected is not None and made.base != expected:
        raise MiniError(f"this is of type {made.base}, but {expected} is needed", tree.line, tree.column)
    return made


class _Elaboration:
    def __init__(self, supply: Supply, hole: Callable[[str], Term] | None) -> None:
        self.supply = supply
        self.hole = hole

    def term(self, tree: Tree, locals: Locals, expected: str | None) -> Term:
        try:
            made = self._term(tree, locals, expected)
        except KernelError as wrong:
            raise MiniError(str(wrong), tree.line, tree.column) from None
        if expected is not None and made.base != expected:
            raise MiniError(f"this is of type {made.base}, but {expected} is needed", tree.line, tree.column)
        return made

    def _term(self, tree: Tree, locals: Locals, expected: str | None) -> Term:
        match tree.kind:
            case "name" | "apply":
                return self._application(tree, locals)
            case "number":
                return kernel.numeral(tree.value)
            case "op":
                return self._operation(tree, locals)
            case "not":
                return kernel.apply("not", self.term(tree.parts[0], locals, PROP))
            case "all" | "ex":
                return self._quantified(tree.kind, self._flat(tree.value), tree.parts[0], locals)
            case "field" if tree.value == "succ":
                return kernel.apply("succ", self.term(tree.parts[0], locals, NAT))
            case "typed" if len(tree.parts) == 2:
                return self.term(tree.parts[0], locals, _base(read_type(tree.parts[1], locals), tree))
            case "hole" | "typed" if self.hole is not None and expected is not None:
                return self.hole(expected)
        raise MiniError("a formula or term is needed here", tree.line, tree.column)

    def _application(self, tree: Tree, locals: Locals) -> Term:
        head, arguments = (tree.parts[0], tree.parts[1:]) if tree.kind == "apply" else (tree, ())
        if head.kind != "name":
            raise MiniError("only a predicate or function can be applied here", head.line, head.column)
        name, *fields = head.value.split(".")
        local = find(locals, name)
        if local is None:
            return self._constant(head, arguments, locals)
        if local.type is None:
            what = "a type" if local.is_sort else "a proof"
            raise MiniError(f"'{name}' is {what}, not a term", head.line, head.column)
        if fields and (set(fields) != {"succ"} or local.type != Type((), NAT) or arguments):
            raise MiniError(f"'{head.value}' is not known", head.line, head.column)
        needed = local.type.arguments
        if len(arguments) != len(needed):
            message = f"'{name}' takes {len(needed)} arguments, {len(arguments)} are given"
            raise MiniError(message, head.line, head.column)
        made = local.term(*(self.term(part, locals, base) for part, base in zip(arguments, needed, strict=True)))
        for _ in fields:
            made = kernel.apply("succ", made)
        return made

    def _constant(self, head: Tree, arguments: tuple[Tree, ...], locals: Locals) -> Term:
        if head.value in ("True", "False") and not arguments:
            return kernel.apply(head.value.lower())
        if head.value == "Nat.succ" and len(arguments) == 1:
            return kernel.apply("succ", self.term(arguments[0], locals, NAT))
        if head.value in ("Nat", "Prop", "Type"):
            raise MiniError(f"'{head.value}' is a type, not a term", head.line, head.column)
        raise MiniError(f"unknown identifier '{head.value}'", head.line, head.column)

    def _operation(self, tree: Tree, locals: Locals) -> Term:
        left, right = tree.parts
        if tree.value in _CONNECTIVES:
            return kernel.apply(_CONNECTIVES[tree.value], self.term(left, locals, PROP), self.term(right, locals, PROP))
        if tree.value in _ARITHMETIC:
            return kernel.apply(_ARITHMETIC[tree.value], self.term(left, locals, NAT), self.term(right, locals, NAT))
        if left.kind in ("hole", "typed"):
            second = self.term(right, locals, None)
            first = self.term(left, locals, second.base)
        else:
            first = self.term(left, locals, None)
            second = self.term(right, locals, first.base)
        if first.base == PROP:
            raise MiniError(f"write ↔ between propositions, not {tree.value}", tree.line, tree.column)
        return kernel.apply(_EQUATIONS[tree.value], first, second)

    def _flat(self, binders: tuple[Binder, ...]) -> list[tuple[str, Binder]]:
        return [(name, binder) for binder in binders for name in binder.names]

    def _quantified(self, kind: str, binders: list[tuple[str, Binder]], body: Tree, locals: Locals) -> Term:
        if not binders:
            return self.term(body, locals, PROP)
        (name, binder), rest = binders[0], binders[1:]
        if binder.type is None:
            base = _used_as(name, body, locals)
            if base is None:
                raise MiniError(f"write the type of '{name}', as in '{name} : Nat'", binder.line, binder.column)
        elif kind == "all" and not _is_type(binder.type, locals):
            hypothesis = self.term(binder.type, locals, PROP)
            inner = declare(locals, Local(name, formula=hypothesis))
            return kernel.apply("imp", hypothesis, self._quantified(kind, rest, body, inner))
        else:
            base = _base(read_type(binder.type, locals), binder.type)
        if kind == "ex" and base == PROP:
            raise MiniError("∃ over Prop is not supported", binder.line, binder.column)
        bound = self.supply.variable(base)
        inner = declare(locals, Local(name, type=Type((), base), number=bound.data[0]))
        return kernel.quantify(kind, bound, self._quantified(kind, rest, body, inner), name)


def read_type(tree: Tree, locals: Locals) -> Type:
    """The type of a variable: `Nat`, `Prop`, a sort, or a function of these."""
    arguments: list[str] = []
    while tree.kind == "op" and tree.value == "→":
        base = _base(read_type(tree.parts[0], locals), tree.parts[0])
        if base == PROP:
            raise MiniError("a predicate or function cannot take a Prop", tree.line, tree.column)
        arguments.append(base)
        tree = tree.parts[1]
    if not _is_type(tree, locals):
        raise MiniError("a type is needed here: Nat, Prop, or a name declared as (α : Type)", tree.line, tree.column)
    return Type(tuple(arguments), tree.value)


def _is_type(tree: Tree, locals: Locals) -> bool:
    while tree.kind == "op" and tree.value == "→":
        tree = tree.parts[1]
    if tree.kind != "name":
        return False
    local = find(locals, tree.value)
    return local.is_sort if local is not None else tree.value in (NAT, PROP)


def _base(type: Type, tree: Tree) -> str:
    if type.arguments:
        raise MiniError("a function type cannot stand here", tree.line, tree.column)
    return type.result


def _used_as(name: str, tree: Tree, locals: Locals) -> str | None:
    """The base type of a bound name, where its use as an argument or beside an equation's other side shows it."""
    if tree.kind in ("all", "ex") and any(name in binder.names for binder in tree.value):
        return None
    if tree.kind == "apply" and tree.parts[0].kind == "name":
        local = find(locals, tree.parts[0].value) if tree.parts[0].value != name else None
        if local is not None and local.type is not None:
            for part, base in zip(tree.parts[1:], local.type.arguments, strict=False):
                if part.kind == "name" and part.value == name:
                    return base
    if tree.kind == "op" and tree.value in _EQUATIONS:
        for one, other in (tree.parts, tree.parts[::-1]):
            if one.kind == "name" and one.value == name and (plain := _plain_base(other, locals)) is not None:
                return plain
    return next((found for part in tree.parts if (found := _used_as(name, part, locals)) is not None), None)


def _plain_base(tree: Tree, locals: Locals) -> str | None:
    head = tree.parts[0] if tree.kind == "apply" else tree
    local = find(locals, head.value) if head.kind == "name" else None
    return local.type.result if local is not None and local.type is not None else None
