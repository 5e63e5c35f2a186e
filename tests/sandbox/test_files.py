"""Reading an agent's files never leaves the sandbox and never blocks; copies keep what they say they keep."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, NotInStateError, SnapshotError, UnsafePathError
from agentenv.progress import StateView
from agentenv.sandbox.base import FileEntry
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.store import LocalSnapshot
from tests.sandbox.conftest import Make

MANY = tuple(FileEntry(f"d{n % 20}/f{n}", b"file %d\n" % n) for n in range(400))
CHANGES = """
echo more >> d0/f0; mv d0/f20 moved; rm -rf d1; mkdir d1; echo new > d1/new; rm d2/f2; mkdir -p e/e; echo e > e/e/e
chmod 700 d3; ln -sf d4/f4 link; rm -rf d5; ln -s d6 d5; rm d7/f7; mkdir d7/f7; mv d8 d88
"""


def test_a_view_is_a_state_view(box: LocalSandbox) -> None:
    assert isinstance(box.view(), StateView)
    assert box.view().run("cat notes.txt").stdout == "hello\n"


def test_paths_resolve_as_the_agent_sees_them(box: LocalSandbox) -> None:
    box.run(
        "ln -s /workspace/sub abs; ln -s sub/../notes.txt rel; ln -s abs/inner.txt chain; echo t > /tmp/t; ln -s /tmp/t t"  # noqa: E501
    )
    assert box.read("abs/inner.txt") == b"inner\n"
    assert box.read("/workspace/rel") == b"hello\n"
    assert box.read("chain") == b"inner\n"
    assert box.text("t") == "t\n"
    assert box.read("sub/../sub/./inner.txt") == b"inner\n"
    assert box.read("../../../workspace/notes.txt") == b"hello\n"
    assert box.stat("rel").kind == "link"
    assert box.stat("rel").target == "sub/../notes.txt"
    assert box.listdir("abs") == ["inner.txt"]
    assert box.listdir("/workspace") == ["abs", "chain", "notes.txt", "rel", "sub", "t"]


@pytest.mark.parametrize(
    "make_it",
    [
        "ln -s /etc/passwd x",
        "ln -s /proc/self/environ x",
        "ln -s ../../../../../etc/passwd x",
        "mkdir d; ln -s / d/root; ln -s d/root/etc/hostname x",
        "ln -s /dev/zero x",
        "ln -s x x",
        "ln -s y x; ln -s x y",
        "mkfifo x",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"x\")'",
        "mkdir x",
        "true",
        "truncate -s 60M x",
        "ln -s /workspace x",
        "mkdir -m 700 d; ln -s d/../../../tmp/../run/agentenv/reply x",
    ],
)  # fmt: skip
def test_reading_a_trap_is_refused_at_once(box: LocalSandbox, make_it: str) -> None:
    box.session().run(make_it)
    with pytest.raises(NotInStateError):
        box.read("x")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/", "/home", "../../etc/passwd", "/run/agentenv/reply", "/proc/1/environ"]
)
def test_paths_outside_are_refused(box: LocalSandbox, path: str) -> None:
    with pytest.raises(UnsafePathError):
        box.read(path)


@pytest.mark.parametrize("path", ["", "a\0b", "nosuch", "notes.txt/x", "nosuch/x", "x" * 5000, "\ud800"])
def test_paths_that_cannot_exist_are_not_in_the_state(box: LocalSandbox, path: str) -> None:
    with pytest.raises(NotInStateError):
        box.read(path)


def test_text_must_be_utf8(box: LocalSandbox) -> None:
    box.run(r"printf '\xff' > bad")
    with pytest.raises(NotInStateError, match="UTF-8"):
        box.text("bad")


def test_existence_counts_dangling_links(box: LocalSandbox) -> None:
    box.run("ln -s nowhere dangling")
    assert box.exists("dangling")
    assert not box.exists("nowhere")


def test_swapping_links_while_reading_never_shows_the_host(box: LocalSandbox) -> None:
    box.session().run("(while :; do ln -sfn /etc x; ln -sfn sub x; done) & echo")
    for _ in range(300):
        try:
            assert box.read("x/hostname") == b"never"
        except NotInStateError:
            continue


def odd_tree(box: LocalSandbox) -> None:
    done = box.run(
        r"""
        mkdir -p 'new
