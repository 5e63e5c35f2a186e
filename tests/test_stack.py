"""`agentenv.snapshot`, `restore` and `fork` keep a whole wrapper stack, or refuse it by the wrapper's name."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import Autoreset, OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers import TransformReward as GymTransformReward

import agentenv
from agentenv.errors import EpisodeOverError, InfrastructureError, SnapshotError
from agentenv.stack import wrappers_of
from tests.helpers.keys import ENV_ID, KeysEnv
from tests.helpers.replay import play_out

TASK = {"task_id": "keys-train-3"}
ACTIONS = ["set a 1", "say x", "nonsense", "set b 2", "del a", "submit"]


class Counts(gym.Wrapper[str, str, str, str], RecordConstructorArgs):
    """A third-party wrapper with state that joins in."""

    def __init__(self, env: gym.Env[str, str], start: int = 0) -> None:
        RecordConstructorArgs.__init__(self, start=start)
        gym.Wrapper.__init__(self, env)
        self.count = start

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.count += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) + self.count, terminated, truncated, info

    def save(self) -> int:
        return self.count

    def load(self, saved: int) -> None:
        self.count = saved


class Silent(gym.Wrapper[str, str, str, str], RecordConstructorArgs):
    """A wrapper that says nothing of its state."""

    def __init__(self, env: gym.Env[str, str]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)


class DeclaredStateless(Silent):
    stateless = True


class StatefulHeir(DeclaredStateless):
    """An heir may have added state: it has to declare for itself."""


class TransformReward(Silent):
    """The name of a known stateless wrapper is not enough."""


class Unrecorded(gym.Wrapper[str, str, str, str]):
    stateless = True


def stack(**kwargs: Any) -> gym.Env[str, str]:
    env = Counts(gym.make(ENV_ID, **kwargs), start=10)
    env.reset(seed=3, options=TASK)
    return env


@pytest.mark.parametrize("played", range(3))
def test_forks_and_restored_stacks_continue_as_the_original(played: int) -> None:
    env = stack(max_episode_steps=5)
    assert [type(w) for w in wrappers_of(env)] == [Counts, TimeLimit, OrderEnforcing, PassiveEnvChecker]
    play_out(env, ACTIONS[:played])
    kept, twin = agentenv.snapshot(env), agentenv.fork(env)
    original = play_out(env, ACTIONS[played:])
    assert [step[1] for step in original] == [10.0 + turn for turn in range(played + 1, 6)]
    assert original[-1][2:4] == (False, True), "the time limit counts on from where the snapshot was taken"
    assert play_out(twin, ACTIONS[played:]) == original
    for target in (env, twin, stack(max_episode_steps=5)):
        agentenv.restore(target, kept)
        assert play_out(target, ACTIONS[played:]) == original


def test_a_fork_has_the_same_spec_and_next_task_and_shares_nothing() -> None:
    env = stack()
    twin = agentenv.fork(env)
    assert twin.spec == env.spec
    assert twin.unwrapped is not env.unwrapped
    env.step("set a 1")
    assert twin.unwrapped.state == {}
    assert twin.reset() == env.reset()
    twin.close()
    env.step("say still open")


def test_forks_of_forks_go_on() -> None:
    env = stack()
    for _ in range(20):
        env, old = agentenv.fork(env), env
        old.close()
        env.step("say deeper")
        env.step("set a 1")
        if env.unwrapped._episode.turn >= 6:
            break
    assert env.step("say x")[4]["turn"] == 7


def test_an_ended_episode_restores_as_ended() -> None:
    env = stack()
    env.step("submit")
    kept = agentenv.snapshot(env)
    env.reset(seed=1)
    agentenv.restore(env, kept)
    with pytest.raises(EpisodeOverError):
        env.step("say x")


def test_statistics_and_autoreset_are_kept() -> None:
    env = Autoreset(RecordEpisodeStatistics(gym.make(ENV_ID)))
    env.reset(seed=0, options=TASK)
    env.step("say x")
    twin = agentenv.fork(env)
    for copy in (env, twin):
        assert copy.step("submit")[4]["episode"]["l"] == 2
        forked = agentenv.fork(copy)
        assert forked.step("ignored")[4]["turn"] == 0, "the step after the end resets"


def test_a_kept_state_does_not_change_with_the_live_one() -> None:
    env = RecordEpisodeStatistics(gym.make(ENV_ID))
    env.reset(seed=0, options=TASK)
    kept = agentenv.snapshot(env)
    for _ in range(2):
        env.step("submit")
        assert list(env.length_queue) == [1]
        agentenv.restore(env, kept)
        assert list(env.length_queue) == []


def test_a_transforming_wrapper_of_gymnasium_is_forked_with_its_function() -> None:
    env = GymTransformReward(gym.make(ENV_ID), lambda reward: 100 + reward)
    env.reset(seed=0)
    assert agentenv.fork(env).step("say x")[1] == 100.0


@pytest.mark.parametrize("wrapper", [Silent, StatefulHeir, TransformReward])
@pytest.mark.parametrize("call", [agentenv.snapshot, agentenv.fork])
def test_an_unknown_wrapper_is_refused_by_name(wrapper: type[Silent], call: Any) -> None:
    env = wrapper(gym.make(ENV_ID))
    env.reset(seed=0)
    with pytest.raises(SnapshotError, match=f"{wrapper.__name__}.*stateless = True"):
        call(env)


def test_a_declared_stateless_wrapper_is_forked() -> None:
    env = DeclaredStateless(gym.make(ENV_ID))
    env.reset(seed=0)
    assert isinstance(agentenv.fork(env), DeclaredStateless)


def test_a_wrapper_that_records_no_arguments_can_be_restored_but_not_forked() -> None:
    env = Unrecorded(gym.make(ENV_ID))
    env.reset(seed=0)
    agentenv.restore(env, agentenv.snapshot(env))
    with pytest.raises(SnapshotError, match="Unrecorded must record its arguments"):
        agentenv.fork(env)


def test_a_snapshot_of_another_stack_is_refused() -> None:
    bare = KeysEnv()
    bare.reset(seed=0)
    env = stack()
    with pytest.raises(SnapshotError, match="Counts"):
        agentenv.restore(bare, agentenv.snapshot(env))
    with pytest.raises(SnapshotError, match="Counts"):
        agentenv.restore(env, agentenv.snapshot(bare))
    with pytest.raises(SnapshotError, match=r"agentenv\.restore"):
        bare.restore(agentenv.snapshot(env))


def test_what_is_no_agentenv_cannot_be_kept() -> None:
    env = gym.make("CartPole-v1")
    env.reset(seed=0)
    with pytest.raises(SnapshotError, match="CartPoleEnv is not an AgentEnv"):
        agentenv.snapshot(env)


class FailsToLoad(Counts):
    closed = 0

    def load(self, saved: int) -> None:
        raise InfrastructureError("no room")

    def close(self) -> None:
        FailsToLoad.closed += 1
        super().close()


def test_a_fork_that_fails_on_the_way_up_closes_the_copy() -> None:
    env = FailsToLoad(gym.make(ENV_ID))
    env.reset(seed=0)
    with pytest.raises(InfrastructureError):
        agentenv.fork(env)
    assert FailsToLoad.closed == 1
    assert env.step("say x")[4]["turn"] == 1


def test_a_snapshot_shows_neither_state_nor_grader() -> None:
    kept = agentenv.snapshot(stack())
    assert repr(kept) == "Snapshot(kind='KeysEnv', task_id='keys-train-3')"
    kept.close()
