"""However a job of several processes is ended, none of them trains on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import agentenv
from agentenv.sandbox import processes
from agentenv.sandbox.isolation.limits import controllers
from agentenv.sandbox.registry import host_root, process_start

ROOT = Path(__file__).parents[2]

STARTER = """
import sys
from pathlib import Path
from agentenv.baselines.processes import Job, run_jobs

def job(name):
    told = Path(sys.argv[1]) / name
    log = told.with_suffix(".log")
    return Job(name, "tests.baselines.patient", [str(told)], log, 1, lambda: False, lambda: (0, ""))

run_jobs([job("one"), job("two")], 2)
"""


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 90.0) -> None:
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, f"{what}: not within {timeout_s} s"
        time.sleep(0.02)


def ended(pid: int) -> bool:
    return process_start(pid) == ""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_jobs_are_interrupted_when_their_starter_is_killed(tmp_path: Path, number: int) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, tmp_path], cwd=ROOT, stdout=subprocess.DEVNULL)
    told = [tmp_path / "one", tmp_path / "two"]
    wait_for(lambda: all(file.exists() for file in told), "both jobs run")
    pids = [int(file.read_text()) for file in told]
    assert not any(map(ended, pids))
    starter.send_signal(number)
    starter.wait()
    wait_for(lambda: all(map(ended, pids)), "both jobs end")
    assert all(file.with_suffix(".interrupted").exists() for file in told)


def lifeline(*arguments: str, stdin: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "agentenv.baselines.lifeline", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=stdin, stderr=subprocess.DEVNULL)


def test_a_job_whose_starter_died_before_it_began_to_watch_ends_too(tmp_path: Path) -> None:
    ours, starters = os.pipe()
    os.close(starters)
    try:
        assert lifeline("tests.baselines.patient", str(tmp_path / "told"), stdin=ours).wait(60) != 0
    finally:
        os.close(ours)


STUBBORN = """
import signal, subprocess, sys, time
from agentenv.baselines.lifeline import hold_on
signal.signal(signal.SIGINT, signal.SIG_IGN)
hold_on(grace_s=0.2)
print(subprocess.run(["cat"], capture_output=True).stdout, flush=True)
time.sleep(300)
"""


def test_what_ignores_the_interrupt_is_killed_and_what_it_starts_reads_nothing() -> None:
    job = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert job.stdout is not None
    assert job.stdin is not None
    with job.stdout, job.stdin:
        assert job.stdout.readline() == b"b''\n"
        assert job.poll() is None
        job.stdin.close()
        assert job.wait(60) == -signal.SIGKILL


def test_a_job_that_ends_by_itself_gives_its_exit_code() -> None:
    with lifeline("agentenv.cli", "no-such-command", stdin=subprocess.PIPE) as job:
        assert job.wait(60) == 2


def left_behind(pid: int) -> list[Path]:
    """Directories and control groups of the sandboxes that a process owns."""
    tops = {host_root(), *controllers().parents.values()}
    return [place for top in tops for place in top.iterdir() if f"-{pid}-" in place.name]


@pytest.mark.slow
@pytest.mark.parametrize("arms_too", [False, True], ids=["starter killed", "all killed"])
def test_a_killed_main_job_leaves_no_trainer_and_nothing_that_gc_does_not_remove(
    tmp_path: Path, arms_too: bool
) -> None:
    kwargs = {"families": ["files_and_folders"], "difficulty": "easy", "max_turns": 3}
    command = [
        *(sys.executable, "-m", "agentenv.baselines.main_job", "--out", str(tmp_path / "job")),
        *("--env-kwargs", json.dumps(kwargs), "--updates=500", "--groups=2", "--group-size=4", "--no-report"),
    ]
    job = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    arms: list[int] = []

    def both_play() -> bool:
        arms[:] = processes.children(job.pid)
        return len(arms) == 2 and all(map(left_behind, arms))

    try:
        wait_for(both_play, "both arms play")
    finally:
        for pid in (job.pid, *(arms if arms_too else ())):
            os.kill(pid, signal.SIGKILL)
        job.wait()
    wait_for(lambda: all(map(ended, arms)), "both arms end")
    assert not arms_too or all(map(left_behind, arms))
    agentenv.gc()
    assert [place for pid in (job.pid, *arms) for place in left_behind(pid)] == []
