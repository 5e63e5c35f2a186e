"""A persistent bash on a pty. Invariant: after any command, the next one works.

The pty carries output only; commands and reports go through FIFOs (see `protocol`). A supervisor, the sandbox's first
process, starts the shell anew when a command ended it, and outlives it, so that background jobs live on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping

import pexpect
from pexpect.fdpexpect import fdspawn

from agentenv.errors import SandboxLostError
from agentenv.sandbox import processes, protocol
from agentenv.sandbox.base import Limits, Session, SessionReply
from agentenv.sandbox.supervisor import Supervised
from agentenv.sandbox.text import HeadTail

__all__ = ["LocalSession"]

_READ = 1 << 16
_REPORT_CAP = 4 << 20
_SETTLE_S = 0.5
_START_S = 10.0
_FIRST_START_S = 5.0
_START_ATTEMPTS = 3
_ENDED_S = 1.0
_LADDER = ((signal.SIGINT, 0.4), (signal.SIGTERM, 0.4), (signal.SIGKILL, 0.6))


class _Exchange:
    """One command on its way: what was sent, what came back."""

    def __init__(self, word: str, lines: bytes, keep_bytes: int) -> None:
        self.word = word
        self.unsent = memoryview(lines)
        self.output = HeadTail(keep_bytes)
        self.answers = bytearray()
        self.report: protocol.Report | None = None
        self.gone: int | None = None
        self.leaving: protocol.Report | None = None
        self.marker = word.encode()
        self.window = b""
        self.marked = False


class _BoxEndedError(Exception):
    """The sandbox's processes are gone; who ended them is still to be found."""


class _NoShellError(Exception):
    """In this process tree no shell can be driven any more; in a fresh one it can, if it was the agent's doing."""


