"""A persistent bash on a pty. Invariant: after any command, the next one works.

The pty carries output only; commands and reports go through FIFOs (see `protocol`). A supervisor, the sandbox's first
process, starts the shell anew when a command ended it, and outlives it, so that background jobs live on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pexpect
from pexpect.fdpexpect import fdspawn

from agentenv.errors import InfrastructureError, SandboxLostError
from agentenv.sandbox import processes, protocol
from agentenv.sandbox.base import Limits, Session, SessionReply
from agentenv.sandbox.text import HeadTail

__all__ = ["LocalSession", "Supervised", "supervisor"]

_READ = 1 << 16
_REPORT_CAP = 4 << 20
_SETTLE_S = 0.5
_START_S = 10.0
_LADDER = ((signal.SIGINT, 0.4), (signal.SIGTERM, 0.4), (signal.SIGKILL, 0.6))
_ROWS_COLUMNS = struct.pack("HHHH", 24, 80, 0, 0)


def supervisor(terminal: int) -> str:
    """The script of the sandbox's first process; the terminal is its descriptor of that number.

    Its own standard streams are not the terminal: bash would take it for itself. The shell's script,
    /run/agentenv/bash, is named "bash", so that error messages read as those of a terminal.
    """
    return rf"""
cd /run/agentenv
while :; do
  setsid -c /bin/bash --norc --noprofile bash <&{terminal} >&{terminal} 2>&1 {terminal}>&-
  printf '\0gone\0%s\0' $? >reply
  read -r _ <go
done
"""


class Supervised:
    """The sandbox's first process and its channels to the host: a pty, and three FIFOs in the control directory."""

    def __init__(self, control: Path, owner: int | None, start: Callable[[int], subprocess.Popen[bytes]]) -> None:
        self.master, slave = os.openpty()
        self._fds = [self.master]
        try:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, _ROWS_COLUMNS)
            self._modes = _plain_modes(slave)
            if owner is not None:
                os.fchown(slave, owner, owner)
            for name in ("bash", "reply", "go"):
                path = control / name
                if not path.exists():
                    os.mkfifo(path, 0o600)
                    if owner is not None:
                        os.chown(path, owner, owner)
            self.script = self._open(control / "bash")
            self.reply = self._open(control / "reply")
            self.go = self._open(control / "go")
            self.process = start(slave)
        except BaseException:
            self.close_fds()
            raise
        finally:
            os.close(slave)
        self.death = os.pidfd_open(self.process.pid)
        self._fds.append(self.death)

    def _open(self, path: Path) -> int:
        # Read and write: opening never blocks, and no reader or writer inside ever sees the other end close.
        opened = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._fds.append(opened)
        return opened

    @property
    def init_pid(self) -> int | None:
        """The host's process id of the sandbox's first process."""
        found = processes.children(self.process.pid)
        return found[0] if found else None

    def reset_modes(self) -> None:
        """Undoes what programs did to the terminal (echo, translation, stopped output)."""
        with contextlib.suppress(termios.error, OSError):
            if termios.tcgetattr(self.master) != self._modes:
                termios.tcsetattr(self.master, termios.TCSANOW, self._modes)

    def unread(self) -> int:
        """Bytes of the script that the shell has not read yet."""
        return _waiting(self.script)

    def drain_script(self) -> None:
        """Drops what a dead shell left unread."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.script, _READ):
                pass

    def foreground(self) -> tuple[int, int]:
        """Process ids of the terminal's foreground group and of its session's leader (0 when there is none)."""
        return _terminal_id(self.master, termios.TIOCGPGRP), _terminal_id(self.master, _TIOCGSID)

    def end(self, timeout_s: float = 5.0) -> None:
        """Kills everything inside; returns when it is gone."""
        init = self.init_pid
        if init is not None and self.process.poll() is None:
            # The kernel ends every process of the namespace before its first one is reaped.
            processes.send(init, signal.SIGKILL)
        try:
            self.process.wait(timeout_s if init is not None else 0.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout_s)
        self.close_fds()

    def close_fds(self) -> None:
        """Closes the host's ends."""
        while self._fds:
            with contextlib.suppress(OSError):
                os.close(self._fds.pop())


_TIOCGSID = getattr(termios, "TIOCGSID", 0x5429)
_FIONREAD = termios.FIONREAD


def _plain_modes(terminal: int) -> list[object]:
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    return list(termios.tcgetattr(terminal))


def _waiting(pipe: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(pipe, _FIONREAD, b"\0" * 4))[0])


def _terminal_id(master: int, request: int) -> int:
    try:
        return int(struct.unpack("i", fcntl.ioctl(master, request, b"\0" * 4))[0])
    except OSError:
        return 0


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


