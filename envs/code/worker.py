"""The first process of a grading sandbox, and the submission's process that it forks. Runs inside; trusts nobody.

Invariant: nothing in here knows an expected value, or an input before its turn. The first process forks a child, hands
it one request at a time, passes its answer on, and kills everything in the sandbox when the time is up, when the child
answers out of turn, or when it dies. What a submission does to either process, it does to its own verdict only.

Standing alone (with `child` and `wire`), it needs only the standard library of the sandbox's own Python, and imports
little of it: each suite starts a fresh interpreter.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Any

if __package__:
    from agentenv.envs.code import child, wire
else:  # in the sandbox
    import child  # type: ignore[import-not-found,no-redef]
    import wire  # type: ignore[import-not-found,no-redef]

__all__ = ["main"]

_FRAME = child.FRAME
_SIGKILL = 9
_DETAIL = 1000


class _Over(Exception):
    """What ends a child's turn without an answer: its kind, as the grader reads it."""


def main() -> None:
    """Serves requests from descriptor 0, answers on descriptor 1, until there is no more."""
    if os.getpid() != 1 or __package__:
        raise SystemExit("this is the first process of a grading sandbox, and nothing else: it kills all that it sees")
    first = _First()
    while True:
        body = child.read_frame(0)
        if body is None:
            return
        request = wire.decode(body, max_bytes=child.MOST_REQUEST, remotes=True)
        run = first.turn(request)
        if run is not None:  # the forked program: it ends as the interpreter does
            run()
            return


class _First:
    """The first process: holds the child, if there is one."""

    def __init__(self) -> None:
        self.child: int | None = None
        self.to_child = self.from_child = -1
        self.limits: dict[str, int] = {}

    def turn(self, request: list[Any]) -> Callable[[], None] | None:
        """Serves one request. In a forked program, gives back what it has to run."""
        kind, *rest = request
        if kind == "start":
            files, self.limits = rest
            for path, content in files.items():
                _write_file(path, content)
            self.answer(b"ready")
        elif kind == "ask":
            self.answer(*self.ask(*rest))
        elif kind == "run":
            return self.program(*rest)
        elif kind == "sweep":
            self.sweep()
            self.answer(b"swept")
        return None

    def answer(self, kind: bytes, body: bytes = b"") -> None:
        """To the grader: a kind, and bytes that are passed on unread."""
        child.write_all(1, (len(kind) + 1 + len(body)).to_bytes(_FRAME, "little") + kind + b"\n" + body)

    # A child that answers calls.

    def ask(self, message: bytes, limit_s: float, most: int) -> tuple[bytes, bytes]:
        """The child's answer to one message; `over` and why when there is none in time."""
        deadline = time.monotonic() + limit_s
        if self.child is None:
            self.fork_child()
        try:
            if _waits(self.from_child):
                raise _Over("noise")
            _feed(self.to_child, len(message).to_bytes(_FRAME, "little") + message, deadline)
            size = int.from_bytes(self.receive(_FRAME, deadline), "little")
            if size > most:
                raise _Over("flood")
            answer = self.receive(size, deadline)
            if _waits(self.from_child):
                raise _Over("noise")
        except _Over as why:
            status = self.sweep(died=str(why) == "died")
            return b"over", f"{why} {status}".encode()
        return b"answer", answer

    def receive(self, size: int, deadline: float) -> bytes:
        """Exactly so many bytes from the child."""
        parts = bytearray()
        while len(parts) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_child], [], [], left)[0]:
                raise _Over("timeout")
            part = os.read(self.from_child, min(1 << 16, size - len(parts)))
            if not part:
                raise _Over("died")
            parts += part
        return bytes(parts)

    def fork_child(self) -> None:
        """A fresh process of the submission."""
        inward, self.to_child = os.pipe()
        self.from_child, outward = os.pipe()
        os.set_blocking(self.to_child, False)
        self.child = os.fork()
        if self.child == 0:
            os.close(self.to_child)
            os.close(self.from_child)
            child.settle([os.dup2(inward, 100), os.dup2(outward, 101)], self.limits)
            child.serve(3, 4)
            os._exit(0)
        os.close(inward)
        os.close(outward)

    # A program that reads stdin.

    def program(self, path: str, args: list[str], stdin: bytes, limit_s: float, most: int) -> Callable[[], None] | None:
        """Runs a program to its end; answers with its exit code and output."""
        deadline = time.monotonic() + limit_s
        self.sweep()
        given = os.open("/tmp", os.O_RDWR | os.O_TMPFILE, 0o600)
        child.write_all(given, stdin)
        os.lseek(given, 0, 0)
        outputs, outward = os.pipe()
        errors, errward = os.pipe()
        pid = os.fork()
        if pid == 0:
            streams = [os.dup2(opened, 100 + number) for number, opened in enumerate((given, outward, errward))]
            child.settle(streams, self.limits, streams=True)
            return child.program(path, args)
        for opened in (given, outward, errward):
            os.close(opened)
        try:
            out, err = _drain(outputs, errors, most, deadline)
            status = _wait(pid, deadline)
        except _Over as why:
            self.sweep()
            self.answer(b"over", f"{why} ".encode())
        else:
            self.sweep()
            code = os.waitstatus_to_exitcode(status)
            self.answer(b"ended", wire.encode([code, out, err[-_DETAIL:]], most + 4 * _DETAIL))
        os.close(outputs)
        os.close(errors)
        return None

    def sweep(self, died: bool = False) -> str:
        """Kills and reaps everything but this process; tells how a child had ended that died by itself."""
        status = ""
        if self.child is not None and died:
            gone, code = _reap_of(self.child)
            status = str(os.waitstatus_to_exitcode(code)) if gone else ""
        _kill_all()
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        if self.child is not None:
            os.close(self.to_child)
            os.close(self.from_child)
            self.child = None
        return status


