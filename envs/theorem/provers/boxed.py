"""A program in a sandbox of its own, talked to line by line. Invariant: it ends, as a whole, with its object.

A prover reads what an agent wrote, and could be made to read files, write them or run programs: so it sees a sandbox's
files and nothing else, and its memory is bounded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import weakref
from collections.abc import Mapping, Sequence

from pexpect.fdpexpect import fdspawn

from agentenv.errors import InfrastructureError
from agentenv.sandbox import bwrap, processes, store
from agentenv.sandbox.base import FileEntry, Limits
from agentenv.sandbox.files import Tree
from agentenv.sandbox.isolation.limits import ControlGroups
from agentenv.sandbox.live import Live
from agentenv.sandbox.registry import host_root, lease_uid
from agentenv.sandbox.scratch import BASH, argv, inner_limits, watch_over

__all__ = ["BoxedProgram"]

_WINDOW = 4096
_WAIT_S = 5.0


class BoxedProgram:
    """Starts a program in a fresh local sandbox; its input, output and errors are one channel.

    Args:
        program: The command, as the sandbox finds it.
        limits: What it may use.
        files: What /workspace holds.
        env: Variables besides the sandbox's clean ones.

    Raises:
        InfrastructureError: If it cannot be started.

    >>> with contextlib.closing(BoxedProgram(["/bin/cat"], Limits())) as cat:
    ...     sent = cat.channel.send(b"hello\\n")
    ...     cat.channel.expect_exact(b"hello", timeout=10)
    0
    """

    def __init__(
        self,
        program: Sequence[str],
        limits: Limits,
        files: Sequence[FileEntry] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        try:
            self._held = _Held(program, limits, files, env or {})
        except OSError as fault:
            raise InfrastructureError(f"{program[0]} cannot be started in a sandbox: {fault}") from fault
        self.close = weakref.finalize(self, self._held.end)
        self.channel = fdspawn(
            self._held.ours.fileno(), timeout=_WAIT_S, maxread=1 << 16, searchwindowsize=_WINDOW, use_poll=True
        )
        self.channel.delaybeforesend = None  # type: ignore[assignment]

    @property
    def resident_bytes(self) -> int:
        """Memory of its processes now."""
        return sum(processes.resident_bytes(pid) for pid in processes.descendants(self._held.process.pid))


class _Held:
    """What there is to end: the process, its sandbox's files, and the channel."""

    def __init__(
        self, program: Sequence[str], limits: Limits, files: Sequence[FileEntry], env: Mapping[str, str]
    ) -> None:
        root = host_root()
        bwrap.find(root)
        lease = lease_uid(root)
        owner = lease.uid if os.getuid() == 0 else None
        place = store.Place(root, "box", owner)
        tops = store.make_tops(place, owner)
        store.write_entries(tops, files, owner)
        groups = ControlGroups(place.identity, limits)
        self._live = Live(limits, place, None, lease, groups, Tree(store.layers(place, None)), os.getpid())
        self.ours, theirs = socket.socketpair()
        try:
            first = f'{inner_limits(groups, limits)}cd /workspace; (exec "$@" 2>&1); exit $?'
            self.process = bwrap.launch(
                limits,
                lease.uid,
                groups,
                argv(place, None, init=True),
                [*BASH, "-c", first, "bash", *program],
                (theirs.fileno(), theirs.fileno(), subprocess.DEVNULL),
                {**bwrap.CLEAN_ENV, **env},
            )
        except BaseException:
            self.ours.close()
            self._live.end()
            raise
        finally:
            theirs.close()
        self._live.watch = watch_over(place, groups, limits, self.process)

    def end(self) -> None:
        """Kills it and removes its sandbox; in a forked child, nothing (it is the parent's)."""
        if os.getpid() != self._live.pid:
            return
        if self.process.poll() is None:
            for pid in processes.children(self.process.pid):
                processes.send(pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_WAIT_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.ours.close()
        with contextlib.suppress(OSError):
            self._live.end()
