"""The `agentenv` command. Invariant: a subcommand is imported when it is called, so `agentenv gc` needs no torch.

Exit codes: 0 done, 1 a check failed (`verify` found a mismatch, `doctor` no isolation), 2 wrong usage or an error that
the message explains, 130 Ctrl-C.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from agentenv.errors import AgentEnvError, ConfigurationError, did_you_mean

__all__ = ["COMMANDS", "Command", "main"]

_USAGE, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141


@dataclass(frozen=True)
class Command:
    """A subcommand: where its ``main(argv) -> exit code`` lives, and one line for the overview.

    `extra` names the extra of the distribution that brings what it needs (`eval` of a scripted policy needs none).
    """

    target: str
    summary: str
    extra: str = ""


#: In the order that a newcomer meets them. A room that brings a subcommand adds its line here.
COMMANDS: dict[str, Command] = {
    "list": Command("agentenv.commands.listing:main", "environments, their task sets, splits and families"),
    "play": Command("agentenv.commands.play:main", "play a task yourself and watch the checks turn green"),
    "shop": Command(
        "agentenv.envs.shop_command:main", "the web shop in your browser: the same pages, goals and scores"
    ),
    "train": Command("agentenv.baselines.cli:train", "train a policy (grpo, bc)", "train"),
    "eval": Command("agentenv.commands.evaluation:main", "play a policy on held-out tasks, with intervals", "train"),
    "verify": Command("agentenv.commands.verification:main", "replay a results file and recompute every number"),
    "report": Command(
        "agentenv.commands.reporting:main", "an HTML page: curves, success, episodes turn by turn", "report"
    ),
    "serve-search": Command("agentenv.commands.serve_search:main", "serve a corpus for search, in Search-R1's form"),
    "doctor": Command("agentenv.commands.doctor:main", "what this machine can isolate and enforce"),
    "gc": Command("agentenv.commands.gc:main", "remove what killed runs left behind"),
}

_EXAMPLES = """\
Examples:
  agentenv play                                    a random task, in your own terminal
  agentenv eval oracle --tasks 20                  the reference solutions, on 20 test tasks
  agentenv eval tiny --out tiny.json               the shipped policy, results kept
  agentenv verify tiny.json                        replay them and recompute the score

`agentenv COMMAND --help` tells more about each."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except AgentEnvError as error:
        _complain(str(error))
        return _USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone: let the interpreter's own flush at exit find somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_overview())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name in ("-V", "--version"):
        from agentenv import __version__

        sys.stdout.write(f"agentenv {__version__}\n")
        return 0
    if name not in COMMANDS:
        raise ConfigurationError(
            f"{name!r} is not a command.{did_you_mean(name, COMMANDS)} Commands: {', '.join(COMMANDS)}"
        )
    command = COMMANDS[name]
    module, _, function = command.target.partition(":")
    try:
        run: Callable[[Sequence[str]], int] = getattr(import_module(module), function)
        return run(rest)
    except ModuleNotFoundError as error:
        if not command.extra or (error.name or "").startswith("agentenv"):
            raise
        raise ConfigurationError(
            f"this `agentenv {name}` needs {error.name}: pip install 'agentenv-gym[{command.extra}]'"
        ) from error


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "agentenv: environments for language agents, with verified progress at every turn",
            "",
            "Usage: agentenv COMMAND [OPTIONS]",
            "",
            "Commands:",
            *lines,
            "",
            _EXAMPLES,
            "",
        ]
    )


def _complain(message: str) -> None:
    sys.stderr.write(f"agentenv: {' '.join(message.split())}\n")


if __name__ == "__main__":
    sys.exit(main())