def _kill_all() -> None:
    """Kills every other process of the namespace, at once: none can fork meanwhile."""
    if os.getpid() != 1:
        raise SystemExit("no first process of a sandbox")
    try:  # noqa: SIM105 - contextlib takes long to import
        os.kill(-1, _SIGKILL)
    except ProcessLookupError:
        pass


def _reap_of(pid: int) -> tuple[bool, int]:
    for _ in range(20):
        try:
            gone, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return False, 0
        if gone:
            return True, status
        time.sleep(0.001)
    return False, 0


def _wait(pid: int, deadline: float) -> int:
    """The status of a child that has closed its output; it may linger."""
    pause = 0.0005
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return status
        if time.monotonic() > deadline:
            raise _Over("timeout")
        time.sleep(pause)
        pause = min(0.02, pause * 2)


def _drain(outputs: int, errors: int, most: int, deadline: float) -> tuple[bytes, bytes]:
    kept = {outputs: bytearray(), errors: bytearray()}
    still = [outputs, errors]
    while still:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Over("timeout")
        for ready in select.select(still, [], [], left)[0]:
            part = os.read(ready, 1 << 16)
            if not part:
                still.remove(ready)
            elif ready == errors:
                kept[ready] = (kept[ready] + part)[-_DETAIL:]
            else:
                kept[ready] += part
                if len(kept[ready]) > most:
                    raise _Over("flood")
    return bytes(kept[outputs]), bytes(kept[errors])


def _waits(descriptor: int) -> bool:
    """Whether bytes are there to be read (or the end is not reached without any)."""
    if not select.select([descriptor], [], [], 0)[0]:
        return False
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))


def _feed(descriptor: int, data: bytes, deadline: float) -> None:
    unsent = memoryview(data)
    while unsent:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([], [descriptor], [], left)[1]:
            raise _Over("timeout")
        try:
            unsent = unsent[os.write(descriptor, unsent[: 1 << 16]) :]
        except BlockingIOError:
            continue
        except BrokenPipeError:
            raise _Over("died") from None


def _write_file(path: str, content: bytes) -> None:
    place = os.path.join(child.WORKSPACE, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(content)
