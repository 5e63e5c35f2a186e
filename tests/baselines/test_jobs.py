from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tyro

from agentenv.baselines import ablation, grpo, main_job
from agentenv.baselines.ablation import CREDITS
from agentenv.baselines.processes import Job, run_jobs, to_flags
from agentenv.baselines.run_log import RunLog, read_metrics
from agentenv.errors import AgentEnvError, CheckpointError, ConfigurationError
from tests.baselines.tiny import saved_counting_policy

ROOT = Path(__file__).parents[2]
ENV = "tests.counting:tests/Counting-v0"


@pytest.fixture
def args(tmp_path: Path) -> main_job.Args:
    return main_job.Args(
        out=tmp_path / "job",
        policy=saved_counting_policy(tmp_path / "policy"),
        env=ENV,
        env_kwargs='{"most": 2}',
        ood_kwargs="{}",
        updates=3,
        groups=4,
        group_size=4,
        test_tasks=10,
        ood_tasks=1000,
    )


def _numbers(out: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in read_metrics(out)]


def test_flags_make_the_same_arguments_again() -> None:
    args = grpo.Args(max_prompt_tokens=None, env_kwargs='{"a": "b c"}', resume=True, lr=1e-5, out=Path("x y"))
    assert tyro.cli(grpo.Args, args=to_flags(args)) == args


@pytest.mark.slow
def test_the_main_job_trains_evaluates_reports_and_then_rests(
    args: main_job.Args, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main_job.main(args) == 0
    shown = capsys.readouterr().out
    for text in ("warm-start", "procredit", "outcome", "test (10 tasks)", "ood (40 tasks)", "procredit - outcome"):
        assert text in shown
    assert "<html" in (args.out / "report.html").read_text()
    assert json.loads((args.out / "job.json").read_text())["tasks"] == "counting-1"
    for arm in CREDITS:
        config = json.loads((args.out / arm / "config.json").read_text())["args"]
        assert (config["credit"], config["seed"]) == (arm, 1)
        assert len(read_metrics(args.out / arm)) == 3
    # Both arms met the same tasks and sampled from the same policy with the same seeds.
    first = [_numbers(args.out / arm)[0] for arm in CREDITS]
    assert (
        len({line["charts/progress"] for line in first}) == len({line["charts/sampled_tokens"] for line in first}) == 1
    )
    logs = [(args.out / arm / "log.txt").stat().st_mtime_ns for arm in CREDITS]
    assert main_job.main(args) == 0
    assert capsys.readouterr().out == shown
    assert [(args.out / arm / "log.txt").stat().st_mtime_ns for arm in CREDITS] == logs
    with pytest.raises(CheckpointError, match="another lr"):
        main_job.main(replace(args, lr=1.0))


@pytest.mark.slow
def test_after_ctrl_c_the_main_job_goes_on_to_the_same_numbers(
    args: main_job.Args, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = replace(args, updates=12, test_tasks=5, ood_tasks=5, report=False)
    straight = replace(longer, out=args.out / "straight")
    with monkeypatch.context() as patched:
        patched.setattr(main_job, "run_jobs", _in_this_process)
        assert main_job.main(straight) == 0
    flags = [
        *(f"--{name.replace('_', '-')}={getattr(longer, name)}" for name in ("out", "policy", "env", "env_kwargs")),
        *("--updates=12", "--groups=4", "--group-size=4", "--test-tasks=5", "--ood-tasks=5", "--no-report"),
    ]
    command = [sys.executable, "-m", "agentenv.baselines.main_job", *flags]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    until = time.monotonic() + 120
    while not read_metrics(args.out / "procredit") and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(120) == 130
    assert subprocess.run(command, cwd=ROOT, timeout=200).returncode == 0
    for arm in CREDITS:
        assert _numbers(args.out / arm) == _numbers(straight.out / arm)
    for path in (straight.out / "eval").glob("*.json"):
        ours, theirs = (
            json.loads((out / "eval" / path.name).read_text())["records"] for out in (args.out, straight.out)
        )
        assert ours == theirs


@pytest.mark.slow
def test_a_failed_arm_is_named_with_the_end_of_its_log(args: main_job.Args) -> None:
    broken = replace(main_job.training_args(args), policy="tiny:/nowhere", out=args.out / "procredit")
    with pytest.raises(AgentEnvError, match=r"procredit ended with 2[\s\S]*/nowhere holds no tiny policy"):
        run_jobs([main_job.training_job("procredit", broken)], 1)


def test_two_processes_never_train_in_one_directory(tmp_path: Path) -> None:
    with RunLog(tmp_path, tensorboard=False), pytest.raises(CheckpointError, match="another process"):
        RunLog(tmp_path, tensorboard=False)


def test_fresh_deletes_nothing_that_is_not_a_job(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigurationError, match="remove it yourself"):
        main_job.open_job(tmp_path, fresh=True, settings={})
    assert (tmp_path / "thesis.tex").exists()
    main_job.open_job(tmp_path / "job", fresh=False, settings={"a": 1})
    (tmp_path / "job" / "old").write_text("")
    main_job.open_job(tmp_path / "job", fresh=True, settings={"a": 2})
    assert not (tmp_path / "job" / "old").exists()


def _in_this_process(jobs: Sequence[Job], parallel: int) -> None:
    """What `run_jobs` does, without the seconds that each process takes to start."""
    for job in jobs:
        if not job.done():
            module: Any = importlib.import_module(job.module)
            assert module.main(tyro.cli(module.Args, args=list(job.flags))) == 0


@pytest.mark.slow
def test_the_ablation_pairs_seeds_and_writes_its_results(
    args: main_job.Args, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_job, "run_jobs", _in_this_process)
    monkeypatch.setattr(ablation, "run_jobs", _in_this_process)
    common = {name: value for name, value in vars(args).items() if name not in ("updates", "ood_tasks", "out")}
    job = ablation.Args(**common, out=tmp_path / "a", updates=2, ood_tasks=5, seeds=2, results=tmp_path / "results")
    assert ablation.main(job) == 0
    found = json.loads((tmp_path / "results" / "ablation.json").read_text())
    test = found["splits"]["test"]
    pairs = zip(test["procredit"]["by_seed"], test["outcome"]["by_seed"], strict=True)
    assert test["difference"]["by_seed"] == [new - old for new, old in pairs]
    assert set(found["curves"]) == {f"seed-{seed}/{credit}" for seed in (1, 2) for credit in CREDITS}
    assert (tmp_path / "results" / "ablation.png").read_bytes().startswith(b"\x89PNG")
    assert "over 2 seeds (paired)" in capsys.readouterr().out
    with pytest.raises(ConfigurationError, match="two at least"):
        ablation.main(replace(job, seeds=1))


def test_an_unknown_trainer_is_answered_with_the_nearest() -> None:
    from agentenv.baselines.cli import train

    with pytest.raises(ConfigurationError, match="Did you mean 'grpo'"):
        train(["grop"])
    assert train([]) == 0
