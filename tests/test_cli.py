from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentenv import cli
from agentenv.commands import console, play
from agentenv.commands.console import environment_kwargs, printable
from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.results import read_results
from agentenv.policy.scripted import FixedPolicy
from tests import counting
from tests.counting import FAR_ID as ENV_ID

ROOT = Path(__file__).resolve().parent.parent
# `module:id` imports the module first: how a user plays an environment of their own, here in another process.
FOREIGN_ID = f"tests.counting:{ENV_ID}"


def process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "agentenv.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def type_in(monkeypatch: pytest.MonkeyPatch, lines: Sequence[str | type[BaseException]]) -> None:
    """What the person types; an exception stands for Ctrl-C or Ctrl-D."""
    pending = list(lines)

    def read(prompt: str = "") -> str:
        line = pending.pop(0) if pending else EOFError
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", read)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_alone_it_prints_an_overview_of_every_command(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in cli.COMMANDS)
    assert "Examples:" in shown


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evla"]) == 2
    error = capsys.readouterr().err
    assert "Did you mean 'eval'?" in error
    assert error.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("agentenv 0")


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name != "train"])
def test_help_of_each_command_teaches(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"agentenv {name}" in shown
    assert "Examples:" in shown or name in ("gc", "doctor")


def test_a_command_is_imported_only_when_called() -> None:
    code = (
        "import sys, agentenv.cli; agentenv.cli.main([]);"
        "heavy = {'torch', 'transformers', 'jinja2', 'matplotlib', 'tyro', 'rich'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_our_own_errors_are_one_line_and_exit_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (
        ["verify", str(tmp_path / "absent.json")],
        ["list", "agentenv/Terminl-v0"],
        ["list", "--ids", "tset"],
        ["list", "--env-kwargs", "{"],
        ["eval", "tinny", "--env", ENV_ID],
        ["play", ENV_ID, "--task", "up-train-99"],
    ):
        assert cli.main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert error.startswith("agentenv: ")
        assert error.count("\n") == 1
        assert "Traceback" not in error


def test_platform_failures_are_told_and_not_traced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(arguments: Sequence[str]) -> int:
        raise InfrastructureError("no\nsandbox")

    monkeypatch.setitem(cli.COMMANDS, "list", cli.Command("tests.test_cli:unused", "x"))
    monkeypatch.setattr(sys.modules[__name__], "unused", broken, raising=False)
    assert cli.main(["list"]) == 2
    assert capsys.readouterr().err == "agentenv: no sandbox\n"


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(arguments: Sequence[str]) -> int:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setitem(cli.COMMANDS, "train", cli.Command("tests.test_cli:needs", "x", "train"))
    monkeypatch.setattr(sys.modules[__name__], "needs", needs, raising=False)
    assert cli.main(["train"]) == 2
    assert "pip install 'agentenv-gym[train]'" in capsys.readouterr().err


def test_list_counts_splits_and_names_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", ENV_ID, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)[0]
    assert told["splits"] == {"train": 16, "val": 16, "test": 16, "ood": 16}
    assert told["families"]["test"] == ["far", "up"]
    assert cli.main(["list", ENV_ID]) == 0
    assert "counting" in capsys.readouterr().out


def test_list_prints_ids_in_the_order_of_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", ENV_ID, "--ids", "test"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["up-test-0", "far-test-0"]


def test_eval_verify_and_report_work_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["eval", "oracle", "--env", ENV_ID, "--tasks", "8"]) == 0
    assert "success" in capsys.readouterr().out
    assert cli.main(["eval", "noop", "--env", ENV_ID, "--tasks", "8", "--compare", "results/oracle-test.json"]) == 0
    assert "against oracle: -" in capsys.readouterr().out
    files = ["results/oracle-test.json", "results/noop-test.json"]
    assert cli.main(["verify", *files, "--allow", ENV_ID]) == 0
    assert capsys.readouterr().out.count("verified") == 2
    pytest.importorskip("jinja2", reason="the report needs the extra `report`")
    assert cli.main(["report", *files, "--out", "page.html"]) == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_eval_prints_json_and_starts_anew_only_when_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    command = ["eval", "fixed:+", "--env", ENV_ID, "--out", str(out), "--json"]
    assert cli.main([*command, "--tasks", "4", "--episodes", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 8
    assert cli.main([*command, "--tasks", "2"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert cli.main([*command, "--tasks", "2", "--overwrite"]) == 0
    assert len(read_results(out).records) == 2


def test_eval_takes_no_more_tasks_than_there_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["eval", "noop", "--env", ENV_ID, "--out", str(tmp_path / "r.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 16


def test_verify_ends_with_1_where_a_number_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    evaluate(FixedPolicy(["+", "submit"]), ENV_ID, tasks=4, out=out)
    out.write_text(out.read_text().replace('"coverage": 1.0', '"coverage": 0.5'))
    assert cli.main(["verify", str(out), "--allow", ENV_ID]) == 1
    assert "NOT verified" in capsys.readouterr().out
    assert cli.main(["verify", str(out), "--allow", ENV_ID, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)[0]
    assert told["verified"] is False
    assert told["mismatches"][0]["where"] == "summary.coverage"


def test_a_person_plays_and_sees_checks_turn_green(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, ["nonsense", "+", "+", "submit"])
    assert cli.main(["play", ENV_ID, "--task", "up-train-1"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("· at 1") < shown.index("✓ at 1  ▲") < shown.index("✓ at 2  ▲")
    assert "say + or submit" in shown
    assert "solved in 4 turns, progress 100%" in shown


def test_hidden_checks_are_shown_at_the_end_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, ["+", "submit"])
    assert cli.main(["play", ENV_ID, "--task", "up-train-1", "--hide-checks"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("bye") < shown.index("at 1")
    assert "not solved (submitted)" in shown


@pytest.mark.parametrize("leave", [":quit", ":q", "quit", EOFError])
def test_a_person_may_leave(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, leave: str | type[BaseException]
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(counting.CountingEnv, "release", lambda env: closed.append(1))
    type_in(monkeypatch, ["+", leave])
    assert cli.main(["play", ENV_ID]) == 0
    assert "left without submitting" in capsys.readouterr().out
    assert closed == [1]


def test_ctrl_c_ends_with_130_and_closes_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(counting.CountingEnv, "release", lambda env: closed.append(1))
    type_in(monkeypatch, ["+", KeyboardInterrupt])
    assert cli.main(["play", ENV_ID]) == 130
    assert closed == [1]
    assert capsys.readouterr().err == "agentenv: interrupted\n"


def test_a_line_that_ends_in_a_backslash_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, ["echo a \\", "  b"])
    assert play._read_action(console.output_console()) == "echo a \\\n  b"


def test_sigint_ends_a_real_process_with_130() -> None:
    with process("play", FOREIGN_ID, "--task", "up-train-0", cwd=ROOT) as running:
        assert running.stdout is not None
        running.stdout.readline()  # it has started
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert error.strip() == "agentenv: interrupted"


def test_a_reader_that_goes_away_is_no_error() -> None:
    with process("list", "agentenv/Terminal-v0", "--ids", "train", cwd=ROOT) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        running.wait(timeout=120)
        assert running.stderr.read() == ""
    assert running.returncode == 141


def test_gc_and_doctor_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gc", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"directories", "processes", "groups"}
    assert cli.main(["gc"]) == 0
    assert cli.main(["doctor", "--json"]) in (0, 1)
    capsys.readouterr()
    assert cli.main(["doctor"]) in (0, 1)
    assert "isolation" in capsys.readouterr().out


def test_no_control_character_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202e[bold red]x[/]\ud800"
    monkeypatch.setattr(counting.CountingEnv, "begin", lambda env, task, rng: hostile)
    type_in(monkeypatch, [":quit"])
    assert cli.main(["play", ENV_ID]) == 0
    shown = capsys.readouterr().out
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\ud800"}
    assert "[bold red]x[/]" in shown
    assert printable("tab\tline\n") == "tab\tline\n"


def test_an_argument_given_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="difficulty"):
        environment_kwargs('{"difficulty": "easy"}', {"difficulty": "hard"})
    with pytest.raises(ConfigurationError, match="object"):
        environment_kwargs("[]", {})


def test_verify_without_files_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify"]) == 2
    assert "no results file" in capsys.readouterr().err


def test_settings_that_are_refused_leave_no_evaluation_behind(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = ["eval", "noop", "--env", ENV_ID, "--tasks", "2", "--out", str(out)]
    assert cli.main([*arguments, "--temperature", "-1"]) == 2
    assert list(tmp_path.iterdir()) == []
    assert cli.main(arguments) == 0
