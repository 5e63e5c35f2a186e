"""Texts that are known to be right are right when they are run, and any doubt is settled by a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import FAMILIES, _known
from agentenv.tasks.terminal.families._known import holds_known
from agentenv.tasks.terminal.scenario import Family, StartFile
from tests.tasks.terminal import family_suite as suite
from tests.tasks.terminal.fake_view import FakeBox, replay

NAMES = ("shell_scripts", "cron_scripts", "broken_builds", "services")


def _unsure(view: StateView, condition: object) -> bool:
    return False


@pytest.mark.parametrize(("difficulty", "seed"), [("easy", 0), ("easy", 1), ("easy", 2), ("medium", 3), ("hard", 0)])
@pytest.mark.parametrize("family", [one for one in FAMILIES if one.name in NAMES], ids=lambda one: one.name)
def test_solutions_are_right_when_they_are_run(
    family: Family, difficulty: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_known, "sure", _unsure)
    scenario = suite.build(family, difficulty, seed)
    suite.skip_without_programs(scenario)
    for number, actions in enumerate((scenario.oracle, *scenario.alternatives)):
        done = suite.progress(scenario, replay(scenario, actions, tmp_path / str(number)))
        assert done.success, (actions, done.evidence)


def _holds(box: FakeBox) -> bool:
    return _known.sure(box, holds_known("a/b", {"Makefile": ("one\n", "two\n")}, ["in", "out"]))


def _project(root: Path, text: str = "two\n") -> FakeBox:
    box = FakeBox(root)
    box.place(StartFile("a/b/Makefile", text))
    box.place(StartFile("a/b/in", "anything"))
    return box


def test_known_text_alone_with_what_may_lie_beside_it_holds(tmp_path: Path) -> None:
    assert _holds(_project(tmp_path))


def test_unknown_text_does_not_hold(tmp_path: Path) -> None:
    assert not _holds(_project(tmp_path, "two \n"))


@pytest.mark.parametrize(
    "spoil",
    [
        "touch a/b/GNUmakefile",
        "mkdir a/b/all",
        "mv a/b/Makefile a/x && ln -s ../x a/b/Makefile",
        "mv a x && ln -s x a",
        "chmod 300 a/b/Makefile",
        "chmod 600 a",
        "rm a/b/Makefile",
        "printf '\\377' > a/b/Makefile",
    ],
)
def test_any_doubt_is_settled_by_a_run(spoil: str, tmp_path: Path) -> None:
    box = _project(tmp_path)
    assert box.act(spoil) == 0
    assert not _holds(box)
    box.act("chmod 700 a")
