"""The local backend: bubblewrap on this host. Invariant: a sandbox's files change only by what runs inside it.

A sandbox is a private host directory (its files), a user id of its own, control groups where there are any, and, once
a session is open, one supervised process tree. Everything else (a script run, a verifier) is a fresh bubblewrap.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from agentenv.errors import (
    ClosedEnvironmentError,
    ConfigurationError,
    InfrastructureError,
    SandboxLostError,
    SnapshotError,
)
from agentenv.progress import FileStat, RunResult
from agentenv.sandbox import bwrap, store
from agentenv.sandbox.base import WORKSPACE, Completed, FileEntry, Limits, Sandbox, SandboxSnapshot
from agentenv.sandbox.copying import Copied, copy_tree
from agentenv.sandbox.files import Tree
from agentenv.sandbox.hashing import FileHashes, Sums, hash_layers
from agentenv.sandbox.isolation.limits import ControlGroups, require
from agentenv.sandbox.live import Live
from agentenv.sandbox.registry import host_root, lease_uid
from agentenv.sandbox.scratch import BASH, argv, inner_limits, run_in, watch_over
from agentenv.sandbox.session import LocalSession
from agentenv.sandbox.supervisor import Supervised, supervisor
from agentenv.sandbox.text import clean
from agentenv.sandbox.views import LocalView

__all__ = ["LocalSandbox", "LocalView"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
# A verifier's Python must not load what the agent put into its home's site-packages.
_VERIFIER_ENV = {"PYTHONNOUSERSITE": "1"}


def _on_platform(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Turns the host's own failures (disk full, too many files, no memory) into `InfrastructureError`."""

    @functools.wraps(method)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(*args, **kwargs)
        except OSError as fault:
            raise InfrastructureError(f"the host failed the sandbox: {fault}") from fault

    return guarded


