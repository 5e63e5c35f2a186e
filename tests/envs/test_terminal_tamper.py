"""An agent that cheats, through nothing but actions: it gains nothing, hangs nothing, and hides no failure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import gymnasium as gym
import pytest

from tests.envs.attacks import FLOODS, IN_PLACE, RACES, SHADOWS, SUICIDES
from tests.envs.playing import FILES, begin, oracle, play, terminal
from tests.sandbox.plain_user import run_as_plain_user

TEXT = "text_processing-easy-train-0"
JSON = "json_files-easy-train-0"
ARCHIVE = "archives-easy-train-0"
MODES = "permissions-easy-train-0"
GIT = "git_history-easy-train-0"
# Their checks run commands.
SCRIPT = "shell_scripts-easy-train-0"
PATCH = "diff_patch-easy-ood-3"


@pytest.fixture(scope="module")
def quick() -> Iterator[gym.Env[str, str]]:
    """A terminal whose commands are cut early."""
    env = terminal(command_timeout_s=2.0, max_turns=200)
    yield env
    env.close()


@pytest.fixture(scope="module")
def neighbour() -> Iterator[gym.Env[str, str]]:
    """Another episode with a job of its own; it must not notice the attacks of a module."""
    env = terminal()
    begin(env)
    play(env, "export MINE=1; echo mine > mine; sleep 4747 & cd meta")
    yield env
    env.close()


@pytest.fixture
def sibling(neighbour: gym.Env[str, str]) -> Iterator[None]:
    """Whatever happens beside it, the neighbour's state and jobs are as they were."""
    bare = neighbour.unwrapped
    before = bare.hash_state()  # type: ignore[attr-defined]
    yield
    assert bare.hash_state() == before  # type: ignore[attr-defined]
    seen = bare.sandbox.session().run("pwd; cat ../mine; echo $MINE; pgrep -fc 'sleep 4747'")  # type: ignore[attr-defined]
    assert seen.output == "/workspace/meta\nmine\n1\n1\n"


@pytest.mark.parametrize("task_id", [FILES, MODES, TEXT, ARCHIVE, JSON, GIT, SCRIPT, PATCH])
def test_shadowing_gains_nothing_and_the_honest_solution_counts(quick: gym.Env[str, str], task_id: str) -> None:
    bare = quick.unwrapped
    start = begin(quick, task_id)["progress"]
    session = bare.sandbox.session()  # type: ignore[attr-defined]
    for attack, (cheat, mend) in SHADOWS.items():
        assert play(quick, cheat).info["progress"] == start, attack
        session.run(mend)
    play(quick, "\\cd /workspace", *oracle(quick, task_id))
    for attack, (cheat, mend) in SHADOWS.items():
        session.run(cheat)
        assert bare.verify().success, attack  # type: ignore[attr-defined]
        session.run(mend)
    assert play(quick, "submit").reward == 1.0
    begin(quick, task_id)
    ended = play(quick, *(cheat for cheat, _ in SHADOWS.values()), "submit")
    assert (ended.reward, ended.terminated, ended.info["progress"]) == (0.0, True, start)


@pytest.mark.parametrize(
    ("task_id", "cheats"), [(FILES, 99), (TEXT, 99), (ARCHIVE, 99), (JSON, 99), (SCRIPT, 6), (PATCH, 6)]
)
def test_nothing_but_the_thing_itself_counts_in_its_place(quick: gym.Env[str, str], task_id: str, cheats: int) -> None:
    begin(quick, task_id)
    session = quick.unwrapped.sandbox.session  # type: ignore[attr-defined]
    shown = "find . -type f -printf '%P %C@\\n' | sort -r"
    before = set(session().run(shown).output.splitlines())
    play(quick, *oracle(quick, task_id))
    changed = [line.split()[0] for line in session().run(shown).output.splitlines() if line not in before]
    play(quick, f"cp -r . ~/kept; echo other > /tmp/other; mv {changed[0]} ~/away")
    for cheat in IN_PLACE[:cheats]:
        turned = play(quick, f"rm -rf {changed[0]}; {cheat.replace('{}', changed[0])}")
        assert turned.info["progress"] < 1, cheat
    assert play(quick, f"rm -rf {changed[0]}; mv ~/away {changed[0]}", "submit").reward == 1.0


@pytest.mark.parametrize("race", RACES)
def test_a_race_with_the_verifier_neither_hangs_it_nor_wins(quick: gym.Env[str, str], sibling: None, race: str) -> None:
    begin(quick)
    play(quick, f"({race}) 2>/dev/null & sleep 0.1")
    for _ in range(15):
        assert not quick.unwrapped.verify().success  # type: ignore[attr-defined]
        assert play(quick, "true").info["progress"] < 1
    play(quick, "kill -9 -- -$!; wait; chmod 755 /workspace; [ -d y ] && { rm -f cloud; mv y cloud; }")
    play(quick, "chmod 755 cloud; rm -rf cloud/forms x")
    assert play(quick, *oracle(quick), "submit").reward == 1.0


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_ends_in_a_working_terminal(quick: gym.Env[str, str], sibling: None, flood: str) -> None:
    begin(quick)
    assert play(quick, FLOODS[flood]).info["progress"] == 0
    shown = ""
    for _ in range(5):
        if not shown.startswith("alive\n"):
            shown = play(quick, "\\unset X; while kill -9 -1 2>/dev/null; do :; done; /bin/echo alive").text
    assert shown.startswith("alive\n")
    play(quick, "cd /workspace; chmod -R u+rwX . 2>/dev/null; rm -rf big* f[0-9]* d [0-9]* /dev/shm/x; true")
    assert play(quick, *oracle(quick), "submit").reward == 1.0


@pytest.mark.parametrize("suicide", SUICIDES)
def test_an_agent_that_ends_its_own_sandbox_has_failed_by_itself(
    quick: gym.Env[str, str], sibling: None, suicide: str
) -> None:
    begin(quick)
    play(quick, SUICIDES[suicide])
    time.sleep(0.8 if "later" in suicide else 0)
    quick.unwrapped.verify()  # type: ignore[attr-defined]
    play(quick, "echo x")
    assert play(quick, "pwd").text == "/workspace\n/workspace$"
    ended = play(quick, "submit")
    assert (ended.reward, ended.terminated, ended.info["stop_reason"]) == (0.0, True, "submitted")


@pytest.mark.parametrize("mode", ["000", "100", "400"])
def test_locking_ones_own_directories_is_no_platform_failure(quick: gym.Env[str, str], mode: str) -> None:
    begin(quick)
    play(quick, *oracle(quick), f"cd /; chmod {mode} workspace/cloud workspace/meta workspace home/agent tmp")
    kept = quick.unwrapped.snapshot()  # type: ignore[attr-defined]
    quick.unwrapped.verify()  # type: ignore[attr-defined]
    quick.unwrapped.restore(kept)  # type: ignore[attr-defined]
    kept.close()
    play(quick, "chmod 755 workspace home/agent; chmod 1777 tmp; chmod 755 workspace/cloud workspace/meta")
    assert play(quick, "submit").reward == 1.0


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become a plain user")
@pytest.mark.timeout(900)
def test_the_same_attacks_by_a_plain_user() -> None:
    chosen = f"{FILES} or shadowing and {SCRIPT} or race or flood or ends_its_own or locking"
    done = run_as_plain_user(["tests/envs/test_terminal_tamper.py", "-k", chosen, "-m", "not slow"])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
