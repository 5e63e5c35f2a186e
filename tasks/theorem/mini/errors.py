"""The one error of the mini prover: what is wrong, and where in the text."""

from __future__ import annotations

from agentenv.errors import AgentEnvError

__all__ = ["KernelError", "LimitError", "MiniError"]


class MiniError(AgentEnvError):
    """A statement, tactic or proof was refused.

    Args:
        message: What is wrong, and what would be right.
        line: 1-based line in the text that was given.
        column: 0-based column, as Lean counts it.

    >>> str(MiniError("unknown identifier 'q'", 2, 6))
    "2:6: unknown identifier 'q'"
    """

    def __init__(self, message: str, line: int = 1, column: int = 0) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class KernelError(AgentEnvError):
    """An inference rule or term constructor was given what it does not accept."""


class LimitError(KernelError):
    """A term, a proof or a search grew beyond the prover's bounds."""
