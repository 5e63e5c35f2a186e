"""What judges scripts and crontabs: schedules by when they fire, scripts by what they do, in bounded time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentenv.errors import NotInStateError
from agentenv.progress import RunResult
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _cron, _runs
from agentenv.tasks.terminal.families._runs import Outcome, Runs
from agentenv.tasks.terminal.families._scripts import Case, case_in_place, case_step, fits, work
from agentenv.tasks.terminal.scenario import StartFile
from tests.tasks.terminal.fake_view import FakeBox


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 4 * * *", "05 04 */1 1-12 0-7"),
        ("*/20 * * * *", "0,20,40 0-23 * * *"),
        ("0 6 * * 0", "0 6 * * SUN"),
        ("0 6 * * 7", "00 06 * jan-dec 0"),
        ("@hourly", "0 * * * *"),
        ("0 0 1,2 * *", "0 0 1-2 * *"),
    ],
)
def test_schedules_that_fire_together_are_equal(one: str, other: str) -> None:
    assert _cron.when(one) == _cron.when(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 4 * * *", "4 5 * * *"),
        ("*/20 * * * *", "20 * * * *"),
        ("0 6 1 * *", "0 6 * 1 *"),
        ("0 6 * * 1", "0 6 1-31 * 1"),
    ],
)
def test_schedules_that_fire_apart_differ(one: str, other: str) -> None:
    assert _cron.when(one) != _cron.when(other)


@pytest.mark.parametrize(
    "fields", ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *"]
)
def test_what_cron_refuses_is_no_schedule(fields: str) -> None:
    with pytest.raises(NotInStateError):
        _cron.when(fields)


@pytest.mark.parametrize("fields", ["5-3 * * * *", "1,, * * * *", "5/2 * * * *", "x * * * *", "* * * foo *", "@never"])
def test_what_makes_no_range_is_no_schedule(fields: str) -> None:
    with pytest.raises(NotInStateError):
        _cron.when(fields)


def test_crontab_skips_comments_and_settings_and_ends_commands_at_percent(tmp_path: Path) -> None:
    box = FakeBox(tmp_path)
    box.place(StartFile("jobs", "# nightly\n\nSHELL=/bin/sh\n1 2 * * * run a\\%b%input\n@daily tidy\n"))
    assert [job.command for job in _cron.jobs_of(box, "jobs")] == ["run a%b", "tidy"]


def test_crontab_with_one_bad_line_is_none(tmp_path: Path) -> None:
    box = FakeBox(tmp_path)
    box.place(StartFile("jobs", "1 2 * * * run\n3 4 run\n"))
    with pytest.raises(NotInStateError):
        _cron.jobs_of(box, "jobs")


def _box(root: Path, body: str, mode: int = 0o755) -> FakeBox:
    box = FakeBox(root)
    box.place(StartFile("bin/x.sh", body, mode))
    return box


def _outcomes(box: FakeBox, *cases: Case) -> list[Outcome]:
    return Runs().book(lambda view: [case_step("/workspace/bin/x.sh", case) for case in cases]).outcomes(box)


def _does(case: Case) -> c.Condition:
    return work(Runs(), "bin/x.sh", [case])[0]


def test_outcome_tells_output_code_files_and_directories(tmp_path: Path) -> None:
    box = _box(tmp_path, 'mkdir -p new; cat "$1" > "new/a b"; rm gone; echo "$2"; exit 3\n')
    case = Case(("in.txt", "two words"), {"in.txt": "text\n", "gone": "x"})
    [found] = _outcomes(box, case)
    assert (found.code, found.out) == (3, b"two words\n")
    assert fits(found, Case(out="two words", code=3, after={"new/a b": "text", "gone": None, "in.txt": "text\n"}))
    assert not fits(found, Case(out="two words."))
    assert not fits(found, Case(after={"new": None}))


def test_cases_run_apart_from_each_other(tmp_path: Path) -> None:
    box = _box(tmp_path, "ls; touch seen\n")
    outcomes = _outcomes(box, Case(files={"a": ""}), Case(files={"b": ""}))
    assert [outcome.out for outcome in outcomes] == [b"a\n", b"b\n"]


@pytest.mark.parametrize(
    "body",
    [
        "sleep 60\n",
        "while :; do :; done\n",
        "exec setsid --fork --wait sleep 60\n",
        "trap '' INT TERM HUP; sleep 60 & wait\n",
        "kill -STOP $$\n",
        "kill -9 0\n",
        "yes\n",
        "kill -9 $$\n",
        "printf '\\0\\377#case\\nexit 0\\n'; exit 1\n",
    ],
)
def test_hostile_script_is_wrong_and_crashes_nothing(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_runs, "CASE_SECONDS", 1)
    assert not _does(Case(out="right", code=0))(_box(tmp_path, body))


def test_script_need_not_be_executable_to_be_right_nor_name_its_interpreter(tmp_path: Path) -> None:
    assert _does(Case(("a",), out="<a>"))(_box(tmp_path, 'echo "<$1>"\n', 0o644))


class _Counting:
    """A view that counts its forks, and keeps their results as the sandbox's own does."""

    def __init__(self, box: FakeBox) -> None:
        self.box = box
        self.forks = 0
        self.kept: dict[str, RunResult] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.box, name)

    def run(self, script: str, timeout_s: float = 10.0) -> RunResult:
        if script not in self.kept:
            self.forks += 1
            self.kept[script] = self.box.run(script, timeout_s)
        return self.kept[script]


