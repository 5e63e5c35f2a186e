"""Nothing is left behind: not by normal use, not by a killed process, not by a forked child."""

from __future__ import annotations

import gc as python_gc
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agentenv.errors import (
    ClosedEnvironmentError,
    ConfigurationError,
    InfrastructureError,
    IsolationUnavailableError,
    LimitUnenforceableError,
    SandboxLostError,
)
from agentenv.sandbox import bwrap, doctor, gc, processes
from agentenv.sandbox.base import FileEntry, Limits
from agentenv.sandbox.isolation.limits import controllers
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.registry import host_root, lease_uid, new_id, owner_alive

OWN = f"-{os.getpid()}-"


def left_behind() -> tuple[list[str], list[str], list[int], int, int]:
    python_gc.collect()
    folders = sorted(p.name for p in host_root().iterdir() if OWN in p.name)
    groups = sorted(p.name for parent in set(controllers().parents.values()) for p in parent.glob(f"agentenv-*{OWN}*"))
    mounts = Path("/proc/self/mounts").read_text().count("agentenv")
    return folders, groups, processes.descendants(os.getpid()), len(os.listdir("/proc/self/fd")), mounts


def cycle(number: int) -> None:
    with LocalSandbox() as box:
        box.start([FileEntry("f", b"x")])
        shell = box.session()
        assert shell.run("sleep 61 & mkdir -m 000 d; echo hi").output == "hi\n"
        if number % 10 == 0:
            kept = box.snapshot()
            box.run_on_fork("cat f")
            box.restore(kept)
            box.fork().close()
            kept.close()


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_cycles_leave_nothing(count: int) -> None:
    cycle(0)
    before = left_behind()
    for number in range(count):
        cycle(number)
    assert left_behind() == before


def test_a_dropped_sandbox_is_removed_without_close() -> None:
    cycle(0)
    before = left_behind()
    box = LocalSandbox()
    box.start()
    box.session().run("sleep 61 &")
    del box
    assert left_behind() == before


def test_a_failed_start_leaves_nothing() -> None:
    cycle(0)
    before = left_behind()
    with pytest.raises(ConfigurationError):
        LocalSandbox().start([FileEntry("/etc/x", b"")])
    assert left_behind() == before


