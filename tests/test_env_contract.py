from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from typing import ClassVar

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv import Check, GraderData, Progress, Reply, Task
from agentenv.actions import InvalidAction
from agentenv.env import INFO_KEYS
from agentenv.errors import (
    ClosedEnvironmentError,
    ConfigurationError,
    EpisodeOverError,
    GraderError,
    InfrastructureError,
    ResetNeededError,
    SnapshotError,
    UnknownTaskError,
)
from tests.helpers.keys import ENV_ID, KeysEnv, KeyTasks
from tests.helpers.replay import play_out

ONE, TWO, FOUR = "keys-train-0", "keys-train-1", "keys-train-3"


def started(task_id=TWO, **kwargs):
    env = KeysEnv(**kwargs)
    env.reset(seed=0, options={"task_id": task_id})
    return env


def oracle(env):
    return env.task_set.oracle(env.task.id)


# -- the info schema ------------------------------------------------------------------------------------------------

ACTIONS = st.one_of(
    st.builds("set {} {}".format, st.sampled_from("abcdz"), st.sampled_from("0123456789")),
    st.builds("del {}".format, st.sampled_from("abcdz")),
    st.sampled_from(["say hello", "submit", "", "nonsense", "set a", "hang", "\ud800"]),
)


@given(number=st.integers(0, 29), actions=st.lists(ACTIONS, max_size=12))
@settings(deadline=None)
def test_every_episode_keeps_the_contract(number, actions):
    env = started(f"keys-train-{number}")
    _, info = env.reset(options={"task_id": f"keys-train-{number}"})
    assert set(info) == set(INFO_KEYS)
    for turn, action in enumerate(actions, 1):
        before = info
        _, reward, terminated, truncated, info = env.step(action)
        assert set(info) == set(INFO_KEYS)
        assert not (terminated and truncated)
        assert info["turn"] == turn <= env.max_turns
        assert 0 <= info["progress"] <= 1
        assert info["progress"] < 1 or all(score == 1 for score in info["checks"].values())
        assert reward == math.fsum(info["reward_parts"].values()) == info["reward_parts"]["outcome"]
        assert reward == float(info["success"])
        assert bool(info["stop_reason"]) == (terminated or truncated)
        assert not info["success"] or terminated
        if not info["valid_action"]:
            same = ("progress", "checks", "state_hash")
            assert [info[key] for key in same] == [before[key] for key in same]
        if terminated or truncated:
            break
        assert turn < env.max_turns


def test_info_objects_are_not_shared_between_calls():
    env = started()
    _, info = env.reset(options={"task_id": TWO})
    info["checks"]["a is set"] = 77.0
    info["reward_parts"]["outcome"] = 77.0
    assert env.step("say x")[4]["checks"]["a is set"] == 0.0
    assert env.step("say x")[4]["reward_parts"] == {"outcome": 0.0}


def test_equal_states_have_equal_hashes_whatever_the_way():
    env = started()
    first = env.step("set a 1")[4]["state_hash"]
    away = env.step("set b 1")[4]["state_hash"]
    assert env.step("del b")[4]["state_hash"] == first != away


# -- endings --------------------------------------------------------------------------------------------------------


def test_submitting_a_solved_task_terminates_with_reward_one():
    env = started()
    *before, last = play_out(env, oracle(env))
    assert [step[1] for step in before] == [0.0] * len(before)
    assert last[1:4] == (1.0, True, False)
    assert (last[4]["success"], last[4]["stop_reason"], last[4]["progress"]) == (True, "success", 1.0)


def test_submitting_an_unsolved_task_terminates_with_reward_zero():
    _, reward, terminated, truncated, info = started().step("submit")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["success"], info["stop_reason"]) == (False, "submitted")


def test_a_solved_task_goes_on_until_submitted():
    env = started()
    for _, reward, terminated, truncated, info in play_out(env, oracle(env)[:-1]):
        assert (reward, terminated, truncated, info["success"]) == (0.0, False, False, False)
    assert info["progress"] == 1.0


def test_solving_on_the_last_turn_is_terminated_with_reward_one():
    env = started(max_turns=2)
    last = play_out(env, oracle(env)[:-1])[-1]
    assert last[1:4] == (1.0, True, False)
    assert last[4]["stop_reason"] == "success"


