"""Turns what a terminal program printed into text for an observation. Invariant: the result is valid, printable text.

Bytes that are not UTF-8 become U+FFFD; escape sequences, control characters and text overwritten with a carriage
return are removed; long output keeps its head and its tail.
"""

from __future__ import annotations

import re

__all__ = ["HeadTail", "clean", "shorten"]

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b)|$)"  # OSC, DCS, SOS, PM, APC: titles, links
    r"|\x1b[ -/]*[0-~]"  # two-character and charset escapes
    r"|\x1b\[[0-?]*[ -/]*$"  # a sequence cut off at the end
    r"|[\x80-\x9f]"  # C1 controls
)
_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(data: bytes) -> str:
    r"""Valid text: decoded, control sequences removed, carriage returns and backspaces applied.

    >>> clean(b"\x1b[31mred\x1b[0m 10%\r20%\r\nab\bc \xff")
    '20% 10%\nac �'
    """
    text = data.decode("utf-8", "replace")
    if "\x1b" in text or not text.isascii():
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_overwrite(line) for line in text.replace("\r\n", "\n").split("\n"))
    if "\b" in text:
        text = _backspace(text)
    return _CONTROLS.sub("", text)


def _overwrite(line: str) -> str:
    """What stays visible of a line that was redrawn (progress bars)."""
    pieces: list[str] = []
    length = 0
    for part in reversed(line.split("\r")):  # each part shows what later ones do not cover
        if len(part) > length:
            pieces.append(part[length:])
            length = len(part)
    return "".join(pieces)


def _backspace(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


class HeadTail:
    """Collects a stream of any length in constant memory: its first and its last bytes.

    >>> kept = HeadTail(3)
    >>> for piece in (b"ab", b"cdef", b"gh"): kept.add(piece)
    >>> kept.head, kept.tail, kept.total
    (bytearray(b'abc'), bytearray(b'fgh'), 8)
    """

    def __init__(self, each_bytes: int) -> None:
        self.each_bytes = each_bytes
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        self.total += len(data)
        room = self.each_bytes - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self.tail += data
            if len(self.tail) > 2 * self.each_bytes:
                del self.tail[: -self.each_bytes]
        if self.total > 2 * self.each_bytes and len(self.tail) > self.each_bytes:
            del self.tail[: -self.each_bytes]

    def text(self, limit_bytes: int) -> tuple[str, int]:
        """The cleaned text, at most about `limit_bytes` long, and how many bytes were dropped."""
        missing = self.total - len(self.head) - len(self.tail)
        if missing == 0:
            return shorten(clean(bytes(self.head + self.tail)), limit_bytes)
        return shorten(clean(bytes(self.head)), limit_bytes, clean(bytes(self.tail)), missing)


def shorten(text: str, limit_bytes: int, tail: str | None = None, missing: int = 0) -> tuple[str, int]:
    """Head and tail of a text, with the count of bytes dropped between; whole when it fits.

    Args:
        text: The text, or its head when `tail` is given.
        limit_bytes: Bytes of UTF-8 to keep.
        tail: The end of the text, when its middle was dropped before.
        missing: Bytes dropped before.

    >>> shorten("a" * 20, 10)
    ('aaaaa\\n[... 10 bytes dropped ...]\\naaaaa', 10)
    """
    first = text.encode("utf-8", "replace")
    if tail is None and len(first) <= limit_bytes:
        return text, 0
    last = first if tail is None else tail.encode("utf-8", "replace")
    half = limit_bytes // 2
    head_part = first[:half].decode("utf-8", "ignore")
    tail_part = last[-(limit_bytes - half) :].decode("utf-8", "ignore")
    whole = len(first) if tail is None else len(first) + len(last) + missing
    dropped = whole - len(head_part.encode()) - len(tail_part.encode())
    return f"{head_part}\n[... {dropped} bytes dropped ...]\n{tail_part}", dropped
