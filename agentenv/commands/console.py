"""What the subcommands share: consoles, safe text, options. Invariant: no control character reaches a terminal raw.

Text of a policy, of a task or of a file can hold escape sequences that would move the cursor, retitle the window or
hide what follows; `printable` shows them instead of obeying them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from agentenv.errors import ConfigurationError

__all__ = [
    "environment_kwargs",
    "error_console",
    "output_console",
    "parse",
    "plain",
    "print_json",
    "printable",
    "progress_bar",
]

_T = TypeVar("_T")
_BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}


def printable(text: str) -> str:
    """The text with control characters made visible; newlines and tabs stay.

    >>> printable("a\\x1b[31mb\\r\\n")
    'a␛[31mb␍\\n'
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    code = ord(character)
    if character in "\n\t" or 0x20 <= code < 0x7F:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0 or code in _BIDI or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return character


def plain(text: str, style: str = "") -> Text:
    """Safe text for rich: control characters shown, square brackets not read as markup."""
    return Text(printable(text), style=style)


def output_console() -> Console:
    """Where results go: standard output."""
    return Console(highlight=False)


def error_console() -> Console:
    """Where progress and errors go: standard error, so that output can be piped."""
    return Console(stderr=True, highlight=False)


def progress_bar() -> Progress:
    """A bar that is drawn on a terminal only."""
    console = error_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def parse(options: type[_T], argv: Sequence[str], command: str, description: str) -> _T:
    """Options of a subcommand from its arguments; `--help` shows the description, examples included."""
    return tyro.cli(
        options,
        args=list(argv),
        prog=f"agentenv {command}",
        description=description,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def environment_kwargs(text: str, shortcuts: Mapping[str, Any]) -> dict[str, Any]:
    """An environment's arguments from `--env-kwargs`, with options of their own laid over it where given.

    Raises:
        ConfigurationError: If the text is not a JSON object, or an argument is given twice.

    >>> environment_kwargs('{"max_turns": 8}', {"difficulty": "easy", "families": None})
    {'max_turns': 8, 'difficulty': 'easy'}
    """
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"--env-kwargs is not JSON ({error}); example: '{{\"max_turns\": 8}}'") from error
    if not isinstance(values, dict):
        raise ConfigurationError(f"--env-kwargs must be a JSON object, got {text[:80]!r}")
    given = {name: value for name, value in shortcuts.items() if value is not None}
    twice = sorted(set(given) & set(values))
    if twice:
        raise ConfigurationError(f"{', '.join(twice)}: given in --env-kwargs and as an option; give one")
    return {**values, **given}


def print_json(values: Any) -> None:
    """JSON on standard output."""
    sys.stdout.write(json.dumps(values, indent=1, allow_nan=False) + "\n")
