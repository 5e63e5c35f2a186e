"""What `make train` runs on each environment: the shipped warm start is what the preset says it is."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from agentenv.baselines.main_job import default_args, evaluation_jobs, training_args
from agentenv.baselines.prepare import parse_env_kwargs, split_ids
from agentenv.baselines.presets import PRESETS
from agentenv.policy.loading import shipped_warm_start

ENVS = sorted(PRESETS)


@pytest.mark.parametrize("env", ENVS)
def test_the_shipped_warm_start_was_made_as_the_preset_says(env: str) -> None:
    preset = PRESETS[env]
    directory = shipped_warm_start(preset.policy.partition(":")[2])
    made = json.loads((directory / "training.json").read_text(encoding="utf-8"))
    assert made.pop("demonstrations") > 0
    wanted = json.loads(json.dumps({**asdict(preset.warm), "out": made["out"]}))
    assert made == wanted
    assert sum(path.stat().st_size for path in directory.iterdir()) < 3 << 20


@pytest.mark.parametrize("env", ENVS)
def test_training_and_evaluation_use_the_limits_of_the_warm_start(env: str) -> None:
    preset = PRESETS[env]
    args = default_args(env)
    base = training_args(args)
    assert base == replace(preset.arms, env=env)
    for name in ("env", "max_prompt_tokens", "max_observation_tokens"):
        assert getattr(base, name) == getattr(preset.warm, name)
    assert base.max_observation_tokens is not None
    assert base.max_observation_tokens < 300
    jobs = evaluation_jobs(args, base, {"warm-start": preset.policy})
    assert jobs["test", "warm-start"].total == preset.test_tasks >= 200
    for flag in (f"--max-prompt-tokens={base.max_prompt_tokens}", f"--env={env}"):
        assert flag in jobs["test", "warm-start"].flags


@pytest.mark.parametrize("env", ENVS)
def test_training_never_sees_a_task_that_is_evaluated(env: str) -> None:
    preset = PRESETS[env]
    kwargs = parse_env_kwargs(preset.arms.env_kwargs)
    seen = set(split_ids(env, kwargs, "train"))
    assert len(seen) >= preset.arms.groups
    for split in ("val", "test"):
        assert seen.isdisjoint(split_ids(env, kwargs, split))
