"""Parsers of configuration text. Invariant: what is not the format raises `NotInStateError`, whatever it is.

Each accepts every usual way to write the same settings (blanks, quotes, comments), and gives them as plain values.
"""

from __future__ import annotations

import re
import shlex

from agentenv.errors import NotInStateError

__all__ = ["assignments", "directives", "indented", "ini_entries", "ini_sections"]

_MOST_LINES = 2000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9.]+")


def ini_entries(text: str, *, unit: bool = False) -> list[tuple[str, str, str]]:
    """The (section, key, value) of every line, in order, repeated keys too; lines ending in a backslash go on.

    A systemd `unit` has only `=` between key and value, and quotes are a part of the value.

    >>> ini_entries("[a]\\nx = 1\\n# note\\ny: 'two'\\n")
    [('a', 'x', '1'), ('a', 'y', 'two')]
    """
    found: list[tuple[str, str, str]] = []
    section = ""
    setting = re.compile(r"([^=]+?)\s*=\s*(.*)" if unit else r"([^=:]+?)\s*[=:]\s*(.*)")
    for line in _lines(text.replace("\\\n", " ")):
        if line.startswith("["):
            if not line.endswith("]"):
                raise NotInStateError(f"not a section: {line[:60]!r}")
            section = line[1:-1].strip()
            continue
        split = setting.match(line)
        if split is None:
            raise NotInStateError(f"not a setting: {line[:60]!r}")
        found.append((section, split[1], split[2] if unit else _unquoted(split[2])))
    return found


def ini_sections(text: str) -> dict[str, dict[str, str]]:
    """Section to key to value. A key given twice in a section is refused: programs differ on which one counts.

    >>> ini_sections("[a]\\nx=1\\n\\n[b]\\n")
    {'a': {'x': '1'}, 'b': {}}
    """
    names = [line[1:-1].strip() for line in _lines(text) if re.fullmatch(r"\[.*\]", line)]
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for section, key, value in ini_entries(text):
        keys = found.setdefault(section, {})
        if key in keys:
            raise NotInStateError(f"{key[:60]!r} is set twice")
        keys[key] = value
    return found


def assignments(text: str) -> dict[str, str]:
    """Name to value of KEY=value lines, as a shell reads them (quotes, `export`); the last one of a name counts.

    >>> assignments("export A=1\\nB='two words'\\nA=3\\n")
    {'A': '3', 'B': 'two words'}
    """
    found: dict[str, str] = {}
    for line in _lines(text):
        name, sign, value = line.removeprefix("export ").partition("=")
        try:
            words = shlex.split(value, comments=True)
        except ValueError as fault:
            raise NotInStateError(f"bad quotes: {line[:60]!r}") from fault
        if not sign or not _NAME.fullmatch(name) or len(words) > 1:
            raise NotInStateError(f"not KEY=value: {line[:60]!r}")
        found[name] = words[0] if words else ""
    return found


def indented(text: str) -> dict[str, dict[str, str]]:
    """Section to key to value of two-level YAML mappings; a quoted number is no number and keeps its quotes.

    >>> indented("a:\\n  x: 1\\n  y: 'two'\\n")
    {'a': {'x': '1', 'y': 'two'}}
    """
    found: dict[str, dict[str, str]] = {}
    keys: dict[str, str] | None = None
    depth = 0
    for raw in text.split("\n")[:_MOST_LINES]:
        line = re.sub(r"(^|\s)#.*", "", raw).rstrip()
        if not line or line == "---":
            continue
        match = re.fullmatch(r"( *)([A-Za-z0-9_.-]+):(?: +(.*))?", line)
        if match is None:
            raise NotInStateError(f"not a mapping: {raw[:60]!r}")
        indent, key, value = len(match[1]), match[2], match[3]
        if indent == 0 and value is None and key not in found:
            keys, depth = found.setdefault(key, {}), 0
        elif indent > 0 and value is not None and keys is not None and depth in (0, indent) and key not in keys:
            bare = _unquoted(value.strip())
            keys[key] = value.strip() if _PLAIN_NUMBER.fullmatch(bare) else bare
            depth = indent
        else:
            raise NotInStateError(f"not a mapping of two levels: {raw[:60]!r}")
    return found


def directives(text: str) -> dict[str, list[str]]:
    """First word to the rests of its lines; case and a closing semicolon do not matter.

    >>> directives("listen 80;\\n#user x\\nlisten 81\\n")
    {'listen': ['80', '81']}
    """
    found: dict[str, list[str]] = {}
    for line in _lines(text):
        name, *rest = line.rstrip(";").split(None, 1)
        found.setdefault(name.lower(), []).append(rest[0].strip() if rest else "")
    return found


def _lines(text: str) -> list[str]:
    """The lines that are not blank and no comment, without blanks at their ends."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise NotInStateError(f"more than {_MOST_LINES} lines")
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and line[0] not in "#;"]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
