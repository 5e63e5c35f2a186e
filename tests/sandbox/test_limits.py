"""Control groups of version 2, on a directory tree that stands in for the kernel's."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentenv.errors import LimitUnenforceableError
from agentenv.sandbox import gc, registry
from agentenv.sandbox.base import Limits
from agentenv.sandbox.isolation import limits
from agentenv.sandbox.isolation.limits import ControlGroups, Controllers, enforcement, find_controllers, require
from agentenv.sandbox.registry import new_id


@pytest.fixture(scope="session", autouse=True)
def isolation() -> None:
    """These need none."""


def unified(top: Path, own: str, **enabled: str) -> Path:
    """A host with the unified hierarchy at `top / "cgroup"`: groups, and the controllers enabled below each.

    Returns:
        What stands in for /proc/self.
    """
    process = top / "proc"
    process.mkdir()
    (process / "cgroup").write_text(f"0::{own}\n")
    (process / "mountinfo").write_text(
        f"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"31 24 0:27 / {top}/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    for name in ("", *enabled, own.strip("/")):
        group = top / "cgroup" / name
        group.mkdir(parents=True, exist_ok=True)
        (group / "cgroup.subtree_control").write_text(enabled.get(name, "") + "\n")
        (group / "cgroup.procs").write_text("")
    return process


def test_groups_are_made_below_the_own_one_where_it_passes_controllers_on(tmp_path: Path) -> None:
    found = find_controllers(unified(tmp_path, "/box", box="cpu memory pids"))
    parent = tmp_path / "cgroup" / "box"
    assert found == Controllers(2, {"memory": parent, "pids": parent, "freezer": parent})
    assert sorted(place.name for place in parent.iterdir()) == ["cgroup.procs", "cgroup.subtree_control"]


def test_groups_are_made_beside_the_own_one_where_only_its_parent_passes_controllers_on(tmp_path: Path) -> None:
    found = find_controllers(unified(tmp_path, "/user/app.scope", user="memory pids"))
    assert found.parents == dict.fromkeys(("memory", "pids", "freezer"), tmp_path / "cgroup" / "user")


def test_only_the_controllers_passed_on_count(tmp_path: Path) -> None:
    found = find_controllers(unified(tmp_path, "/box", box="cpu pids"))
    assert sorted(found.parents) == ["freezer", "pids"]


def test_without_memory_and_pids_there_are_no_groups(tmp_path: Path) -> None:
    assert find_controllers(unified(tmp_path, "/box", box="cpu io")) == Controllers(0, {})
    assert find_controllers(tmp_path / "nothing") == Controllers(0, {})


def test_a_group_that_others_may_not_be_moved_into_is_not_used(tmp_path: Path) -> None:
    process = unified(tmp_path, "/box", box="memory pids")
    (tmp_path / "cgroup" / "box" / "cgroup.procs").unlink()  # root may write to any file but one that is not there
    assert find_controllers(process) == Controllers(0, {})


def test_where_no_group_can_be_made_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    process = unified(tmp_path, "/box", box="memory pids")
    monkeypatch.setattr(Path, "mkdir", refused)
    assert find_controllers(process) == Controllers(0, {})


def test_version_1_is_preferred_where_it_holds_the_controllers(tmp_path: Path) -> None:
    process = unified(tmp_path, "/", **{"": "memory pids"})
    for name in ("memory", "pids", "freezer"):
        (tmp_path / "v1" / name / "pod").mkdir(parents=True)
        with (process / "mountinfo").open("a") as file:
            file.write(f"40 30 0:30 / {tmp_path}/v1/{name} rw - cgroup cgroup rw,{name}\n")
        with (process / "cgroup").open("a") as file:
            file.write(f"4:{name}:/pod\n")
    found = find_controllers(process)
    assert found == Controllers(1, {name: tmp_path / "v1" / name / "pod" for name in ("memory", "pids", "freezer")})


# The groups of one sandbox.


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process may make groups of version 2."""
    found = find_controllers(unified(tmp_path, "/box", box="memory pids"))
    for module in (limits, gc):
        monkeypatch.setattr(module, "controllers", lambda: found)
    return found.parents["memory"]


@pytest.fixture
def groups(parent: Path) -> ControlGroups:
    return ControlGroups("box-1", Limits(memory_bytes=64 << 20, processes=50))


@pytest.fixture
def place(parent: Path, groups: ControlGroups) -> Path:
    return parent / "agentenv-box-1"


