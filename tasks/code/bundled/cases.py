"""Tests as text: one line a call, or a paragraph a script. Invariant: reading them runs nothing.

A line on its own is one test: ``slugify("A b") -> "a-b"``, or ``slugify(None) raises TypeError`` (with a part of the
message after a colon: ``raises ValueError: negative``). A paragraph that begins with an assignment is one test too: a
script of several steps, in which names stand for objects that earlier steps made:

    stack = Stack([1, 2])
    stack.push(3) -> ...
    stack.items[0] -> 1
    len(stack) -> 3

``-> ...`` means that whatever comes back is right. Arguments and expected values are literals (arithmetic on literals
counts as one), calls may be nested, and operators, subscripts and attributes work on what a script made. A line
``module shop.cart`` says where the names of the tests after it are found.

A program is a paragraph: ``$ python tally.py --top 2``, what it reads after ``< ``, what it must print after ``> ``,
and ``exit 2`` where it must end with another code than 0.
"""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentenv.errors import DataFileError
from agentenv.tasks.code.base import ANYTHING, Calls, Keep, Program, Raises, Ref, Step

__all__ = ["WrittenCase", "parse_cases", "show_value"]

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.In: "contains",
}
_LONGEST_PROGRAM_LINE = 2


@dataclass(frozen=True)
class WrittenCase:
    """A test with its text.

    Args:
        lines: Its lines, the expected values included where they are known.
        case: The test as data; steps of lines without an expected value expect `ANYTHING`.
        open: Indices of the lines that have no expected value yet, and of each line's last step.
    """

    lines: tuple[str, ...]
    case: Calls | Program
    open: tuple[tuple[int, int], ...] = ()


def parse_cases(lines: Sequence[str], module: str) -> list[WrittenCase]:
    """Reads a section of tests.

    Raises:
        DataFileError: On a line that is none of the forms above.
    """
    cases: list[WrittenCase] = []
    for paragraph in _paragraphs(lines):
        if paragraph[0].startswith("module "):
            module = paragraph[0].split()[1]
            paragraph = paragraph[1:]
        if not paragraph:
            continue
        if paragraph[0].startswith("$ "):
            cases.append(_program(paragraph))
        elif _assignment(paragraph[0]):
            cases.append(_script(paragraph, module))
        else:
            cases.extend(_script([line], module) for line in paragraph)
    return cases


def show_value(value: Any) -> str:
    """A plain value as a literal that `parse_cases` reads back to an equal one of the same types.

    >>> show_value({"b": {2, 1}, "a": (1.0,)})
    '{"b": {1, 2}, "a": (1.0,)}'
    """
    if isinstance(value, (set, frozenset)) and value:
        inside = ", ".join(sorted(map(show_value, value)))
        return f"{{{inside}}}" if isinstance(value, set) else f"frozenset({{{inside}}})"
    if isinstance(value, frozenset):
        return "frozenset()"
    if type(value) is list:
        return f"[{', '.join(map(show_value, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(show_value, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return f"{{{', '.join(f'{show_value(key)}: {show_value(item)}' for key, item in value.items())}}}"
    if type(value) is float and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if type(value) is str and '"' not in value:
        return '"' + repr('"' + value)[2:-1].replace("\\'", "'") + '"'
    if type(value) in (type(None), bool, int, float, complex, str, bytes, set):
        return repr(value)
    raise DataFileError(f"a {type(value).__name__} is no plain value")


def _paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []


def _assignment(line: str) -> bool:
    return re.match(r"[A-Za-z_]\w*(\[.*\])? = ", line) is not None


def _program(lines: list[str]) -> WrittenCase:
    words = shlex.split(lines[0][2:])
    stdin = "".join(line[2:] + "\n" for line in lines if line[:2] in ("< ", "<"))
    stdout = "".join(line[2:] + "\n" for line in lines if line[:2] in ("> ", ">"))
    codes = [int(line.split()[1]) for line in lines if line.startswith("exit ")]
    if words[0] != "python" or len(words) < _LONGEST_PROGRAM_LINE:
        raise DataFileError(f"{lines[0]!r} does not begin with '$ python FILE'")
    program = Program(words[1], stdin, stdout, tuple(words[2:]), exit_code=codes[0] if codes else 0)
    known = bool(codes) or any(line[:2] in ("> ", ">") for line in lines)
    return WrittenCase(tuple(lines), program, () if known else ((len(lines), 0),))


def _script(lines: Sequence[str], module: str) -> WrittenCase:
    steps: list[Step] = []
    unknown: list[tuple[int, int]] = []
    reader = _Reader()
    for number, line in enumerate(lines):
        try:
            reader.line(line)
        except (SyntaxError, ValueError) as error:
            raise DataFileError(f"cannot read the test {line!r}: {error}") from error
        steps = reader.steps
        if reader.is_open:
            unknown.append((number, len(steps) - 1))
    return WrittenCase(tuple(lines), Calls(module, tuple(steps)), tuple(unknown))