KILLED = """
import sys, time
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.base import FileEntry
box = LocalSandbox(); box.start([FileEntry(f"f{n}", b"x") for n in range(300)])
box.session().run("sleep 5151 & setsid sleep 5151 & mkdir -m 000 locked")
kept = box.snapshot()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_gc_removes_what_a_killed_process_left(number: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    mine = f"-{child.pid}-"
    child.send_signal(number)
    child.wait()
    child.stdout.close()
    gc.reap()
    assert [p for p in host_root().iterdir() if mine in p.name] == []
    assert [p for parent in set(controllers().parents.values()) for p in parent.glob(f"agentenv-*{mine}*")] == []
    deadline = time.monotonic() + 5
    while _running("sleep\x005151") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _running("sleep\x005151")


def test_gc_touches_nothing_alive() -> None:
    with LocalSandbox() as box:
        box.start([FileEntry("f", b"x")])
        box.session().run("export A=1")
        kept = box.snapshot()
        gc.reap()
        assert box.session().run("cat f; echo $A").output == "x1\n"
        box.restore(kept)
        kept.close()


def test_a_forked_child_neither_cleans_nor_uses_its_parents_sandbox() -> None:
    with LocalSandbox() as box:
        box.start([FileEntry("f", b"x")])
        box.session()
        child = multiprocessing.get_context("fork").Process(target=_in_child, args=(box,))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        assert box.session().run("cat f; echo").output == "x\n"


def _in_child(box: LocalSandbox) -> None:
    try:
        box.read("f")
    except SandboxLostError:
        pass
    else:
        os._exit(1)
    box.close()
    with LocalSandbox() as own:
        own.start([FileEntry("g", b"child")])
        if own.session().run("cat g").output != "child":
            os._exit(2)
        if own.run_on_fork("cat g").stdout != "child":
            os._exit(3)


def test_leases_differ_while_held() -> None:
    root = host_root()
    one, two = lease_uid(root), lease_uid(root)
    if os.getuid() == 0:
        assert one.uid != two.uid
        assert min(one.uid, two.uid) >= 20_000
    one.release()
    one.release()
    two.release()


def test_ids_tell_dead_owners_and_reused_process_ids() -> None:
    mine = new_id("box")
    assert owner_alive(mine)
    kind, pid, start, rest = mine.split("-")
    assert not owner_alive(f"{kind}-{pid}-{int(start) - 1}-{rest}")
    assert not owner_alive("box-999999999-1-ff")
    assert owner_alive("something else")


def test_required_limits_that_cannot_be_enforced_are_refused() -> None:
    with pytest.raises(LimitUnenforceableError, match="gpus"):
        LocalSandbox(Limits(required=("gpus",))).start()
    with LocalSandbox(Limits(required=("memory_bytes", "wall_s"))) as box:
        box.start()


def test_a_failing_host_is_the_platforms_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with LocalSandbox() as box:
        box.start()
        monkeypatch.setattr("agentenv.sandbox.local.copy_tree", full)
        for act in (box.snapshot, box.fork, lambda: box.run_on_fork("true")):
            with pytest.raises(InfrastructureError, match="No space left"):
                act()


def test_children_are_found_without_the_kernels_list() -> None:
    child = subprocess.Popen(["sleep", "61"])
    try:
        assert child.pid in processes._search_children(os.getpid())
    finally:
        child.kill()
        child.wait()


def test_use_before_start_and_after_close_is_refused() -> None:
    box = LocalSandbox()
    with pytest.raises(ClosedEnvironmentError):
        box.read("x")
    box.start()
    with pytest.raises(ConfigurationError):
        box.start()
    box.close()
    with pytest.raises(ClosedEnvironmentError):
        box.start()


def test_no_isolation_is_an_error_that_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp(prefix="agentenv-broken-"))  # where any user can pass, as a real one is
    folder.chmod(0o755)
    broken = folder / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bwrap, "candidates", lambda: [str(broken)])
    bwrap.find.cache_clear()
    try:
        with pytest.raises(IsolationUnavailableError, match=r"No permissions.*sysctl.*docker"):
            LocalSandbox().start()
    finally:
        bwrap.find.cache_clear()
        shutil.rmtree(folder)


def test_without_overlays_copies_take_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bwrap.find(host_root())
    plain = bwrap.Bubblewrap(found.path, found.version, False)
    monkeypatch.setattr(bwrap, "find", lambda root: plain)
    with LocalSandbox() as box:
        box.start([FileEntry(f"f{n}", b"x") for n in range(300)])
        assert box.session().run("ls | wc -l").output == "300\n"
        with box.fork() as twin:
            assert twin.state_hash() == box.state_hash()


def test_the_doctor_tells_every_limit() -> None:
    names = [fact.name for fact in doctor.facts()]
    assert {f"limit {name}" for name in Limits.__dataclass_fields__ if name != "required"} <= set(names)


def test_two_processes_see_the_same_state_and_output() -> None:
    script = (
        "from agentenv.sandbox.local import LocalSandbox\nfrom agentenv.sandbox.base import FileEntry\n"
        "with LocalSandbox() as box:\n"
        "    box.start([FileEntry('a/b', b'x'), FileEntry('l', link='a/b')])\n"
        "    print(box.session().run('ls -laR; env | sort; git init -q r; git -C r commit -q --allow-empty -m x; "
        "git -C r log --format=%an; jobs; id; ls /; ps -o pid,comm').output)\n"
        "    print(LocalSandbox and box.run('ls -la; umask').stdout)\n"
    )
    shown = [
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert shown[0].splitlines()[:12] == shown[1].splitlines()[:12]
    assert "agent" in shown[0]


def _running(words: str) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if words in Path(f"/proc/{name}/cmdline").read_text(errors="replace"):
                    return True
            except OSError:
                continue
    return False
