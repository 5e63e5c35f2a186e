from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentenv import Reply, Trajectory, Turn, read_trajectories
from agentenv.baselines import grpo
from agentenv.baselines.checkpoint import Checkpoints
from agentenv.baselines.run_log import RunLog, read_metrics
from agentenv.baselines.token_batch import credited_rows, microbatches
from agentenv.errors import CheckpointError, ConfigurationError, InfrastructureError, SandboxLostError
from agentenv.policy.tiny import TinyPolicy
from tests.baselines.tiny import counting_policy, saved_counting_policy
from tests.counting import ENV_ID, CountingEnv, register

ROOT = Path(__file__).parents[2]


@pytest.fixture
def args(tmp_path: Path) -> grpo.Args:
    register()
    return grpo.Args(
        out=tmp_path / "run",
        policy=saved_counting_policy(tmp_path / "policy"),
        env=ENV_ID,
        max_prompt_tokens=None,
        max_observation_tokens=None,
        updates=4,
        groups=4,
        group_size=4,
        lr=3e-3,
        max_tokens=3,
        save_every=2,
        episodes_every=2,
        tensorboard=False,
    )


def _numbers(out: Path) -> list[dict[str, Any]]:
    """Metrics without times: what must repeat to the bit."""
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in read_metrics(out)]


def _weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "policy" / "model.safetensors")


def _same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(weight, b[name]) for name, weight in a.items())


# -- what a run does --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credit", ["outcome", "procredit"])
def test_a_run_trains_the_weights_and_leaves_what_it_promises(args: grpo.Args, credit: Any) -> None:
    assert grpo.main(replace(args, credit=credit, val_every=2, val_tasks=5, kl_coef=0.01)) == 0
    before = load_file(Path(args.policy.removeprefix("tiny:")) / "model.safetensors")
    assert not _same(before, _weights(args.out))
    metrics = _numbers(args.out)
    assert [line["step"] for line in metrics] == [0, 1, 2, 3]
    assert [("charts/val_success" in line) for line in metrics] == [True, False, True, False]
    assert json.loads((args.out / "config.json").read_text())["args"]["credit"] == credit
    assert sorted(path.name for path in args.out.glob("trajectories-*")) == [
        f"trajectories-{update:06d}.jsonl" for update in (0, 2, 3)
    ]
    TinyPolicy.load(args.out / "policy")


def test_saved_episodes_carry_the_advantage_of_each_turn(args: grpo.Args) -> None:
    grpo.main(args)
    episodes = list(read_trajectories(args.out / "trajectories-000002.jsonl"))
    assert len(episodes) == 16
    assert all(len(episode.meta["advantages"]) == len(episode.turns) for episode in episodes)
    assert any(any(episode.meta["advantages"]) for episode in episodes)
    assert {turn.policy_version for episode in episodes for turn in episode.turns} == {2}
    assert len({episode.start_hash for episode in episodes if episode.group_id == episodes[0].group_id}) == 1


def test_every_metric_is_documented_under_its_name(args: grpo.Args) -> None:
    grpo.main(replace(args, updates=1, val_every=1, val_tasks=2))
    documented = (ROOT / "docs" / "grpo.md").read_text()
    missing = [name for name in read_metrics(args.out)[0] if f"`{name}`" not in documented]
    assert not missing


@pytest.mark.parametrize("credit", ["outcome", "procredit"])
def test_success_is_learned(args: grpo.Args, credit: Any) -> None:
    long = replace(args, updates=25, groups=8, group_size=8, max_tokens=1, episodes_every=0, save_every=25)
    grpo.main(replace(long, credit=credit, env_kwargs='{"most": 1}'))
    success = [line["charts/success_rate"] for line in _numbers(args.out)]
    assert sum(success[-4:]) / 4 > success[0] + 0.25


