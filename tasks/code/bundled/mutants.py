"""Mutants of a program: copies with one small fault each. Invariant: the same source gives the same mutants.

Faults that no test of behaviour can see are not made: annotations, docstrings, and what a `raise` statement says.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

_COMPARE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True)
class Mutant:
    """A program with one fault.

    Args:
        name: The line and what was done there, unique in its program: "7 Lt becomes LtE".
        source: The program.
    """

    name: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a program.

    >>> [mutant.name for mutant in mutants("def f(x: int) -> bool:\\n    return x < 3\\n")]
    ['2 return becomes return None', '2 Lt becomes LtE', '2 3 becomes 4']
    """
    seen: dict[str, int] = {}
    for index, (_, node) in enumerate(_places(ast.parse(source))):
        for what, change in _faults(node):
            tree = ast.parse(source)
            parent, target = _places(tree)[index]
            _put(parent, target, change(copy.deepcopy(target)))
            name = f"{getattr(node, 'lineno', 0)} {what}"
            seen[name] = seen.get(name, 0) + 1
            number = f" ({seen[name]})" if seen[name] > 1 else ""
            yield Mutant(name + number, ast.unparse(ast.fix_missing_locations(tree)))


def _places(tree: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Nodes that may be changed, each with its parent, in the order of the text."""
    found: list[tuple[ast.AST, ast.AST]] = []
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise) and not _is_docstring(child):
                found.append((tree, child))
                found.extend(_places(child))
    return found


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _put(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            setattr(parent, name, [new if item is old else item for item in value])


def _faults(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """What can be done to a node: a name for it, and the node that takes its place."""
    kind = type(node).__name__
    if isinstance(node, ast.cmpop) and type(node) in _COMPARE:
        return
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in _COMPARE:
                other = _COMPARE[type(op)]
                yield f"{type(op).__name__} becomes {other.__name__}", _with_op(place, other)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        other_op = _ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other_op.__name__}", lambda new: _set(new, "op", other_op())
    elif isinstance(node, ast.BoolOp):
        swapped: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} becomes {type(swapped).__name__}", lambda new: _set(new, "op", swapped)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not is dropped", lambda new: new.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield f"{kind} is negated", lambda new: _set(new, "test", ast.UnaryOp(ast.Not(), new.test))  # type: ignore[attr-defined]
    elif isinstance(node, (ast.Break, ast.Continue)):
        swap: ast.stmt = ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield f"{kind} becomes {type(swap).__name__}", lambda new: swap
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield "return becomes return None", lambda new: _set(new, "value", ast.Constant(None))
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield f"{kind} is dropped", lambda new: ast.Pass()


def _constants(node: ast.Constant) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} becomes {not value}", lambda new: ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield f"{value!r} becomes {value + 1!r}", lambda new: ast.Constant(value + 1)
    elif isinstance(value, str):
        yield f"{value!r} gets a letter", lambda new: ast.Constant(value + "Q")


def _with_op(place: int, other: type[ast.cmpop]) -> Callable[[ast.AST], ast.AST]:
    def change(new: ast.AST) -> ast.AST:
        new.ops[place] = other()  # type: ignore[attr-defined]
        return new

    return change


def _set(node: ast.AST, name: str, value: object) -> ast.AST:
    setattr(node, name, value)
    return node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
