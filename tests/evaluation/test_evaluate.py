from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.evaluation.environments import make_env
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.journal import partial_path
from agentenv.evaluation.results import Results, read_results
from agentenv.policy.base import Prompt, Sample, Sampling
from agentenv.policy.scripted import FixedPolicy, OraclePolicy
from agentenv.progress import Check
from agentenv.task import GraderData
from tests.counting import FAR_ID as ENV_ID
from tests.counting import CountingTasks, far_tasks


class Recording(FixedPolicy):
    """A fixed policy that remembers what it was asked, and may be stopped after so many episodes."""

    def __init__(self, actions: Sequence[str], stop_after: int | None = None) -> None:
        super().__init__(actions)
        self.tasks: list[str] = []
        self.seeds: list[int] = []
        self.stop_after = stop_after

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        for prompt in prompts:
            if prompt.turn == 0:
                if self.stop_after is not None and len(self.tasks) >= self.stop_after:
                    raise KeyboardInterrupt
                self.tasks.append(prompt.task_id)
                self.seeds.append(prompt.seed)
        return super().act(prompts, sampling)


def play(policy: Any, **options: Any) -> Results:
    return evaluate(policy, ENV_ID, **{"workers": 3, **options})


def test_the_reference_solutions_score_what_the_limit_allows() -> None:
    results = play(OraclePolicy(far_tasks()))
    assert len(results.records) == 16
    assert results.summary["success"]["value"] == 0.875  # two goals are 7, and there are six turns
    assert results.summary["families"]["up"]["value"] == 1.0


def test_records_hold_progress_from_the_start_and_one_entry_a_turn() -> None:
    record = play(FixedPolicy(["+", "nonsense", "submit"]), tasks=3).records[2]
    assert record.task_id == "up-test-1"
    assert record.actions == ("+", "nonsense", "submit")
    assert record.progress == (1 / 3, 2 / 3, 2 / 3, 2 / 3)
    assert record.valid == (True, False, True)
    assert (record.success, record.outcome, record.stop_reason) == (False, 0.0, "submitted")
    assert len(record.state_hashes) == 4
    assert record.state_hashes[1] == record.state_hashes[2]
    assert record.family == "up"


def test_tasks_are_the_first_of_the_split_whatever_the_seed() -> None:
    headers = [play(FixedPolicy(["submit"]), tasks=4, seed=seed).header for seed in (0, 1)]
    assert headers[0].task_ids == headers[1].task_ids == ("up-test-0", "far-test-0", "up-test-1", "far-test-1")


def test_two_policies_meet_the_same_seeds_and_episodes_differ() -> None:
    first, second = Recording(["submit"]), Recording(["+", "submit"])
    play(first, tasks=4, episodes_per_task=3)
    play(second, tasks=4, episodes_per_task=3, workers=1)
    assert sorted(first.seeds) == sorted(second.seeds)
    assert len(set(first.seeds)) == 12


def test_a_platform_failure_is_counted_and_is_no_zero() -> None:
    class Unlucky(OraclePolicy):
        def action(self, prompt: Prompt) -> str:
            return "crash" if prompt.task_id == "up-test-0" else super().action(prompt)

    results = play(Unlucky(far_tasks()), tasks=4)
    assert [failure.key for failure in results.failures] == [("up-test-0", 0)]
    assert "the sandbox was killed" in results.failures[0].error
    assert (results.summary["coverage"], results.summary["success"]["value"]) == (0.75, 1.0)
    assert results.summary["success_lower_bound"] == 0.75