def test_one_group_bounds_memory_swap_and_processes(groups: ControlGroups, place: Path) -> None:
    written = {file.name: file.read_text() for file in place.iterdir()}
    assert written == {"memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "52"}
    assert groups.join_files() == [f"{place}/cgroup.procs"]


def test_a_kernel_without_swap_accounting_is_no_obstacle(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = limits._put

    def without_swap(path: Path, value: object) -> None:
        if path.name == "memory.swap.max":
            raise FileNotFoundError(2, "No such file or directory")
        put(path, value)

    monkeypatch.setattr(limits, "_put", without_swap)
    assert ControlGroups("box-2", Limits()).version == 2


def test_the_kernels_counters_are_read(groups: ControlGroups, place: Path) -> None:
    assert (groups.oom_kills(), groups.fork_failures(), groups.process_count()) == (0, 0, None)
    (place / "memory.events").write_text("low 0\nhigh 0\nmax 41\noom 3\noom_kill 2\noom_group_kill 1\n")
    (place / "pids.events").write_text("max 7\n")
    (place / "pids.current").write_text("4\n")
    assert (groups.oom_kills(), groups.fork_failures(), groups.process_count()) == (2, 7, 4)


class Kernel(threading.Thread):
    """Confirms what is asked of `cgroup.freeze` a while later, as the kernel does; remembers it."""

    def __init__(self, place: Path) -> None:
        super().__init__(daemon=True)
        self.place = place
        self.asked: list[str] = []
        self.ended = threading.Event()
        (place / "cgroup.events").write_text("populated 1\nfrozen 0\n")

    def run(self) -> None:
        file = self.place / "cgroup.freeze"
        while not self.ended.wait(0.002):
            asked = file.read_text() if file.exists() else ""
            if asked and self.asked[-1:] != [asked]:
                self.asked.append(asked)
                draft = self.place / "draft"
                draft.write_text(f"populated 1\nfrozen {asked}\n")
                draft.replace(self.place / "cgroup.events")


def test_freezing_waits_until_the_kernel_confirms_it(groups: ControlGroups, place: Path) -> None:
    kernel = Kernel(place)
    kernel.start()
    assert groups.freeze()
    assert "frozen 1" in (place / "cgroup.events").read_text()
    groups.thaw()
    assert "frozen 0" in (place / "cgroup.events").read_text()
    kernel.ended.set()
    kernel.join()
    assert kernel.asked == ["1", "0"]


def test_what_does_not_freeze_in_time_is_thawed_again(
    groups: ControlGroups, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_GRACE_S", 0.02)
    (place / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    assert not groups.freeze()
    assert (place / "cgroup.freeze").read_text() == "0"


def test_without_the_kernels_freezer_freezing_fails_and_says_so(groups: ControlGroups) -> None:
    assert not groups.freeze()  # there is no cgroup.events


def _removable(place: Path, monkeypatch: pytest.MonkeyPatch, busy: Sequence[int] = ()) -> list[Path]:
    """Lets a group be removed as the kernel does: its files go with it, and not while it has processes."""
    left = list(busy)
    tried: list[Path] = []
    remove = Path.rmdir

    def rmdir(self: Path) -> None:
        if self == place:
            tried.append(self)
            if left:
                left.pop()
                raise OSError(16, "Device or resource busy")
            for file in self.iterdir():
                file.unlink()
        remove(self)

    monkeypatch.setattr(Path, "rmdir", rmdir)
    return tried


def test_a_group_is_removed_once_its_processes_are_gone(
    groups: ControlGroups, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = _removable(place, monkeypatch, busy=[1, 2, 3])
    groups.remove()
    assert not place.exists()
    assert len(tried) == 4
    groups.remove()


def test_a_group_that_cannot_be_removed_is_left_to_gc(
    groups: ControlGroups, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_GRACE_S", 0.02)
    groups.remove()  # a directory with files in it
    assert place.exists()


def test_gc_thaws_empties_and_removes_the_groups_of_the_dead_only(
    tmp_path: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, alive = parent / "agentenv-box-999999999-1-ff", parent / f"agentenv-{new_id('box')}"
    for place in (dead, alive):
        place.mkdir()
        (place / "cgroup.procs").write_text("999999998\n999999997\n")
    sent: list[int] = []
    monkeypatch.setattr("agentenv.sandbox.processes.send", lambda pid, number: sent.append(pid))
    thawed: list[str] = []
    tried = _removable(dead, monkeypatch, busy=[1])
    write = Path.write_text

    def noted(self: Path, text: str, **options: str) -> int:
        if self.name == "cgroup.freeze":
            thawed.append(text)
        return write(self, text, **options)

    monkeypatch.setattr(Path, "write_text", noted)
    assert gc.reap(tmp_path).groups == 1
    assert not dead.exists()
    assert alive.exists()
    assert (set(sent), set(thawed), len(tried)) == ({999999998, 999999997}, {"0"}, 2)


def test_the_report_names_the_version_and_what_replaces_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_controllers(unified(tmp_path, "/box", box="pids"))
    monkeypatch.setattr(limits, "controllers", lambda: found)
    assert enforcement()["processes"] == "control group v2"
    assert enforcement()["memory_bytes"].startswith("RLIMIT_AS")
    require(Limits(required=("memory_bytes", "processes")))
    with pytest.raises(LimitUnenforceableError, match="'gpus'"):
        require(Limits(required=("gpus",)))


def test_a_probing_process_that_is_killed_leaves_a_group_that_gc_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Path, "rmdir", lambda place: None)
        killed.setattr(limits, "_cgroup_mounts", lambda file: {"memory": tmp_path})
        limits.find_controllers(Path("/proc/self"))
    [left] = tmp_path.iterdir()
    monkeypatch.setattr(gc, "controllers", lambda: Controllers(1, {"memory": tmp_path}))
    assert list(gc._dead_groups()) == []
    monkeypatch.setattr(registry, "process_start", lambda pid: "1")  # another process has the number now
    assert list(gc._dead_groups()) == [left]
