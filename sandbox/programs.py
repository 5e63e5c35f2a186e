"""Runs a program to its end. Invariant: constant memory, and nothing of it lives on after the limit."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time

from agentenv.sandbox import processes
from agentenv.sandbox.base import Completed

__all__ = ["communicate"]


def communicate(popen: subprocess.Popen[bytes], stdin: bytes, timeout_s: float, keep_bytes: int) -> Completed:
    """Feeds and reads a program in constant memory; kills it, and all it started, at the limit."""
    deadline = time.monotonic() + timeout_s
    kept = {"out": bytearray(), "err": bytearray()}
    dropped = 0
    timed_out = False
    unsent = memoryview(stdin)
    streams = {"in": popen.stdin, "out": popen.stdout, "err": popen.stderr}
    with selectors.DefaultSelector() as selector:
        for name, stream in streams.items():
            if stream is None:
                continue
            os.set_blocking(stream.fileno(), False)
            if name == "in" and not unsent:
                stream.close()
                continue
            selector.register(stream, selectors.EVENT_WRITE if name == "in" else selectors.EVENT_READ, name)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                timed_out = True
                break
            for key, _ in selector.select(left):
                name = key.data
                if name == "in":
                    try:
                        unsent = unsent[os.write(key.fd, unsent[:65536]) :]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:
                        unsent = memoryview(b"")
                    if not unsent:
                        selector.unregister(key.fileobj)
                        popen.stdin.close()  # type: ignore[union-attr]
                    continue
                try:
                    data = os.read(key.fd, 65536)
                except BlockingIOError:
                    continue
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                room = keep_bytes - len(kept[name])
                kept[name] += data[:room] if room > 0 else b""
                dropped += max(0, len(data) - max(0, room))
    if not timed_out:
        timed_out = not _ends_by(popen, deadline)
    if timed_out:
        for pid in processes.children(popen.pid):
            processes.send(pid, signal.SIGKILL)
        try:
            popen.wait(5.0)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(5.0)
    for stream in streams.values():
        if stream is not None:
            stream.close()
    code = 124 if timed_out else popen.returncode if popen.returncode >= 0 else 128 - popen.returncode
    return Completed(code, bytes(kept["out"]), bytes(kept["err"]), timed_out, dropped)


def _ends_by(popen: subprocess.Popen[bytes], deadline: float) -> bool:
    """Waits for a program's end without the sleeps of `Popen.wait`."""
    if popen.poll() is None:
        death = os.pidfd_open(popen.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(death, selectors.EVENT_READ)
                selector.select(max(0.0, deadline - time.monotonic()))
        finally:
            os.close(death)
    return popen.poll() is not None
