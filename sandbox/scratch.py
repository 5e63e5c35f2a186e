"""Runs a command in a fresh bubblewrap over a sandbox's directories. Invariant: nothing of it lives on afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentenv.sandbox import bwrap, processes, store
from agentenv.sandbox.base import Completed, Limits
from agentenv.sandbox.isolation.limits import ControlGroups
from agentenv.sandbox.isolation.watchdog import Activity, Watch, watch
from agentenv.sandbox.programs import communicate

__all__ = ["BASH", "argv", "inner_limits", "run_in", "watch_over"]

BASH = ("/bin/bash", "--norc", "--noprofile")
_SCRIPT_OUTPUT = 1 << 20
_ARGUMENT_BYTES = 100_000


def run_in(
    place: store.Place,
    base: store.Base | None,
    uid: int,
    groups: ControlGroups,
    limits: Limits,
    command: str | Sequence[str],
    timeout_s: float,
    stdin: bytes,
    env: Mapping[str, str] | None,
) -> Completed:
    """Runs a command to its end in a fresh bubblewrap over a place's directories."""
    # Not bubblewrap's --chdir: the agent may have locked its own /workspace. Nor bubblewrap as the first process:
    # /proc/1 would show its command line and its binary, which name the host's directories.
    first = (
        f"{inner_limits(groups, limits)}cd /workspace 2>/dev/null; unset OLDPWD; "
        'exec 9>&2 2>/dev/null; (exec "$@" 2>&9 9>&-); exit $?'
    )
    if isinstance(command, str):
        # The kernel bounds one argument, not their sum: a long script comes in parts.
        text = command.encode("utf-8", "surrogateescape")
        parts = [text[at : at + _ARGUMENT_BYTES] for at in range(0, len(text), _ARGUMENT_BYTES)] or [b""]
        whole = "".join(f"${{{number}}}" for number in range(1, len(parts) + 1))
        program: list[str | bytes] = [*BASH, "-c", f'eval "{whole}"', "bash", *parts]
    else:
        program = list(command)
    popen = bwrap.launch(
        limits,
        uid,
        groups,
        argv(place, base, init=True),
        [*BASH, "-c", first, "bash", *program],
        (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE),
        {**bwrap.CLEAN_ENV, **(env or {})},
    )
    watching = watch_over(place, groups, limits, popen)
    done = communicate(popen, stdin, timeout_s, max(_SCRIPT_OUTPUT, limits.output_bytes))
    if watching.fired:
        return replace(done, exit_code=done.exit_code or 137, stderr=done.stderr + watching.fired.encode() + b"\n")
    return done


def argv(place: store.Place, base: store.Base | None, *, init: bool = False, control: Path | None = None) -> list[str]:
    """The command line of bubblewrap over a place's directories, up to and without the program."""
    root = place.path.parent
    binds = {mount: place.path / name for mount, name in store.MOUNTS.items()}
    overlays = {
        mount: bwrap.Overlay(base.lower(mount), place.path / f"{name}.work")
        for mount, name in store.MOUNTS.items()
        if base is not None
    }
    mounts = bwrap.Mounts(binds, overlays, control)
    return bwrap.find(root).argv(mounts, bwrap.synthetic_root(root), init=init, chdir="/")


def inner_limits(groups: ControlGroups, limits: Limits) -> str:
    """Shell text that sets what only a process inside can: its user namespace counts processes apart."""
    return "" if "pids" in groups.dirs else f"ulimit -u {limits.processes + 2} 2>/dev/null; "


def watch_over(
    place: store.Place,
    groups: ControlGroups,
    limits: Limits,
    process: subprocess.Popen[bytes],
    activity: Activity | None = None,
    looked: Callable[[int | None], None] | None = None,
) -> Watch:
    """A watch on a process's sandbox, for as long as it is referred to."""

    def init() -> int | None:
        return next(iter(processes.children(process.pid)), None) if process.returncode is None else None

    def busy() -> bool:
        # An idle sandbox must cost the watchdog nothing: there may be a thousand.
        if activity is not None and not activity.running:
            return False
        first = init()
        if looked is not None:
            looked(first)
        return first is not None and bool(processes.children(first))

    folders = [place.path / name for name in store.MOUNTS.values()]
    one = Watch(folders, init, busy, limits, "memory" not in groups.dirs)
    watch(one)
    return one
