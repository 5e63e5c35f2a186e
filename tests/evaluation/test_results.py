from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, ResultsFileError
from agentenv.evaluation.journal import Journal, partial_path
from agentenv.evaluation.results import plan_faults, read_results, write_results
from tests.evaluation.making import make_record, make_results


def test_a_file_loads_back_equal(tmp_path: Path) -> None:
    results = make_results([True, False, True], episodes=2, failed=1)
    path = tmp_path / "deep" / "r.json"
    write_results(path, results)
    assert read_results(path) == results


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_any_action_survives_the_file(tmp_path_factory: pytest.TempPathFactory, actions: list[str]) -> None:
    path = tmp_path_factory.mktemp("r") / "r.json"
    results = make_results([True])
    results = replace(results, records=(replace(results.records[0], actions=tuple(actions)),))
    write_results(path, results)
    assert read_results(path).records[0].actions == tuple(actions)


def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_results(path, make_results([True]))
    before = path.read_text()
    results = make_results([True])
    with pytest.raises(ResultsFileError, match="not finite"):
        write_results(path, replace(results, records=(replace(results.records[0], outcome=float("nan")),)))
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def _set(*keys: Any, to: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


FORGERIES: dict[str, tuple[Callable[[Any], None], str]] = {
    "another format": (_set("format", to="x"), "format"),
    "another schema": (_set("schema", to=99), "schema"),
    "unknown key": (_set("shaped_reward", to=1), "unknown key 'shaped_reward'"),
    "header is a list": (_set("header", to=[]), "header"),
    "split": (_set("header", "split", to="dev"), r"header\.split"),
    "max_turns huge": (_set("header", "max_turns", to=10**12), r"header\.max_turns"),
    "max_turns below the turns": (_set("header", "max_turns", to=1), r"records\[0\]\.actions"),
    "a plan without end": (_set("header", "episodes_per_task", to=900_000), r"header\.episodes_per_task"),
    "task twice": (_set("header", "task_ids", to=["t-0", "t-0"]), r"header\.task_ids"),
    "seed is text": (_set("header", "seed", to="0"), r"header\.seed"),
    "seed is true": (_set("header", "seed", to=True), r"header\.seed"),
    "progress over 1": (_set("records", 0, "progress", 1, to=1.5), r"records\[0\]\.progress\[1\]"),
    "progress is text": (_set("records", 0, "progress", 1, to="1"), r"records\[0\]\.progress\[1\]"),
    "progress too short": (_set("records", 0, "progress", to=[0.0]), r"records\[0\]\.progress"),
    "success is 1": (_set("records", 0, "success", to=1), r"records\[0\]\.success"),
    "outcome over 1": (_set("records", 0, "outcome", to=2), r"records\[0\]\.outcome"),
    "action is a number": (_set("records", 0, "actions", 0, to=3), r"records\[0\]\.actions\[0\]"),
    "check score": (_set("records", 0, "checks", "a", to=-1), r"records\[0\]\.checks\.a"),
    "records is an object": (_set("records", to={}), "records"),
    "negative tokens": (_set("records", 0, "sampled_tokens", to=-1), "sampled_tokens"),
    "episode is a fraction": (_set("records", 0, "episode", to=0.5), r"records\[0\]\.episode"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_field_is_named(tmp_path: Path, name: str) -> None:
    change, message = FORGERIES[name]
    path = tmp_path / "r.json"
    write_results(path, make_results([True, False]))
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ResultsFileError, match=message) as raised:
        read_results(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"format": NaN}',
        '{"format": Infinity}',
        '{"format": 1e999}',
        '{"format": ' + "9" * 10_000 + "}",
        '{"a": 1, "a": 2}',
        "[" * 200_000,
        "\x00",
    ],
    ids=range(10),
)
def test_a_file_that_is_not_strict_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ResultsFileError, match=r"r\.json"):
        read_results(path)


def test_a_file_that_is_missing_a_directory_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff\xfe")
    for name in ("absent", "", "b"):
        with pytest.raises(ResultsFileError):
            read_results(tmp_path / name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_truncated_file_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "r.json"
    write_results(path, make_results([True, False]))
    text = path.read_text().rstrip()
    path.write_text(text[: data.draw(st.integers(0, len(text) - 1))])
    with pytest.raises(ResultsFileError):
        read_results(path)


def test_episodes_missing_twice_or_unplanned_are_found(tmp_path: Path) -> None:
    whole = make_results([True, False])
    first, second = whole.records
    cases = {
        "missing": replace(whole, records=(first,)),
        "counted twice": replace(whole, records=(first, second, second)),
        "not in the plan": replace(whole, records=(first, second, make_record("t-9", 0, True))),
    }
    assert plan_faults(whole) == []
    for message, results in cases.items():
        assert message in " ".join(plan_faults(results))
        write_results(tmp_path / "r.json", results)
        with pytest.raises(ResultsFileError, match=message):
            read_results(tmp_path / "r.json")
        assert read_results(tmp_path / "r.json", check_plan=False) == results


def test_a_journal_gives_back_what_was_kept_and_drops_a_torn_line(tmp_path: Path) -> None:
    results, out = make_results([True, False, True]), tmp_path / "r.json"
    with Journal.open(out, results.header) as journal:
        journal.add(results.records[0])
        journal.add(results.records[0])
        journal.add(results.records[1])
    with partial_path(out).open("a") as file:
        file.write('{"record": {"task_id": "t-')
    with Journal.open(out, results.header) as journal:
        assert sorted(journal.records) == [("t-0", 0), ("t-1", 0)]
        journal.add(results.records[2])
    with Journal.open(out, results.header) as journal:
        assert tuple(journal.records.values()) == results.records
    assert len(partial_path(out).read_text().splitlines()) == 4


def test_a_journal_of_another_evaluation_is_not_continued(tmp_path: Path) -> None:
    results, out = make_results([True]), tmp_path / "r.json"
    with Journal.open(out, results.header) as journal:
        journal.add(results.records[0])
    with (
        pytest.raises(ConfigurationError, match=r"policy: 'p' there, 'q' now"),
        Journal.open(out, replace(results.header, policy="q")),
    ):
        pass


def test_a_results_file_of_another_evaluation_is_not_overwritten(tmp_path: Path) -> None:
    results, out = make_results([True]), tmp_path / "r.json"
    write_results(out, results)
    with pytest.raises(ConfigurationError, match="seed"), Journal.open(out, replace(results.header, seed=1)):
        pass
    assert read_results(out) == results
    assert not partial_path(out).exists()


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    header, out = make_results([True]).header, tmp_path / "r.json"
    with (
        Journal.open(out, header),
        pytest.raises(ConfigurationError, match="another evaluation"),
        Journal.open(out, header),
    ):
        pass


def test_a_damaged_line_in_a_journal_is_named(tmp_path: Path) -> None:
    results, out = make_results([True, True]), tmp_path / "r.json"
    with Journal.open(out, results.header) as journal:
        journal.add(results.records[0])
    with partial_path(out).open("a") as file:
        file.write("rubbish\n")
    with pytest.raises(ResultsFileError, match="partial:3"), Journal.open(out, results.header):
        pass