def test_the_turn_limit_truncates_and_keeps_the_progress():
    env = started(max_turns=2)
    first = env.step(oracle(env)[0])
    _, reward, terminated, truncated, info = env.step("say hello")
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_turns")
    assert info["progress"] == first[4]["progress"] > 0


def test_submitting_on_the_last_turn_is_terminated():
    assert started(max_turns=1).step("submit")[1:4] == (0.0, True, False)


def test_an_invalid_action_on_the_last_turn_truncates():
    assert started(max_turns=1).step("nonsense")[1:4] == (0.0, False, True)


def test_another_limit_truncates_under_its_own_name():
    _, reward, terminated, truncated, info = started().step("hang")
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "time_limit")


def test_a_success_at_another_limit_counts():
    env = started(ONE)
    env.step(oracle(env)[0])
    _, reward, terminated, truncated, info = env.step("hang")
    assert (reward, terminated, truncated, info["stop_reason"]) == (1.0, True, False, "success")


class OnlySubmittedCounts(KeysEnv):
    grades_unsubmitted = False


def test_where_the_unsubmitted_is_not_graded_a_limit_truncates_even_a_solved_state():
    env = OnlySubmittedCounts(max_turns=1)
    env.reset(options={"task_id": ONE})
    _, reward, terminated, truncated, info = env.step(oracle(env)[0])
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert info["progress"] == 1.0


class Graded(KeysEnv):
    def outcome(self, progress: Progress) -> float:
        return progress.value


def test_a_graded_outcome_is_paid_at_the_end_only_and_never_at_a_limit():
    env = Graded(max_turns=3)
    env.reset(options={"task_id": FOUR})
    assert env.step(oracle(env)[0])[1] == 0.0
    _, reward, terminated, _, info = env.step("submit")
    assert (reward, info["reward_parts"], terminated) == (info["progress"], {"outcome": reward}, True)
    assert 0 < reward < 1
    env.reset(options={"task_id": FOUR})
    assert play_out(env, [oracle(env)[0], "say a", "say b"])[-1][1:4] == (0.0, False, True)


# -- misuse ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", [lambda e: e.step("x"), lambda e: e.verify(), lambda e: e.snapshot(), lambda e: e.task]
)
def test_nothing_works_before_reset_or_after_close(call):
    env = KeysEnv()
    with pytest.raises(ResetNeededError, match=r"reset\(\)"):
        call(env)
    env.reset(seed=0)
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        call(env)


@pytest.mark.parametrize("last", ["submit", "hang"])
def test_step_after_the_end_is_refused_and_reset_recovers(last):
    env = started()
    env.step(last)
    with pytest.raises(EpisodeOverError, match=TWO):
        env.step("say x")
    env.reset(seed=1)
    assert env.step("say x")[4]["turn"] == 1


def test_close_is_idempotent_and_final():
    env = started()
    snapshot = env.snapshot()
    env.close()
    env.close()
    assert env.releases == 1
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
    with pytest.raises(ClosedEnvironmentError):
        env.restore(snapshot)


def test_close_of_a_half_built_environment_is_harmless():
    KeysEnv.__new__(KeysEnv).close()


class FailsToBegin(KeysEnv):
    def begin(self, task, rng):
        if task.id == TWO:
            raise InfrastructureError("no sandbox today")
        return super().begin(task, rng)


def test_a_start_that_failed_leaves_no_episode_to_step():
    env = FailsToBegin()
    env.reset(options={"task_id": ONE})
    with pytest.raises(InfrastructureError):
        env.reset(options={"task_id": TWO})
    with pytest.raises(ResetNeededError):
        env.step("say x")


@pytest.mark.parametrize("kwargs", [{"split": "dev"}, {"max_turns": 0}, {"max_bytes": 0}, {"render_mode": "human"}])
def test_bad_constructor_arguments_are_named(kwargs):
    with pytest.raises(ConfigurationError, match=str(next(iter(kwargs.values())))):
        KeysEnv(**kwargs)


