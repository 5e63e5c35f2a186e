"""Headless Chromium, driven over a pipe in its own protocol: no driver, no port, no further package."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

__all__ = ["PROGRAM", "Browser"]

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


class Browser:
    """One page of a browser with a profile of its own.

    Args:
        profile: An empty directory.
        timeout_s: How long one command or page may take.
    """

    def __init__(self, profile: Path, timeout_s: float = 120.0) -> None:
        self._timeout_s = timeout_s
        theirs_in, self._out = _high_pipe()
        self._in, theirs_out = _high_pipe()
        command = [str(PROGRAM), *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        piped = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        self._pid = os.posix_spawn(command[0], command, os.environ, file_actions=[*silent, *piped])
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(self._in, False)
        self._buffer = b""
        self._sent = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def go(self, url: str) -> None:
        """Opens a page and waits until it is there."""
        self._call("Page.navigate", url=url)
        self._wait("Page.loadEventFired")

    def click(self, text: str) -> None:
        """Clicks the link or button with this text, and waits for the page that it leads to."""
        found = f"[...document.querySelectorAll('a, button')].find(e => e.textContent === {json.dumps(text)})"
        self.evaluate(f"{found}.click()")
        self._wait("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; page policies do not bind it."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def document(self) -> str:
        """The document as it now is."""
        return str(self.evaluate("document.documentElement.outerHTML"))

    def close(self) -> None:
        """Ends the browser."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._in)
        os.close(self._out)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self._timeout_s
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._sent:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _wait(self, event: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        while self._read(deadline).get("method") != event:
            pass

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if time.monotonic() > deadline:
                raise TimeoutError(f"chromium did not answer within {self._timeout_s} s")
            try:
                got = os.read(self._in, 1 << 16)
            except BlockingIOError:
                time.sleep(0.005)
                continue
            if not got:
                raise AssertionError("chromium ended")
            self._buffer += got
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))


def _high_pipe() -> tuple[int, int]:
    """A pipe whose ends are clear of the numbers that the browser reads and writes."""
    made = []
    for end in os.pipe():
        made.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return made[0], made[1]
