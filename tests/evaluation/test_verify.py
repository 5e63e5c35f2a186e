from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentenv.errors import InfrastructureError, ResultsFileError
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.results import read_results
from agentenv.evaluation.statistics import summarise
from agentenv.evaluation.verify import VerifyReport, verify
from agentenv.policy.scripted import FixedPolicy, OraclePolicy
from tests import counting
from tests.counting import FAR_ID as ENV_ID
from tests.counting import far_tasks


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("honest") / "r.json"
    evaluate(OraclePolicy(far_tasks()), ENV_ID, tasks=8, episodes_per_task=2, workers=2, out=path)
    return json.loads(path.read_text())


def check(document: Any, tmp_path: Path) -> VerifyReport:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    return verify(path, allow=[ENV_ID])


def restate(document: Any, tmp_path: Path) -> None:
    """Makes the aggregates follow from the (forged) records, as a careful forger would."""
    path = tmp_path / "restate.json"
    path.write_text(json.dumps(document))
    document["summary"] = summarise(read_results(path, check_plan=False)).to_json()


def test_an_honest_file_is_verified(honest: Any, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = tmp_path / "r.json"
    path.write_text(json.dumps(honest))
    report = verify(path, allow=[ENV_ID], on_episode=lambda done, total: seen.append((done, total)))
    assert report.ok
    assert report.mismatches == report.unreplayed == report.notes == ()
    assert report.replayed == 16
    assert seen[-1] == (16, 16)
    assert report.summary is not None
    assert report.summary.to_json() == honest["summary"]


def _failed(document: Any) -> Any:
    return next(record for record in document["records"] if not record["success"])


def _claim_success(document: Any) -> None:
    record = _failed(document)
    turns = len(record["actions"])
    record.update(success=True, outcome=1.0, stop_reason="success", rewards=[0.0] * (turns - 1) + [1.0])
    record["progress"][-1] = 1.0
    record["checks"] = dict.fromkeys(record["checks"], 1.0)


def _edit(*keys: Any, to: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


def _cut_actions(document: Any) -> None:
    record = _failed(document)
    for name in ("actions", "rewards", "valid", "progress", "state_hashes"):
        record[name].pop()


def _append_action(document: Any) -> None:
    record = document["records"][0]
    for name, value in (("actions", "+"), ("rewards", 0.0), ("valid", True), ("progress", 1.0), ("state_hashes", "")):
        record[name].append(value)


def _easier_tasks(document: Any) -> None:
    kept = ["up-test-0", "up-test-1", "up-test-2", "up-test-3"]
    document["header"]["task_ids"] = kept
    document["records"] = [record for record in document["records"] if record["task_id"] in kept]


FORGERIES: dict[str, tuple[Callable[[Any], None], str]] = {
    "success claimed": (_claim_success, "success"),
    "progress raised": (_edit("records", 0, "progress", 1, to=0.123), "progress[1]"),
    "reward edited": (_edit("records", 0, "rewards", 0, to=0.5), "rewards[0]"),
    "validity edited": (_edit("records", 0, "valid", 0, to=False), "valid[0]"),
    "check edited": (_edit("records", 0, "checks", "at 1", to=0.25), "checks.at 1"),
    "check invented": (_edit("records", 0, "checks", "more", to=1.0), "checks.more"),
    "state hash edited": (_edit("records", 0, "state_hashes", 1, to="0"), "state_hashes[1]"),
    "start state edited": (_edit("records", 0, "state_hashes", 0, to="0"), "state_hashes[0]"),
    "action edited": (_edit("records", 0, "actions", 0, to="nonsense"), "valid[0]"),
    "stop reason edited": (_edit("records", 0, "stop_reason", to="submitted"), "stop_reason"),
    "family edited": (_edit("records", 0, "family", to="hard"), "family"),
    "seed edited": (_edit("records", 0, "seed", to=1), "seed"),
    "actions cut off": (_cut_actions, "stop_reason"),
    "actions after the end": (_append_action, "actions"),
    "fingerprint edited": (_edit("header", "fingerprint", to="x"), "header.fingerprint"),
    "task set renamed": (_edit("header", "task_set", to="x"), "header.task_set"),
    "limit edited": (_edit("header", "max_turns", to=9), "header.max_turns"),
    "split renamed": (_edit("header", "split", to="ood"), "header.split"),
    "run seed edited": (_edit("header", "seed", to=5), "seed"),
    "only easy tasks kept": (_easier_tasks, "header.task_ids"),
    "an episode removed": (lambda document: document["records"].pop(), "missing"),
    "an episode doubled": (lambda document: document["records"].append(document["records"][0]), "counted twice"),
    "an episode of another task": (_edit("records", 0, "task_id", to="up-test-7"), "not in the plan"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_found_though_its_aggregates_agree(honest: Any, tmp_path: Path, name: str) -> None:
    change, where = FORGERIES[name]
    document = copy.deepcopy(honest)
    change(document)
    restate(document, tmp_path)
    report = check(document, tmp_path)
    assert not report.ok
    assert where in " ".join(str(mismatch) for mismatch in report.mismatches)


@pytest.mark.parametrize(
    "keys",
    [
        ("success", "value"),
        ("success", "low"),
        ("success_lower_bound",),
        ("coverage",),
        ("progress_auc", "value"),
        ("turns_to_success",),
        ("invalid_action_rate",),
        ("pass_at_k", "2"),
        ("families", "up", "value"),
        ("stop_reasons", "success"),
        ("planned",),
    ],
    ids=".".join,
)
def test_an_edited_aggregate_is_found(honest: Any, tmp_path: Path, keys: tuple[str, ...]) -> None:
    document = copy.deepcopy(honest)
    _edit("summary", *keys, to=0.999)(document)
    report = check(document, tmp_path)
    assert [mismatch.where for mismatch in report.mismatches] == [".".join(("summary", *keys))]


def test_an_aggregate_removed_or_invented_is_found(honest: Any, tmp_path: Path) -> None:
    document = copy.deepcopy(honest)
    del document["summary"]["coverage"]
    document["summary"]["rank"] = 1
    assert {m.where for m in check(document, tmp_path).mismatches} == {"summary.coverage", "summary.rank"}


def test_failures_hidden_as_platform_failures_show_in_bound_and_notes(honest: Any, tmp_path: Path) -> None:
    document = copy.deepcopy(honest)
    failed = [record for record in document["records"] if not record["success"]]
    document["records"] = [record for record in document["records"] if record["success"]]
    document["failures"] = [{"task_id": r["task_id"], "episode": r["episode"], "error": "lost"} for r in failed]
    restate(document, tmp_path)
    report = check(document, tmp_path)
    assert report.summary is not None
    assert report.summary.success_lower_bound == honest["summary"]["success_lower_bound"]
    assert "platform failures" in report.notes[0]


def test_a_state_that_chance_went_into_is_noted_and_not_held_against_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    evaluate(FixedPolicy(["chance", "+", "submit"]), ENV_ID, tasks=4, out=path)
    report = verify(path, allow=[ENV_ID], workers=1)
    assert report.ok
    assert "does not repeat" in report.notes[0]


def test_a_platform_failure_here_refutes_nothing_and_confirms_nothing(
    honest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = counting.CountingEnv.begin

    def failing(env: counting.CountingEnv, task: Any, rng: Any) -> str:
        if task.id == "up-test-0":
            raise InfrastructureError("no room for a sandbox")
        return begin(env, task, rng)

    monkeypatch.setattr(counting.CountingEnv, "begin", failing)
    report = check(honest, tmp_path)
    assert not report.ok
    assert report.mismatches == ()
    assert len(report.unreplayed) == 2
    assert report.replayed == 14


def test_a_file_that_is_cut_short_is_refused(honest: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(honest)[:-500])
    with pytest.raises(ResultsFileError, match="cut short"):
        verify(path, allow=[ENV_ID])


def _spec(document: Any, **changes: Any) -> Any:
    document = copy.deepcopy(document)
    spec = json.loads(document["header"]["env_spec"])
    document["header"]["env_spec"] = json.dumps({**spec, **changes})
    return document


HOSTILE_SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown id": ({"id": "agentenv/Nothing-v0"}, "not one of agentenv's"),
    "id that imports a module": ({"id": "antigravity:agentenv/Terminal-v0"}, "not one of agentenv's"),
    "registered, yet not ours": ({"id": "CartPole-v1"}, "not one of agentenv's"),
    "unknown argument": ({"kwargs": {"grader": "mine"}}, "not an argument"),
    "task source outside": ({"kwargs": {"tasks": "harbor:/tmp/x"}}, "outside this package"),
    "endless wait": ({"kwargs": {"wait_s": 1e8}}, "wait_s"),
    "huge number": ({"kwargs": {"max_turns": 10**15}}, "max_turns"),
    "argument of another type": ({"kwargs": {"max_turns": "many"}}, "does not make an environment"),
    "unknown wrapper": (
        {"additional_wrappers": [{"name": "System", "entry_point": "os:system", "kwargs": {}}]},
        "not one of agentenv.wrappers",
    ),
    "unknown key": ({"run": "os:system"}, "unknown key"),
    "kwargs is a list": ({"kwargs": []}, "kwargs"),
    "wrappers is text": ({"additional_wrappers": "os:system"}, "additional_wrappers"),
    "steps is text": ({"max_episode_steps": "9"}, "max_episode_steps"),
}


@pytest.mark.parametrize("name", HOSTILE_SPECS)
def test_a_spec_that_asks_for_more_than_is_known_is_refused(honest: Any, tmp_path: Path, name: str) -> None:
    changes, message = HOSTILE_SPECS[name]
    with pytest.raises(ResultsFileError, match=message):
        check(_spec(honest, **changes), tmp_path)


def test_an_entry_point_in_the_file_is_never_imported(
    honest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    trap = tmp_path / "trap.py"
    trap.write_text("raise SystemExit('imported')")
    document = _spec(honest, entry_point="trap:Env", vector_entry_point="trap:Env")
    assert check(document, tmp_path).ok


def test_an_environment_that_the_caller_did_not_allow_is_refused(honest: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(honest))
    with pytest.raises(ResultsFileError, match="allow"):
        verify(path)