class LocalSession(Session):
    """See `Session`.

    Args:
        box: The supervised sandbox process.
        limits: The sandbox's limits.
        cwd: Where the shell starts.
        exports: Its exported variables.
        on_tick: Called about ten times a second while a command runs; returns a note to end it, or "".
        on_end: Called after each command; returns a note, or "".
    """

    def __init__(
        self,
        box: Supervised,
        limits: Limits,
        cwd: bytes,
        exports: Mapping[bytes, bytes],
        on_tick: Callable[[], str],
        on_end: Callable[[int], str],
    ) -> None:
        self.box = box
        self.limits = limits
        self._cwd = cwd
        self._exports = dict(exports)
        self._on_tick = on_tick
        self._on_end = on_end
        self._status = 0
        self._closed = False
        self._terminal = fdspawn(box.master, timeout=0, maxread=_READ, use_poll=True)
        self._terminal.delaybeforesend = None
        self._start_shell()

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
        text = command.encode("utf-8", "surrogateescape").replace(b"\0", b"")
        word = secrets.token_hex(12)
        exchange = _Exchange(word, protocol.command_lines(text, word, self._status), 4 * self.limits.output_bytes)
        self.box.reset_modes()
        stop = self._converse(exchange, time.monotonic() + limit_s)
        note = ""
        timed_out = stop == "timeout"
        if stop not in ("", "broken"):
            note = f"stopped at the wall-clock limit of {limit_s:g} s" if timed_out else ""
            self._stop_foreground(exchange)
        if exchange.report is not None:
            self._status = exchange.report.status
            self._cwd, self._exports = exchange.report.cwd or self._cwd, exchange.report.exports
            self._settle(exchange)
        else:
            ended = self._restart(exchange)
            note = f"{note}; {ended}" if note else ended
        extra = self._on_end(self._status)
        if extra:
            note = f"{note}; {extra}" if note else extra
        output, dropped = exchange.output.text(self.limits.output_bytes)
        return SessionReply(output, self._status, self.cwd, note, timed_out, dropped)

    # How a command is followed.

    def _converse(self, exchange: _Exchange, deadline: float) -> str:
        """Sends, reads, until the report is there: ""; or "timeout", "broken" (no report), or a limit's note."""
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
                if note := self._on_tick():
                    return note
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
                raise SandboxLostError("the sandbox's processes were killed from outside")
        return ""

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
        exchange.gone = protocol.find_gone(data)
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
        """INT, TERM, KILL to the foreground's process group, until the shell reports."""
        for number, wait_s in _LADDER:
            group, leader = self.box.foreground()
            if group in (0, leader):
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
            until = time.monotonic() + wait_s
            while time.monotonic() < until:
                stop = self._converse(exchange, until)
                if not stop or stop == "broken":
                    return
        return

    # A shell's lives.

    def _restart(self, exchange: _Exchange) -> str:
        """Starts the shell anew where the last one was; says why."""
        killed = exchange.gone is None
        if killed:
            self._kill_shell(exchange)
        self._take_rest(exchange)
        if exchange.leaving is not None:
            self._cwd, self._exports = exchange.leaving.cwd or self._cwd, exchange.leaving.exports
        self._status = exchange.gone if exchange.gone is not None and not killed else 124 if killed else 0
        self.box.drain_script()
        os.write(self.box.go, b"\n")
        try:
            self._start_shell()
        except InfrastructureError:
            self._clear_out()
            self.box.drain_script()
            os.write(self.box.go, b"\n")
            self._start_shell()
            return "the shell and all jobs were killed; a new shell was started"
        why = "the shell did not respond and was killed" if killed else f"the shell ended with {self._status}"
        return f"{why}; a new shell was started"

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
            raise SandboxLostError("the sandbox's shell can neither be driven nor ended")

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
            raise SandboxLostError("the sandbox's processes were killed from outside")
        processes.kill_all(init)

    def _take_rest(self, exchange: _Exchange) -> None:
        """What the dead shell's processes left in the terminal."""
        for _ in range(64):
            if not self._take_output(exchange):
                break
        exchange.output.add(exchange.window)
        exchange.window = b""

    def _start_shell(self) -> None:
        word = secrets.token_hex(12)
        exchange = _Exchange(word, protocol.start_lines(self._cwd, self._exports, word), 4096)
        stop = self._converse(exchange, time.monotonic() + _START_S)
        if stop or exchange.report is None:
            shown = exchange.output.text(400)[0].strip()
            raise InfrastructureError(f"the sandbox's shell did not start ({stop or exchange.gone}): {shown}")
        self._cwd = exchange.report.cwd or self._cwd
        self._exports = exchange.report.exports
        self._settle(exchange)


def _partial(data: bytes, marker: bytes) -> int:
    """Length of the longest end of `data` that is a beginning of `marker`."""
    for size in range(min(len(marker) - 1, len(data)), 0, -1):
        if data.endswith(marker[:size]):
            return size
    return 0