def test_a_stopped_run_continues_and_counts_nothing_twice(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    whole = play(FixedPolicy(["+", "submit"]), episodes_per_task=2)
    with pytest.raises(KeyboardInterrupt):
        play(Recording(["+", "submit"], stop_after=9), episodes_per_task=2, out=out, workers=2)
    assert not out.exists()
    kept = len(partial_path(out).read_text().splitlines()) - 1
    assert kept > 0
    rest = Recording(["+", "submit"])
    resumed = play(rest, episodes_per_task=2, out=out)
    assert len(rest.tasks) == 32 - kept
    assert resumed == whole == read_results(out)
    assert not partial_path(out).exists()


def test_a_finished_run_is_returned_and_not_played_again(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    first = play(FixedPolicy(["+", "submit"]), tasks=4, out=out)
    again = Recording(["+", "submit"])
    assert play(again, tasks=4, out=out) == first
    assert again.tasks == []


def test_what_the_platform_failed_is_played_by_the_next_run(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    broken = FixedPolicy(["crash"])
    assert len(play(broken, tasks=2, out=out).failures) == 2
    repaired = play(FixedPolicy(["+", "submit"]), tasks=2, out=out)
    assert (len(repaired.records), len(repaired.failures)) == (2, 0)


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    play(FixedPolicy(["submit"]), tasks=2, out=out)
    for other in ({"tasks": 3}, {"seed": 1}, {"sampling": Sampling(0.5)}, {"env_kwargs": {"max_turns": 4}}):
        with pytest.raises(ConfigurationError, match="another evaluation"):
            play(FixedPolicy(["submit"]), **{"tasks": 2, "out": out, **other})


def test_progress_is_reported_with_what_was_kept(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    play(FixedPolicy(["submit"]), tasks=3, on_episode=lambda done, planned: seen.append((done, planned)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    "options",
    [
        {"tasks": 0},
        {"tasks": 17},
        {"episodes_per_task": 0},
        {"seed": -1},
        {"split": "dev"},
        {"env_kwargs": {"split": "val"}},
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        play(FixedPolicy(["submit"]), **options)


def test_an_environment_without_verification_is_refused() -> None:
    for name in ("CartPole-v1", "agentenv/Terminl-v0"):
        with pytest.raises(ConfigurationError, match=name):
            evaluate(FixedPolicy(["submit"]), name)


def test_a_policy_that_breaks_down_keeps_what_was_played(tmp_path: Path) -> None:
    class Breaking(Recording):
        def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
            if len(self.tasks) >= 4:
                raise InfrastructureError("the engine died")
            return super().act(prompts, sampling)

    out = tmp_path / "r.json"
    with pytest.raises(InfrastructureError, match="the engine died"):
        play(Breaking(["submit"]), out=out, workers=2)
    assert len(partial_path(out).read_text().splitlines()) > 1


def test_what_a_crashing_grader_quotes_enters_neither_results_nor_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(view: Any) -> float:
        if view.count:
            raise ValueError("expected the-hidden-answer")
        return 0.0

    monkeypatch.setattr(CountingTasks, "grader", lambda self, task_id: GraderData([Check("bad", 1, crash)]))
    out = tmp_path / "r.json"
    with caplog.at_level(logging.INFO):
        play(FixedPolicy(["+", "submit"]), tasks=2, out=out)
    assert "check 'bad' crashed: ValueError" in json.loads(out.read_text())["failures"][0]["error"]
    assert "'bad' crashed" in caplog.text
    assert "hidden" not in out.read_text() + caplog.text


def test_the_results_file_is_strict_json_with_the_spec(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    play(FixedPolicy(["submit"]), tasks=2, env_kwargs={"max_turns": 5}, out=out)
    document = json.loads(out.read_text())
    spec = json.loads(document["header"]["env_spec"])
    assert spec["id"] == ENV_ID
    assert spec["kwargs"] == {"max_turns": 5, "split": "test", "tasks": "far"}
    assert gym.envs.registration.EnvSpec.from_json(document["header"]["env_spec"]).kwargs == spec["kwargs"]


@pytest.mark.parametrize("arguments", [{"tasks": 0}, {"tasks": -3}, {"workers": 0}])
def test_a_number_that_cannot_be_is_named(arguments: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=str(next(iter(arguments.values())))):
        evaluate(FixedPolicy(["echo"]), "agentenv/Terminal-v0", **arguments)


@pytest.mark.parametrize("place", ["", "."])
def test_results_go_into_a_file(place: str) -> None:
    with pytest.raises(ConfigurationError, match="name one"):
        evaluate(FixedPolicy(["echo"]), "agentenv/Terminal-v0", tasks=1, out=Path(place))


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"no module 'nowhere\.at_all'"):
        make_env("nowhere.at_all:x/Y-v0", {})
