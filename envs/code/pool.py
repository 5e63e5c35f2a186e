"""Grading sandboxes, each used once. Invariant: two suites never share a process, a file or a namespace.

A sandbox is a fresh bubblewrap (no network, no host files, own user, process and IPC namespaces, control groups where
there are any) whose directories are in memory and whose first process is `worker`. Some are kept started, so that a
suite does not wait for an interpreter; when it ends, its namespace is killed as a whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import shutil
import subprocess
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentenv.envs.code import wire
from agentenv.errors import ClosedEnvironmentError, ConfigurationError, InfrastructureError, SandboxLostError
from agentenv.sandbox import bwrap, processes
from agentenv.sandbox.base import WORKSPACE, Limits
from agentenv.sandbox.isolation.limits import ControlGroups
from agentenv.sandbox.isolation.watchdog import Watch, watch
from agentenv.sandbox.registry import UidLease, host_root, lease_uid, new_id, remove_tree

__all__ = ["GRACE_S", "MEMORY_BYTES", "Box", "Pool", "python"]

#: What the host's clock allows beyond a limit, before it kills a sandbox that should have answered.
GRACE_S = 0.5
MEMORY_BYTES = 512 << 20
_PROCESSES = 48
_DISK_BYTES = 64 << 20
_START_S = 30.0
_FRAME = 4
_MOST_ANSWER = wire.MAX_BYTES * 4
_FILES = ("wire.py", "child.py", "worker.py")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_BOOT = (
    f"import sys; sys.path[:] = [p for p in sys.path if p not in ('', '.')]; sys.path[0:0] = [{bwrap.CONTROL!r}]; "
    "import worker; del sys.path[0]; worker.main()"
)
_ENV = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def python() -> str:
    """The sandbox's Python.

    Raises:
        InfrastructureError: Where the host has none that a sandbox can see.
    """
    found = shutil.which("python3", path=_PATH)
    if found is None:
        raise InfrastructureError(f"grading code needs python3 in {_PATH}: install it")
    return found


class Box:
    """One started sandbox."""

    def __init__(self, root: Path, memory_bytes: int) -> None:
        self.limits = Limits(memory_bytes=memory_bytes, processes=_PROCESSES, file_bytes=_DISK_BYTES)
        self.lease: UidLease = lease_uid(root)
        self.groups: ControlGroups | None = None
        self.pid = os.getpid()
        self.used = False
        try:
            self.groups = ControlGroups(new_id("grade"), self.limits)
            self.process = self._start(root)
        except BaseException:
            if self.groups is not None:
                self.groups.remove()
            self.lease.release()
            raise
        if self.process.stdin is None or self.process.stdout is None:
            raise InfrastructureError("a grading sandbox came without its channels")
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._watch: Watch | None = None
        if "memory" not in self.groups.dirs:
            self._watch = Watch([], self._init, lambda: self.used, self.limits, True)
            watch(self._watch)

    def _start(self, root: Path) -> subprocess.Popen[bytes]:
        mounts = bwrap.Mounts({}, {}, _control(root))
        *start, end = bwrap.find(root).argv(mounts, bwrap.synthetic_root(root), init=True, chdir="/")
        for place in (WORKSPACE, bwrap.HOME, "/tmp"):
            start += ["--perms", "0755", "--size", str(_DISK_BYTES), "--tmpfs", place]
        program = [python(), "-s", "-S", "-B", "-c", _BOOT]
        streams = (subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        env = {**bwrap.CLEAN_ENV, **_ENV}
        return bwrap.launch(self.limits, self.lease.uid, self._made_groups(), [*start, end], program, streams, env)

    def _made_groups(self) -> ControlGroups:
        if self.groups is None:
            raise InfrastructureError("a grading sandbox has no control groups")
        return self.groups

    def _init(self) -> int | None:
        return next(iter(processes.children(self.process.pid)), None) if self.process.returncode is None else None

    def ask(self, request: list[Any], limit_s: float) -> tuple[str, bytes]:
        """Sends a request to the first process; its answer's kind and bytes.

        The kind is "lost" when none came in time or the sandbox died: then it is of no more use.
        """
        deadline = time.monotonic() + limit_s
        body = wire.encode(request, 64 << 20)
        try:
            self._send(len(body).to_bytes(_FRAME, "little") + body, deadline)
            size = int.from_bytes(self._receive(_FRAME, deadline), "little")
            if size > _MOST_ANSWER:
                return "lost", b"flood"
            kind, _, answer = self._receive(size, deadline).partition(b"\n")
        except (EOFError, BrokenPipeError):
            return "lost", b"died"
        except TimeoutError:
            return "lost", b"timeout"
        return kind.decode("ascii", "replace"), answer

    def _send(self, data: bytes, deadline: float) -> None:
        unsent = memoryview(data)
        while unsent:
            try:
                unsent = unsent[os.write(self._in, unsent[: 1 << 16]) :]
            except BlockingIOError:
                _until(self._in, select.POLLOUT, deadline)

    def _receive(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            _until(self._out, select.POLLIN, deadline)
            part = os.read(self._out, min(1 << 16, size - len(parts)))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def killed_from_outside(self) -> bool:
        """Whether it died, and nothing inside can have been the cause (see `Live.blames_agent`)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        code = self.process.returncode
        return code is not None and (code < 0 or code == 137) and self._made_groups().oom_kills() == 0

    def close(self) -> None:
        """Kills everything inside; returns when it is gone. Never raises; in a forked child, does nothing."""
        if os.getpid() != self.pid or self.groups is None:
            return
        self._watch = None
        init = self._init()
        # The kernel ends every process of the namespace before its first one is reaped.
        if init is not None:
            processes.send(init, 9)
        else:
            self.process.kill()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5.0)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.groups.remove()
        self.groups = None
        self.lease.release()