class LocalSession(Session):
    """See `Session`.

    Args:
        open_box: Starts the sandbox's processes; called again when the agent brought them down.
        blames_agent: Whether it was the agent (not the host) that ended them, by their exit code.
        limits: The sandbox's limits.
        cwd: Where the shell starts.
        exports: Its exported variables.
        on_tick: Called about ten times a second while a command runs; returns a note to end it, or "".
        on_end: Called after each command; returns a note, or "".
        crowded: Whether so many processes run that a shell cannot work (a fork bomb).
    """

    def __init__(
        self,
        open_box: Callable[[], Supervised],
        blames_agent: Callable[[int], bool],
        limits: Limits,
        cwd: bytes,
        exports: Mapping[bytes, bytes],
        on_tick: Callable[[], str],
        on_end: Callable[[int], str],
        crowded: Callable[[], bool],
    ) -> None:
        self._open_box = open_box
        self._blames_agent = blames_agent
        self.limits = limits
        self._cwd = cwd
        self._exports = dict(exports)
        self._on_tick = on_tick
        self._on_end = on_end
        self._crowded = crowded
        self._last_word = ""
        # Set while a command runs: still set at the next one if Ctrl-C ended the host's part of it.
        self._interrupted = False
        self._status = 0
        self._closed = False
        self._script_line = 1
        try:
            self._open()
            self._first_shell()
        except (_BoxEndedError, _NoShellError) as fault:
            self.box.end()
            raise SandboxLostError(f"the sandbox's first shell cannot be started: {fault}") from None

    def _open(self) -> None:
        self.box = self._open_box()
        self._fresh = True
        self._terminal = fdspawn(self.box.master, timeout=0, maxread=_READ, use_poll=True)
        self._terminal.delaybeforesend = None  # type: ignore[assignment]

    @property
    def cwd(self) -> str:
        """See `Session.cwd`."""
        return self._cwd.decode("utf-8", "replace")

    def exported(self) -> dict[str, str]:
        """See `Session.exported`."""
        return {k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in self._exports.items()}

    def place(self) -> tuple[bytes, dict[bytes, bytes]]:
        """Directory and exported variables, as bytes."""
        return self._cwd, dict(self._exports)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """See `Session.close`."""
        if not self._closed:
            self._closed = True
            self.box.end()

    def run(self, command: str, *, timeout_s: float | None = None) -> SessionReply:
        """See `Session.run`."""
        if self._closed:
            raise SandboxLostError("the session is closed")
        limit_s = self.limits.wall_s if timeout_s is None else timeout_s
        text = command.encode("utf-8", "replace").replace(b"\0", b"")
        word = secrets.token_hex(12)
        lines = protocol.command_lines(text, word, self._status)
        exchange = _Exchange(word, lines, 4 * self.limits.output_bytes)
        first_line, height = self._script_line + 1, text.count(b"\n") + 1
        self._script_line += lines.count(b"\n")
        notes: list[str] = []
        try:
            if self._interrupted:
                notes.append(f"the command before was interrupted: {self._restart(_Exchange('', b'', 4096))}")
                first_line = self._script_line + 1
                self._script_line += lines.count(b"\n")
            self._interrupted = True
            timed_out = self._follow(exchange, limit_s, notes)
        except _BoxEndedError:
            timed_out = False
            self._reopen(exchange, notes)
        except _NoShellError:
            timed_out = False
            self._renew(exchange, notes)
        self._interrupted = False
        notes.append(self._on_end(self._status))
        output, dropped = exchange.output.text(self.limits.output_bytes)
        if self._last_word and self._last_word in output:
            output = output.replace(self._last_word, "")
        self._last_word = word
        note = "; ".join(filter(None, notes))
        return SessionReply(protocol.tidy(output, first_line, height), self._status, self.cwd, note, timed_out, dropped)

    def _follow(self, exchange: _Exchange, limit_s: float, notes: list[str]) -> bool:
        """Runs an exchange to its end, whatever that is; whether the clock ended it."""
        self.box.reset_modes()
        stop = self._converse(exchange, time.monotonic() + limit_s)
        timed_out = stop == "timeout"
        if timed_out:
            notes.append(f"stopped at the wall-clock limit of {limit_s:g} s")
        if stop not in ("", "broken"):
            self._stop_foreground(exchange)
        if exchange.report is not None:
            self._status = exchange.report.status
            self._cwd, self._exports = exchange.report.cwd or self._cwd, exchange.report.exports
            self._settle(exchange)
            if timed_out and self._crowded():
                self._clear_out()
                self._await_gone(exchange, 3.0)
                notes.append(self._restart(exchange))
        else:
            notes.append(self._restart(exchange))
        return timed_out

    def _reopen(self, exchange: _Exchange, notes: list[str]) -> None:
        """Starts everything anew after the agent brought it down; a death from outside is not the agent's.

        Raises:
            SandboxLostError: If the host ended the sandbox.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.box.process.wait(2.0)
        code = self.box.process.returncode
        if code is None or not self._blames_agent(code):
            raise SandboxLostError("the sandbox's processes were killed from outside")
        self._renew(exchange, notes)

    def _renew(self, exchange: _Exchange, notes: list[str]) -> None:
        """Starts a new process tree with a new shell.

        Raises:
            SandboxLostError: If no shell runs there either.
        """
        self._take_rest(exchange)
        self.box.end()
        self._status = 137
        try:
            self._open()
            self._first_shell()
        except (_BoxEndedError, _NoShellError) as fault:
            raise SandboxLostError(f"the sandbox's processes cannot be started anew: {fault}") from None
        notes.append("the command ended all processes of the sandbox; a new shell was started")

    # How a command is followed.

    def _converse(self, exchange: _Exchange, deadline: float, limited: bool = True) -> str:
        """Sends, reads, until the report is there: ""; or "timeout", "broken" (no report), or a limit's note.

        `limited`: whether a limit that fired ends it. The shell that starts after such an end is not to blame again.
        """
        box = self.box
        poll = select.poll()
        for channel in (box.master, box.reply, box.death):
            poll.register(channel, select.POLLIN)
        if exchange.unsent:
            poll.register(box.script, select.POLLOUT)
        silent_since = 0.0
        next_tick = time.monotonic() + 0.1
        while exchange.report is None and exchange.gone is None:
            now = time.monotonic()
            if now >= deadline:
                return "timeout"
            if now >= next_tick:
                next_tick = now + 0.1
                note = self._on_tick()
                if note and limited:
                    return note
                self._wake_shell()
                # The shell reads the reporting line when the command is done: read, but no report, is a broken shell.
                if exchange.unsent or box.unread():
                    silent_since = 0.0
                elif not silent_since:
                    silent_since = now
                elif now - silent_since > _SETTLE_S:
                    return "broken"
            events = dict(poll.poll(max(1.0, 1000 * min(deadline - now, next_tick - now))))
            if box.script in events:
                self._send(exchange, poll)
            if events.get(box.master, 0) & select.POLLIN:
                self._take_output(exchange)
            elif box.master in events:
                # No process holds the terminal: the shell is between two lives.
                poll.unregister(box.master)
            if box.reply in events:
                self._take_answers(exchange)
            if box.death in events:
                raise _BoxEndedError
        return ""

    def _wake_shell(self) -> None:
        """A shell that stopped itself has nobody inside to continue it."""
        _, leader = self.box.foreground()
        if leader and processes.is_stopped(leader):
            processes.send(leader, signal.SIGCONT)

    def _send(self, exchange: _Exchange, poll: select.poll | None) -> None:
        with contextlib.suppress(BlockingIOError):
            while exchange.unsent:
                exchange.unsent = exchange.unsent[os.write(self.box.script, exchange.unsent) :]
        if not exchange.unsent and poll is not None:
            poll.unregister(self.box.script)

    def _take_output(self, exchange: _Exchange) -> bool:
        """One read from the terminal; whether there was anything."""
        try:
            data = self._terminal.read_nonblocking(_READ, timeout=0)
        except (pexpect.TIMEOUT, pexpect.EOF):
            self._terminal.flag_eof = False
            return False
        if exchange.marked:
            return True
        data = exchange.window + data
        place = data.find(exchange.marker)
        if place >= 0:
            exchange.marked = True
            exchange.output.add(data[:place])
            exchange.window = b""
            return True
        keep = _partial(data, exchange.marker)
        exchange.window = data[len(data) - keep :]
        exchange.output.add(data[: len(data) - keep])
        return True

    def _take_answers(self, exchange: _Exchange) -> None:
        try:
            exchange.answers += os.read(self.box.reply, _READ)
        except BlockingIOError:
            return
        data = bytes(exchange.answers)
        if exchange.word:
            exchange.report = protocol.find_report(data, exchange.word)
        # The agent can write such a record too: it counts if the terminal's session really has no leader any more.
        exchange.gone = protocol.find_gone(data) if self.box.foreground()[1] == 0 else None
        if exchange.gone is not None:
            exchange.leaving = protocol.find_report(data, protocol.EXIT_WORD)
        if len(data) > _REPORT_CAP:
            del exchange.answers[: len(data) // 2]

    def _settle(self, exchange: _Exchange) -> None:
        """Reads the terminal up to the marker that the shell wrote after the command's output."""
        deadline = time.monotonic() + _SETTLE_S
        poll = select.poll()
        poll.register(self.box.master, select.POLLIN)
        while not exchange.marked and time.monotonic() < deadline:
            if poll.poll(20):
                self._take_output(exchange)
        if not exchange.marked:
            exchange.output.add(exchange.window)

    def _stop_foreground(self, exchange: _Exchange) -> None:
        """INT, TERM, KILL to the foreground's process group, until the shell reports; none of the group lives on."""
        groups: set[int] = set()
        for number, wait_s in _LADDER:
            group, leader = self.box.foreground()
            if group in (0, leader):
                break
            groups.add(group)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
            until = time.monotonic() + wait_s
            if self._converse(exchange, until) in ("", "broken"):
                break
        init = self.box.init_pid
        for pid in processes.descendants(init) if init and groups else ():
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) in groups:
                    processes.send(pid, signal.SIGKILL)

    # A shell's lives.

    def _restart(self, exchange: _Exchange) -> str:
        """Starts the shell anew where the last one was; says why."""
        killed = exchange.gone is None
        if killed:
            self._kill_shell(exchange)
        crowded = self._crowded()
        if crowded:
            self._clear_out()
        self._take_rest(exchange)
        if exchange.leaving is not None:
            self._cwd, self._exports = exchange.leaving.cwd or self._cwd, exchange.leaving.exports
        self._status = exchange.gone if exchange.gone is not None and not killed else 124 if killed else 0
        cleared = self._first_shell() or crowded
        why = "the shell did not respond and was killed" if killed else f"the shell ended with {self._status}"
        return f"{why}, {'with all jobs; ' if cleared else ''}a new shell was started".replace(", a", "; a")

    def _kill_shell(self, exchange: _Exchange) -> None:
        _, leader = self.box.foreground()
        init = self.box.init_pid
        if leader and init and leader in processes.descendants(init):
            processes.send(leader, signal.SIGKILL)
        self._await_gone(exchange, 1.0)
        if exchange.gone is None:
            self._clear_out()
            self._await_gone(exchange, 3.0)
        if exchange.gone is None:
            raise _NoShellError("the shell can neither be driven nor ended")

    def _await_gone(self, exchange: _Exchange, timeout_s: float) -> None:
        exchange.unsent = memoryview(b"")
        exchange.report = None
        exchange.word = ""
        until = time.monotonic() + timeout_s
        while exchange.gone is None and time.monotonic() < until:
            self._converse(exchange, until)

    def _clear_out(self) -> None:
        init = self.box.init_pid
        if init is None:
            raise _BoxEndedError
        processes.kill_all(init)

    def _take_rest(self, exchange: _Exchange) -> None:
        """What the dead shell's processes left in the terminal."""
        for _ in range(64):
            if not self._take_output(exchange):
                break
        exchange.output.add(exchange.window)
        exchange.window = b""

    def _first_shell(self) -> bool:
        """Has a shell start and report; kills everything and tries again where it cannot. Whether it had to.

        The last attempt leaves the agent's variables and directory out: they may be what hinders it.
        """
        shown = ""
        for attempt in range(_START_ATTEMPTS):
            if attempt:
                self._clear_out()
            until = time.monotonic() + _ENDED_S
            while True:
                exchange = self._try_shell(attempt)
                if exchange.report is not None:
                    self._cwd = exchange.report.cwd or self._cwd
                    self._exports = exchange.report.exports
                    self._settle(exchange)
                    return attempt > 0
                if exchange.gone is None or time.monotonic() > until:
                    break
                # It was ended as it started: the watchdog may still be killing all that runs.
                time.sleep(0.02)
            shown = exchange.output.text(400)[0].strip()
        raise _NoShellError(f"no shell can be started: {shown}")

    def _try_shell(self, attempt: int) -> _Exchange:
        """Has one shell start, in the agent's place and with its variables, but for the last attempt."""
        if attempt or not self._fresh:
            self.box.drain_script()
            os.write(self.box.go, b"\n")
        self._fresh = False
        word = secrets.token_hex(12)
        last = attempt == _START_ATTEMPTS - 1
        lines = protocol.start_lines(b"/workspace" if last else self._cwd, {} if last else self._exports, word)
        self._script_line = 1 + lines.count(b"\n")
        exchange = _Exchange(word, lines, 4096)
        self._converse(exchange, time.monotonic() + (_START_S if attempt else _FIRST_START_S), limited=False)
        return exchange


def _partial(data: bytes, marker: bytes) -> int:
    """Length of the longest end of `data` that is a beginning of `marker`."""
    for size in range(min(len(marker) - 1, len(data)), 0, -1):
        if data.endswith(marker[:size]):
            return size
    return 0
