"""Vector environments: texts and infos arrive as the copies gave them, shared memory and autoreset included."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from agentenv import unbatch_info
from agentenv.env import INFO_KEYS
from agentenv.errors import TextTooLongError
from tests.helpers.keys import ENV_ID, KeysEnv

TEXTS = ["", "line one\nline two\n", "日本語 😀👩‍🔬 ∀ε>0", "\x00\x1b[31m\ttab\r\n", "x" * 9_000, "é"]
KINDS: list[dict[str, Any]] = [
    {"vectorization_mode": "sync"},
    {"vectorization_mode": "async"},
    {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}},
]
SHARED = {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": True}}


def singles(count: int, actions: list[list[str]], **kwargs: Any) -> tuple[list[Any], list[list[Any]]]:
    """What the copies give when each is played alone."""
    envs = [KeysEnv(**kwargs) for _ in range(count)]
    starts = [env.reset(seed=7 + index) for index, env in enumerate(envs)]
    return starts, [[env.step(action) for env, action in zip(envs, row, strict=True)] for row in actions]


@pytest.mark.parametrize("kind", [*KINDS, SHARED], ids=["sync", "async", "async-pipes", "async-shared"])
def test_texts_and_infos_arrive_as_each_copy_gave_them(kind: dict[str, Any]) -> None:
    rows = [[f"say {text}" for text in TEXTS[n:] + TEXTS[:n]][:3] for n in range(len(TEXTS))]
    rows += [["set a 1", "nonsense", "say "], ["set z 9", "del z", "say \n"]]
    starts, steps = singles(3, rows, max_turns=9)
    envs = gym.make_vec(ENV_ID, num_envs=3, max_turns=9, **kind)
    try:
        observations, infos = envs.reset(seed=7)
        assert observations in envs.observation_space
        assert list(observations) == [observation for observation, _ in starts]
        assert unbatch_info(infos, 3) == [info for _, info in starts]
        kept = []
        for row, expected in zip(rows, steps, strict=True):
            observations, rewards, terminated, truncated, infos = envs.step(tuple(row))
            assert list(observations) == [step[0] for step in expected]
            assert rewards.tolist() == [step[1] for step in expected]
            assert terminated.tolist() == [step[2] for step in expected]
            assert truncated.tolist() == [step[3] for step in expected]
            assert unbatch_info(infos, 3) == [step[4] for step in expected]
            kept.append((observations, [step[0] for step in expected]))
        assert [list(observations) for observations, _ in kept] == [texts for _, texts in kept]
    finally:
        envs.close()


@pytest.mark.filterwarnings("ignore:.*ERROR")  # Gymnasium tells of the worker's error as a warning too
def test_a_text_that_shared_memory_cannot_hold_raises_and_is_never_cut() -> None:
    envs = gym.make_vec(ENV_ID, num_envs=2, max_bytes=64, start="é" * 100, **SHARED)
    try:
        with pytest.raises(TextTooLongError, match="LimitObservation"):
            envs.reset(seed=0)
    finally:
        envs.close(terminate=True)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_every_autoreset_mode_keeps_the_infos_whole(mode: AutoresetMode, kind: Any) -> None:
    envs = gym.make_vec(
        ENV_ID, num_envs=2, max_turns=3, vectorization_mode=kind, vector_kwargs={"autoreset_mode": mode}
    )
    try:
        envs.reset(seed=7)
        observations, _, terminated, _, infos = envs.step(("submit", "say x"))
        assert terminated.tolist() == [True, False]
        first, second = unbatch_info(infos, 2)
        if mode is AutoresetMode.SAME_STEP:
            assert first["final_obs"] == "bye"
            assert set(first["final_info"]) == set(INFO_KEYS)
            assert (first["final_info"]["stop_reason"], first["final_info"]["turn"]) == ("submitted", 1)
            assert (first["turn"], first["stop_reason"]) == (0, "")
            assert "final_info" not in second
            assert "final_obs" not in second
        else:
            assert (first["turn"], first["stop_reason"]) == (1, "submitted")
            if mode is AutoresetMode.DISABLED:
                envs.reset(options={"reset_mask": np.array([True, False])})
            else:
                assert envs.step(("ignored", "say y"))[1].tolist() == [0.0, 0.0]
        observations, _, _, _, infos = envs.step(("say again", "say z"))
        assert observations[0] == "again"
        assert unbatch_info(infos, 2)[0]["turn"] == 1
        assert all(set(info) >= set(INFO_KEYS) for info in unbatch_info(infos, 2))
        assert set(infos["checks"]) > {"_a is set"}
    finally:
        envs.close()


def test_copies_draw_tasks_of_their_own() -> None:
    envs = gym.make_vec(ENV_ID, num_envs=8, vectorization_mode="sync")
    first = [info["task_id"] for info in unbatch_info(envs.reset(seed=0)[1], 8)]
    again = [info["task_id"] for info in unbatch_info(envs.reset(seed=0)[1], 8)]
    assert first == again
    assert len(set(first)) > 4
    envs.close()


def test_checks_of_different_tasks_are_taken_apart() -> None:
    merged = {
        "checks": {
            "a": np.array([1.0, 0.0]),
            "_a": np.array([True, False]),
            "b": np.array([0.0, 0.5]),
            "_b": np.array([False, True]),
        },
        "_checks": np.array([True, True]),
        "stop_reason": np.array(["", "success"], dtype=object),
        "_stop_reason": np.array([True, True]),
    }
    assert unbatch_info(merged, 2) == [
        {"checks": {"a": 1.0}, "stop_reason": ""},
        {"checks": {"b": 0.5}, "stop_reason": "success"},
    ]
    first = unbatch_info({"turn": np.array([3]), "_turn": np.array([True])}, 1)[0]["turn"]
    assert type(first) is int


def test_no_info_is_no_keys() -> None:
    assert unbatch_info({}, 2) == [{}, {}]