class LocalSandbox(Sandbox):
    """A sandbox on this host. See `Sandbox` for the methods.

    Args:
        limits: What it may use; None for the defaults of `Limits`.
        base: A host directory whose content /workspace starts with (read once, never changed).
        root: Where sandboxes keep their files; None: below the temporary directory.

    >>> with LocalSandbox() as box:
    ...     box.start([FileEntry("notes.txt", b"hello")])
    ...     box.session().run("tr a-z A-Z < notes.txt > loud.txt; echo done").output
    ...     box.read("loud.txt")
    'done\\n'
    b'HELLO'
    """

    def __init__(self, limits: Limits | None = None, base: Path | None = None, root: Path | None = None) -> None:
        self.limits = limits if limits is not None else Limits()
        self._base_folder = base
        self._root_parent = root
        self._live: Live | None = None
        # Not part of _Live: a finalizer holds that, and the session refers back to this sandbox.
        self._session: LocalSession | None = None
        self._end: weakref.finalize | None = None
        self._place_kept: tuple[bytes, dict[bytes, bytes]] = (WORKSPACE.encode(), {})
        self._hashes = FileHashes()
        self._closed = False

    # Life.

    @_on_platform
    def start(self, files: Sequence[FileEntry] = (), snapshot: SandboxSnapshot | None = None) -> None:
        """See `Sandbox.start`."""
        if self._closed:
            raise ClosedEnvironmentError("the sandbox is closed: make a new one")
        if self._live is not None:
            raise ConfigurationError("the sandbox is started already: use restore(snapshot), or close it")
        if snapshot is not None and (files or self._base_folder):
            raise ConfigurationError("start(files, snapshot): give one of the two; write(files) adds to a snapshot")
        require(self.limits)
        root = host_root(self._root_parent)
        tool = bwrap.find(root)
        if snapshot is not None:
            self._open_snapshot(snapshot, root, tool)
            return
        self._begin(root, None)
        try:
            if self._base_folder is not None:
                self._copy_in_base()
            live = self._here()
            tops = {mount: layer.upper for mount, layer in live.tree.mounts.items()}
            counts = store.write_entries(tops, files, live.owner)
            if store.is_large(counts) or self._base_folder is not None:
                large = self.snapshot()
                self._drop()
                self._open_snapshot(large, root, tool)
                large.close()
        except BaseException:
            self._drop()
            raise

    def _begin(self, root: Path, base: store.Base | None, source: store.Place | None = None) -> None:
        """Makes the host side, with empty directories, or with copies of another place's."""
        lease = lease_uid(root) if base is None else None
        try:
            uid = lease.uid if lease is not None else base.lease.uid if base is not None else os.getuid()
            owner = uid if os.getuid() == 0 else None
            place = store.Place(root, "box", owner)
            if source is None:
                store.make_tops(place, owner)
            else:
                for name in store.MOUNTS.values():
                    copy_tree(source.path / name, place.path / name, owner)
            (place.path / "control").mkdir(mode=0o755)
            if base is not None:
                for name in store.MOUNTS.values():
                    work = place.path / f"{name}.work"
                    work.mkdir(mode=0o700)
                    if owner is not None:
                        os.chown(work, owner, owner)
            groups = ControlGroups(place.identity, self.limits)
        except BaseException:
            if lease is not None:
                lease.release()
            raise
        live = Live(self.limits, place, base, lease, groups, Tree(store.layers(place, base)), os.getpid())
        self._live = live
        self._end = weakref.finalize(self, live.end)

    def _open_snapshot(self, snapshot: SandboxSnapshot, root: Path, tool: bwrap.Bubblewrap) -> None:
        if not isinstance(snapshot, store.LocalSnapshot):
            raise SnapshotError(f"a local sandbox starts from a LocalSnapshot, got {type(snapshot).__name__}")
        snapshot.as_base(tool.overlay)
        place, base = snapshot.parts()
        self._begin(root, base, place)
        self._place_kept = (snapshot.cwd, dict(snapshot.exports))

    def _copy_in_base(self) -> None:
        live = self._here()
        top = live.tree.mounts[WORKSPACE].upper
        os.rmdir(top)
        copy_tree(Path(self._base_folder or ""), top, live.owner)

    def _drop(self) -> None:
        if self._end is not None:
            self._end()
        self._live = None
        self._session = None
        self._end = None

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._closed = True
        with contextlib.suppress(OSError, SandboxLostError):
            self._drop()

    def _here(self) -> Live:
        if self._live is None:
            raise ClosedEnvironmentError("the sandbox is closed" if self._closed else "the sandbox is not started")
        if self._live.pid != os.getpid():
            raise SandboxLostError("the sandbox belongs to the parent process: make one in each process")
        if self._session is not None and self._session.closed:
            self._place_kept = self._session.place()
            self._session = self._live.box = self._live.watch = None
        if self._live.box is not None:
            code = self._live.box.process.poll()
            if code is not None and not self._live.blames_agent(code):
                raise SandboxLostError("the sandbox's processes were killed from outside")
        return self._live

    # Running.

    @_on_platform
    def session(self) -> LocalSession:
        """See `Sandbox.session`."""
        live = self._here()
        if self._session is None:
            self._session = LocalSession(
                lambda: self._open_box(live),
                live.blames_agent,
                self.limits,
                *self._place_kept,
                on_tick=live.limit_that_fired,
                on_end=live.note_limits,
                crowded=live.crowded,
            )
        return self._session

    def _open_box(self, live: Live) -> Supervised:
        live.init_limits = ""
        live.box = Supervised(live.place.path / "control", live.owner, lambda slave: self._start_shell(live, slave))
        fired = live.watch.fired if live.watch is not None else ""
        live.watch = watch_over(
            live.place, live.groups, self.limits, live.box.process, live.activity, live.look_at_init
        )
        live.watch.fired = fired
        return live.box

    def _start_shell(self, live: Live, slave: int) -> subprocess.Popen[bytes]:
        start = argv(live.place, live.base, init=True, control=live.place.path / "control")
        program = [*BASH, "-c", inner_limits(live.groups, self.limits) + supervisor(slave)]
        quiet = (subprocess.DEVNULL,) * 3
        return bwrap.launch(self.limits, live.uid, live.groups, start, program, quiet, pass_fds=(slave,))

    @_on_platform
    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout_s: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See `Sandbox.run`."""
        live = self._here()
        limit_s = self.limits.wall_s if timeout_s is None else timeout_s
        return run_in(live.place, live.base, live.uid, live.groups, self.limits, command, limit_s, stdin, env)

    @_on_platform
    def run_on_fork(self, script: str, timeout_s: float = 10.0) -> RunResult:
        """See `Sandbox.run_on_fork`."""
        live = self._here()
        root = live.place.path.parent
        place = store.Place(root, "fork", live.owner)
        groups = None
        try:
            with live.frozen():
                for name in store.MOUNTS.values():
                    copy_tree(live.place.path / name, place.path / name, live.owner)
            if live.base is not None:
                for name in store.MOUNTS.values():
                    work = place.path / f"{name}.work"
                    work.mkdir(mode=0o700)
                    if live.owner is not None:
                        os.chown(work, live.owner, live.owner)
            groups = ControlGroups(place.identity, self.limits)
            done = run_in(place, live.base, live.uid, groups, self.limits, script, timeout_s, b"", _VERIFIER_ENV)
        finally:
            if groups is not None:
                groups.remove()
            place.close()
        return RunResult(done.exit_code, clean(done.stdout), clean(done.stderr), done.timed_out)

    # Files.

    def view(self) -> LocalView:
        """A `StateView` whose scripts run on throw-away forks."""
        return LocalView(self)

    @_on_platform
    def write(self, entries: Sequence[FileEntry]) -> None:
        """See `Sandbox.write`."""
        live = self._here()
        if live.base is not None:
            # The host must not write below a mounted overlay: what runs inside does it.
            done = self.run(["tar", "-xpPf", "-", "-C", "/"], stdin=store.pack_entries(live.tree, entries))
            if done.exit_code != 0:
                raise SandboxLostError(f"files could not be written: {done.stderr.decode('utf-8', 'replace').strip()}")
            return
        tops = {mount: layer.upper for mount, layer in live.tree.mounts.items()}
        store.write_entries(tops, entries, live.owner)

    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        """See `StateView.read`."""
        return self._here().tree.read(path, max_bytes)

    def text(self, path: str, max_bytes: int = 4 << 20) -> str:
        """See `StateView.text`."""
        return self._here().tree.text(path, max_bytes)

    def stat(self, path: str) -> FileStat:
        """See `StateView.stat`."""
        return self._here().tree.stat(path)

    def listdir(self, path: str) -> list[str]:
        """See `StateView.listdir`."""
        return self._here().tree.listdir(path)

    def exists(self, path: str) -> bool:
        """See `StateView.exists`."""
        return self._here().tree.exists(path)

    # States.

    def _where(self, live: Live) -> tuple[bytes, dict[bytes, bytes]]:
        return self._session.place() if self._session is not None else self._place_kept

    @_on_platform
    def snapshot(self) -> store.LocalSnapshot:
        """See `Sandbox.snapshot`."""
        live = self._here()
        root = live.place.path.parent
        place = store.Place(root, "snap", None)
        counts = Copied()
        with live.frozen():
            for name in store.MOUNTS.values():
                copy_tree(live.place.path / name, place.path / name, None, counts)
        return store.LocalSnapshot(root, place, live.base, counts, *self._where(live))

    @_on_platform
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """See `Sandbox.restore`."""
        if not isinstance(snapshot, store.LocalSnapshot):
            raise SnapshotError(f"a local sandbox restores a LocalSnapshot, got {type(snapshot).__name__}")
        snapshot.parts()
        live = self._live
        if live is None:
            raise ClosedEnvironmentError("the sandbox is closed" if self._closed else "the sandbox is not started")
        root = live.place.path.parent
        self._drop()
        self._open_snapshot(snapshot, root, bwrap.find(root))

    @_on_platform
    def fork(self) -> LocalSandbox:
        """See `Sandbox.fork`."""
        live = self._here()
        twin = LocalSandbox(self.limits, root=self._root_parent)
        with live.frozen():
            twin._begin(live.place.path.parent, live.base, live.place)
        twin._place_kept = self._where(live)
        return twin

    @_on_platform
    def state_hash(self) -> str:
        """See `Sandbox.state_hash`."""
        return self.hashes()[0]

    @_on_platform
    def hashes(self) -> tuple[str, str]:
        """See `Sandbox.hashes`."""
        live = self._here()
        sums: dict[str, Sums] = {}
        with live.frozen():
            # What still runs may have a file mapped, and write to it without a change of its times.
            self._hashes.trusting = not live.jobs_run()
            for mount in store.MOUNTS:
                base = live.base.index(mount, self._hashes) if live.base is not None else None
                sums[mount] = hash_layers(live.tree.mounts[mount].upper, base, self._hashes)
        cwd, exports = self._where(live)
        variables = sorted({**_default_exports(), **exports}.items())
        state = _digest(sums[WORKSPACE].state, sums[bwrap.HOME].state, cwd, variables)
        return state, _digest(state, *((one.state, one.times) for one in sums.values()))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """See `Sandbox.held`."""
        live = self._here()
        with live.frozen(idle_too=True):
            before, live.held = live.held, True
            try:
                yield
            finally:
                live.held = before


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _default_exports() -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in bwrap.CLEAN_ENV.items()}
