"""Episodes beside and after each other: nothing is shared, everything repeats."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import agentenv
from agentenv.baselines import grpo
from agentenv.baselines.run_log import read_metrics
from agentenv.errors import InfrastructureError
from agentenv.policy.scripted import FixedPolicy
from agentenv.policy.tiny import TinyPolicy
from agentenv.policy.tiny_model import TinyConfig, TinyLM
from agentenv.rollout import EnvPool, EpisodeRequest, collect
from agentenv.sandbox.registry import host_root
from agentenv.trajectory import Trajectory
from tests.envs import killed
from tests.envs.playing import FILES, begin, oracle, play, terminal
from tests.fake_tokenizers import compact_tokenizer

ROOT = Path(__file__).resolve().parents[2]
SECRET = "the-host-secret-4711"


def run_python(script: str, cwd: Path = ROOT, **variables: str) -> str:
    """What a script prints in a process of its own."""
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# Secrets.


def test_the_hosts_variables_files_and_processes_cannot_be_read(
    env: gym.Env[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_SECRET", SECRET)
    (tmp_path / "secret").write_text(SECRET)
    other = terminal()
    begin(other)
    play(other, f"echo {SECRET} > ~/of-another-episode; sleep 4848 &")
    look = (
        f"cat {tmp_path}/secret {host_root()}/*/*/* /proc/*/environ /proc/*/cmdline /etc/* 2>/dev/null "
        "| grep -ac '[t]he-host-secret'; ls -A /root /mnt /opt /srv 2>/dev/null; ls -A /home; pgrep -fc '[s]leep 4848'"
    )
    assert play(env, look).text.splitlines() == ["0", "agent", "0", "[exit code 1]", "/workspace$"]
    # What a check runs has no more to see than the agent.
    assert env.unwrapped.view().run(look).stdout.splitlines() == ["0", "agent", "0"]  # type: ignore[attr-defined]
    other.close()


def test_a_checks_script_cannot_read_the_hosts_paths(env: gym.Env[str, str]) -> None:
    look = (
        "for p in /proc/[0-9]*; do cat $p/cmdline $p/environ | tr '\\0' ' '; readlink $p/exe $p/cwd $p/root; done; "
        "ls -l /proc/[0-9]*/fd"
    )
    seen = env.unwrapped.view().run(look).stdout  # type: ignore[attr-defined]
    assert "/bash" in seen
    for word in (str(host_root()), "bwrap", str(ROOT), sys.prefix):
        assert word not in seen, word


def test_the_package_cannot_be_imported(env: gym.Env[str, str]) -> None:
    missing = play(env, "python3 -c 'import agentenv' 2>&1 | tail -n 1").text
    assert missing.startswith("ModuleNotFoundError: No module named 'agentenv'\n")


INSTALLED = """
import gymnasium as gym, agentenv, pathlib
where = pathlib.Path(agentenv.__file__).parent
env = gym.make("agentenv/Terminal-v0")
env.reset(seed=1)
look = f"cat {where}/env.py {where}/tasks/terminal/families/links.py; ls -A {where.parent}"
print(where, env.step(f"({look}) 2>/dev/null")[0], env.unwrapped.view().run(look).stdout, sep="\\n")
env.close()
"""


@pytest.mark.root
@pytest.mark.skipif(not os.access("/usr/local/lib", os.W_OK), reason="needs to write below /usr/local")
def test_a_package_installed_below_usr_is_hidden() -> None:
    place = Path("/usr/local/lib") / f"agentenv-test-{os.getpid()}"
    try:
        shutil.copytree(ROOT / "agentenv", place / "agentenv", ignore=shutil.ignore_patterns("__pycache__"))
        shown = run_python(INSTALLED, Path("/"), PYTHONPATH=str(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    where, *rest = shown.split()
    # The name of the hidden directory's mount point may show; nothing in it does.
    assert (where, set(rest) - {"agentenv"}) == (str(place / "agentenv"), {"/workspace$"})


# A sandbox that is killed from outside.


@pytest.mark.parametrize("first_process", [False, True])
def test_a_killed_sandbox_is_a_platform_failure_and_reset_works_again(
    env: gym.Env[str, str], first_process: bool
) -> None:
    bare: Any = env.unwrapped
    killed.kill(bare, first_process=first_process)
    for call in (lambda: env.step("echo x"), bare.verify, bare.snapshot, lambda: agentenv.fork(env)):
        with pytest.raises(InfrastructureError):
            call()
    begin(env)
    assert play(env, *oracle(env), "submit").reward == 1.0


def test_a_sandbox_killed_during_a_command_is_noticed_at_once(env: gym.Env[str, str]) -> None:
    bare: Any = env.unwrapped
    threading.Timer(0.3, lambda: killed.kill(bare)).start()
    with pytest.raises(InfrastructureError):
        env.step("sleep 9")


def test_collecting_counts_retries_and_leaves_out_what_was_killed() -> None:
    kwargs = killed.register()
    policy = FixedPolicy(["echo a", "echo b", "submit"])
    requests = [EpisodeRequest(FILES, f"g{number // 3}", number) for number in range(6)]
    with EnvPool(lambda: gym.make(killed.ENV_ID, **kwargs), 2) as pool:
        never = collect(policy, pool, requests, retries=0)
        again = collect(policy, pool, requests, retries=3)
    assert never.stats.failures == len(never.failures) == 2
    assert "SandboxLostError" in never.failures[0].error
    assert (again.stats.failures, len(again.trajectories)) == (0, 6)
    assert again.stats.retries > 0
    for trajectory in (*never.trajectories, *again.trajectories):
        assert killed.DOOMED not in trajectory.turns[0].observation
        assert len(trajectory.turns) == 3


def random_policy(directory: Path) -> str:
    """A tiny policy that types noise."""
    shape = {"vocab_size": 261, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    TinyPolicy(TinyLM(TinyConfig(**shape, intermediate_size=64)), compact_tokenizer()).save(directory)
    return f"tiny:{directory}"


def test_training_goes_on_without_anything_of_a_killed_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Trajectory] = []
    optimise = grpo.optimise

    def watch(*args: Any) -> Any:
        trained.extend(args[4])
        return optimise(*args)

    monkeypatch.setattr(grpo, "optimise", watch)
    args = grpo.Args(
        out=tmp_path / "run",
        policy=random_policy(tmp_path / "policy"),
        env=killed.ENV_ID,
        env_kwargs=json.dumps(killed.register()),
        updates=2,
        groups=2,
        group_size=3,
        retries=0,
        max_tokens=3,
        workers=2,
        tensorboard=False,
    )
    assert grpo.main(args) == 0
    failures = [line["charts/platform_failures"] for line in read_metrics(tmp_path / "run")]
    assert len(failures) == 2
    assert sum(failures) > 0
    assert len(trained) == 12 - sum(failures)
    assert all(killed.DOOMED not in turn.observation for episode in trained for turn in episode.turns)


# Determinism.

TRANSCRIPT = r"""
import json, sys
from tests.envs.playing import play, terminal
env = terminal()
shown = []
chosen = [{"seed": seed} for seed in range(8)]
chosen += [{"options": {"task_id": f"{name}-medium-ood-1"}} for name in ("disk_usage", "diff_patch")]
chosen += [{"options": {"task_id": f"{name}-hard-train-2"}} for name in ("archives", "links")]
for arguments in chosen:
    observation, info = env.reset(**arguments)
    look = "ls -laR; ls -la ~ /tmp; ls -A /; env | sort; id; umask; jobs; find / -xdev -maxdepth 2 -printf '%p %u %m\n'"
    turns = [list(play(env, action)) for action in [look, *env.unwrapped.task_set.oracle(info["task_id"])]]
    shown.append([info, observation, turns, sorted(check.name for check in env.unwrapped.checks())])
