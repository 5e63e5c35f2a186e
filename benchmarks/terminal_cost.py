"""What the terminal environment costs: a step against a bare pexpect bash; reset, snapshot, fork, verify by size."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import gymnasium as gym
import pexpect
from rich.table import Table

import agentenv
from agentenv.progress import Check, verify_checks
from agentenv.sandbox.base import FileEntry
from agentenv.sandbox.local import LocalSandbox
from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.scenario import DIFFICULTIES
from benchmarks.timing import interleaved_ms

FILE_TASK = ("files_and_folders", "easy")
RUN_TASK = ("git_branches", "easy")
RUN_FAMILIES = (
    "shell_scripts",
    "cron_scripts",
    "broken_builds",
    "services",
    "sqlite_databases",
    "diff_patch",
    "git_branches",
    "git_history",
    "env_path",
    "dotfiles",
)


def bare_bash() -> tuple[pexpect.spawn, Callable[[], None]]:
    """A plain bash on a pty, without a sandbox: one `echo` round trip."""
    shell = pexpect.spawn("/bin/bash", ["--norc", "--noprofile"], echo=False, timeout=10)
    shell.delaybeforesend = None
    shell.sendline("PS1=; PROMPT_COMMAND=")

    def round_trip() -> None:
        shell.sendline("echo hello; echo MARK$?")
        shell.expect_exact("MARK0")

    return shell, round_trip


def step_table() -> Table:
    """Medians per `echo` step: changed states (verified) and unchanged ones (not verified again)."""
    shell, round_trip = bare_bash()
    contenders: dict[str, Callable[[], object]] = {"bare pexpect bash": round_trip}
    envs = []
    for label, (family, difficulty) in {"checks read files": FILE_TASK, "checks run commands": RUN_TASK}.items():
        env = gym.make("agentenv/Terminal-v0", families=[family], difficulty=difficulty, max_turns=10_000)
        env.reset(seed=0)
        envs.append(env)
        counter = iter(range(10**9))
        contenders[f"step, {label}, state unchanged"] = lambda env=env: env.step("echo hello")
        contenders[f"step, {label}, state changed"] = lambda env=env, counter=counter: env.step(
            f"echo {next(counter)} > scratch.txt"
        )
    medians = interleaved_ms(contenders, repeats=40)
    shell.close(force=True)
    for env in envs:
        env.close()
    bare = medians["bare pexpect bash"]
    out = Table(title="One terminal step (medians)")
    for column in ("what", "ms", "allowed ms (3 x bare + 15 or 60)"):
        out.add_column(column, justify="left" if column == "what" else "right")
    for name, ms in medians.items():
        allowed = 3 * bare + (60 if "run commands" in name else 15)
        out.add_row(name, f"{ms:.2f}", "" if name == "bare pexpect bash" else f"{allowed:.1f}")
    return out


def family_table() -> Table:
    """Medians per state-changing step once a task is solved, when every check looks at everything."""
    shell, round_trip = bare_bash()
    bare = interleaved_ms({"bare": round_trip}, repeats=40)["bare"]
    shell.close(force=True)
    out = Table(title="A step that changes the state of a solved task, by family (medians over tasks)")
    for column in ("family", *DIFFICULTIES, f"allowed ms (3 x {bare:.2f} + 60)", "worst / allowed"):
        out.add_column(column, justify="left" if column == "family" else "right")
    allowed = 3 * bare + 60
    together: dict[str, list[float]] = {difficulty: [] for difficulty in DIFFICULTIES}
    for family in RUN_FAMILIES:
        medians = []
        for difficulty in DIFFICULTIES:
            by_task = _solved_steps_ms(family, difficulty)
            together[difficulty] += by_task
            medians.append(statistics.median(by_task))
        out.add_row(family, *(f"{ms:.1f}" for ms in medians), f"{allowed:.1f}", f"{max(medians) / allowed:.2f}")
    medians = [statistics.median(of) for of in together.values()]
    out.add_section()
    out.add_row("all of them", *(f"{ms:.1f}" for ms in medians), f"{allowed:.1f}", f"{max(medians) / allowed:.2f}")
    return out


def _solved_steps_ms(family: str, difficulty: str, tasks: int = 8, steps: int = 5) -> list[float]:
    split = "ood" if next(known.ood for known in FAMILIES if known.name == family) else "train"
    env = gym.make("agentenv/Terminal-v0", families=[family], difficulty=difficulty, split=split, max_turns=10_000)
    task_set = env.unwrapped.task_set  # type: ignore[attr-defined]
    medians = []
    for task_id in task_set.ids(split)[:tasks]:
        env.reset(options={"task_id": task_id})
        for action in task_set.oracle(task_id)[:-1]:
            env.step(action)
        samples = []
        for number in range(steps):
            start = time.perf_counter()
            env.step(f"echo {number} > /workspace/scratch.txt")
            samples.append(1000 * (time.perf_counter() - start))
        medians.append(statistics.median(samples))
    env.close()
    return medians


def reset_table() -> Table:
    """Reset of a task, cold and from the cached start state."""
    out = Table(title="Terminal reset (medians)")
    for column in ("family", "cold ms (allowed 250)", "same task again ms (allowed 60)"):
        out.add_column(column, justify="left" if column == "family" else "right")
    for family in (FILE_TASK[0], RUN_TASK[0], "archives", "git_history"):
        env = gym.make("agentenv/Terminal-v0", families=[family])
        ids = env.unwrapped.task_set.ids("train")[:12]
        cold, warm = [], []
        for task_id in ids:
            for samples in (cold, warm):
                start = time.perf_counter()
                env.reset(options={"task_id": task_id})
                samples.append(1000 * (time.perf_counter() - start))
        env.close()
        out.add_row(family, f"{statistics.median(cold):.1f}", f"{statistics.median(warm):.1f}")
    return out


def size_table() -> Table:
    """Snapshot, fork and verification against the number of unchanged files in the workspace."""
    check = Check("touched", 1.0, lambda view: float(view.exists("touched.txt")))
    running = Check("runs", 1.0, lambda view: float(view.run("test -e touched.txt").exit_code == 0))
    out = Table(title="Cost against workspace size (medians, ms)")
    columns = ("files", "start", "snapshot", "restore", "fork", "verify (read)", "verify (run)", "state hash")
    for column in columns:
        out.add_column(column, justify="right")
    for count in (1, 100, 10_000):
        files = [FileEntry(f"d{i // 100}/f{i}.txt", f"file {i}\n".encode()) for i in range(count)]
        starts = []
        for _ in range(3):
            box = LocalSandbox()
            start = time.perf_counter()
            box.start(files)
            starts.append(1000 * (time.perf_counter() - start))
            box.close()
        with LocalSandbox() as box:
            box.start(files)
            box.session().run("touch touched.txt")
            medians = _costs(box, check, running)
        out.add_row(f"{count:,}", f"{statistics.median(starts):.1f}", *(f"{medians[name]:.1f}" for name in columns[2:]))
    return out


def _costs(box: LocalSandbox, check: Check, running: Check) -> dict[str, float]:
    kept = box.snapshot()

    def change() -> str:
        box.session().run("echo x >> touched.txt")
        return box.state_hash()

    medians = interleaved_ms(
        {
            "snapshot": lambda: box.snapshot().close(),
            "restore": lambda: box.restore(kept),
            "fork": lambda: box.fork().close(),
            "verify (read)": lambda: verify_checks([check], box.view()),
            "verify (run)": lambda: verify_checks([running], box.view()),
            "state hash": change,
        },
        repeats=10,
        warmup=1,
    )
    kept.close()
    return medians


def chain_table() -> Table:
    """A chain of forks, each from the last."""
    out = Table(title="A chain of 200 forks, each from the last")
    for column in ("link", "ms for one fork (median of the 20 before)"):
        out.add_column(column, justify="right")
    env = gym.make("agentenv/Terminal-v0", families=[FILE_TASK[0]])
    env.reset(seed=0)
    times: list[float] = []
    for link in range(1, 201):
        start = time.perf_counter()
        twin = agentenv.fork(env)
        times.append(1000 * (time.perf_counter() - start))
        env.close()
        env = twin
        env.unwrapped.sandbox.session().run(f"echo {link} > link{link}.txt")
        if link % 40 == 0:
            out.add_row(str(link), f"{statistics.median(times[-20:]):.1f}")
    env.close()
    return out
