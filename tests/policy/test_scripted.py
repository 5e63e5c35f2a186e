from __future__ import annotations

import subprocess
import sys

import pytest

from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.policy import Policy, Prompt, Sampling
from agentenv.policy.loading import load_policy
from agentenv.policy.scripted import CarelessPolicy, OraclePolicy, RandomPolicy
from agentenv.scripts import Scripts
from agentenv.trajectory import Trajectory, Turn, write_trajectories


class Solutions:
    def oracle(self, task_id):
        return {"a": ["mkdir x", "submit"], "b": ["submit"]}[task_id]


def text(policy, **prompt):
    [sample] = policy.act([Prompt("e", **prompt)], Sampling())
    return sample.text


def test_oracle_plays_its_tasks_solution_turn_by_turn():
    policy = OraclePolicy(Solutions())
    assert [text(policy, task_id="a", turn=turn) for turn in range(3)] == ["mkdir x", "submit", "submit"]
    assert text(policy, task_id="b") == "submit"


SCRIPTS = Scripts("nothing", lambda seen, rng: f"{seen}?", lambda first, seen: f"{first}>{seen}")


@pytest.mark.parametrize("name", ["oracle", "noop", "random", "careless", "fixed:ls"])
def test_scripted_policies_are_policies_without_a_format(name):
    policy = load_policy(name, task_set=Solutions(), scripts=SCRIPTS)
    assert isinstance(policy, Policy)
    assert policy.format is None
    assert policy.name == name
    policy.release(["e"])


def test_agents_without_a_model_act_as_their_environment_has_it():
    acted = [text(load_policy(name, scripts=SCRIPTS), observation="seen") for name in ("noop", "random", "careless")]
    assert acted == ["nothing", "seen?", "seen>seen"]
    assert text(load_policy("noop")) == "submit"


def test_a_careless_agent_knows_the_first_observation_of_each_episode_until_it_ends():
    policy = CarelessPolicy(SCRIPTS)

    def act(key, observation, turn):
        return policy.act([Prompt(key, observation=observation, turn=turn)], Sampling())[0].text

    assert [act("a", "one", 0), act("b", "two", 0), act("a", "three", 1)] == ["one>one", "two>two", "one>three"]
    policy.release(["a"])
    assert [act("a", "four", 1), act("b", "five", 1)] == [">four", "two>five"]


def test_random_repeats_in_another_process_and_differs_by_seed_and_turn():
    prompts = [Prompt("e", observation="make a/b", seed=seed, turn=turn) for seed in (1, 2) for turn in (0, 1)]
    here = [sample.text for sample in RandomPolicy().act(prompts, Sampling())]
    code = (
        "from agentenv.policy import *; from agentenv.policy.scripted import RandomPolicy\n"
        "prompts = [Prompt('e', observation='make a/b', seed=s, turn=t) for s in (1, 2) for t in (0, 1)]\n"
        "print([s.text for s in RandomPolicy().act(prompts, Sampling())])"
    )
    env = {"PYTHONHASHSEED": "77", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, timeout=60)
    assert done.stdout.strip() == str(here)
    assert len(set(here)) > 2


def test_replay_plays_recorded_actions(tmp_path):
    path = tmp_path / "t.jsonl"
    write_trajectories(
        path, [Trajectory("a", [Turn("o", "ls"), Turn("p", "submit")]), Trajectory("a", [Turn("o", "x")])]
    )
    policy = load_policy(f"replay:{path}")
    assert [text(policy, task_id="a", turn=turn) for turn in range(3)] == ["ls", "submit", "submit"]
    with pytest.raises(UnknownTaskError, match="no recorded episode"):
        text(policy, task_id="b")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orcale", "Did you mean 'oracle'"),
        ("", "not known"),
        ("hf", "not complete"),
        ("hf:", "not complete"),
        ("tiny:", "not complete"),
        ("noop:x", "not complete"),
        ("replay:/nowhere.jsonl", "no such file"),
        ("tiny:/nowhere", "no tiny policy"),
        ("oracle", "task_set"),
        ("careless", "no careless agent"),
    ],
)
def test_bad_names_are_refused_with_the_fix(name, message):
    with pytest.raises(ConfigurationError, match=message):
        load_policy(name)


def test_options_of_a_policy_that_takes_none_are_refused():
    with pytest.raises(ConfigurationError, match="device"):
        load_policy("noop", device="cuda")