def test_all_that_a_scenario_runs_shares_one_fork(tmp_path: Path) -> None:
    box = _box(tmp_path, 'echo "<$1>"\n')
    box.place(StartFile("bin/y.sh", 'echo "[$1]"\n', 0o755))
    runs, view = Runs(), _Counting(box)
    conditions = [
        *work(runs, "bin/x.sh", [Case(("a",), out="<a>"), Case(("b",), out="<b>")]),
        *work(runs, "bin/y.sh", [Case(("c",), out="[c]")]),
        *work(runs, "bin/missing.sh", [Case()]),
    ]
    assert [condition(view) for condition in conditions[:3]] == [True] * 3  # type: ignore[arg-type]
    with pytest.raises(NotInStateError):
        conditions[3](view)  # type: ignore[arg-type]
    assert view.forks == 1


def test_script_that_hangs_or_destroys_takes_no_other_case_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_runs, "CASE_SECONDS", 1)
    box = _box(tmp_path, "yes > big & yes; sleep 60\n")
    box.place(StartFile("bin/y.sh", "echo right\n", 0o755))
    runs = Runs()
    [bad], [good] = work(runs, "bin/x.sh", [Case(out="y")]), work(runs, "bin/y.sh", [Case(out="right")])
    assert good(box)
    assert not bad(box)


def test_expected_values_never_enter_the_fork(tmp_path: Path) -> None:
    view = _Counting(_box(tmp_path, "echo wrong\n"))
    case = Case(("in",), {"in": "given"}, out="secret1", after={"left": "secret2"})
    assert not work(Runs(), "bin/x.sh", [case])[0](view)  # type: ignore[arg-type]
    [script] = view.kept
    assert "given" in script
    assert "secret" not in script


def test_cases_leave_signals_as_they_were(tmp_path: Path) -> None:
    box = _box(tmp_path, "trap 'echo caught; exit 3' INT\nkill -INT $$\n")
    assert _does(Case(out="caught", code=3))(box)


def test_directory_that_a_case_spoils_is_whole_for_the_next(tmp_path: Path) -> None:
    box = _box(tmp_path, "cat in; ls -A; rm -rf ../data; echo x > ../data\n")
    words = ("one", "two", "three")
    cases = [Case(files={"in": word, ".hidden": word}) for word in words]
    steps = [case_in_place("../bin/x.sh", case, "data", ["data"]) for case in cases]
    outcomes = Runs().book(lambda view: steps).outcomes(box)
    assert [outcome.out for outcome in outcomes] == [f"{word}.hidden\nin\n".encode() for word in words]


def test_each_case_in_a_directory_reports_what_it_left_there(tmp_path: Path) -> None:
    box = _box(tmp_path, "mkdir d; ln -s in link; mv in d/.in; touch new\n")
    steps = [case_in_place("../bin/x.sh", Case(files={"in": text}), "data", ["data"]) for text in ("one", "two")]
    outcomes = Runs().book(lambda view: steps).outcomes(box)
    assert [outcome.files for outcome in outcomes] == [{"d/.in": text, "new": b""} for text in (b"one", b"two")]


def test_nothing_of_a_hung_case_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runs, "CASE_SECONDS", 1)
    seconds = 10**7 + os.getpid()
    assert not _does(Case(out="x"))(_box(tmp_path, f"sleep {seconds} & sleep {seconds}\n"))
    assert subprocess.run(["pgrep", "-f", f"sleep {seconds}"], check=False).returncode == 1
