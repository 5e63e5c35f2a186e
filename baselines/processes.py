"""Stages of a comparison as processes side by side, each with a bar. Invariant: what is done is not done again.

A process per job, because each uses one core: more threads only slow a small model down. Jobs are resumable by
themselves, so a Ctrl-C stops them all and the next run goes on; nor does a job outlive this process (see `lifeline`).
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from agentenv.errors import AgentEnvError

__all__ = ["Job", "run_jobs", "to_flags"]

_LOG = logging.getLogger(__name__)
_POLL_S = 0.25
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Job:
    """One process.

    Attributes:
        name: Shown beside its bar.
        module: What `python -m` runs.
        flags: Its arguments.
        log: Where its output goes.
        total: Steps in all.
        done: Whether there is nothing left to do.
        progress: Steps so far, and a text that tells how it goes.
    """

    name: str
    module: str
    flags: Sequence[str]
    log: Path
    total: int
    done: Callable[[], bool]
    progress: Callable[[], tuple[int, str]]


def run_jobs(jobs: Sequence[Job], parallel: int) -> None:
    """Runs the jobs that are not done, `parallel` at a time.

    Raises:
        AgentEnvError: If a job fails; the message holds the end of its log. The others are stopped.
        KeyboardInterrupt: On Ctrl-C, after every job has ended.
    """
    waiting = [job for job in jobs if not job.done()]
    running: list[tuple[Job, subprocess.Popen[bytes]]] = []
    with Progress(transient=True) as bar:
        bars = {job.name: bar.add_task(job.name, total=job.total) for job in waiting}
        try:
            while waiting or running:
                while waiting and len(running) < parallel:
                    job = waiting.pop(0)
                    _LOG.info("%s: started", job.name)
                    running.append((job, _start(job)))
                time.sleep(_POLL_S)
                for job, process in list(running):
                    completed, text = job.progress()
                    bar.update(bars[job.name], completed=completed, description=f"{job.name}  {text}")
                    if process.poll() is not None:
                        running.remove((job, process))
                        _let_go(process)
                        _check(job, process)
                        _LOG.info("%s: done%s", job.name, f" ({text})" if text else "")
        finally:
            _stop([process for _, process in running])


def to_flags(args: Any) -> list[str]:
    """The command line that makes a dataclass of arguments again.

    >>> @dataclass
    ... class Args:
    ...     max_turns: int | None = None
    ...     fresh: bool = False
    >>> to_flags(Args())
    ['--max-turns=None', '--no-fresh']
    """
    flags = []
    for name, value in asdict(args).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            flags.append(f"--{flag}={value}")
    return flags


def _start(job: Job) -> subprocess.Popen[bytes]:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "agentenv.baselines.lifeline", job.module, *job.flags],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _let_go(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()


def _check(job: Job, process: subprocess.Popen[bytes]) -> None:
    if process.returncode == 0:
        return
    if process.returncode in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    tail = job.log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise AgentEnvError(f"{job.name} ended with {process.returncode}; the end of its log, {job.log}:\n{tail}")


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Lets processes that a Ctrl-C reached save themselves, and sends one to those that it did not reach."""
    for patience in (2.0, _PATIENCE_S):
        until = time.monotonic() + patience
        for process in processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
        _let_go(process)
