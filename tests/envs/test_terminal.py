"""The terminal as its agent meets it: observations, ends, copies of a live episode, verification without a trace."""

from __future__ import annotations

import time

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit

import agentenv
from agentenv.errors import ConfigurationError, ResetNeededError
from agentenv.wrappers import ProgressReward
from tests.envs.playing import FILES, LINKS, begin, oracle, play, terminal

# Observations.


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("true", "/workspace$"),
        ("echo hi", "hi\n/workspace$"),
        ("printf hi", "hi\n/workspace$"),
        ("echo; echo; echo hi; echo", "\n\nhi\n/workspace$"),
        ("false", "[exit code 1]\n/workspace$"),
        ("nosuch", "bash: line 1: nosuch: command not found\n[exit code 127]\n/workspace$"),
        ("cd /tmp", "/tmp$"),
        ("cd /", "/$"),
        ("cd", "/home/agent$"),
        ("cd nowhere", "bash: line 1: cd: nowhere: No such file or directory\n[exit code 1]\n/workspace$"),
        ("mkdir $'a\\nb' && cd $'a\\nb'", "/workspace/a?b$"),
        ("mkdir $'\\e[31mx' && cd $'\\e[31mx'", "/workspace/?[31mx$"),
        ("mkdir $'\\xff' && cd $'\\xff'", "/workspace/�$"),
        ("mkdir é && cd é", "/workspace/é$"),
        ("mkdir gone; cd gone; rmdir ../gone; pwd", "/workspace/gone\n/workspace$"),
        ("printf 'a\\0b\\033[1mc\\xff'", "abc�\n/workspace$"),
        ("(exit 7)", "[exit code 7]\n/workspace$"),
        ("kill -9 $BASHPID", "[exit code 137]\n[the shell ended with 137; a new shell was started]\n/workspace$"),
        ("echo one\necho two", "one\ntwo\n/workspace$"),
        ("echo one\nsubmit", "one\nbash: line 2: submit: command not found\n[exit code 127]\n/workspace$"),
        ("echo submit", "submit\n/workspace$"),
        ("SUBMIT", "bash: line 1: SUBMIT: command not found\n[exit code 127]\n/workspace$"),
        ("cat", "/workspace$"),
    ],
)
def test_an_observation_is_output_exit_code_and_directory(env: gym.Env[str, str], action: str, shown: str) -> None:
    turned = play(env, action)
    assert turned.text == shown
    assert turned.info["valid_action"]
    assert not turned.terminated


@pytest.mark.parametrize("action", ["submit", " submit\n", "\n\tsubmit  \n"])
def test_submit_ends_the_episode(env: gym.Env[str, str], action: str) -> None:
    turned = play(env, action)
    assert (turned.reward, turned.terminated, turned.truncated) == (0.0, True, False)
    assert turned.info["stop_reason"] == "submitted"


@pytest.mark.parametrize("action", ["", "  \n", "a\0b", "\ud800", "x" * (1 << 18) + "y"])
def test_an_invalid_action_is_told_and_changes_nothing(env: gym.Env[str, str], action: str) -> None:
    before = play(env, "cd /tmp; x=1").info["state_hash"]
    turned = play(env, action)
    assert turned.text.startswith("Invalid action: ")
    assert not turned.info["valid_action"]
    assert turned.info["state_hash"] == before
    assert play(env, "echo $x").text == "1\n/tmp$"


@pytest.mark.parametrize(
    "action", ["printf '\\xff%.0s' $(seq 4000)", "seq 100000", "yes | head -c 5M", "cat /bin/bash"]
)
def test_every_observation_lies_in_the_space(env: gym.Env[str, str], action: str) -> None:
    text = play(env, action).text
    assert text in env.observation_space
    assert len(text.encode()) < 17 << 10


def test_the_clock_is_named_and_what_came_before_is_kept() -> None:
    env = terminal(command_timeout_s=0.5)
    begin(env)
    text = play(env, "echo begun; sleep 61").text
    assert text == "begun\n[exit code 130]\n[stopped at the wall-clock limit of 0.5 s]\n/workspace$"
    assert play(env, "pgrep -x sleep; echo on").text == "on\n/workspace$"
    env.close()


def test_the_first_observation_is_the_task_and_the_place(env: gym.Env[str, str]) -> None:
    observation, _ = env.reset(options={"task_id": FILES})
    task = env.unwrapped.task_set.task(FILES)  # type: ignore[attr-defined]
    assert observation == f"{task.instruction}\n/workspace$"


def test_nothing_that_an_agent_is_shown_holds_a_solution_or_a_check(env: gym.Env[str, str]) -> None:
    task_set = env.unwrapped.task_set  # type: ignore[attr-defined]
    for task_id in task_set.ids("train")[:45]:
        shown = repr(task_set.task(task_id))
        for solution in (task_set.oracle(task_id), *task_set.alternatives(task_id)):
            assert not any(len(action) > 30 and action in shown for action in solution)
        assert "Check(" not in shown


