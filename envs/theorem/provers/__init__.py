"""The provers behind one interface, one module each, imported when first opened."""

from __future__ import annotations

from agentenv.envs.theorem.provers.base import Prover
from agentenv.errors import ConfigurationError

__all__ = ["open_prover"]


def open_prover(name: str, *, timeout_s: int = 5, lean: str | None = None) -> Prover:
    """A prover by the name that statements give.

    Args:
        name: "mini", "rocq" or "lean".
        timeout_s: Seconds for one tactic, where the prover is a program of its own.
        lean: Command that starts the Lean REPL.

    Raises:
        ConfigurationError: On another name.
        InfrastructureError: If the prover is not installed, or cannot be started.
    """
    if name == "mini":
        from agentenv.envs.theorem.provers.mini import MiniProver

        return MiniProver()
    if name == "rocq":
        from agentenv.envs.theorem.provers.rocq import RocqProver

        return RocqProver(timeout_s=timeout_s)
    if name == "lean":
        from agentenv.envs.theorem.provers.lean import LeanProver

        return LeanProver(command=lean, timeout_s=timeout_s)
    raise ConfigurationError(f"prover {name!r} is not one of 'mini', 'rocq', 'lean'")
