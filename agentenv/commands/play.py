"""`agentenv play`: a person plays an episode in their own terminal and sees the checks after every turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import gymnasium as gym
import tyro
from rich.console import Console
from rich.text import Text

from agentenv.commands.console import environment_kwargs, output_console, parse, plain
from agentenv.evaluation.environments import base_of, make_env

__all__ = ["main"]

_DESCRIPTION = """Play a task yourself.

Whatever you type is the action, sent as it is; a line that ends in \\ goes on in the next. After every turn the
acceptance checks are run again and the ones that hold turn green. `submit` ends the episode for grading, `:quit` (or
Ctrl-D) leaves it.

Examples:
  agentenv play                                   a random training task
  agentenv play --difficulty easy --seed 7        the same easy task every time
  agentenv play --task links-easy-test-0          one task by name (`agentenv list --ids test` tells them)
  agentenv play --hide-checks                     as an agent sees it"""

_LEAVE = (":quit", ":q", "quit")
_BAR = 24


@dataclass(frozen=True)
class Options:
    """Options of `agentenv play`."""

    env: Annotated[str, tyro.conf.Positional] = "agentenv/Terminal-v0"
    """The environment."""
    task: str | None = None
    """A task by name; without it one is drawn."""
    split: str = "train"
    """Where a task is drawn from: train, val, test or ood."""
    seed: int | None = None
    """Draws the same task again."""
    difficulty: str | None = None
    """Only tasks of this difficulty."""
    families: tuple[str, ...] | None = None
    """Only tasks of these families."""
    env_kwargs: str = "{}"
    """Further arguments of the environment, as a JSON object."""
    hide_checks: bool = False
    """Show what an agent sees: no checks, no progress until the end."""


def main(argv: Sequence[str]) -> int:
    """Plays one episode."""
    options = parse(Options, argv, "play", _DESCRIPTION)
    with suppress(ImportError):
        import readline  # noqa: F401  (gives `input` its line editing and history)
    shortcuts = {"difficulty": options.difficulty, "families": list(options.families) if options.families else None}
    kwargs = environment_kwargs(options.env_kwargs, {**shortcuts, "split": options.split})
    console = output_console()
    env = make_env(options.env, kwargs)
    try:
        return _episode(env, options, console)
    finally:
        env.close()


def _episode(env: gym.Env[Any, Any], options: Options, console: Console) -> int:
    chosen = {"task_id": options.task} if options.task is not None else None
    observation, info = env.reset(seed=options.seed, options=chosen)
    most = base_of(env).max_turns
    console.print(plain(f"{info['task_id']}  (at most {most} turns; submit to be graded, :quit to leave)", "dim"))
    console.print(plain(str(observation)))
    seen: dict[str, float] = {}
    if not options.hide_checks:
        seen = _show_checks(console, info, seen, most)
    while True:
        action = _read_action(console)
        if action is None:
            console.print(plain("left without submitting", "dim"))
            return 0
        observation, _, terminated, truncated, info = env.step(action)
        console.print(plain(str(observation)))
        over = terminated or truncated
        if over or not options.hide_checks:
            seen = _show_checks(console, info, seen, most)
        if over:
            verdict = (
                ("solved", "bold green") if info["success"] else (f"not solved ({info['stop_reason']})", "bold red")
            )
            console.print(plain(f"{verdict[0]} in {info['turn']} turns, progress {info['progress']:.0%}", verdict[1]))
            return 0


def _read_action(console: Console) -> str | None:
    lines: list[str] = []
    while True:
        try:
            line = input("... " if lines else "> ")
        except EOFError:
            console.print()
            return "\n".join(lines) if lines else None
        if not lines and line.strip() in _LEAVE:
            return None
        lines.append(line)
        if not line.endswith("\\"):
            return "\n".join(lines)


def _show_checks(console: Console, info: dict[str, Any], before: dict[str, float], most: int) -> dict[str, float]:
    checks: dict[str, float] = info["checks"]
    for name, score in checks.items():
        mark, style = ("✓", "green") if score == 1.0 else ("◐", "yellow") if score > 0 else ("·", "dim")
        line = Text("  ").append(f"{mark} ", style).append_text(plain(name, style))
        change = score - before.get(name, score)
        if change:
            line.append(f"  {'▲' if change > 0 else '▼'}", "bold green" if change > 0 else "bold red")
        console.print(line)
    filled = int(info["progress"] * _BAR)
    bar = Text("  ").append("█" * filled, "green").append("░" * (_BAR - filled), "dim")
    console.print(bar.append(f" {info['progress']:.0%}   turn {info['turn']}/{most}", "dim"))
    return dict(checks)
