"""Formulas and goals as text, close to Lean's own. What is printed of accessible names parses back to the same term."""

from __future__ import annotations

from collections.abc import Mapping

from agentenv.tasks.theorem.mini.context import Goal, Local, names_of
from agentenv.tasks.theorem.mini.kernel import Term, Type

__all__ = ["show_goal", "show_local", "show_term", "show_type"]

_INFIX = {  # kind: symbol, precedence, least precedence of the left side, of the right side
    "iff": ("↔", 20, 21, 21), "imp": ("→", 25, 26, 25), "or": ("∨", 30, 31, 30), "and": ("∧", 35, 36, 35),
    "eq": ("=", 50, 51, 51), "ne": ("≠", 50, 51, 51), "add": ("+", 65, 65, 66), "mul": ("*", 70, 70, 71),
}  # fmt: skip
_CONSTANTS = {"true": "True", "false": "False"}
_LOWEST, _ARGUMENT = 0, 1024


def show_term(term: Term, names: Mapping[int, str]) -> str:
    """A formula or term; `names` says what free variables are called."""
    return _show(term, names, (), _LOWEST)


def _show(term: Term, names: Mapping[int, str], bound: tuple[str, ...], least: int) -> str:
    text, precedence = _shown(term, names, bound)
    return f"({text})" if precedence < least else text


def _shown(term: Term, names: Mapping[int, str], bound: tuple[str, ...]) -> tuple[str, int]:
    if term.kind in _INFIX:
        symbol, precedence, left, right = _INFIX[term.kind]
        first, second = term.arguments
        return f"{_show(first, names, bound, left)} {symbol} {_show(second, names, bound, right)}", precedence
    if term.kind in _CONSTANTS:
        return _CONSTANTS[term.kind], _ARGUMENT
    if term.kind == "num":
        return str(term.data), _ARGUMENT
    if term.kind == "bound":
        return bound[-1 - term.data], _ARGUMENT
    if term.kind == "not":
        return f"¬{_show(term.arguments[0], names, bound, 40)}", _ARGUMENT - 1
    if term.kind == "succ":
        return _successor(_show(term.arguments[0], names, bound, _ARGUMENT)), _ARGUMENT
    if term.kind in ("all", "ex"):
        return _quantified(term, names, bound)
    name = names.get(term.data[0], f"?{abs(term.data[0])}")
    if not term.arguments:
        return name, _ARGUMENT
    return " ".join([name, *(_show(argument, names, bound, _ARGUMENT) for argument in term.arguments)]), _ARGUMENT - 1


def _successor(inside: str) -> str:
    return f"Nat.succ {inside}" if inside[0].isdigit() else f"{inside}.succ"


def _quantified(term: Term, names: Mapping[int, str], bound: tuple[str, ...]) -> tuple[str, int]:
    base, hint = term.data
    body = term.arguments[0]
    taken = {names.get(number, "") for number in body.free} | set(bound)
    name, count = hint, 0
    while name in taken:
        count += 1
        name = f"{hint}_{count}"
    symbol = "∀" if term.kind == "all" else "∃"
    type = "" if _tells_type(body, 0) else f" : {base}"
    return f"{symbol} {name}{type}, {_show(body, names, (*bound, name), _LOWEST)}", _LOWEST


def _tells_type(body: Term, index: int) -> bool:
    """Whether the type of a bound variable is plain from its use as an argument of a predicate or function."""
    if body.loose <= index:
        return False
    if body.kind == "free" and any(part.kind == "bound" and part.data == index for part in body.arguments):
        return True
    deeper = index + 1 if body.kind in ("all", "ex") else index
    return any(_tells_type(part, deeper) for part in body.arguments)


def show_type(type: Type) -> str:
    """The type of a variable.

    >>> show_type(Type(("α", "Nat"), "Prop"))
    'α → Nat → Prop'
    """
    return " → ".join([*type.arguments, type.result])


def show_local(local: Local, names: Mapping[int, str]) -> tuple[str, str]:
    """Name and type of a local."""
    name = local.name if local.accessible else f"{local.name}✝"
    if local.formula is not None:
        return name, show_term(local.formula, names)
    return name, show_type(local.type) if local.type is not None else "Type"


def show_goal(goal: Goal) -> str:
    """A goal as Lean shows it: names of one type in a line, then `⊢` and the target."""
    names = names_of(goal.locals)
    lines = [f"case {goal.tag}"] if goal.tag else []
    group: list[str] = []
    last: str | None = None
    for local in goal.locals:
        name, type = show_local(local, names)
        joins = local.formula is None and type == last
        if not joins and group:
            lines.append(f"{' '.join(group)} : {last}")
            group = []
        group.append(name)
        last = type
        if local.formula is not None:
            lines.append(f"{name} : {type}")
            group, last = [], None
    if group:
        lines.append(f"{' '.join(group)} : {last}")
    return "\n".join([*lines, f"⊢ {show_term(goal.target, names)}"])