@pytest.mark.parametrize("action", [3, b"set a 1", None, ["set a 1"]])
def test_an_action_that_is_not_text_is_the_callers_error(action):
    with pytest.raises(ConfigurationError, match="str"):
        started().step(action)


# -- hostile actions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("\ud800", "surrogates"),
        ("set a \udfff", "surrogates"),
        ("x" * 200, "200 bytes"),
        ("日" * 50, "150 bytes"),
        (InvalidAction("no block. Reply with one."), "no block. Reply with one."),
        ("", "Reply with"),
    ],
)
def test_an_invalid_action_is_an_observation_and_costs_a_turn(action, told):
    env = started(max_bytes=128)
    before = env.step("set a 1")[4]
    observation, reward, terminated, truncated, info = env.step(action)
    assert told in observation
    assert observation in env.observation_space
    assert (reward, terminated, truncated, info["valid_action"]) == (0.0, False, False, False)
    assert info["turn"] == 2
    assert [info[key] for key in ("progress", "checks", "state_hash")] == [
        before[key] for key in ("progress", "checks", "state_hash")
    ]
    assert env.state == {"a": "1"}


# -- verification ---------------------------------------------------------------------------------------------------


def test_an_unchanged_state_is_not_verified_again():
    env = started()
    assert env.views == 1
    env.step("say hello")
    env.step("nonsense")
    assert env.views == 1
    env.step("set a x")
    assert env.views == 2
    env.step("set a x")
    assert env.views == 2


def test_each_episode_verifies_its_own_start():
    env = started(ONE)
    env.step("set a 1")
    _, info = env.reset(options={"task_id": FOUR})
    assert set(info["checks"]) == {"a is set", "b is set", "c is set", "d is set", "nothing else"}


def test_a_start_state_that_was_verified_before_is_not_verified_again():
    env = started(ONE)
    first = env.reset(options={"task_id": ONE})[1]
    assert env.views == 1
    env.step("set a 1")
    assert env.views == 2
    assert env.reset(options={"task_id": ONE})[1] == first
    assert env.views == 2


def test_a_task_that_starts_in_another_state_is_verified_anew(monkeypatch):
    env = started(ONE)
    begin = type(env).begin

    def begin_further(self, task, rng):
        text = begin(self, task, rng)
        self.state = {"a": "1"}
        return text

    monkeypatch.setattr(type(env), "begin", begin_further)
    assert env.reset(options={"task_id": ONE})[1]["progress"] > 0


def test_few_start_states_are_remembered(monkeypatch):
    monkeypatch.setattr("agentenv.env._REMEMBERED_STARTS", 1)
    env = started(ONE)
    for task_id in (FOUR, ONE, ONE, FOUR):
        env.reset(options={"task_id": task_id})
    assert env.views == 4


def test_verify_is_repeatable_and_leaves_no_trace():
    env = started()
    info = env.step(oracle(env)[0])[4]
    state = dict(env.state)
    first, second = env.verify(), env.verify()
    assert first == second
    assert (first.value, first.checks) == (info["progress"], info["checks"])
    assert env.state == state
    assert env.step("say x")[4]["turn"] == 2


class CrashingGrader(KeysEnv):
    def checks(self):
        return [Check("bad", 1, lambda view: view["nothing"] if self.state else 0.0)]


def test_a_grader_that_crashes_is_a_platform_failure():
    env = CrashingGrader()
    env.reset(seed=0)
    with pytest.raises(GraderError, match="'bad' crashed: KeyError"):
        env.step("set a 1")


def test_a_lost_sandbox_is_a_platform_failure_and_reset_recovers():
    env = started()
    with pytest.raises(InfrastructureError):
        env.step("crash")
    env.reset(seed=0)
    assert env.step("say x")[4]["turn"] == 1


# -- choosing tasks -------------------------------------------------------------------------------------------------

_CHOOSE = """
from tests.helpers.keys import KeysEnv
env = KeysEnv()
for seed in (5, 6, None, None, 5):
    observation, info = env.reset(seed=seed)
    print(info["task_id"], observation, info["state_hash"], info["checks"])
"""


