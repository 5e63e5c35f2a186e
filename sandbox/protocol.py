"""The lines that drive a session's bash, and the records it answers with. Invariant: a reply is its own command's.

bash runs a script that is a FIFO: for each command the host writes one line that evaluates it, and one that reports.
The shell reads a line only when the one before has run, so a command never meets the protocol: its standard input is
/dev/null, its output the terminal, and the report goes to another FIFO, opened for that moment only. Every report
carries a fresh random word that is sent after the command, so an agent that writes to the FIFO fools nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "EXIT_WORD",
    "GONE_WORD",
    "Report",
    "command_lines",
    "find_gone",
    "find_report",
    "quote",
    "start_lines",
    "tidy",
]

EXIT_WORD = "exit"
GONE_WORD = "gone"
_REPLY = "/run/agentenv/reply"
_BOOKKEEPING = frozenset({b"PWD", b"OLDPWD", b"SHLVL", b"_", b"POSIXLY_CORRECT"})
_NAME = rb"[A-Za-z_][A-Za-z0-9_]*"
_EXPORT = re.compile(
    rb"(?:export|declare -[A-Za-z]*x[A-Za-z]*) ("
    + _NAME
    + rb")(?:=(\"(?:[^\"\\]|\\.)*\"|\$'(?:[^'\\]|\\.)*'|[^\n]*))?\n",
    re.DOTALL,
)
_ANSI = {b"a": 7, b"b": 8, b"e": 27, b"E": 27, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11}


@dataclass(frozen=True)
class Report:
    """What the shell told after a command."""

    status: int
    cwd: bytes
    exports: dict[bytes, bytes]


def quote(text: bytes) -> bytes:
    """A word that bash reads as exactly these bytes.

    >>> quote(b"it's")
    b"'it'\\\\''s'"
    """
    return b"'" + text.replace(b"'", b"'\\''") + b"'"


def _report(word: str, status: str) -> str:
    """Shell text that reports the status in a variable: first word, status, directory, exports, first word again."""
    return (
        rf"\builtin printf '\0%s\0%s\0' {word} {status} >{_REPLY}; "
        rf"\builtin pwd >{_REPLY} || \builtin printf '\n' >{_REPLY}; "
        rf"\builtin printf '\0' >{_REPLY}; \builtin export -p >{_REPLY}; \builtin printf '\0%s\0' {word} >{_REPLY}"
    )


def _after(word: str) -> bytes:
    # POSIXLY_CORRECT, set by a plain assignment, makes bash find its special builtins before functions of the same
    # name, so that what a command redefined can be undone; it also carries the exit status there.
    report = _report(word, '"$POSIXLY_CORRECT"')
    return (
        rf"{{ POSIXLY_CORRECT=$?; \unset -f unset builtin exec eval; \builtin enable printf pwd; {report}; "
        rf"\unset POSIXLY_CORRECT; \builtin shopt -s expand_aliases; \builtin printf {word} >/dev/tty; "
        "} >/dev/null 2>&1"
    ).encode() + b"\n"


def command_lines(command: bytes, word: str, last_status: int) -> bytes:
    """The two lines that run a command and report on it."""
    # $? of the command before must be what the agent's command finds.
    status = {0: b"", 1: b"! [[ x ]]; "}.get(last_status, b"(\\builtin exit %d); " % last_status)
    # The empty line ends what an unclosed quote in the command left of the parser's state.
    streams = b"\\exec </dev/null >/dev/tty 2>&1; LINENO=0\n"
    return streams + status + b"\\builtin eval " + quote(command) + b"\n\n" + _after(word)


def start_lines(cwd: bytes, exports: Mapping[bytes, bytes], word: str) -> bytes:
    """What a fresh shell runs first: place, variables, job control, a last report at its exit."""
    parts = [b"cd -- %s 2>/dev/null || cd /workspace 2>/dev/null || cd /" % quote(cwd)]
    parts += [b"export %s=%s" % (name, quote(value)) for name, value in exports.items()]
    leave = f"{{ {_report(EXIT_WORD, '$?')}; }} 2>/dev/null"
    parts += [
        b"shopt -s expand_aliases",
        b"set -m",
        b"trap %s EXIT" % quote(leave.encode()),
        b"trap : INT",
        b"unset OLDPWD",
    ]
    return b"; ".join(parts) + b"\n" + _after(word)


def find_report(data: bytes, word: str) -> Report | None:
    """The whole report under this word, if it has arrived.

    >>> find_report(b"noise\\0w\\x007\\0/tmp\\n\\0export A=\\"1\\"\\n\\0w\\0", "w")
    Report(status=7, cwd=b'/tmp', exports={b'A': b'1'})
    """
    mark = b"\0" + word.encode() + b"\0"
    start = data.find(mark)
    if start < 0:
        return None
    end = data.find(mark, start + len(mark))
    if end < 0:
        return None
    fields = data[start + len(mark) : end].split(b"\0")
    if len(fields) != 3 or not fields[0].isdigit():
        return None
    return Report(int(fields[0]) & 0xFF, fields[1].removesuffix(b"\n"), _parse_exports(fields[2]))


def find_gone(data: bytes) -> int | None:
    """The exit status of a shell that ended, as its supervisor reports it."""
    found = re.search(rb"\0" + GONE_WORD.encode() + rb"\0(\d+)\0", data)
    return int(found[1]) & 0xFF if found else None


def _parse_exports(text: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, value in _EXPORT.findall(text):
        if name not in _BOOKKEEPING:
            found[name] = _unquote(value)
    return dict(sorted(found.items()))


def _unquote(value: bytes) -> bytes:
    if value.startswith(b'"'):
        return re.sub(rb"\\([$`\"\\])", rb"\1", value[1:-1])
    if value.startswith(b"$'"):
        return re.sub(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", _ansi, value[2:-1], flags=re.DOTALL)
    return value


def _ansi(found: re.Match[bytes]) -> bytes:
    body = found[1]
    if body[:1].isdigit():
        return bytes([int(body, 8) & 0xFF])
    if body[:1] == b"x" and len(body) > 1:
        return bytes([int(body[1:], 16)])
    return bytes([_ANSI[body]]) if body in _ANSI else body


_DRIVER = re.compile(
    r"^(?:\\exec </dev/null >/dev/tty 2>&1; LINENO=0\n|\\builtin eval '|\{ POSIXLY_CORRECT=\$\?; .*$)", re.MULTILINE
)
_LINE = re.compile(
    r"^(bash: (?:eval: )?line |bash: line \d+: warning: here-document at line )(\d+)(?=:| )", re.MULTILINE
)


def tidy(output: str, first_line: int, lines: int) -> str:
    """The output with this protocol taken out: bash's line numbers count from the command, echoes are removed.

    Args:
        output: What the command printed.
        first_line: The number of the script's line that holds the command's first.
        lines: How many lines the command has.

    >>> tidy("bash: line 12: foo: command not found", 12, 1)
    'bash: line 1: foo: command not found'
    """

    def number(found: re.Match[str]) -> str:
        own = int(found[2]) - first_line
        return f"{found[1]}{own + 1 if 0 <= own <= lines + 2 else found[2]}"

    if "bash: " in output:
        output = (
            _LINE.sub(number, _LINE.sub(number, output)) if "here-document" in output else _LINE.sub(number, output)
        )
    if "POSIXLY_CORRECT" in output or "\\exec </dev/null" in output:
        output = _DRIVER.sub("", output)
    return output
