"""Whatever an episode went through, and however its process ended, nothing of it stays."""

from __future__ import annotations

import gc as python_gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

import agentenv
from agentenv.errors import SandboxLostError
from agentenv.sandbox import processes
from agentenv.sandbox.isolation.limits import controllers
from agentenv.sandbox.registry import host_root
from tests.envs.killed import kill
from tests.envs.playing import begin, oracle, play, terminal

ROOT = Path(__file__).resolve().parents[2]
THREADS = 4
#: 10 KiB, and a third of a Python object, for each of the 800 episodes between two looks.
MOST_GROWTH_MIB, MOST_NEW_OBJECTS = 8.0, 250
#: Two of them have a set-up, so that their start states are kept in a cache.
TASKS = (
    "files_and_folders-easy-train-0",
    "permissions-medium-train-0",
    "disk_usage-easy-ood-2",
    "archives-easy-train-1",
    "git_history-easy-train-0",
    "services-easy-train-0",
    "disk_usage-hard-ood-0",
    "text_processing-hard-train-0",
    "cron_scripts-easy-train-0",
)
#: Ours among all that sleep on this machine, also once their parent is gone.
SLEEP = f"sleep {10**8 + os.getpid()}"
JOBS = f"{SLEEP} & (setsid {SLEEP} &) ; mkdir -m 000 locked; nohup {SLEEP} < /dev/null > /dev/null 2>&1 &"


class Held(NamedTuple):
    """What this process, or anything that it started, holds on the host."""

    descriptors: int
    threads: int
    processes: list[int]
    mounts: list[str]
    directories: list[str]
    groups: list[str]


def held() -> Held:
    python_gc.collect()
    directories, groups = left_behind(os.getpid())
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "agentenv" in line]
    return Held(
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        sorted({*processes.descendants(os.getpid()), *reparented(os.getpid())}),
        mounts,
        directories,
        groups,
    )


def left_behind(pid: int) -> tuple[list[str], list[str]]:
    """Names of the directories and control groups of a process's sandboxes."""
    own = f"-{pid}-"
    groups = [place.name for top in set(controllers().parents.values()) for place in top.glob(f"agentenv-*{own}*")]
    return sorted(place.name for place in host_root().iterdir() if own in place.name), sorted(groups)


def reparented(pid: int) -> Iterator[int]:
    """Processes of a process's sandboxes, whoever their parent is now: by control group, or by command line."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            groups = Path(f"/proc/{name}/cgroup").read_text()
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        in_group = any("/agentenv-" in line and f"-{pid}-" in line for line in groups.splitlines())
        if in_group or ("bwrap" in command and f"-{pid}-" in command) or SLEEP in command:
            yield int(name)


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def play_one(env: gym.Env[str, str], number: int) -> bool:
    """Plays one of ten kinds of episodes; whether the environment is to be closed after it."""
    task = TASKS[number % len(TASKS)]
    begin(env, task)
    base: Any = env.unwrapped
    match number % 10:
        case 0:
            assert play(env, *oracle(env, task), "submit").reward == 1.0
        case 1:
            play(env, JOBS)  # in mid-episode when the next one begins
        case 2:
            play(env, JOBS)
            kept = base.snapshot()
            play(env, "rm -rf *; export LOST=1")
            base.restore(kept)
            play(env, "echo back > again", "submit")
            if number % 20 == 2:
                kept.close()  # else nobody does
        case 3:
            play(env, JOBS)
            twin = base.fork()
            play(twin, JOBS, "cd /tmp; echo x > x")
            play(env, "submit")
            twin.close()
        case 4:
            play(env, JOBS, "kill -9 $$", "echo again > again", "submit")
        case 5:
            play(env, JOBS)
            kill(base)
            with pytest.raises(SandboxLostError):
                play(env, "echo gone")
        case 6:
            play(env, f"{SLEEP} | (exec -a other {SLEEP}) & disown; exec bash", "seq 3 > three; cat three", "submit")
        case 7:
            play(env, JOBS, "yes | head -c 300000", "true")
            return True  # closed in mid-episode
        case _:
            play(env, JOBS, "echo x > x; ln -s x y", "submit")
    return False


def play_many(count: int) -> None:
    """Plays so many episodes, in environments side by side in threads, and closes these."""

    def play_some(first: int) -> None:
        env = terminal()
        for number in range(first, count, THREADS):
            if play_one(env, number):
                env.close()
                env = terminal()
        env.close()

    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(play_some, range(THREADS)):
            pass


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_episodes_leave_nothing_and_memory_stays_flat(count: int) -> None:
    play_many(THREADS)  # whatever stays for good is there from now on: threads, and what was found once
    before = held()
    early = count // 5
    play_many(early)
    assert held() == before
    size, objects = resident_mib(), len(python_gc.get_objects())
    play_many(count - early)
    assert held() == before
    assert resident_mib() - size < MOST_GROWTH_MIB
    assert len(python_gc.get_objects()) - objects < MOST_NEW_OBJECTS


def test_what_a_live_episode_holds_is_found() -> None:
    """The measure itself: all that the test above looks for is there while an episode is."""
    begin(terminal())
    before = held()
    env = terminal()
    begin(env, TASKS[2])
    play(env, JOBS)
    during = held()
    assert during.descriptors > before.descriptors
    assert len(during.processes) >= len(before.processes) + 5
    assert len(during.directories) >= len(before.directories) + 2
    assert bool(controllers().parents) == (len(during.groups) > len(before.groups))
    assert len(set(reparented(os.getpid()))) >= 4  # without control groups: bubblewrap and three that sleep
    env.close()
    assert held() == before


HOLDER = """
import time
from tests.envs.playing import play, terminal
held = []
for number in range(4):
    env = terminal()
    env.reset(seed=number)
    play(env, "sleep 4949 & setsid sleep 4949 & mkdir -m 000 locked")
    held += [env, env.unwrapped.snapshot()]
print("ready", flush=True)
time.sleep(60)
"""


def test_gc_removes_what_a_killed_holder_of_four_terminals_left() -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    assert len(left_behind(holder.pid)[0]) >= 8
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert agentenv.gc()["directories"] >= 8
    assert left_behind(holder.pid) == ([], [])
    deadline = time.monotonic() + 20
    while _running("sleep\x004949") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running("sleep\x004949")


def _running(words: str) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if words in Path(f"/proc/{name}/cmdline").read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False
