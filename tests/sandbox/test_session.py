"""A session keeps its place through whatever a command does."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenv.errors import ClosedEnvironmentError, SandboxLostError
from agentenv.sandbox.base import FileEntry
from agentenv.sandbox.local import LocalSandbox
from tests.sandbox.conftest import Make


def test_reply_holds_output_exit_code_and_directory(box: LocalSandbox) -> None:
    reply = box.session().run("cd sub && cat inner.txt; false")
    assert (reply.output, reply.exit_code, reply.cwd, reply.note) == ("inner\n", 1, "/workspace/sub", "")


def test_variables_functions_aliases_and_directory_last(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("x=1; export Y='a\"b\n$c'; f() { echo f$x; }; alias say='echo said'; cd /tmp")
    assert shell.run('f; say; pwd; printf %s "$Y"').output == 'f1\nsaid\n/tmp\na"b\n$c'
    assert shell.exported()["Y"] == 'a"b\n$c'
    assert shell.cwd == "/tmp"


@pytest.mark.parametrize("status", [0, 1, 2, 42, 255])
def test_dollar_question_mark_is_the_last_commands_status(box: LocalSandbox, status: int) -> None:
    shell = box.session()
    assert shell.run(f"(exit {status})").exit_code == status
    assert shell.run("echo $?").output == f"{status}\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 3", 3),
        ("set -e; false", 1),
        ("exec false", 1),
        ("exec nosuchprogram", 127),
        ("kill -9 $$", 137),
        ("kill $$", 143),
        ("trap 'echo bye' EXIT; exit 4", 4),
        ('echo "unclosed', 2),
        ("echo $(unclosed", None),
        ("if true; then", 2),
        ("cat <<EOF\nunclosed", 0),
        ("}", 2),
        ("break; return 3 2>/dev/null; true", 0),
        ("builtin() { :; }; eval() { :; }; printf() { :; }; read() { :; }; trap() { :; }; exec() { :; }", 0),
        ("pwd() { :; }; export() { :; }; enable() { :; }; command() { :; }; unset() { :; }", 0),
        ("alias eval=false builtin=false exec=false printf=false", 0),
        ("enable -n printf", 0),
        ("PATH=/nowhere; IFS=abc; unset HOME", 0),
        ("exec >/dev/null 2>&1 </dev/zero", 0),
        ("exec 1>&- 2>&- 0>&-", 0),
        ("exec 1>out.txt; true", 0),
        ("for fd in $(seq 3 255); do eval \"exec $fd>&-\"; done; true", 0),
        ("set -u; set -o noglob; set -a; shopt -s extdebug", 0),
        ("set -x; set -v; true", 0),
        ("set -o posix; true", 0),
        ("trap 'true' DEBUG ERR RETURN INT TERM", 0),
        ("mkdir gone && cd gone && rmdir ../gone", 0),
        ("stty raw echo 2>/dev/null </dev/tty; true", 0),
        ("cd /; cd /tmp; true", 0),
        ("printf '\\0gone\\0007\\0' >/run/agentenv/reply", 0),
        ("head -c 200000 /dev/urandom >/run/agentenv/reply", 0),
        ("(sleep 0.01; echo late) & true", 0),
        ("kill -9 -1", None),
        ("history -s x; complete -F f ls; bind -x x 2>/dev/null; true", 0),
        ("!!; echo hi!there", 0),
        ("suspend 2>/dev/null; kill -TSTP 0; true", 0),
        ("kill -STOP $$; true", 0),
    ],
)  # fmt: skip
def test_the_next_command_works_after(box: LocalSandbox, command: str, status: int | None) -> None:
    shell = box.session()
    reply = shell.run(command, timeout_s=8)
    if status is not None:
        assert reply.exit_code == status, reply
    assert not reply.timed_out
    after = shell.run("\\builtin echo works; (\\builtin exit 7)", timeout_s=8)
    assert "works" in after.output
    assert after.exit_code == 7


@pytest.mark.parametrize("command", ["set -n", "readonly POSIXLY_CORRECT=1", "cat /run/agentenv/bash", "ulimit -n 6"])
def test_a_broken_shell_is_replaced_in_the_same_place(box: LocalSandbox, command: str) -> None:
    shell = box.session()
    shell.run("cd sub; export KEPT=1")
    assert "new shell" in shell.run(command, timeout_s=1.5).note
    assert shell.run("pwd; echo $KEPT").output == "/workspace/sub\n1\n"


def test_an_exit_keeps_what_the_same_command_changed_before(box: LocalSandbox) -> None:
    shell = box.session()
    reply = shell.run("cd sub; export A=5; exit 9")
    assert (reply.exit_code, reply.cwd) == (9, "/workspace/sub")
    assert shell.run("echo $A").output == "5\n"


@pytest.mark.parametrize("command", ["cat", "read x; echo $x", "python3 -c 'input()'", "sort", "bash", "head -1"])
def test_reading_from_the_terminal_gets_end_of_file(box: LocalSandbox, command: str) -> None:
    assert not box.session().run(command, timeout_s=8).timed_out


def test_output_goes_to_a_terminal(box: LocalSandbox) -> None:
    assert box.session().run("test -t 1 && test -t 2 && echo yes").output == "yes\n"


def test_a_timeout_keeps_partial_output_names_the_limit_and_kills_the_group(box: LocalSandbox) -> None:
    shell = box.session()
    reply = shell.run("echo before; sleep 61 | sleep 61", timeout_s=0.5)
    assert reply.timed_out
    assert reply.output.startswith("before\n")
    assert "0.5 s" in reply.note
    assert reply.exit_code != 0
    assert shell.run("pgrep -x sleep || echo none").output == "none\n"


@pytest.mark.parametrize("trap", ["trap '' INT", "trap '' INT TERM", "trap 'echo no' INT TERM HUP"])
def test_a_timeout_ends_what_ignores_signals(box: LocalSandbox, trap: str) -> None:
    shell = box.session()
    assert shell.run(f'bash -c "{trap}; while :; do sleep 61; done"', timeout_s=0.3).timed_out
    assert shell.run("pgrep -x sleep || echo none").output == "none\n"


def test_a_builtin_loop_is_ended(box: LocalSandbox) -> None:
    shell = box.session()
    assert shell.run("while :; do :; done", timeout_s=0.3).timed_out
    assert shell.run("echo ok").output == "ok\n"


def test_returns_at_once_though_background_children_hold_the_terminal(box: LocalSandbox) -> None:
    reply = box.session().run("(sleep 61; echo x) & setsid sleep 61 & echo done", timeout_s=8)
    assert reply.output.endswith("done\n")
    assert not reply.timed_out


@pytest.mark.parametrize("end", ["true", "exit", "exec true", "kill -9 $$"])
def test_background_jobs_outlive_the_shell_but_not_the_sandbox(make: Make, end: str) -> None:
    box = make()
    shell = box.session()
    shell.run("sleep 4242 & until pgrep -f 'sleep 4242' > /dev/null; do :; done")
    shell.run(end)
    assert shell.run("pgrep -fc 'sleep 4242'").output == "1\n"
    first = box.session().box.process
    box.close()
    assert first.poll() is not None


def test_all_output_before_the_end_is_in_the_reply(box: LocalSandbox) -> None:
    shell = box.session()
    for count in (1, 100, 2000):
        assert shell.run(f"seq {count}").output == "".join(f"{n}\n" for n in range(1, count + 1))


@pytest.mark.parametrize("flood", ["yes", "cat /dev/zero", "cat /dev/urandom", "while :; do echo x; done"])
def test_floods_are_shortened_and_cut(make: Make, flood: str) -> None:
    shell = make(output_bytes=1000).session()
    reply = shell.run(flood, timeout_s=0.5)
    assert reply.timed_out
    assert len(reply.output.encode()) < 1200
    assert reply.dropped_bytes > 0 or flood == "cat /dev/zero"
    assert shell.run("echo ok").output.endswith("ok\n")


def test_long_output_keeps_head_tail_and_the_count(make: Make) -> None:
    reply = make(output_bytes=100).session().run("seq 100000")
    assert reply.output.startswith("1\n2\n")
    assert reply.output.endswith("99999\n100000\n")
    assert f"[... {reply.dropped_bytes} bytes dropped ...]" in reply.output
    assert reply.dropped_bytes == 588895 - 100


def test_control_sequences_and_bad_bytes_become_plain_text(box: LocalSandbox) -> None:
    command = r"printf '\033[1;31mred\033[0m \033]0;title\007ok\r\n10%%\r20%%\n\xff\xfe\001a\bb\n'"
    assert box.session().run(command).output == "red ok\n20%\n\ufffd\ufffdb\n"


@pytest.mark.parametrize("size", [5_000, 300_000])
def test_long_input_arrives_byte_exact(box: LocalSandbox, size: int) -> None:
    line = ("abc\t!$`'\"\\é\x01\x7f" * size)[:size].replace("\n", "")
    shell = box.session()
    assert shell.run(f"cat > out.txt <<'EOF'\n{line}\nEOF").exit_code == 0
    assert hashlib.sha256(box.read("out.txt")).digest() == hashlib.sha256(f"{line}\n".encode()).digest()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=60))
def test_any_text_arrives_byte_exact(box: LocalSandbox, text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    box.session().run(f"printf %s {quoted} > any.txt")
    assert box.read("any.txt") == text.encode()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(blacklist_categories=("Cs",)), max_size=40))
def test_no_action_text_breaks_the_session(box: LocalSandbox, text: str) -> None:
    shell = box.session()
    shell.run(text, timeout_s=1)
    assert "ok\n" in shell.run("\\builtin echo ok", timeout_s=5).output


def test_output_that_looks_like_a_prompt_or_marker_is_output(box: LocalSandbox) -> None:
    shell = box.session()
    text = "/workspace$ \nPEXPECT_PROMPT> \n[exit code 0]"
    assert shell.run(f"printf '%s' '{text}'").output == text


def test_bash_messages_count_lines_from_the_command(box: LocalSandbox) -> None:
    shell = box.session()
    for _ in range(2):
        assert shell.run("true\nnosuch").output == "bash: line 2: nosuch: command not found\n"


def test_environment_is_clean_and_fixed(box: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_SECRET", "x")
    names = set(box.session().run("env | cut -d= -f1").output.split())
    assert "HOST_SECRET" not in names
    assert {"PATH", "HOME", "LANG", "TZ"} <= names
    assert box.session().run("id -un; hostname; date +%Z; umask").output == "agent\nsandbox\nUTC\n0022\n"


def test_death_from_outside_is_the_platforms_failure(box: LocalSandbox) -> None:
    shell = box.session()
    shell.box.process.kill()
    shell.box.process.wait()
    with pytest.raises(SandboxLostError):
        shell.run("echo x")
    with pytest.raises(SandboxLostError):
        box.read("notes.txt")


@pytest.mark.parametrize("number", [9, 15])
def test_death_of_the_first_process_from_outside_is_the_platforms_failure(box: LocalSandbox, number: int) -> None:
    import os

    shell = box.session()
    os.kill(shell.box.init_pid if number == 9 else shell.box.process.pid, number)  # type: ignore[arg-type]
    with pytest.raises(SandboxLostError):
        shell.run("sleep 5")


def test_death_from_outside_during_a_command_does_not_hang(box: LocalSandbox) -> None:
    import threading

    shell = box.session()
    threading.Timer(0.3, shell.box.process.kill).start()
    with pytest.raises(SandboxLostError):
        shell.run("sleep 61", timeout_s=30)


def test_a_session_opened_in_a_thread_that_ended_lives_on(make: Make) -> None:
    import threading

    box = make()
    thread = threading.Thread(target=box.session)
    thread.start()
    thread.join()
    assert box.session().run("echo ok").output == "ok\n"


def test_an_interrupted_command_is_not_mistaken_for_the_next(box: LocalSandbox) -> None:
    import _thread
    import threading

    shell = box.session()
    shell.run("cd sub")
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        shell.run("echo old; sleep 61; echo old")
    reply = shell.run("pwd; (exit 5)", timeout_s=8)
    assert (reply.output, reply.exit_code) == ("/workspace/sub\n", 5)
    assert shell.run("pgrep -x sleep || echo none; nosuch").output == "none\nbash: line 1: nosuch: command not found\n"


def test_a_closed_session_leaves_the_sandbox_usable(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("cd sub; export A=1; sleep 61 &")
    shell.close()
    shell.close()
    assert box.text("notes.txt") == "hello\n"
    assert box.session().run("pwd; echo $A; pgrep -x sleep").output == "/workspace/sub\n1\n"


def test_scripts_of_any_length_run(box: LocalSandbox) -> None:
    done = box.run("cat <<'EOF'\n" + "line é\n" * 60_000 + "EOF\nexit 3", stdin=b"unused")
    assert (done.exit_code, len(done.stdout)) == (3, 60_000 * 8)


def test_programs_get_arguments_standard_input_and_environment(box: LocalSandbox) -> None:
    done = box.run(["sh", "-c", 'cat; echo "$1 $X"; exit 4', "sh", "a b"], stdin=b"x" * 200_000, env={"X": "y"})
    assert (done.exit_code, done.stdout) == (4, b"x" * 200_000 + b"a b y\n")


def test_a_closed_sandbox_refuses_and_closes_again(box: LocalSandbox) -> None:
    box.session()
    box.close()
    box.close()
    with pytest.raises(ClosedEnvironmentError):
        box.session()


def test_files_written_by_the_host_belong_to_the_agent(make: Make) -> None:
    shell = make(FileEntry("d/f", b"x", mode=0o600), FileEntry("/home/agent/.bashrc", b"echo startup")).session()
    assert shell.run("stat -c '%U %a' d d/f; echo more >> d/f; cat d/f").output == "agent 755\nagent 600\nxmore\n"
