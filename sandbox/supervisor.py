"""The first process of a sandbox with a session, and its channels. Invariant: it outlives every shell it starts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentenv.sandbox import processes

__all__ = ["Supervised", "supervisor"]

_READ = 1 << 16
_ROWS_COLUMNS = struct.pack("HHHH", 24, 80, 0, 0)
_TIOCGSID = getattr(termios, "TIOCGSID", 0x5429)
_FIONREAD = termios.FIONREAD


def supervisor(terminal: int) -> str:
    """The script of the sandbox's first process; the terminal is its descriptor of that number.

    Its own standard streams are not the terminal: bash would take it for itself. The shell's script,
    /run/agentenv/bash, is named "bash", so that error messages read as those of a terminal.
    """
    return rf"""
cd /run/agentenv
while :; do
  (
    echo 500 >/proc/self/oom_score_adj
    exec setsid -c /bin/bash --norc --noprofile bash <&{terminal} >&{terminal} 2>&1 {terminal}>&-
  )
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


def _plain_modes(terminal: int) -> Any:
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    return termios.tcgetattr(terminal)


def _waiting(pipe: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(pipe, _FIONREAD, b"\0" * 4))[0])


def _terminal_id(master: int, request: int) -> int:
    try:
        return int(struct.unpack("i", fcntl.ioctl(master, request, b"\0" * 4))[0])
    except OSError:
        return 0
