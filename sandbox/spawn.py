"""Starts sandbox processes from one long-lived thread. Invariant: a sandbox dies with its process, not with a thread.

`bwrap --die-with-parent` asks the kernel for a kill when the *thread* that started it ends. A sandbox opened in a
worker thread would die when that thread is done, so one daemon thread per process starts them all.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

__all__ = ["Stream", "spawn"]

Stream = int | None


@dataclass
class _Order:
    argv: Sequence[str | bytes]
    env: Mapping[str, str]
    streams: tuple[Stream, Stream, Stream]
    pass_fds: tuple[int, ...]
    done: Future[subprocess.Popen[bytes]]


class _Spawner:
    """The thread and its queue; belongs to one process (a forked child makes its own)."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="agentenv-spawner", daemon=True).start()

    def _work(self) -> None:
        while True:
            order = self.orders.get()
            try:
                stdin, stdout, stderr = order.streams
                # Plain arguments only: user=, preexec_fn= and the like would make Popen fork the whole process.
                popen = subprocess.Popen(
                    list(order.argv),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=dict(order.env),
                    cwd="/",
                    bufsize=0,
                    pass_fds=order.pass_fds,
                    # Ctrl-C in the user's terminal is for the trainer, not for its sandboxes.
                    start_new_session=True,
                )
            except BaseException as failure:
                order.done.set_exception(failure)
            else:
                order.done.set_result(popen)


class _Holder:
    spawner: _Spawner | None = None
    lock = threading.Lock()


def spawn(
    argv: Sequence[str | bytes],
    env: Mapping[str, str],
    streams: tuple[Stream, Stream, Stream],
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """`subprocess.Popen`, from the long-lived thread.

    >>> spawn(["/bin/true"], {}, (subprocess.DEVNULL,) * 3).wait()
    0
    """
    order = _Order(argv, env, streams, pass_fds, Future())
    with _Holder.lock:
        if _Holder.spawner is None or _Holder.spawner.pid != os.getpid():
            _Holder.spawner = _Spawner()
        _Holder.spawner.orders.put(order)
    return order.done.result()


def _after_fork() -> None:
    _Holder.lock = threading.Lock()
    _Holder.spawner = None


os.register_at_fork(after_in_child=_after_fork)