def test_on_the_sampling_policy_the_ratio_is_one(args: grpo.Args) -> None:
    grpo.main(replace(args, updates=1, minibatches=1, temperature=0.7))
    [line] = _numbers(args.out)
    assert line["losses/mean_ratio"] == pytest.approx(1, abs=1e-4)
    assert line["losses/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert line["losses/clipfrac"] == 0


@pytest.mark.parametrize("credit", ["outcome", "procredit"])
def test_groups_without_signal_leave_the_weights_as_they_were(
    args: grpo.Args, credit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        grpo.main(replace(args, groups=6, group_size=1, credit=credit))
    before = load_file(Path(args.policy.removeprefix("tiny:")) / "model.safetensors")
    assert _same(before, _weights(args.out))
    assert {line["charts/no_signal_groups"] for line in _numbers(args.out)} == {1.0}
    assert [record.message for record in caplog.records if "had no signal" in record.message]


def test_duplicates_are_counted_within_a_group(args: grpo.Args) -> None:
    grpo.main(replace(args, updates=1, temperature=1e-3, group_size=5))
    assert _numbers(args.out)[0]["charts/duplicate_sample_rate"] == pytest.approx(4 / 5)


def test_validation_does_not_change_training(args: grpo.Args) -> None:
    grpo.main(replace(args, out=args.out / "without"))
    grpo.main(replace(args, out=args.out / "with", val_every=1, val_tasks=3))
    without, with_val = _numbers(args.out / "without"), _numbers(args.out / "with")
    assert [{k: v for k, v in line.items() if "charts/val" not in k} for line in with_val] == without


# -- failures ---------------------------------------------------------------------------------------------------------


def test_platform_failures_are_counted_and_never_trained_on(args: grpo.Args, monkeypatch: pytest.MonkeyPatch) -> None:
    plays = CountingEnv.act

    def fragile(env: CountingEnv, action: str) -> Reply:
        if action.startswith("<pad>"):
            raise SandboxLostError("the sandbox was killed")
        return plays(env, action)

    monkeypatch.setattr(CountingEnv, "act", fragile)
    trained: list[Trajectory] = []
    optimise = grpo.optimise

    def spy(*given: Any) -> dict[str, float]:
        trained.extend(given[4])
        return optimise(*given)

    monkeypatch.setattr(grpo, "optimise", spy)
    grpo.main(replace(args, retries=1))
    metrics = _numbers(args.out)
    failures = sum(line["charts/platform_failures"] for line in metrics)
    assert failures > 0
    assert len(trained) == 4 * 16 - failures
    assert not any(turn.action.startswith("<pad>") for episode in trained for turn in episode.turns)


def test_a_platform_that_plays_nothing_stops_the_run(args: grpo.Args, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(env: CountingEnv, task: Any, rng: Any) -> str:
        raise SandboxLostError("no space for sandboxes")

    monkeypatch.setattr(CountingEnv, "begin", broken)
    with pytest.raises(InfrastructureError, match="no space for sandboxes"):
        grpo.main(args)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"updates": 0}, "updates"),
        ({"temperature": 0.0}, "temperature"),
        ({"policy": "oracle"}, "oracle"),
        ({"env_kwargs": "{"}, "env_kwargs"),
        ({"env_kwargs": '{"split": "test"}'}, "split"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(args: grpo.Args, change: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        grpo.main(replace(args, **change))


def test_a_run_directory_is_never_taken_over_in_silence(args: grpo.Args) -> None:
    grpo.main(replace(args, updates=2))
    with pytest.raises(CheckpointError, match="--resume"):
        grpo.main(args)
    with pytest.raises(CheckpointError, match="another lr"):
        grpo.main(replace(args, resume=True, lr=1.0))


def test_a_disk_that_fills_up_stops_the_run_and_keeps_the_checkpoint(
    args: grpo.Args, monkeypatch: pytest.MonkeyPatch
) -> None:
    grpo.main(replace(args, updates=2))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("agentenv.baselines.checkpoint.write_durably", full)
        with pytest.raises(CheckpointError, match="No space left"):
            grpo.main(replace(args, resume=True))
    straight = replace(args, out=args.out / "straight")
    grpo.main(straight)
    grpo.main(replace(args, resume=True))
    assert _numbers(args.out) == _numbers(straight.out)


# -- the update -------------------------------------------------------------------------------------------------------


def _update(args: grpo.Args, episodes: list[Trajectory], advantages: torch.Tensor) -> dict[str, torch.Tensor]:
    model = counting_policy().model
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    grpo.optimise(args, model, None, optimiser, episodes, advantages, 0)
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}


def _sampled(args: grpo.Args) -> tuple[list[Trajectory], torch.Tensor]:
    with grpo.EnvPool(CountingEnv, 8) as envs:
        requests = grpo.plan(args, CountingEnv().task_set.ids("train"), 0)
        episodes = grpo.play(args, counting_policy(), envs, requests).trajectories
    return episodes, grpo.credit(args, grpo.TurnBatch.of(episodes))


def test_microbatches_change_memory_and_not_the_gradient(args: grpo.Args) -> None:
    episodes, advantages = _sampled(args)
    for average in ("token", "sequence"):
        chosen = replace(args, minibatches=1, average=average, max_grad_norm=1e9)  # type: ignore[arg-type]
        whole = _update(chosen, episodes, advantages)
        pieces = _update(replace(chosen, microbatch_tokens=60), episodes, advantages)
        assert all(torch.allclose(weight, pieces[name], atol=1e-5) for name, weight in whole.items())


def test_rows_without_advantage_weigh_in_the_average_though_they_are_not_computed(args: grpo.Args) -> None:
    episodes, advantages = _sampled(args)
    silent = advantages.clone()
    silent[::2] = 0.0
    chosen = replace(args, minibatches=1, max_grad_norm=1e9)
    skipped = _update(chosen, episodes, silent)
    model = counting_policy().model
    reference = counting_policy().model  # with a reference nothing is skipped; its own weight is 0
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    grpo.optimise(chosen, model, reference, optimiser, episodes, silent, 0)
    assert all(torch.allclose(weight, skipped[name], atol=1e-5) for name, weight in model.state_dict().items())


def test_an_observation_longer_than_its_neighbours_is_padded_and_masked() -> None:
    short = Trajectory("a", [Turn("o", "x", [1, 2], [7], [-0.5])])
    long = Trajectory("b", [Turn("o", "x", [1, 2, 3, 4], [8, 4], [-0.1, -0.2])])
    rows = credited_rows([long, short], torch.tensor([[2.0], [-1.0]], dtype=torch.float64))
    [batch] = microbatches(rows, 100, torch.device("cpu"))
    assert batch.ids.tolist() == [[1, 2, 7, 0, 0, 0], [1, 2, 3, 4, 8, 4]]
    assert batch.mask.tolist() == [[False, False, True, *[False] * 3], [*[False] * 4, True, True]]
    assert batch.advantages.tolist() == [[0, 0, -1, 0, 0, 0], [0, 0, 0, 0, 2, 2]]
    assert [len(piece.ids) for piece in microbatches(rows, 1, torch.device("cpu"))] == [1, 1]


def test_tasks_of_an_update_differ_and_repeat_in_any_process(args: grpo.Args) -> None:
    ids = CountingEnv().task_set.ids("train")
    first = grpo.plan(args, ids, 3)
    assert first == grpo.plan(args, ids, 3) != grpo.plan(args, ids, 4)
    assert len({request.task_id for request in first}) == args.groups
    assert len({request.seed for request in first}) == len(first)
    assert {len({r.task_id for r in first if r.group_id == group}) for group in {r.group_id for r in first}} == {1}


# -- resume -----------------------------------------------------------------------------------------------------------


def test_stopped_and_resumed_a_run_has_the_numbers_of_one_that_was_not(args: grpo.Args) -> None:
    straight = replace(args, out=args.out / "straight", updates=5)
    grpo.main(straight)
    parts = replace(args, out=args.out / "parts", resume=True)
    for updates in (2, 3, 5, 5):
        grpo.main(replace(parts, updates=updates))
    assert _numbers(parts.out) == _numbers(straight.out)
    assert _same(_weights(parts.out), _weights(straight.out))


def test_what_was_logged_after_the_checkpoint_is_not_counted_twice(tmp_path: Path) -> None:
    with RunLog(tmp_path, tensorboard=False) as log:
        log.write(0, {"a": 1.0})
        offset = log.offset
        log.write(1, {"a": 2.0})
    with (tmp_path / "metrics.jsonl").open("a") as out:
        out.write('{"step": 2, "a"')  # cut by a crash
    assert [line["step"] for line in read_metrics(tmp_path)] == [0, 1]
    with RunLog(tmp_path, offset=offset, tensorboard=False) as log:
        log.write(1, {"a": 3.0})
    assert read_metrics(tmp_path) == [{"step": 0, "a": 1.0}, {"step": 1, "a": 3.0}]
    with pytest.raises(CheckpointError, match="cut"):
        RunLog(tmp_path, offset=10_000, tensorboard=False)


def test_tensorboard_holds_the_same_numbers(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with RunLog(tmp_path) as log:
        log.write(0, {"charts/a": 1.0})
        offset = log.offset
        log.write(1, {"charts/a": 2.0})
    with RunLog(tmp_path, offset=offset, step=1) as log:
        log.write(1, {"charts/a": 3.0})
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("charts/a")] == [(0, 1.0), (1, 3.0)]


def _start(args: grpo.Args) -> subprocess.Popen[bytes]:
    script = (
        "import sys; from pathlib import Path; from tests.counting import register; register()\n"
        "from agentenv.baselines import grpo\n"
        "from pathlib import PosixPath\n"
        f"sys.exit(grpo.main(grpo.{args!r}))"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": str(random.randrange(1000))}
    return subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment)


def _wait_for_lines(process: subprocess.Popen[bytes], out: Path, lines: int) -> None:
    deadline = time.monotonic() + 120
    while len(read_metrics(out)) < lines and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def _run_stopping(args: grpo.Args, number: int, stop: Callable[[subprocess.Popen[bytes]], None]) -> None:
    """Stops the run a random moment after each of so many points on its way, then lets it end."""
    for lines in range(number):
        process = _start(args)
        _wait_for_lines(process, args.out, 3 * (lines + 1))
        time.sleep(random.random() * 0.3)
        stop(process)
        process.wait(60)
    last = _start(args)
    assert last.wait(120) == 0


@pytest.mark.slow
def test_killed_at_random_moments_a_run_resumes_to_the_same_bits(args: grpo.Args) -> None:
    straight = replace(args, out=args.out / "straight", updates=14, groups=8, group_size=8, kl_coef=0.01)
    grpo.main(straight)
    killed = replace(straight, out=args.out / "killed", resume=True)
    _run_stopping(killed, 3, lambda process: process.kill())
    assert _numbers(killed.out) == _numbers(straight.out)
    assert _same(_weights(killed.out), _weights(straight.out))


@pytest.mark.slow
def test_killed_at_random_moments_a_run_on_the_real_terminal_resumes_to_the_same_bits(tmp_path: Path) -> None:
    # The warm start's commands in these families have no pipelines, whose stages may complain in either order.
    straight = grpo.Args(
        out=tmp_path / "straight",
        env="agentenv/Terminal-v0",
        env_kwargs='{"families": ["links", "permissions"], "difficulty": "easy", "max_turns": 3}',
        updates=8,
        groups=4,
        group_size=8,
        microbatch_tokens=1024,
        save_every=2,
        tensorboard=False,
    )
    grpo.main(straight)
    killed = replace(straight, out=tmp_path / "killed", resume=True)
    _run_stopping(killed, 2, lambda process: process.kill())
    numbers = _numbers(straight.out)
    assert any(line["losses/grad_norm"] > 0 for line in numbers)
    assert _numbers(killed.out) == numbers
    assert _same(_weights(killed.out), _weights(straight.out))


@pytest.mark.slow
def test_ctrl_c_saves_closes_and_exits_130(args: grpo.Args) -> None:
    straight = replace(args, out=args.out / "straight", updates=14, groups=8, group_size=8, save_every=100)
    grpo.main(straight)
    stopped = replace(straight, out=args.out / "stopped", resume=True)
    process = _start(stopped)
    _wait_for_lines(process, stopped.out, 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    saved = Checkpoints(stopped.out / "checkpoints").latest()
    assert saved is not None
    assert saved["done"] >= 3
    assert _start(stopped).wait(120) == 0
    assert _numbers(stopped.out) == _numbers(straight.out)


def test_a_ctrl_c_during_an_update_waits_for_its_end(args: grpo.Args, monkeypatch: pytest.MonkeyPatch) -> None:
    optimise = grpo.optimise

    def interrupted(*given: Any) -> dict[str, float]:
        if given[-1] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return optimise(*given)

    monkeypatch.setattr(grpo, "optimise", interrupted)
    assert grpo.main(replace(args, save_every=100)) == 130
    saved = Checkpoints(args.out / "checkpoints").latest()
    assert saved is not None
    assert (saved["done"], len(_numbers(args.out))) == (3, 3)
    monkeypatch.setattr(grpo, "optimise", optimise)
    straight = replace(args, out=args.out / "straight", save_every=100)
    grpo.main(straight)
    grpo.main(replace(args, save_every=100, resume=True))
    assert _numbers(args.out) == _numbers(straight.out)


# -- other engines ----------------------------------------------------------------------------------------------------


def test_a_transformers_model_gives_the_same_logprobs_as_the_tiny_one(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    policy = counting_policy()
    policy.save(tmp_path)
    twin = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    args = grpo.Args(groups=2, group_size=2, max_tokens=3)
    episodes, advantages = _sampled(args)
    rows = credited_rows(episodes, advantages)
    for batch in microbatches(rows, 10_000, torch.device("cpu")):
        ours = grpo.model_logprobs(policy.model, batch, 1.0)
        assert torch.allclose(ours, grpo.model_logprobs(twin, batch, 1.0), atol=1e-4)
        assert torch.allclose(ours, batch.logprobs, atol=1e-4)  # as sampled
