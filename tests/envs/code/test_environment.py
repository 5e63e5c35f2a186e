"""`CodeEnv` beyond what every environment must do: workspaces, public tests, hidden ones, hostile files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import agentenv
from agentenv.envs.code.environment import CodeEnv
from agentenv.errors import ConfigurationError
from agentenv.tasks.code.base import CodeTask, CodeTasks

SLUG = "strings-slug"
Reply = tuple[str, float, bool, bool, dict[str, Any]]


@pytest.fixture(scope="module")
def shared() -> Iterator[CodeEnv]:
    env = CodeEnv(tasks="bundled?category=strings", max_turns=20)
    yield env
    env.close()


@pytest.fixture
def env(shared: CodeEnv) -> CodeEnv:
    shared.reset(options={"task_id": SLUG})
    return shared


def task(env: CodeEnv) -> CodeTask:
    assert isinstance(env.task_set, CodeTasks)
    return env.task_set.code(SLUG)


def solution(env: CodeEnv) -> str:
    return env.task_set.oracle(SLUG)[0]


def test_the_first_page_shows_files_and_public_tests_and_no_hidden_one(env: CodeEnv) -> None:
    page, _ = env.reset(options={"task_id": SLUG})
    assert "raise NotImplementedError" in page
    assert "slugify('one two three', 8) == 'one-two'" in page
    assert "already" not in page


def test_progress_counts_hidden_tests_and_goes_back(env: CodeEnv) -> None:
    *_, info = env.step(solution(env))
    assert info["progress"] == 1.0
    assert not info["success"]
    *_, info = env.step('<write path="slug.py">def slugify(title, limit=40): return "untitled"</write>')
    assert info["checks"] == {test.id: float("untitled" in repr(test.case)) for test in task(env).hidden}
    assert 0 < info["progress"] < 1
    *_, info = env.step("<run>rm slug.py</run>")
    assert info["progress"] == 0.0


def test_public_tests_tell_what_was_wrong(env: CodeEnv) -> None:
    env.step('<write path="slug.py">def slugify(title, limit=40): return "x"</write>')
    text, *_ = env.step("<test/>")
    assert text.startswith("0 of 3 public tests passed\npublic-1: failed (wrong): slugify('Hello, World!') gave 'x'")
    env.step(solution(env))
    assert env.step("<test/>")[0].startswith("3 of 3 public tests passed")


def test_an_edit_must_find_its_text_once(env: CodeEnv) -> None:
    before = env.sandbox.read("/workspace/slug.py")
    for find, reason in (("nowhere", "stands 0 times"), ("l", "times in 'slug.py', not once")):
        text, _, _, _, info = env.step(f'<edit path="slug.py"><find>{find}</find><replace>x</replace></edit>')
        assert reason in text
        assert "Valid: <write" in text
        assert not info["valid_action"]
    assert env.sandbox.read("/workspace/slug.py") == before
    *_, info = env.step('<edit path="slug.py"><find>raise NotImplementedError</find><replace>return 1</replace></edit>')
    assert info["valid_action"]
    assert b"return 1" in env.sandbox.read("/workspace/slug.py")


@pytest.mark.parametrize(
    ("shell", "action", "reason"),
    [
        ("rm slug.py; mkdir slug.py", '<write path="slug.py">x</write>', "is a directory"),
        ("rm slug.py; mkfifo slug.py", '<write path="slug.py">x</write>', "not a file"),
        ("ln -sf /etc/passwd slug.py", '<write path="slug.py">x</write>', "is a link"),
        ("ln -s /etc x", '<write path="x/passwd">x</write>', "is not a directory"),
        ("ln -s /tmp x", '<write path="x/y/z">x</write>', "is not a directory"),
        ("true", '<write path="slug.py/x">x</write>', "is not a directory"),
        ("true", '<edit path="none.py"><find>x</find><replace>y</replace></edit>', "none.py"),
        ("printf '\\377x' > b", '<edit path="b"><find>x</find><replace>y</replace></edit>', "UTF-8"),
    ],
)
def test_files_that_cannot_be_written_are_the_agents_own_fault(
    env: CodeEnv, shell: str, action: str, reason: str
) -> None:
    env.step(f"<run>{shell}</run>")
    text, reward, _, _, info = env.step(action)
    assert reason in text
    assert (reward, info["valid_action"]) == (0.0, False)


@pytest.mark.parametrize(
    "shell",
    [
        "chmod 000 slug.py",
        "for i in $(seq 6000); do : > f$i; done",
        "head -c 40M /dev/zero > big",
        "ln -s . loop; ln -s nowhere dangling; mkfifo pipe",
        "mkdir -p a/b; cd a/b; ln -s ../../a up",
        "printf x > $'\\377name'",
    ],
)
def test_hostile_workspaces_are_graded_or_score_zero(env: CodeEnv, shell: str) -> None:
    env.step(solution(env))
    *_, info = env.step(f"<run>{shell}</run>")
    assert info["progress"] in (0.0, 1.0)
    assert env.step("<test/>")[4]["valid_action"]


def test_runs_show_output_exit_code_and_limits() -> None:
    env = CodeEnv(tasks="bundled?category=strings", command_timeout_s=1.0, output_bytes=100)
    env.reset(options={"task_id": SLUG})
    assert env.step("<run>echo out; echo err >&2; exit 3</run>")[0] == "out\nerr\n[exit code 3]"
    assert env.step("<run>true</run>")[0] == "[no output]"
    assert "time limit of 1 s" in env.step("<run>echo begun; sleep 60</run>")[0]
    assert len(env.step("<run>yes | head -c 3000000</run>")[0]) < 400
    assert env.step("<run>(sleep 300 &) ; echo started</run>")[0].startswith("started")
    assert env.step("<run>pgrep sleep | wc -l</run>")[0] == "0"
    env.close()


def test_snapshots_and_forks_go_their_own_ways(env: CodeEnv) -> None:
    kept, twin = agentenv.snapshot(env), agentenv.fork(env)
    assert env.step(solution(env))[4]["progress"] == 1.0
    assert isinstance(twin, CodeEnv)
    assert twin.step("<test/>")[4]["progress"] == 0.0
    agentenv.restore(env, kept)
    assert env.step("<test/>")[4]["progress"] == 0.0
    twin.close()
    kept.close()


def test_arguments_are_checked() -> None:
    for kwargs in ({"weights": "equl"}, {"sandbox": "dockr"}, {"output_bytes": 0}, {"difficulty": "9"}):
        with pytest.raises(ConfigurationError):
            CodeEnv(**kwargs)