json.dump(shown, sys.stdout)
"""


def test_the_same_seeds_give_the_same_episodes_in_any_process() -> None:
    first, second = (json.loads(run_python(TRANSCRIPT, PYTHONHASHSEED=seed)) for seed in ("0", "4711"))
    assert len({info["task_id"] for info, *_ in first}) == 12
    for one, other in zip(first, second, strict=True):
        assert one == other
    assert all(turns[-1][1] == 1.0 for _, _, turns, _ in first)


def test_eight_terminals_side_by_side_do_not_disturb_each_other() -> None:
    def transcript(number: int) -> list[Any]:
        env = terminal()
        try:
            observation, info = env.reset(seed=number)
            mark = f"echo {number} | tee ~/mine > /tmp/mine; export MINE={number}; (sleep 60; echo {number}) &"
            wait = "until pgrep -x sleep > /dev/null; do :; done"
            look = "cat ~/mine /tmp/mine; echo $MINE; pgrep -xc sleep; ls /tmp ~ /workspace"
            actions = (mark, wait, look, *env.unwrapped.task_set.oracle(info["task_id"]))  # type: ignore[attr-defined]
            return [observation, info, *(play(env, action) for action in actions)]
        finally:
            env.close()

    alone = [transcript(number) for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(transcript, range(8)))
    assert together == alone
    assert all(episode[-1].reward == 1.0 for episode in together)