@pytest.mark.parametrize("name", ["command_timeout_s", "output_bytes", "memory_bytes"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be positive"):
        terminal(**{name: 0})


def test_observations_of_any_chosen_size_lie_in_the_space() -> None:
    env = terminal(output_bytes=1 << 20)
    begin(env)
    assert play(env, "seq 1000000").text in env.observation_space
    env.close()


# What is verified.


def test_a_hard_link_counts_though_no_byte_or_mode_changes(env: gym.Env[str, str]) -> None:
    begin(env, LINKS)
    [link] = oracle(env, LINKS)
    copied = play(env, link.replace("ln ", "cp "))
    assert copied.info["progress"] < 1
    linked = play(env, link.replace("ln ", "ln -f "))
    assert linked.info["progress"] == 1
    assert linked.info["state_hash"] != copied.info["state_hash"]
    assert play(env, link.replace("ln ", "cp --remove-destination ")).info["progress"] < 1


@pytest.mark.parametrize(
    "change",
    ["chmod 700 /workspace", "chmod 700 ~", "mknod s p", "python3 -c 'import socket as s; s.socket(1).bind(\"s\")'",
     "ln meta/* .", "chmod 600 meta/*", "rm -r meta", "export X=1", "cd /tmp", "touch ~/new"],
)  # fmt: skip
def test_the_state_hash_tells(env: gym.Env[str, str], change: str) -> None:
    before = begin(env)["state_hash"]
    assert play(env, change).info["state_hash"] != before


@pytest.mark.parametrize("change", ["touch meta", "touch /tmp/x", "chmod 700 /tmp", "touch -d 2001-01-01 meta/*"])
def test_what_only_a_check_could_see_is_verified_again(env: gym.Env[str, str], change: str) -> None:
    bare = env.unwrapped
    before, seen = begin(env)["state_hash"], bare.hashes()[1]  # type: ignore[attr-defined]
    assert play(env, change).info["state_hash"] == before
    assert bare.hashes()[1] != seen  # type: ignore[attr-defined]


def test_an_unchanged_state_is_not_verified_again(env: gym.Env[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("verified")

    monkeypatch.setattr("agentenv.env.verify_checks", refuse)
    play(env, "ls -la; cat meta/* > /dev/null", "y=1", "echo x | sort", "", "submit")


def test_a_job_that_has_a_file_mapped_cannot_change_it_unseen(env: gym.Env[str, str]) -> None:
    writer = (
        "import mmap, time\nf = open('mapped', 'r+b')\nm = mmap.mmap(f.fileno(), 4)\nm[:3] = b'BBB'\n"
        "while 1:\n  time.sleep(0.01); m[0] = 66 + (m[0] == 66)\n"
    )
    play(env, f"echo aaa > mapped; cat > m.py <<'E'\n{writer}E\npython3 m.py &", "while grep -q a mapped; do :; done")
    seen: set[str] = set()
    for pause in range(40):
        if len(seen) < 2:
            seen.add(play(env, "true").info["state_hash"])
            time.sleep(0.001 * pause)
    assert len(seen) == 2


def test_all_checks_of_a_verification_read_one_state(env: gym.Env[str, str]) -> None:
    bare = env.unwrapped
    play(env, "(i=0; while :; do i=$((i+1)); echo $i > count.new; mv count.new count; done) & sleep 0.2")
    with bare.held():  # type: ignore[attr-defined]
        first = bare.view().read("count")  # type: ignore[attr-defined]
        bare.hashes()  # type: ignore[attr-defined]
        bare.view().run("true")  # type: ignore[attr-defined]
        assert bare.view().read("count") == first  # type: ignore[attr-defined]
    time.sleep(0.2)
    assert bare.view().read("count") != first  # type: ignore[attr-defined]


LISTING = r"find /workspace ~ /tmp -printf '%p|%i|%m|%n|%s|%y|%T@|%C@\n'; ls -U -R /workspace; df -i --output=iused ~"
# Access times of files and directories: those of links cannot be kept from moving.
ACCESSED = r"find /workspace ~ /tmp '(' -type f -o -type d ')' -printf '%p|%A@\n'"
RUNNING = (
    "ps -e -o pid,stat,args | grep -v -e ps -e grep; jobs; echo $!; set -o | md5sum; history; cat /proc/self/mounts"
)


@pytest.mark.parametrize("task_id", [FILES, "shell_scripts-easy-train-0"])
def test_verification_leaves_no_trace(env: gym.Env[str, str], task_id: str) -> None:
    begin(env, task_id)
    bare = env.unwrapped
    play(env, *oracle(env, task_id))
    play(
        env,
        "ln -s nowhere link; mkfifo pipe; mkdir -m 000 locked; touch $'a\\nb'; sleep 61 & trap 'echo seen' CONT CHLD",
    )
    # Directories' access times move when the agent lists them: look at them first, and at nothing in between.
    looks = []
    for _ in range(2):
        session = bare.sandbox.session()  # type: ignore[attr-defined]
        looks.append([session.run(command).output for command in (ACCESSED, LISTING, RUNNING)])
        first, second = bare.verify(), bare.verify()  # type: ignore[attr-defined]
        assert (first, first.evidence) == (second, second.evidence)
        bare.hashes()  # type: ignore[attr-defined]
        bare.snapshot().close()
    looks.append([session.run(command).output for command in (ACCESSED, LISTING, RUNNING)])
    assert looks[1][1:] == looks[2][1:]
    assert looks[1][0] == looks[2][0]


def test_verification_does_not_move_access_times(env: gym.Env[str, str]) -> None:
    bare = env.unwrapped
    bare.verify()  # type: ignore[attr-defined]
    bare.snapshot().close()
    accessed = play(env, "cd /tmp; find /workspace -type f -printf '%A@ %T@ %p\\n'").text
    assert all(line.split()[0] == line.split()[1] for line in accessed.splitlines()[:-1]), accessed


# Copies of a live episode.

LIVELY = r"""sleep 4646 &
mkdir -p 'odd dir'/$'n\nl' && cd 'odd dir' && echo x > $'\xff\xfe' && ln -s nowhere dangling && mkfifo pipe
export A=$'line\nbreak' B="quo'te\"d" C='é漢🙂' D='$(echo no) `no` \n' E='' F=$'\xff\t\e[1m'
local_only=1; f() { echo f; }; alias g='echo g'; export -f f 2>/dev/null; umask 027"""
PLACE = r"""pwd; printf '%q\n' "$A" "$B" "$C" "$D" "$E" "$F"; ls -laR --time-style=+%s.%N /workspace | cut -c1-200"""


def test_a_fork_is_at_the_same_place_and_the_original_goes_on(env: gym.Env[str, str]) -> None:
    before = play(env, LIVELY, PLACE)
    twin = agentenv.fork(env)
    try:
        there = play(twin, PLACE)
        assert (there.text, there.info) == (before.text, {**before.info, "turn": before.info["turn"] + 1})
        play(twin, "rm -rf /workspace/*; export A=changed; cd /tmp")
        assert play(twin, "pgrep -fc 'sleep 4646'").text == "0\n[exit code 1]\n/tmp$"
        here = play(env, PLACE)
        assert here.text == before.text
        assert play(env, "echo $local_only; f; g; umask; pgrep -fc 'sleep 4646'; jobs").text.splitlines()[:5] == [
            "1", "f", "g", "0027", "1",
        ]  # fmt: skip
    finally:
        twin.close()


def test_restore_goes_back_as_often_as_one_likes(env: gym.Env[str, str]) -> None:
    before = play(env, LIVELY, PLACE)
    kept = agentenv.snapshot(env)
    for _ in range(2):
        play(env, "rm -rf /workspace/*; cd /; unset A", *oracle(env), "submit")
        agentenv.restore(env, kept)
        again = play(env, PLACE)
        assert again.text == before.text
        assert again.info["state_hash"] == before.info["state_hash"]
        assert play(env, "pgrep -fc 'sleep 4646'").text.startswith("0\n")
    kept.close()
    assert play(env, "cd /workspace", *oracle(env), "submit").reward == 1.0


def test_a_whole_stack_is_kept() -> None:
    env = ProgressReward(TimeLimit(terminal(), 8))
    begin(env)
    play(env, "true")
    kept, twin = agentenv.snapshot(env), agentenv.fork(env)
    paid = [play(one, *oracle(env)).reward for one in (env, twin)]
    assert paid == [1.0, 1.0]
    agentenv.restore(env, kept)
    assert play(env, *oracle(env)).reward == 1.0
    assert play(env, "submit").info["success"]
    twin.close()
    env.close()


def test_a_chain_of_forks_keeps_state(env: gym.Env[str, str]) -> None:
    here = agentenv.fork(env)
    for number in range(5):
        play(here, f"echo {number} >> chain; cd ~; export N={number}; cd /workspace")
        deeper = agentenv.fork(here)
        here.close()
        here = deeper
    assert play(here, "tr '\\n' ' ' < chain; echo $N").text == "0 1 2 3 4 4\n/workspace$"
    here.close()


def test_a_failed_reset_leaves_no_episode(env: gym.Env[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        env.reset(options={"task_id": "nothing-easy-train-0"})
    assert play(env, "echo still").text == "still\n/workspace$"
    fresh = terminal().unwrapped
    with pytest.raises(ResetNeededError):
        fresh.verify()  # type: ignore[attr-defined]
    fresh.close()


@pytest.mark.parametrize("task_id", ["disk_usage-easy-ood-0", FILES, "logs-hard-train-1"])
def test_every_reset_lists_and_dates_alike(env: gym.Env[str, str], task_id: str) -> None:
    shown = []
    for _ in range(3):
        begin(env, task_id)
        shown.append(play(env, "find . -printf '%p %m %T@ %A@\\n'; ls -laU; ls -la --time-style=full-iso ~ /tmp").text)
    assert shown[0] == shown[1] == shown[2]