class _Reader:
    """Turns the lines of one test into steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.names: set[str] = set()
        self.is_open = False
        self._made = 0

    def line(self, line: str) -> None:
        left, expected, self.is_open = _split(line)
        (node,) = ast.parse(left.strip()).body
        if isinstance(node, ast.Assign):
            self.is_open = False
            self._assign(node)
        elif isinstance(node, ast.Delete):
            (target,) = node.targets
            if not isinstance(target, ast.Subscript):
                raise ValueError("only items can be deleted")
            self.steps.append(Step("operator.delitem", (self.value(target.value), self.value(target.slice))))
        elif isinstance(node, ast.Expr):
            self.steps.append(replace(self.step(node.value), expected=expected))
        else:
            raise ValueError("it is neither an expression nor an assignment")

    def _assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        if isinstance(target, ast.Subscript):
            parts = (self.value(target.value), self.value(target.slice), self.value(node.value))
            self.steps.append(Step("operator.setitem", parts))
        elif isinstance(target, ast.Name):
            self.keep(target.id, node.value)
        else:
            raise ValueError("only names and items can be assigned to")

    def keep(self, name: str, node: ast.expr) -> None:
        step = Step("=", (_literal(node),)) if _is_literal(node) else self.step(node)
        self.steps.append(replace(step, expected=Keep(name)))
        self.names.add(name)

    def step(self, node: ast.expr) -> Step:
        """The step that an expression stands for; steps for its parts are added before it."""
        if isinstance(node, ast.Call):
            kwargs = {str(word.arg): self.value(word.value) for word in node.keywords}
            return Step(self.target(node.func), tuple(self.value(part) for part in node.args), kwargs)
        if isinstance(node, (ast.Attribute, ast.Name)):
            return Step(self.target(node), get=True)
        if isinstance(node, ast.Subscript):
            return Step("operator.getitem", (self.value(node.value), self.value(node.slice)))
        if isinstance(node, ast.BinOp):
            name = _BINARY[type(node.op)].__name__
            return Step(f"operator.{name}", (self.value(node.left), self.value(node.right)))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = (self.value(node.left), self.value(node.comparators[0]))
            name = _COMPARED[type(node.ops[0])]
            return Step(f"operator.{name}", sides[::-1] if name == "contains" else sides)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return Step("operator.neg", (self.value(node.operand),))
        raise ValueError(f"a {type(node).__name__} is not supported")

    def target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return f"${node.id}" if node.id in self.names else node.id
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, (ast.Name, ast.Attribute)):
                return f"{self.target(node.value)}.{node.attr}"
            return f"${self.made(node.value)}.{node.attr}"
        raise ValueError("only a name can be called")

    def made(self, node: ast.expr) -> str:
        """Keeps what an inner expression gives, under a name of its own."""
        self._made += 1
        name = f"_{self._made}"
        self.keep(name, node)
        return name

    def value(self, node: ast.expr) -> Any:
        """An argument: a literal, a name of the script, or what an inner expression gives."""
        if _is_literal(node):
            return _literal(node)
        if isinstance(node, ast.Name) and node.id in self.names:
            return Ref(node.id)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Dict):
            return {_literal(key): self.value(item) for key, item in zip(node.keys, node.values, strict=True) if key}
        return Ref(self.made(node))


def _split(line: str) -> tuple[str, Any, bool]:
    """A line's call, its expected value, and whether that is still to be found."""
    for match in re.finditer(r" (->|raises) ", line):
        left, right = line[: match.start()], line[match.end() :].strip()
        try:
            ast.parse(left.strip())
        except SyntaxError:
            continue
        if match[1] == "raises":
            name, _, contains = right.partition(": ")
            return left, Raises(name, contains), False
        return left, ANYTHING if right == "..." else _literal(ast.parse(right, mode="eval").body), False
    return line, ANYTHING, True


def _is_literal(node: ast.expr) -> bool:
    try:
        _literal(node)
    except ValueError:
        return False
    return True


def _literal(node: ast.expr) -> Any:
    """The value of a literal, or of arithmetic on literals; `float("inf")` and `frozenset({...})` count as literals."""
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_literal(node.left), _literal(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    if isinstance(node, ast.List):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_literal(item) for item in node.elts)
    if isinstance(node, ast.Set):
        return {_literal(item) for item in node.elts}
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_literal(key): _literal(item) for key, item in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return float(node.args[0].value)  # type: ignore[arg-type]
        if node.func.id in ("set", "frozenset") and len(node.args) <= 1:
            kind = set if node.func.id == "set" else frozenset
            return kind(*(_literal(argument) for argument in node.args))
    return ast.literal_eval(node)
