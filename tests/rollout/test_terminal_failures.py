"""Must hold 7, on real sandboxes: one killed in mid-episode is the platform's failure, and nobody trains on it."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import gymnasium as gym
import pytest

import agentenv  # noqa: F401
from agentenv.errors import IsolationUnavailableError
from agentenv.policy.scripted import FixedPolicy
from agentenv.rollout import EpisodeRequest, collect


class KilledInMidEpisode(gym.Wrapper[str, str, str, str]):
    """Kills the sandbox from outside before the second turn, so many times in all."""

    lock = threading.Lock()
    kills = 0

    def step(self, action: str) -> Any:
        with self.lock:
            kill = action == "pwd" and type(self).kills > 0
            type(self).kills -= kill
        if kill:
            base: Any = self.env.unwrapped
            os.kill(base.sandbox.session().box.process.pid, signal.SIGKILL)
        return super().step(action)


@pytest.mark.parametrize(("kills", "failures"), [(1, 0), (4, 2)])
def test_a_sandbox_killed_in_mid_episode_is_played_again_or_left_out(kills: int, failures: int) -> None:
    KilledInMidEpisode.kills = kills
    ids = gym.make("agentenv/Terminal-v0", difficulty="easy").unwrapped.task_set.ids("train")  # type: ignore[attr-defined]
    requests = [EpisodeRequest(ids[0], "g", seed, seed) for seed in range(4)]

    def make() -> gym.Env[str, str]:
        return KilledInMidEpisode(gym.make("agentenv/Terminal-v0", difficulty="easy", disable_env_checker=True))

    try:
        collected = collect(FixedPolicy(["echo hello", "pwd", "submit"]), make, requests, workers=1, retries=1)
    except IsolationUnavailableError as error:
        pytest.skip(f"no isolation here: {error}")
    assert collected.stats.retries == kills - failures
    assert len(collected.failures) == failures
    assert all("SandboxLostError" in failure.error for failure in collected.failures)
    assert len(collected.trajectories) == 4 - failures
    assert all([turn.action for turn in t.turns] == ["echo hello", "pwd", "submit"] for t in collected.trajectories)
    assert len({turn.observation for t in collected.trajectories for turn in t.turns[1:2]}) == 1
