from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentenv import Trajectory
from agentenv.errors import InfrastructureError, IsolationUnavailableError, SandboxLostError
from agentenv.policy.base import Prompt, Sample, Sampling
from agentenv.policy.scripted import FixedPolicy, OraclePolicy
from agentenv.rollout import Collected, EnvPool, EpisodeRequest, collect, derive_seed
from agentenv.task import stable_rng
from tests.counting import CountingEnv, CountingTasks


def _requests(groups: int = 3, size: int = 4) -> list[EpisodeRequest]:
    ids = CountingTasks().ids("train")
    return [
        EpisodeRequest(ids[group], f"g{group}", derive_seed(7, group, member), member)
        for group in range(groups)
        for member in range(size)
    ]


class SeededPolicy:
    """Samples `+` or `submit` by the prompt's seed; keeps the batches it was asked."""

    name, version, format = "seeded", 3, None

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.released: list[str] = []

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        self.batches.append([prompt.key for prompt in prompts])
        return [Sample("+" if stable_rng(p.seed).random() < 0.7 else "submit") for p in prompts]

    def release(self, keys: Sequence[str]) -> None:
        self.released += keys


def _factory(made: list[CountingEnv], **kwargs: Any) -> Callable[[], CountingEnv]:
    def make() -> CountingEnv:
        made.append(CountingEnv(**kwargs))
        return made[-1]

    return make


def _plain(collected: Collected) -> list[dict[str, Any]]:
    return [trajectory.to_json() for trajectory in collected.trajectories]


def test_records_every_turn_with_what_the_environment_answered() -> None:
    made: list[CountingEnv] = []
    task_id = CountingTasks().ids("train")[1]  # count to 2
    [trajectory] = collect(
        OraclePolicy(CountingTasks()), _factory(made), [EpisodeRequest(task_id, "g", 5)]
    ).trajectories
    assert [turn.action for turn in trajectory.turns] == ["+", "+", "submit"]
    assert [turn.observation for turn in trajectory.turns] == ["count to 2", "1", "2"]
    assert [turn.progress for turn in trajectory.turns] == pytest.approx([2 / 3, 1, 1])
    assert (trajectory.start_progress, trajectory.start_hash) == (pytest.approx(1 / 3), "count:0")
    assert trajectory.start_checks == {"at 1": 0.0, "at 2": 0.0, "not more": 1.0}
    assert [turn.state_hash for turn in trajectory.turns] == ["count:1", "count:2", "count:2"]
    assert (trajectory.success, trajectory.terminated, trajectory.stop_reason) == (True, True, "success")
    assert (trajectory.outcome, trajectory.seed, trajectory.final_observation) == (1.0, 5, "bye")
    assert all(env.released == 1 for env in made)


def test_a_limit_truncates_and_keeps_progress() -> None:
    task_id = CountingTasks().ids("train")[2]
    [trajectory] = collect(FixedPolicy(["+", "?"]), CountingEnv, [EpisodeRequest(task_id)]).trajectories
    assert (trajectory.terminated, trajectory.truncated, trajectory.stop_reason) == (False, True, "max_turns")
    assert (trajectory.outcome, trajectory.final_progress) == (0.0, 0.5)
    assert [turn.valid_action for turn in trajectory.turns] == [True, False, False, False, False]


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize("workers", [1, 3, 50])
def test_samples_depend_on_seeds_not_on_how_episodes_are_batched(workers: int, lockstep: bool) -> None:
    reference = collect(SeededPolicy(), CountingEnv, _requests(), workers=5)
    other = collect(SeededPolicy(), CountingEnv, _requests(), workers=workers, lockstep=lockstep)
    assert _plain(other) == _plain(reference)
    assert len({tuple(turn.action for turn in t.turns) for t in other.trajectories}) > 1


def test_lockstep_batches_repeat_whatever_the_environments_timing() -> None:
    class Slow(CountingEnv):
        def act(self, action: str) -> Any:
            time.sleep(0.001 * (hash(threading.current_thread().name) % 3))
            return super().act(action)

    first, second = SeededPolicy(), SeededPolicy()
    collect(first, CountingEnv, _requests(), workers=5)
    collect(second, Slow, _requests(), workers=5)
    assert first.batches == second.batches