line' empty deep/er; touch $'\xff\xfe' 'sp ace' -- '-dash'; echo a > one; ln one two; ln one deep/three
        ln -s nowhere dangling; ln -s /etc/passwd abs; mkfifo pipe; truncate -s 1G sparse; echo x >> sparse
        touch -d @1000 old; chmod 640 one; mkdir sticky; chmod 1777 sticky; touch exe; chmod 755 exe; chmod 0 empty
        touch locked; chmod 000 locked; echo home > ~/h; echo t > /tmp/t
        """
    )
    assert done.exit_code == 0, done


LISTING = r"cd /; find workspace home/agent tmp -printf '%p|%y|%m|%s|%l|%n|%T@\n' 2>/dev/null | LC_ALL=C sort"


@pytest.mark.parametrize("how", ["restore", "fork", "start"])
def test_a_copy_keeps_bytes_modes_links_times_and_odd_names(make: Make, how: str) -> None:
    box = make(FileEntry("notes.txt", b"hello\n"))
    odd_tree(box)
    before, hashed = box.run(LISTING).stdout, box.state_hash()
    if how == "fork":
        copy = box.fork()
    else:
        kept = box.snapshot()
        copy = LocalSandbox()
        copy.start(**({"snapshot": kept} if how == "start" else {}))
        if how == "restore":
            copy.restore(kept)
        kept.close()
    with copy:
        after = copy.run(LISTING).stdout
        assert [line for line in after.splitlines() if b"workspace/sparse" not in line] == [
            line for line in before.splitlines() if b"workspace/sparse" not in line
        ]
        assert copy.state_hash() == hashed
        assert copy.run("test one -ef two && test one -ef deep/three").exit_code == 0
        assert int(copy.run("stat -c %b sparse").stdout) < 100
    assert box.run(LISTING).stdout == before


def test_a_snapshot_is_independent_and_restores_place_and_variables(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("cd sub; export A='x y'; B=2; echo v1 > f; sleep 61 &")
    kept = box.snapshot()
    shell.run("cd /; export A=other; rm -r /workspace/sub")
    box.restore(kept)
    box.restore(kept)
    assert box.session().run('echo "$A" $B $(pwd); cat f; pgrep -x sleep').output == "x y /workspace/sub\nv1\n"
    assert box.session().exported()["A"] == "x y"


def test_a_fork_and_its_origin_go_apart(box: LocalSandbox) -> None:
    box.session().run("export A=1; cd sub")
    with box.fork() as twin:
        assert twin.state_hash() == box.state_hash()
        twin.session().run("echo twin > only_twin; pwd > where")
        assert twin.read("sub/where") == b"/workspace/sub\n"
        assert not box.exists("sub/only_twin")
        assert twin.state_hash() != box.state_hash()


def test_a_snapshot_does_not_disturb_running_jobs(box: LocalSandbox) -> None:
    shell = box.session()
    shell.run("(for i in $(seq 200); do echo $i; sleep 0.005; done > log; echo end >> log) & echo $! > pid")
    for _ in range(20):
        box.snapshot().close()
        box.state_hash()
        box.run_on_fork("true")
    assert shell.run("wait; tail -1 log; jobs", timeout_s=20).output.startswith("end\n")


def test_a_closed_snapshot_is_refused(box: LocalSandbox) -> None:
    kept = box.snapshot()
    kept.close()
    kept.close()
    with pytest.raises(SnapshotError):
        LocalSandbox().start(snapshot=kept)


@pytest.mark.parametrize("files", [(FileEntry("f", b"start\n"),), MANY], ids=["small", "over a base"])
def test_a_chain_of_200_forks(make: Make, files: tuple[FileEntry, ...]) -> None:
    box = make(*files)
    box.run("echo first > own")
    hashed = box.state_hash()
    for _ in range(200):
        following = box.fork()
        box.close()
        box = following
    with box:
        assert box.state_hash() == hashed
        assert box.session().run("cat own").output == "first\n"


def test_a_large_start_state_reads_and_hashes_like_a_small_one(make: Make) -> None:
    over_base, flat = make(*MANY), make(*MANY[:200])
    flat.write(MANY[200:])
    assert over_base.run("true").exit_code == 0
    assert over_base._live.base is not None  # type: ignore[union-attr]
    assert flat._live.base is None  # type: ignore[union-attr]
    assert over_base.state_hash() == flat.state_hash()
    for box in (over_base, flat):
        assert box.session().run(CHANGES).exit_code == 0
    assert over_base.state_hash() == flat.state_hash()
    assert over_base.listdir("/workspace") == flat.listdir("/workspace")
    for folder in ("d0", "d1", "d5", "d7", "d88", "e/e"):
        assert over_base.listdir(folder) == flat.listdir(folder), folder
    assert over_base.text("link") == flat.text("link") == "file 4\n"
    for gone in ("d2/f2", "d0/f20", "d8", "d1/f1"):
        assert not over_base.exists(gone)
    with over_base.fork() as twin:
        assert twin.state_hash() == flat.state_hash()
        assert over_base.run_on_fork("cat d0/f0 d1/new; ls").stdout == flat.run_on_fork("cat d0/f0 d1/new; ls").stdout


def test_the_base_survives_its_first_sandbox(make: Make) -> None:
    box = make(*MANY)
    kept = box.snapshot()
    box.run("rm -rf d*")
    box.close()
    with LocalSandbox() as other:
        other.start(snapshot=kept)
        kept.close()
        assert other.text("d3/f3") == "file 3\n"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["echo a > f", "echo b > f", "rm -f f", "mkdir -p g", "rmdir g 2>/dev/null; true",
                                 "chmod 600 f 2>/dev/null; true", "ln -sfn f l", "touch f", "cd /tmp", "export V=1", "unset V"]),  # noqa: E501
                max_size=6))  # fmt: skip
def test_equal_states_have_equal_hashes(make: Make, commands: list[str]) -> None:
    one = make()
    state = "cd; find /workspace -printf '%P %y %m %l\\n' | sort; cat /workspace/f"
    seen: dict[tuple[bytes, str, str | None], str] = {}
    for command in commands:
        one.session().run(command)
        key = (one.run(state).stdout, one.session().cwd, one.session().exported().get("V"))
        hashed = one.state_hash()
        assert seen.setdefault(key, hashed) == hashed
    assert len(set(seen.values())) == len(seen)
    one.close()


def test_the_hash_ignores_times_and_tmp(box: LocalSandbox) -> None:
    before = box.state_hash()
    box.run("touch notes.txt; echo x > /tmp/x; sleep 0.01")
    assert box.state_hash() == before
    box.run("echo other > notes.txt")
    assert box.state_hash() != before


def test_entries_keep_modes_links_and_fixed_times(make: Make) -> None:
    box = make(
        FileEntry("a/b/exe", b"x", mode=0o755), FileEntry("a/l", link="b/exe"), FileEntry("dir", mode=0o700),
        FileEntry("/home/agent/.config/x", b"y"),
    )  # fmt: skip
    assert box.stat("a/b/exe").mode == 0o755
    assert box.stat("a/l").target == "b/exe"
    assert box.stat("dir").mode == 0o700
    times = box.run("find /workspace /home/agent -printf '%Ts\\n' | sort -u").stdout
    assert times == b"1700000000\n"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "/", "link/x", "notes.txt/x"])
def test_writing_outside_or_through_links_is_refused(box: LocalSandbox, path: str) -> None:
    box.run("ln -s /etc link")
    with pytest.raises(ConfigurationError):
        box.write([FileEntry(path, b"x")])


def test_entries_can_be_written_over_a_base(make: Make) -> None:
    box = make(*MANY)
    box.session()
    box.write(
        [FileEntry("d1/f1", b"changed", mode=0o600), FileEntry("n/l", link="../d1/f1"), FileEntry("/tmp/t", b"t")]
    )
    assert box.text("n/l") == "changed"
    assert box.stat("d1/f1").mode == 0o600
    assert box.session().run("stat -c '%U %Y' d1/f1; cat n/l /tmp/t").output == "agent 1700000000\nchangedt"
    box.session().run("ln -s /tmp away")
    for path in ("away/x", "d1/f1/x", "/etc/x", "../x"):
        with pytest.raises(ConfigurationError):
            box.write([FileEntry(path, b"x")])


def test_a_check_leaves_no_trace(box: LocalSandbox) -> None:
    before = box.run(LISTING).stdout
    inode = "stat -c %i,%Z,%Y notes.txt"
    marks = box.run(inode).stdout
    box.read("notes.txt")
    box.run_on_fork("echo x > notes.txt; rm -r sub; touch new")
    box.state_hash()
    box.snapshot().close()
    assert box.run(LISTING).stdout == before
    assert box.run(inode).stdout == marks


def test_snapshot_type_is_local(box: LocalSandbox) -> None:
    assert isinstance(box.snapshot(), LocalSnapshot)


def test_a_base_folder_is_copied_in(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("a")
    with LocalSandbox(base=tmp_path) as box:
        box.start([FileEntry("b.txt", b"b")])
        box.session().run("echo changed > src/a.txt")
        assert box.listdir("/workspace") == ["b.txt", "src"]
    assert (tmp_path / "src" / "a.txt").read_text() == "a"
    assert stat.S_ISDIR(os.stat(tmp_path).st_mode)
