"""Taking the action out of a model's chatter. Invariant: the first complete action wins, in time linear in the text.

Whatever a policy writes after its action (fake tool output, a second action) changes nothing. A text without a
complete action yields a reason and the valid form, never an exception: model output is hostile input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentenv.errors import ConfigurationError, did_you_mean

__all__ = ["ACTION_FORMATS", "InvalidAction", "ParsedAction", "parse_action", "parser"]

ACTION_FORMATS = ("raw", "fenced", "xml", "json", "react")
_MAX_JSON_ATTEMPTS = 16
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class InvalidAction(str):
    """Stands for an action that could not be parsed: `AgentEnv.step` answers it with `reason`, state unchanged.

    As a string it is empty, so that an environment that does not know it has nothing to run.

    >>> action = InvalidAction("no block")
    >>> str(action), action.reason
    ('', 'no block')
    """

    reason: str

    def __new__(cls, reason: str) -> InvalidAction:
        """An empty string that carries the reason."""
        made = super().__new__(cls, "")
        made.reason = reason
        return made

    def __reduce__(self) -> tuple[type[InvalidAction], tuple[str]]:
        return (InvalidAction, (self.reason,))


@dataclass(frozen=True)
class ParsedAction:
    """The action, or None and the reason why there is none."""

    action: str | None
    reason: str = ""


def parser(
    format: str, *, tag: str = "action", tool: str = "", argument: str = "action"
) -> Callable[[str], ParsedAction]:
    """A function that parses texts of one format.

    * "raw": the whole text.
    * "fenced": the lines between the first line that opens with three or more backticks (a language may follow them)
      and the next line of at least as many backticks alone.
    * "xml": what stands between the first ``<tag>`` and ``</tag>``, less one newline at either end.
    * "json": the first object that is a call, ``{"name": ..., "arguments": {argument: "..."}}``, among those that start
      at the first 16 braces looked at; no key may stand twice.
    * "react": the rest of the first line that starts with ``Action:`` and the lines below it, up to one that starts
      with ``Observation:``, ``Thought:`` or ``Action:``.

    Args:
        format: One of the above.
        tag: The tag's name, for "xml".
        tool: The tool's name that a JSON call must give; "" accepts any.
        argument: The JSON argument that holds the action.

    Raises:
        ConfigurationError: On an unknown format or a name that cannot be a tag.
    """
    if format == "raw":
        return ParsedAction
    if format == "fenced":
        return _fenced
    if format == "xml":
        if not _NAME.fullmatch(tag):
            raise ConfigurationError(
                f"tag={tag!r} cannot be a tag's name (a letter, then letters, digits, '_', '.', '-')"
            )
        return lambda text: _xml(text, tag)
    if format == "json":
        return lambda text: _json(text, tool, argument)
    if format == "react":
        return _react
    raise ConfigurationError(
        f"format={format!r} is not one of {', '.join(ACTION_FORMATS)}.{did_you_mean(format, ACTION_FORMATS)}"
    )


def parse_action(text: str, format: str, **options: str) -> ParsedAction:
    """Parses one text; see `parser` for the options.

    >>> parse_action("I look.\\n```bash\\nls\\n```\\nOutput: 3 files", "fenced").action
    'ls'
    >>> parse_action("<action>ls</action><action>rm x</action>", "xml").action
    'ls'
    >>> parse_action('{"name": "terminal", "arguments": {"action": "ls"}}', "json").action
    'ls'
    >>> parse_action("Thought: look\\nAction: ls -l\\nObservation: fake", "react").action
    'ls -l'
    >>> parse_action("ls", "fenced").action is None
    True
    """
    return parser(format, **options)(text)


def _fenced(text: str) -> ParsedAction:
    form = "Reply with one block: a line of three backticks, the action, a line of three backticks."
    lines = text.split("\n")
    opened, ticks = next(((n, ticks) for n, line in enumerate(lines) if (ticks := _opening_ticks(line))), (-1, 0))
    if not ticks:
        return ParsedAction(None, f"there is no fenced block. {form}")
    for index in range(opened + 1, len(lines)):
        line = lines[index].strip()
        if len(line) >= ticks and not line.strip("`"):  # a longer fence may so hold shorter ones
            return ParsedAction("\n".join(lines[opened + 1 : index]))
    return ParsedAction(None, f"the fenced block is not closed. {form}")


def _opening_ticks(line: str) -> int:
    """The number of backticks that open a block on this line; 0 where none opens (inline code does not)."""
    line = line.strip()
    info = line.lstrip("`")
    ticks = len(line) - len(info)
    return ticks if ticks >= 3 and "`" not in info else 0


def _xml(text: str, tag: str) -> ParsedAction:
    form = f"Reply with <{tag}>the action</{tag}>."
    start = text.find(f"<{tag}>")
    if start < 0:
        return ParsedAction(None, f"there is no <{tag}>. {form}")
    start += len(tag) + 2
    end = text.find(f"</{tag}>", start)
    if end < 0:
        return ParsedAction(None, f"<{tag}> is not closed. {form}")
    if text.find(f"<{tag}>", start, end) >= 0:  # a tag mentioned in prose must not make prose the action
        return ParsedAction(None, f"<{tag}> is opened twice before it is closed. {form}")
    return ParsedAction(_without_edge_newlines(text[start:end]))


def _json(text: str, tool: str, argument: str) -> ParsedAction:
    call = json.dumps({"name": tool or "TOOL", "arguments": {argument: "the action"}})
    form = f"Reply with {call}."
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    faults: list[str] = []
    position = -1
    for _ in range(_MAX_JSON_ATTEMPTS):
        position = text.find("{", position + 1)
        if position < 0:
            break
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            faults.append(f"the JSON object cannot be read ({str(error)[:80]})")
            continue
        fault = _call_fault(value, tool, argument)
        if not fault:
            return ParsedAction(value["arguments"][argument])
        faults.append(fault)
        position = end - 1
    fault = faults[0] if faults else "there is no JSON object"  # later braces may lie inside the first object
    return ParsedAction(None, f"{fault}. {form}")


def _call_fault(value: dict[str, Any], tool: str, argument: str) -> str:
    if not isinstance(value.get("name"), str) or not isinstance(value.get("arguments"), dict):
        return "the JSON object needs a string 'name' and an object 'arguments'"
    if tool and value["name"] != tool:
        return f"the tool {value['name'][:40]!r} does not exist"
    if not isinstance(value["arguments"].get(argument), str):
        return f"'arguments' needs a string {argument!r}"
    return ""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _react(text: str) -> ParsedAction:
    form = "Reply with a line 'Thought: ...' and then 'Action: the action'."
    lines = text.split("\n")
    first = next((index for index, line in enumerate(lines) if line.startswith("Action:")), None)
    if first is None:
        return ParsedAction(None, f"there is no line that starts with 'Action:'. {form}")
    taken = [lines[first].removeprefix("Action:").removeprefix(" ")]
    for line in lines[first + 1 :]:
        if line.startswith(("Observation:", "Thought:", "Action:")):
            break
        taken.append(line)
    action = "\n".join(taken).strip("\n")
    return ParsedAction(action) if action.strip() else ParsedAction(None, f"the action is empty. {form}")


def _without_edge_newlines(text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")
