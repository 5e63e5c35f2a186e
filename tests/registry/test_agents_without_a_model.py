"""Oracle 1, no-op 0, random near 0, and a sensible agent that takes no care in between: on every split."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from agentenv.errors import ConfigurationError
from agentenv.evaluation.environments import base_of, make_env
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.results import Results
from agentenv.policy.loading import load_policy
from agentenv.registration import ENV_IDS
from agentenv.task import SPLITS

SEARCH, SHOP, TERMINAL = "agentenv/Search-v0", "agentenv/WebShop-v0", "agentenv/Terminal-v0"
# A search is right or wrong, a purchase is graded: fewer of these tell.
TASKS = {SEARCH: 36, SHOP: 15}
NEAR_ZERO = 0.05


def play(name: str, env_id: str, kwargs: dict[str, Any], split: str, tasks: int) -> Results:
    env = make_env(env_id, {**kwargs, "split": split})
    try:
        base = base_of(env)
        policy = load_policy(name, task_set=base.task_set, scripts=base.scripts)
    finally:
        env.close()
    return evaluate(policy, env_id, env_kwargs=kwargs, split=split, tasks=tasks, workers=2)


def score(results: Results) -> float:
    assert not results.failures
    return fmean(record.outcome for record in results.records)


def assert_in_between(env_id: str, kwargs: dict[str, Any], split: str) -> None:
    assert score(play("random", env_id, kwargs, split, TASKS[env_id])) < NEAR_ZERO
    careless = play("careless", env_id, kwargs, split, TASKS[env_id])
    assert 0 < score(careless) < 0.8
    assert 0.2 < fmean(record.progress[-1] for record in careless.records) < 0.8
    assert all(all(record.valid) for record in careless.records)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    ("env_id", "kwargs"), [(SEARCH, {}), (SHOP, {"reward": "strict"}), (SHOP, {"reward": "original"})], ids=str
)
def test_care_is_what_tells_agents_apart(env_id: str, kwargs: dict[str, Any], split: str) -> None:
    assert score(play("oracle", env_id, kwargs, split, TASKS[env_id])) == 1.0
    assert score(play("noop", env_id, kwargs, split, TASKS[env_id])) == 0.0
    assert_in_between(env_id, kwargs, split)


@pytest.mark.parametrize("observation", ["compact", "text_rich", "html", "react"])
def test_care_tells_them_apart_in_every_observation(observation: str) -> None:
    if observation == "compact":
        assert_in_between(SEARCH, {"observation": observation}, "test")
    assert_in_between(SHOP, {"observation": observation}, "test")


@pytest.mark.parametrize("env_id", sorted(ENV_IDS))
def test_no_op_and_random_agents_play_every_environment(env_id: str) -> None:
    for name in ("noop", "random"):
        results = play(name, env_id, {"max_turns": 4}, "test", 3)
        assert score(results) == 0.0
        assert len(results.records) == 3


def test_an_environment_without_a_careless_agent_says_so() -> None:
    with pytest.raises(ConfigurationError, match="no careless agent"):
        play("careless", TERMINAL, {}, "test", 1)
