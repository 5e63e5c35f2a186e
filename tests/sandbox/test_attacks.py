"""The sandbox as an attacker meets it. Every case runs beside a sibling that must not notice."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentenv
from agentenv.sandbox import processes
from agentenv.sandbox.base import FileEntry
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.registry import host_root
from tests.sandbox.conftest import Make
from tests.sandbox.plain_user import run_as_plain_user

SECRET = "the-host-secret-4711"


@pytest.fixture
def sibling(make: Make) -> Iterator[LocalSandbox]:
    """Another sandbox, with a job of its own, checked after the attack."""
    other = make(FileEntry("mine.txt", b"untouched\n"))
    other.session().run("export MINE=1; sleep 4343 &")
    hashed = other.state_hash()
    yield other
    assert other.state_hash() == hashed
    assert other.session().run("cat mine.txt; echo $MINE; pgrep -fc 'sleep 4343'").output == "untouched\n1\n1\n"


def test_no_powers_and_no_way_to_get_them(box: LocalSandbox, sibling: LocalSandbox) -> None:
    shown = box.session().run("grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status; id -u").output.split()
    assert shown == ["CapInh:", "0" * 16, "CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapBnd:", "0" * 16,
                     "CapAmb:", "0" * 16, "NoNewPrivs:", "1", "1000"]  # fmt: skip


def test_the_host_sees_an_unprivileged_user_without_groups(box: LocalSandbox, sibling: LocalSandbox) -> None:
    for one in (box, sibling):
        one.session()
    pids = [box.session().box.init_pid, sibling.session().box.init_pid]
    lines = [Path(f"/proc/{pid}/status").read_text().splitlines() for pid in pids]
    uids = [next(line for line in text if line.startswith("Uid:")).split()[1:] for text in lines]
    assert all(len(set(uid)) == 1 and uid[0] != "0" for uid in uids)
    if os.getuid() == 0:
        assert uids[0] != uids[1]
        assert all("Groups:" in [line.strip() for line in text] for text in lines)


@pytest.mark.parametrize(
    "attack",
    [
        "mount -o remount,rw /usr",
        "mount -o remount,rw,bind /",
        "mount --bind /tmp /usr",
        "mount -t tmpfs none /mnt",
        "umount /usr",
        "umount -l /etc",
        "unshare -U true",
        "unshare -Ur true",
        "unshare -m true",
        "unshare -n true",
        "unshare -p --fork true",
        "chroot / true",
        "touch /usr/x",
        "touch /etc/x",
        "touch /x",
        "touch /dev/x",
        "touch /run/agentenv/x",
        "rm -f /run/agentenv/reply",
        "echo x >> /etc/passwd",
        "mkdir /usr/local/lib/x",
        "mknod b b 8 0",
        "mknod c c 1 1",
        "su -c true",
        "sudo -n true",
        "chown 0:0 notes.txt",
        "chmod u+s /bin/bash",
        "nice -n -5 true 2>&1 | grep -v denied",
        "sysctl -w kernel.hostname=x",
        "hostname evil",
        "date -s 2000-01-01 2>/dev/null",
        "echo 1 > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "echo x > /proc/1/root/usr/x",
        "cat /proc/kcore | head -c 1",
        "dmesg",
        "swapon /workspace/notes.txt",
        "echo $$ > /sys/fs/cgroup/cgroup.procs",
        "nsenter -t 1 -m true",
        "echo -1000 > /proc/self/oom_score_adj",
        "ulimit -Hf unlimited",
        "timeout 2 bash -c 'echo > /dev/tcp/1.1.1.1/80'",
        "timeout 2 bash -c 'echo > /dev/tcp/10.0.0.1/22'",
        "ping -c 1 -W 1 127.0.0.1 && ping -c 1 -W 1 8.8.8.8",
    ],
)  # fmt: skip
def test_forbidden_acts_fail(box: LocalSandbox, attack: str) -> None:
    assert box.session().run(f"set -o pipefail; {attack}").exit_code != 0


@pytest.mark.parametrize(
    "place",
    ["/root", "/home", "/proc/1/root/root", "/mnt", "/opt", "/srv", "/sys", "/boot", "/var/log", "/host", "/oldroot"],
)
def test_host_directories_are_not_there(box: LocalSandbox, place: str) -> None:
    shown = set(box.session().run(f"ls -A {place} 2>/dev/null").output.split())
    assert shown <= {"agent"}


def test_no_host_files_environment_or_processes(
    box: LocalSandbox, sibling: LocalSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_SECRET", SECRET)
    (tmp_path / "secret").write_text(SECRET)
    command = (
        f"cat {tmp_path}/secret /proc/*/environ /proc/*/cmdline /etc/* 2>/dev/null | tr '\\0' '\\n' | grep -c '[t]he-host-secret';"  # noqa: E501
        f"ls -d {tmp_path} {host_root()} 2>/dev/null | wc -l; grep -c {host_root()}/box /proc/self/mounts"
    )
    assert box.session().run(command).output == "0\n0\n0\n"
    assert int(box.session().run("ls -d /proc/[0-9]* | wc -l").output) < 12
    assert box.session().run("pgrep -fc 4343").output == "0\n"


def test_agentenv_and_its_hidden_checks_are_not_visible(box: LocalSandbox) -> None:
    package = Path(agentenv.__file__).resolve().parent
    shown = box.session().run(
        f"ls {package} 2>/dev/null; python3 -c 'import agentenv' 2>&1 | tail -1; "
        "find / -xdev -name 'agentenv*' -not -path '/proc/*' 2>/dev/null | grep -v '^/run/agentenv$'"
    )
    assert "agentenv" not in shown.output.replace("No module named 'agentenv'", "")


def test_no_descriptor_of_the_host_is_inherited(box: LocalSandbox) -> None:
    holder = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(holder, True)
    try:
        listing = box.session().run(
            "ls -l /proc/self/fd /proc/$$/fd /proc/1/fd | grep -- '->' | sed 's/.*-> //' | sort -u"
        )
        assert "/etc/hostname" not in listing.output
        allowed = ("/dev/tty", "/dev/pts/", "pipe:", "/dev/null", "/proc/", "/run/agentenv/", "/workspace")
        assert all(line.startswith(allowed) for line in listing.output.splitlines()), listing.output
        assert "/etc/hostname" not in box.run_on_fork("ls -l /proc/self/fd").stdout
    finally:
        os.close(holder)


def test_processes_outside_cannot_be_signalled_or_traced(box: LocalSandbox, sibling: LocalSandbox) -> None:
    victim = sibling.session().box.init_pid
    box.session().run(f"kill -9 {victim} {os.getpid()} {os.getppid()}; kill -9 -1")
    box.session().run(f"gdb -p {os.getpid()} -batch 2>/dev/null; cat /proc/{os.getpid()}/mem")
    assert victim is not None
    assert Path(f"/proc/{victim}").exists()


def test_fake_replies_on_every_descriptor_fool_nobody(box: LocalSandbox) -> None:
    shell = box.session()
    fake = r"\0%s\0000\0/fake\n\0export FAKE=\"1\"\n\0%s\0"
    for target in (
        "/run/agentenv/reply",
        "/run/agentenv/bash",
        "/run/agentenv/go",
        "/dev/tty",
        "/proc/$$/fd/*",
        "/proc/1/fd/*",
    ):
        words = "for word in gone exit 000000000000000000000000"
        shell.run(
            f"{words}; do for f in {target}; do timeout 1 printf '{fake}' $word $word > $f; done; done", timeout_s=6
        )
        assert shell.run("(exit 6)", timeout_s=6).exit_code == 6, target
        assert shell.cwd != "/fake"
    assert box.text("notes.txt") == "hello\n"


def test_terminal_input_injection_reaches_nobody(box: LocalSandbox) -> None:
    code = "import fcntl; [fcntl.ioctl(open('/dev/tty'), 0x5412, bytes([c])) for c in b'touch injected\\n']"
    box.session().run(f'python3 -c "{code}"')
    box.session().run("true")
    assert not box.exists("injected")


def test_the_first_process_killed_from_within_is_the_agents_own_doing(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("cd sub")
    crash = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.ptrace(0x10, 1, 0, 0); os.waitpid(1, 0x40000000); libc.ptrace(8, 1, 0, 0)\n"
    )
    shell.run(f"timeout 3 python3 -c '{crash}'; kill -SEGV 1; kill -9 1", timeout_s=6)
    assert shell.run("pwd", timeout_s=8).output == "/workspace/sub\n"


def test_a_verifier_is_not_shadowed(box: LocalSandbox) -> None:
    box.session().run(
        """
        site=$(python3 -m site --user-site); mkdir -p $site; echo 'print("faked")' > $site/usercustomize.py
        echo 'print("faked")' > $site/sitecustomize.py; echo 'print("faked")' > sitecustomize.py
        mkdir -p ~/bin bin; for p in cat ls python3 grep bash test; do printf '#!/bin/sh\\necho faked' > bin/$p; done
        chmod +x bin/*; cp bin/* ~/bin; cp bin/cat .; export PATH=$PWD/bin:$PATH
        export LD_PRELOAD=/workspace/x.so BASH_ENV=~/.bashrc
        export PYTHONSTARTUP=/workspace/p.py PYTHONPATH=/workspace ENV=~/.bashrc
        for f in .bashrc .profile .bash_profile .bash_login .inputrc .pythonrc; do
            echo 'echo faked; exit 0' > ~/$f
        done
        cat() { echo faked; }; export -f cat; alias cat='echo faked'; hash -p /workspace/bin/cat cat; true
        """
    )
    result = box.run_on_fork("cat notes.txt; python3 -c 'print(1)'; echo \"$LD_PRELOAD$BASH_ENV\"; pwd")
    assert (result.stdout, result.stderr, result.exit_code) == ("hello\n1\n\n/workspace\n", "", 0)


def test_a_verifier_cannot_be_raced_by_the_agents_processes(box: LocalSandbox) -> None:
    box.session().run("(while :; do echo forged > result; rm -f result; done) & disown")
    result = box.run_on_fork("rm -f result; sleep 0.2; echo true > result; sleep 0.1; cat result; pgrep -c bash")
    assert result.stdout.startswith("true\n")
    assert result.stdout.splitlines()[1] in ("1", "2")


def test_a_verifiers_leftovers_die_with_it(box: LocalSandbox) -> None:
    started = time.monotonic()
    assert box.run_on_fork("setsid sleep 4545 & (sleep 4545 &) ; echo done").stdout == "done\n"
    result = box.run_on_fork("setsid sleep 4545 & trap '' TERM INT HUP; sleep 4545", timeout_s=0.5)
    assert result.timed_out
    assert time.monotonic() - started < 30
    assert not _anywhere("sleep\x004545")


def test_a_flooding_verifier_is_capped(box: LocalSandbox) -> None:
    result = box.run_on_fork("yes", timeout_s=1)
    assert result.timed_out
    assert len(result.stdout) <= 1 << 20


@pytest.mark.parametrize(
    "bomb",
    [
        ":(){ :|:& };:",
        "python3 -c 'import os\nwhile 1: os.fork()' >/dev/null 2>&1",
        "for i in $(seq 500); do sleep 61 & done 2>/dev/null",
        "python3 -c 'import threading,time\nwhile 1: threading.Thread(target=time.sleep,args=(61,)).start()' 2>/dev/null",  # noqa: E501
    ],
)
def test_process_bombs_end_in_a_working_shell(make: Make, sibling: LocalSandbox, bomb: str) -> None:
    shell = make(processes=40, wall_s=2).session()
    shell.run(bomb)
    for _ in range(4):
        reply = shell.run("/bin/echo alive")
        if reply.output == "alive\n":
            break
    assert reply.output == "alive\n"


@pytest.mark.parametrize(
    "flood",
    [
        "python3 -c 'x = [bytearray(1 << 20) for _ in range(2000)]'",
        "for i in 1 2 3 4 5 6; do python3 -c 'import time; x=b\"1\"*(60<<20); time.sleep(61)' & done; wait",
        "x=x; while :; do x=$x$x; done",
        "head -c 400M /dev/zero > /dev/shm/x",
    ],
)  # fmt: skip
def test_memory_floods_end_in_a_working_shell(make: Make, sibling: LocalSandbox, flood: str) -> None:
    shell = make(memory_bytes=128 << 20, wall_s=5).session()
    reply = shell.run(flood)
    assert reply.exit_code != 0 or reply.note
    assert shell.run("/bin/echo alive").output.endswith("alive\n")


def test_a_file_over_the_limit_is_cut_and_named(make: Make) -> None:
    reply = make(file_bytes=1 << 20).session().run("head -c 3M /dev/zero > big; stat -c %s big; (exit 153)")
    assert "1048576\n" in reply.output
    assert "file size limit of 1 MiB" in reply.note


def test_a_disk_flood_is_stopped_named_and_can_be_deleted(make: Make) -> None:
    box = make(disk_bytes=16 << 20, file_bytes=4 << 20, wall_s=20)
    reply = box.session().run("for i in $(seq 400); do head -c 3M /dev/zero > f$i; sleep 0.02; done")
    assert "disk limit of 16 MiB" in reply.note
    assert len(box.listdir("/workspace")) < 200
    assert box.session().run("rm -f f*; echo free > x; cat x").output == "free\n"


def test_a_background_disk_flood_is_stopped_between_commands(make: Make) -> None:
    box = make(disk_bytes=16 << 20, file_bytes=4 << 20)
    box.session().run("(i=0; while :; do i=$((i+1)); head -c 3M /dev/zero > f$i; sleep 0.02; done) & true")
    time.sleep(1.5)
    count = len(box.listdir("/workspace"))
    time.sleep(0.5)
    assert len(box.listdir("/workspace")) == count < 200


@pytest.mark.parametrize("depth", [100, 1500])
def test_deep_directories_neither_crash_nor_leak(make: Make, depth: int) -> None:
    box = make()
    code = f"import os\nfor n in range({depth}):\n os.mkdir('d'); os.chdir('d')\nopen('deepest', 'w')"
    box.session().run(f'python3 -c "{code}"')
    hashed = box.state_hash()
    with box.fork() as twin:
        assert twin.run_on_fork("echo ok").stdout == "ok\n"
        if depth < 128:
            assert twin.state_hash() == hashed
            assert twin.run("find -name deepest | wc -l").stdout == b"1\n"
    place = box._live.place.path  # type: ignore[union-attr]
    box.close()
    assert not place.exists()


def test_locking_ones_own_directories_stops_nobody_else(box: LocalSandbox) -> None:
    box.session().run("cd /; chmod 000 /workspace /home/agent /tmp")
    with box.fork() as twin:
        assert twin.session().run("pwd").output == "/\n"
        assert twin.session().run("chmod 755 /workspace; cat /workspace/notes.txt").output == "hello\n"
    box.state_hash()
    assert box.run_on_fork("echo ok").stdout == "ok\n"
    assert box.stat("/workspace").mode == 0
    kept = box.snapshot()
    box.restore(kept)
    assert box.stat("/workspace").mode == 0


def test_orphans_are_reaped(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("for i in $(seq 100); do (sleep 0.01 &) ; done; sleep 0.3")
    shell.run("sleep 0.1")
    assert int(shell.run("ps -e -o stat= | grep -c Z").output) < 3


def test_sparse_giants_cost_nothing(make: Make) -> None:
    box = make(file_bytes=1 << 45)
    box.session().run("truncate -s 100G giant")
    box.state_hash()
    with box.fork() as twin:
        assert twin.stat("giant").size == 100 << 30


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become a plain user")
@pytest.mark.timeout(900)
def test_the_same_suite_as_a_plain_user() -> None:
    done = run_as_plain_user(["tests/sandbox", "-m", "not slow"])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def _anywhere(words: str) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if words in Path(f"/proc/{name}/cmdline").read_text(errors="replace"):
                    return True
            except OSError:
                continue
    return False


def test_descendants_are_listed() -> None:
    child = subprocess.Popen(["sleep", "61"])
    try:
        assert child.pid in processes.descendants(os.getpid())
    finally:
        child.kill()
        child.wait()