def test_a_seed_gives_the_same_tasks_in_any_process():
    outputs = set()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", _CHOOSE], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    [lines] = [output.splitlines() for output in outputs]
    assert lines[0] == lines[4]
    assert len(set(lines)) > 2


def test_seeds_choose_among_all_tasks_of_the_split():
    env = KeysEnv(split="val")
    chosen = {env.reset(seed=seed)[1]["task_id"] for seed in range(60)}
    assert len(chosen) > 15
    assert chosen <= set(env.task_set.ids("val"))


def test_the_task_is_the_named_one_of_any_split_whatever_the_seed():
    env = KeysEnv(split="train")
    starts = [env.reset(seed=seed, options={"task_id": "keys-test-7"}) for seed in (0, 1, None)]
    assert starts[0] == starts[1] == starts[2]
    assert starts[0][1]["task_id"] == "keys-test-7"


def test_an_unknown_task_is_refused_with_the_nearest():
    env = KeysEnv()
    with pytest.raises(UnknownTaskError, match=r"Did you mean 'keys-train-\d+'\?"):
        env.reset(options={"task_id": "key-train-3"})
    with pytest.raises(UnknownTaskError, match="3"):
        env.reset(options={"task_id": 3})


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigurationError, match="task"):
        KeysEnv().reset(options={"task": ONE})


# -- snapshots of a bare environment --------------------------------------------------------------------------------


@given(before=st.lists(ACTIONS, max_size=3), after=st.lists(ACTIONS, max_size=8))
@settings(deadline=None)
def test_restored_and_forked_episodes_continue_as_the_original(before, after):
    env = started(FOUR)
    if any(step[2] or step[3] for step in play_out(env, before)):
        return
    snapshot, twin = env.snapshot(), env.fork()
    original = play_out(env, after)
    assert play_out(twin, after) == original
    for _ in range(2):
        env.restore(snapshot)
        assert play_out(env, after) == original
    assert twin.reset() == env.reset()


def test_a_snapshot_of_another_kind_or_task_set_is_refused():
    class Other(KeysEnv):
        pass

    other = Other()
    other.reset(seed=0)
    with pytest.raises(SnapshotError, match="Other"):
        started().restore(other.snapshot())

    class FewTasks(KeyTasks):
        def ids(self, split):
            return super().ids(split)[:2]

    few = KeysEnv()
    few.task_set = FewTasks()
    snapshot = started(FOUR).snapshot()
    with pytest.raises(SnapshotError, match=FOUR):
        few.restore(snapshot)


def test_an_environment_that_does_not_record_its_arguments_cannot_be_forked():
    env = started()
    del env._saved_kwargs
    with pytest.raises(SnapshotError, match="RecordConstructorArgs"):
        env.fork()


class CannotLoad(KeysEnv):
    made: ClassVar[list[KeysEnv]] = []

    def load(self, saved):
        CannotLoad.made.append(self)
        raise InfrastructureError("no room")


def test_a_fork_that_fails_closes_the_twin():
    env = CannotLoad()
    env.reset(seed=0)
    with pytest.raises(InfrastructureError):
        env.fork()
    assert [twin.releases for twin in CannotLoad.made] == [1]
    assert env.step("say x")[4]["turn"] == 1


# -- Gymnasium ------------------------------------------------------------------------------------------------------


def test_the_gymnasium_checker_passes_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(ENV_ID)
        check_env(env.unwrapped)
        env.close()


def test_render_shows_the_last_observation_and_the_checks():
    assert started(ONE).render() is None
    env = started(ONE, render_mode="ansi")
    assert env.render() == "\n".join([env.task.instruction, "[ ] a is set", "[ ] nothing else"])
    observation = env.step(oracle(env)[0])[0]
    assert env.render() == "\n".join([observation, "[x] a is set", "[x] nothing else"])


def test_a_reply_is_by_default_a_valid_turn_that_ends_nothing():
    assert Reply("x") == Reply("x", done=False, valid=True, stop_reason="", truncated=False)


def test_what_a_task_shows_holds_nothing_of_its_grader():
    task = KeyTasks().task(ONE)
    assert Task.from_json(task.to_json()) == task
    assert "is set" not in repr(task)
    assert isinstance(KeyTasks().grader(ONE), GraderData)
