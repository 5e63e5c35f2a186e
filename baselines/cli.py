"""`agentenv train METHOD`: the trainers by name. Invariant: only the chosen trainer is imported."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from agentenv.errors import ConfigurationError, did_you_mean

__all__ = ["TRAINERS", "train"]

#: A module with a dataclass `Args` and a function `main(args)`, or with `run(argv)`, and a line about it.
TRAINERS = {
    "grpo": ("agentenv.baselines.grpo", "GRPO with outcome or turn-level credit"),
    "bc": ("agentenv.baselines.bc", "behaviour cloning of oracle demonstrations: the warm start"),
}


def train(argv: Sequence[str]) -> int:
    """Runs a trainer on command-line arguments and returns the exit code.

    Raises:
        ConfigurationError: On a trainer that is not known.
    """
    from rich.console import Console
    from rich.logging import RichHandler

    if not argv or argv[0] in ("-h", "--help"):
        lines = [f"  {name:<6} {line}" for name, (_, line) in TRAINERS.items()]
        usage = "Usage: agentenv train METHOD [OPTIONS]\n\n" + "\n".join(lines)
        Console(highlight=False).print(f"{usage}\n\n`agentenv train METHOD --help` lists its options.")
        return 0
    name = argv[0]
    if name not in TRAINERS:
        raise ConfigurationError(f"trainer {name!r} is not known.{did_you_mean(name, TRAINERS)} Known: grpo, bc")
    import tyro

    console = Console(stderr=True)
    # On a terminal the bar tells how far a run is; in a file, lines do.
    level = logging.WARNING if console.is_terminal else logging.INFO
    handler = RichHandler(console=console, show_path=False)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler], force=True)
    module: Any = import_module(TRAINERS[name][0])
    if hasattr(module, "run"):
        return int(module.run(argv[1:]))
    return int(
        module.main(tyro.cli(module.Args, prog=f"agentenv train {name}", description=module.__doc__, args=argv[1:]))
    )
