"""Turns a benchmark's test code into one that notes what each assert found. Invariant: nothing is run here, only read.

Every assert is counted where it stands, and the code goes on after one that fails, so that a solution that is right in
part is seen to be. All of them holding, and the code ending, is what the benchmark itself calls a pass.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from agentenv.errors import DataFileError

__all__ = ["NOTE", "assert_count", "instrument"]

#: What the instrumented code calls, with an assert's number and what it found.
NOTE = "__held__"


class _Asserts(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_Assert(self, node: ast.Assert) -> ast.Try:  # the name is ast's
        at = self.count
        self.count += 1

        def note(found: ast.expr) -> ast.stmt:
            call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(at), found], [])
            return ast.Expr(call)

        failed = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [note(ast.Constant(False))])
        return ast.Try([note(node.test)], [failed], [], [])


@lru_cache(maxsize=512)
def instrument(code: str) -> tuple[str, int]:
    """The code with its asserts turned into notes, and how many there are.

    Raises:
        DataFileError: If it is no Python.

    >>> instrument("assert f(1) == 2")[1]
    1
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError) as fault:
        raise DataFileError(f"test code that is no Python: {fault}") from fault
    asserts = _Asserts()
    tree = ast.fix_missing_locations(asserts.visit(tree))
    return ast.unparse(tree), asserts.count


def assert_count(code: str) -> int:
    """How many assert statements a test code has.

    >>> assert_count("for x in range(3):\\n    assert f(x)\\nassert f(9)")
    2
    """
    return instrument(code)[1]
