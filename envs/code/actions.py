"""The action grammar of `agentenv/Code-v0`. Invariant: the first complete action counts, whatever else a reply holds.

A reply is hostile text: a tag that is never closed, tags inside each other, paths that leave the workspace and NUL
bytes give a reason, in time linear in the text, and never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentenv.sandbox.base import WORKSPACE

__all__ = ["FORMS", "Action", "Edit", "Invalid", "Run", "Submit", "Test", "Write", "parse"]

FORMS = (
    'Valid: <write path="FILE">text</write>, <edit path="FILE"><find>old</find><replace>new</replace></edit>, '
    "<run>shell</run>, <test/>, <submit/>."
)
_START = re.compile(r"<(write|edit)\b([^<>\n]*)>|<(run)>|<(test|submit)\s*/>|^[ \t]*(`{3,})[^`\n]*$", re.MULTILINE)
_PATH = re.compile(r"\s+path\s*=\s*(?:\"([^\"]*)\"|'([^']*)')\s*")
_MOST_PATH_BYTES, _MOST_NAME_BYTES = 1024, 255


@dataclass(frozen=True)
class Write:
    """Writes a file, whole; its folders are made."""

    path: str
    text: str


@dataclass(frozen=True)
class Edit:
    """Replaces a text that stands in a file exactly once."""

    path: str
    find: str
    replace: str


@dataclass(frozen=True)
class Run:
    """Runs shell text."""

    script: str


@dataclass(frozen=True)
class Test:
    """Runs the public tests."""

    __test__ = False  # no test class of pytest's


@dataclass(frozen=True)
class Submit:
    """Ends the episode."""


@dataclass(frozen=True)
class Invalid:
    """No action, and why."""

    reason: str


Action = Write | Edit | Run | Test | Submit | Invalid


def parse(reply: str, entry: Sequence[str]) -> Action:
    """The first complete action of a reply.

    A fenced block counts where the task has exactly one file to write: it is that file's new text, unless the block
    only wraps another action. Of what `<write>`, `<find>` and `<replace>` hold, one line end after the opening tag is
    left out; `<find>` and `<replace>` lose one before the closing tag, too.

    Args:
        reply: What the policy wrote.
        entry: The files that the task expects to be written.

    >>> parse('Look: <write path="a.py">\\nx = 1\\n</write> <submit/>', ["a.py"])
    Write(path='a.py', text='x = 1\\n')
    >>> parse("Here it is.\\n```python\\nx = 1\\n```", ["a.py"])
    Write(path='a.py', text='x = 1\\n')
    >>> parse("```\\nls\\n```", ["a.py", "b.py"])
    Invalid(reason='there is no action')
    >>> parse('<write path="../a.py">x</write>', ["a.py"])
    Invalid(reason="the path '../a.py' leaves the workspace")
    """
    if "\0" in reply:
        return Invalid("it holds a NUL byte")
    place, unclosed = 0, len(reply) + 1
    while found := _START.search(reply, place):
        place = found.end()
        named, attributes, run, word, fence = found.groups()
        if word:
            return Test() if word == "test" else Submit()
        if fence:
            # A fence that nothing closes is not looked at twice, nor a longer one: the text may be all fences.
            block = _block(reply, found, len(fence)) if len(entry) == 1 and len(fence) < unclosed else None
            if block is None:
                unclosed = min(unclosed, len(fence))
            elif not _wraps_a_tag(block):
                return _at(entry[0], block)
            continue
        name = named or run
        end = reply.find(f"</{name}>", place)
        if end < 0:
            return Invalid(f"<{name}> is not closed")
        body = reply[place:end]
        if re.search(rf"<{name}[\s>]", body):
            return Invalid(f"<{name}> is opened twice before it is closed")
        if run:
            return Run(body) if body.strip() else Invalid("<run> is empty")
        return _on_file(name, attributes, body)
    return Invalid("there is no action")


def _block(reply: str, found: re.Match[str], ticks: int) -> str | None:
    """What a fenced block holds; None if it is not closed."""
    closing = re.compile(rf"^[ \t]*`{{{ticks},}}[ \t]*$", re.MULTILINE)
    end = closing.search(reply, found.end() + 1)
    return None if end is None else reply[found.end() + 1 : end.start()]


def _wraps_a_tag(block: str) -> bool:
    first = _START.match(block.lstrip())
    return first is not None and first[5] is None


def _on_file(name: str, attributes: str, body: str) -> Action:
    given = _PATH.fullmatch(attributes)
    if given is None:
        return Invalid(f'<{name}> needs a path: <{name} path="FILE">')
    path = given[1] if given[1] is not None else given[2]
    if name == "write":
        return _at(path, body.removeprefix("\n"))
    find, old = _inside(body.strip(), "find")
    replace, new = _inside(find.strip(), "replace")
    if old is None or new is None or replace:
        return Invalid("<edit> must hold one <find>old</find>, one <replace>new</replace>, and nothing else")
    if not old:
        return Invalid("<find> is empty")
    made = _at(path, "")
    return made if isinstance(made, Invalid) else Edit(made.path, old, new)


def _inside(text: str, tag: str) -> tuple[str, str | None]:
    """What follows a pair of tags at the start of a text, and what stands in it; None where there is no such pair."""
    end = text.find(f"</{tag}>")
    if not text.startswith(f"<{tag}>") or end < 0:
        return text, None
    held = text[len(tag) + 2 : end]
    return text[end + len(tag) + 3 :], None if f"<{tag}>" in held else held.removeprefix("\n").removesuffix("\n")


def _at(path: str, text: str) -> Write | Invalid:
    """A file to write, by its path below the workspace."""
    if not path.strip():
        return Invalid("the path is empty")
    shown = path if len(path) <= 80 else f"{path[:80]}..."
    if any(not character.isprintable() for character in path):
        return Invalid(f"the path {shown!r} holds characters that cannot be printed")
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not pure.is_relative_to(WORKSPACE):
            return Invalid(f"the path {shown!r} leaves the workspace")
        pure = pure.relative_to(WORKSPACE)
    if ".." in pure.parts:
        return Invalid(f"the path {shown!r} leaves the workspace")
    if not pure.parts or path.endswith("/"):
        return Invalid(f"the path {shown!r} names a folder")
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in pure.parts]
    if max(sizes) > _MOST_NAME_BYTES or sum(sizes) + len(sizes) > _MOST_PATH_BYTES:
        return Invalid(f"the path {shown!r} is too long")
    return Write(str(pure), text)