def test_free_running_does_not_wait_for_the_slowest() -> None:
    gate = threading.Event()

    class OneStuck(CountingEnv):
        def act(self, action: str) -> Any:
            if self.task.id == CountingTasks().ids("train")[0] and not gate.wait(20):
                raise AssertionError("the other episodes were held up")
            return super().act(action)

    ended: list[str] = []

    def note(trajectory: Trajectory) -> None:
        ended.append(trajectory.task_id)
        if len(ended) == 3:
            gate.set()

    requests = [EpisodeRequest(task_id) for task_id in CountingTasks().ids("train")[:4]]
    collect(FixedPolicy(["+", "submit"]), OneStuck, requests, workers=4, lockstep=False, on_episode=note)
    assert ended[-1] == requests[0].task_id


def test_platform_failure_is_retried_in_a_new_environment() -> None:
    made: list[CountingEnv] = []

    class FailsOnce(CountingEnv):
        def act(self, action: str) -> Any:
            if len(made) == 1:
                raise SandboxLostError("gone")
            return super().act(action)

    def make() -> CountingEnv:
        made.append(FailsOnce())
        return made[-1]

    collected = collect(FixedPolicy(["+", "submit"]), make, _requests(1, 1))
    assert collected.stats.retries == 1
    assert not collected.failures
    assert [turn.action for turn in collected.trajectories[0].turns] == ["+", "submit"]
    assert [env.released for env in made] == [1, 1]


def test_an_episode_that_keeps_failing_is_counted_and_its_group_goes_on() -> None:
    class Killer:
        name, version, format = "killer", 0, None

        def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
            bad = derive_seed(derive_seed(7, 0, 2), 0)
            return [Sample("crash" if p.seed == bad else "submit") for p in prompts]

        def release(self, keys: Sequence[str]) -> None:
            pass

    made: list[CountingEnv] = []
    collected = collect(Killer(), _factory(made), _requests(2, 4), retries=1, workers=2)
    [failure] = collected.failures
    assert (failure.request.group_id, failure.request.index, failure.attempts) == ("g0", 2, 2)
    assert "SandboxLostError" in failure.error
    assert [(t.group_id, t.meta["index"]) for t in collected.trajectories] == [
        ("g0", 0), ("g0", 1), ("g0", 3), ("g1", 0), ("g1", 1), ("g1", 2), ("g1", 3),
    ]  # fmt: skip
    assert collected.stats.failures == 1
    assert all(env.released == 1 for env in made)


def test_a_group_whose_start_states_differ_is_a_platform_failure() -> None:
    serial = iter(range(100))

    class Drifting(CountingEnv):
        def begin(self, task: Any, rng: Any) -> str:
            text = super().begin(task, rng)
            self.count = next(serial)
            return text

    collected = collect(FixedPolicy(["submit"]), Drifting, _requests(1, 2), retries=0, workers=1)
    assert len(collected.trajectories) == 1
    assert "start state does not repeat" in collected.failures[0].error


def test_a_host_that_cannot_isolate_stops_the_run() -> None:
    class Forbidden(CountingEnv):
        def begin(self, task: Any, rng: Any) -> str:
            raise IsolationUnavailableError("kernel.unprivileged_userns_clone=0")

    with pytest.raises(IsolationUnavailableError):
        collect(FixedPolicy(["submit"]), Forbidden, _requests(1, 1))


@pytest.mark.parametrize("raised", [KeyboardInterrupt, InfrastructureError])
def test_environments_are_closed_when_collecting_is_interrupted(raised: type[BaseException]) -> None:
    class Interrupting(SeededPolicy):
        def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
            if len(self.batches) == 2:
                raise raised("now")
            return super().act(prompts, sampling)

    made: list[CountingEnv] = []
    before = threading.active_count()
    policy = Interrupting()
    with pytest.raises(raised):
        collect(policy, _factory(made), _requests(), workers=4)
    assert made
    assert all(env.released == 1 for env in made)
    assert threading.active_count() == before
    assert policy.released


def test_a_pool_keeps_its_environments_between_calls() -> None:
    made: list[CountingEnv] = []
    with EnvPool(_factory(made), 2) as pool:
        for _ in range(3):
            collect(FixedPolicy(["submit"]), pool, _requests(2, 2))
        assert len(made) == 2
        assert not any(env.released for env in made)
    assert all(env.released == 1 for env in made)


def test_no_requests_make_no_environment() -> None:
    made: list[CountingEnv] = []
    assert collect(FixedPolicy(["submit"]), _factory(made), []).trajectories == []
    assert not made