def _until(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError


def _control(root: Path) -> Path:
    """The directory with the worker's files, and their compiled forms, made once per host and content."""
    texts = {name: (Path(__file__).parent / name).read_bytes() for name in _FILES}
    digest = hashlib.sha256(repr((python(), sorted(texts.items()))).encode()).hexdigest()[:16]
    made = root / f"grader-{digest}"
    if made.is_dir():
        return made
    draft = root / new_id("grader")
    draft.mkdir(mode=0o755)
    for name, text in texts.items():
        (draft / name).write_bytes(text)
    files = [os.fspath(draft / name) for name in _FILES]
    # Checked by content: a copy's times tell nothing.
    compiling = [python(), "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", *files]
    subprocess.run(compiling, check=False, capture_output=True, timeout=60)
    for folder, _, names in os.walk(draft):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
    try:
        draft.rename(made)
    except OSError:  # another process was faster
        remove_tree(draft)
    return made


@dataclass
class _Spares:
    pid: int
    boxes: list[Box]

    def close(self) -> None:
        while self.boxes:
            self.boxes.pop().close()


class Pool:
    """Started sandboxes, to be taken and used once. Safe to share between threads, and across forks.

    Args:
        spares: How many to keep started for the next suites (of the usual memory limit).

    Raises:
        ConfigurationError: On a negative number.

    >>> with Pool(spares=0) as pool:
    ...     box = pool.take()
    ...     box.ask(["start", {"a.txt": b"hello"}, {}], 10.0)
    ...     box.close()
    ('ready', b'')
    """

    def __init__(self, spares: int = 1) -> None:
        if spares < 0:
            raise ConfigurationError(f"spares must be at least 0, got {spares}")
        self.spares = spares
        self._lock = threading.Lock()
        self._closed = False
        self._kept = self._fresh()

    def _fresh(self) -> _Spares:
        kept = _Spares(os.getpid(), [])
        self._end = weakref.finalize(self, kept.close)
        return kept

    def take(self, memory_bytes: int = MEMORY_BYTES) -> Box:
        """A sandbox for one suite; close it afterwards.

        Raises:
            ClosedEnvironmentError: After `close`.
            IsolationUnavailableError: Where the host forbids isolation.
            InfrastructureError: When the host fails it.
        """
        try:
            root = host_root()
            if memory_bytes != MEMORY_BYTES:
                return self._used(Box(root, memory_bytes))
            with self._mine():
                if self._closed:
                    raise ClosedEnvironmentError("the pool of grading sandboxes is closed: make a new one")
                box = self._kept.boxes.pop(0) if self._kept.boxes else None
                while len(self._kept.boxes) < self.spares:
                    self._kept.boxes.append(Box(root, memory_bytes))
            return self._used(box or Box(root, memory_bytes))
        except OSError as fault:
            raise InfrastructureError(f"the host failed a grading sandbox: {fault}") from fault

    @contextlib.contextmanager
    def _mine(self) -> Any:
        if self._kept.pid != os.getpid():  # a fork's lock may be held by a thread that is not there
            self._lock = threading.Lock()
            self._end.detach()
            self._kept = self._fresh()
        with self._lock:
            yield

    @staticmethod
    def _used(box: Box) -> Box:
        box.used = True
        return box

    def close(self) -> None:
        """Ends the sandboxes that wait; those taken are their takers'. Idempotent, never raises."""
        with self._mine():
            self._closed = True
            self._kept.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def start(pool: Pool, files: dict[str, bytes], memory_bytes: int) -> Box:
    """A sandbox with these files in its workspace, ready to be asked.

    Raises:
        SandboxLostError: If it died twice before anything of the files ran.
    """
    for _ in range(2):
        box = pool.take(memory_bytes)
        limits = {"RLIMIT_AS": memory_bytes, "RLIMIT_CORE": 0}
        if "pids" not in box._made_groups().dirs:
            limits["RLIMIT_NPROC"] = _PROCESSES
        try:
            kind, answer = box.ask(["start", files, limits], _START_S)
        except BaseException:
            box.close()
            raise
        if kind == "ready":
            return box
        box.close()
    raise SandboxLostError(f"a grading sandbox did not start: {answer.decode('utf-8', 'replace')}")
