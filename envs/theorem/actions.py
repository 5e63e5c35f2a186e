"""The action grammar: tactics, `undo`, `restart`. Invariant: an action is one of them, or a reason why it is none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from agentenv.actions import parse_action

__all__ = ["FORMS", "MOST_CHARS", "Refused", "Restart", "Tactics", "Undo", "parse"]

FORMS = "Valid: one or more tactics, `undo`, `undo N`, `restart`."
MOST_CHARS = 20_000
_UNDO = re.compile(r"undo(?: ([1-9]\d{0,3}))?")
_KEPT = frozenset("\n\t ")
_STRANGE = frozenset({"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"})


@dataclass(frozen=True)
class Tactics:
    """Tactics to apply, as text."""

    text: str


@dataclass(frozen=True)
class Undo:
    """Takes the last tactics back."""

    count: int


@dataclass(frozen=True)
class Restart:
    """Goes back to the statement."""


@dataclass(frozen=True)
class Refused:
    """No action: why not."""

    reason: str


def parse(action: str) -> Tactics | Undo | Restart | Refused:
    r"""The action in a text; where there is a fenced block, the first one is the action.

    >>> parse("undo 2"), parse("Let us see.\n```lean\nintro h\n```\n")
    (Undo(count=2), Tactics(text='intro h'))
    >>> parse("intro\0h").reason
    'U+0000 is not allowed. Valid: one or more tactics, `undo`, `undo N`, `restart`.'
    """
    if len(action) > MOST_CHARS:
        return Refused(f"{len(action)} characters; at most {MOST_CHARS} are accepted.")
    action = action.replace("\r\n", "\n")
    strange = next((char for char in action if _is_strange(char)), None)
    if strange is not None:
        return Refused(f"U+{ord(strange):04X} is not allowed. {FORMS}")
    if any(line.lstrip().startswith("```") for line in action.split("\n")):
        found = parse_action(action, "fenced")
        if found.action is None:
            return Refused(found.reason)
        action = found.action
    text = action.strip("\n").rstrip()
    if not text.strip():
        return Refused(f"there is no tactic. {FORMS}")
    word = text.strip()
    if word == "restart":
        return Restart()
    undo = _UNDO.fullmatch(word)
    if undo:
        return Undo(int(undo.group(1) or 1))
    return Tactics(text)


def _is_strange(char: str) -> bool:
    """Control and format characters and uncommon blanks: a prover may read them otherwise than they look."""
    return (
        char not in _KEPT and char != " " and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"}
    )
