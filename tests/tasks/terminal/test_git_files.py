"""Repositories as start files, and reading them back: git agrees with both, and nothing forged counts."""

from __future__ import annotations

import gc
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from agentenv.errors import NotInStateError
from agentenv.progress import RunResult
from agentenv.tasks.terminal.families import git_history
from agentenv.tasks.terminal.families._git_build import Repository
from agentenv.tasks.terminal.families._git_parts import World
from agentenv.tasks.terminal.families._git_read import GitView
from tests.tasks.terminal import family_suite
from tests.tasks.terminal.fake_view import ENV, FakeBox, replay

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

TREE = {"b.txt": "one\n", "a/deep/c.md": "two\n", "a.txt": "three\n", "a-b/x": ""}


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    repository = Repository("app")
    first = repository.commit({"b.txt": "zero\n"}, "start", "ann")
    repository.refs["refs/heads/main"] = repository.commit(TREE, "second", "bob", [first])
    repository.refs["refs/tags/v1"] = first
    box = FakeBox(tmp_path)
    for entry in repository.start_files():
        box.place(entry)
    return box


def git(box: FakeBox, *arguments: str, given: str = "") -> str:
    argv = ["git", "-C", str(box.root / "workspace/app"), *arguments]
    return subprocess.run(argv, env=ENV, input=given, capture_output=True, text=True, check=True).stdout.strip()


def test_git_finds_no_fault_and_a_clean_working_tree(box: FakeBox) -> None:
    assert git(box, "fsck", "--strict", "--full") == ""
    assert git(box, "status", "--porcelain") == ""
    assert git(box, "log", "--format=%s/%an") == "second/bob\nstart/ann"


def test_commit_hashes_are_fixed(box: FakeBox) -> None:
    assert git(box, "rev-parse", "v1", "main").split() == [
        "3020efa935e7373a0de6f21c1e83244799c18918",
        "2917455c37b57dcc94b4ee9bbc46f6cbcc3fd7c8",
    ]


def test_reader_sees_what_git_sees(box: FakeBox) -> None:
    view = GitView(box, "app")
    tip = view.branch("main")
    assert tip == git(box, "rev-parse", "main")
    assert view.files(tip) == {path: text.encode() for path, text in TREE.items()}
    assert [commit.subject for commit in view.history(tip).values()] == ["second", "start"]
    assert view.head_branch() == "main"


def test_reader_sees_the_same_after_packing(box: FakeBox) -> None:
    before = GitView(box, "app").files(git(box, "rev-parse", "main"))
    git(box, "gc", "-q")
    assert not (box.root / "workspace/app/.git/refs/heads/main").exists()
    view = GitView(box, "app")
    assert view.files(view.branch("main")) == before
    assert view.tag("v1").commit == git(box, "rev-parse", "v1")


def test_annotated_tag_has_a_message_and_a_plain_one_has_none(box: FakeBox) -> None:
    git(box, "tag", "-a", "-m", "the note", "noted", "v1")
    view = GitView(box, "app")
    assert view.tag("noted").message == "the note"
    assert view.tag("noted").commit == view.tag("v1").commit
    assert view.tag("v1").message is None


def test_object_under_a_hash_that_is_not_its_own_does_not_count(box: FakeBox) -> None:
    view = GitView(box, "app")
    tip = view.branch("main")
    path = box.root / "workspace/app/.git/objects" / tip[:2] / tip[2:]
    data = zlib.decompress(path.read_bytes()).replace(b"second", b"forged")
    path.chmod(0o644)
    path.write_bytes(zlib.compress(data))
    with pytest.raises(NotInStateError, match="damaged"):
        view.commit(tip)


def test_replace_refs_do_not_change_what_is_read(box: FakeBox) -> None:
    view = GitView(box, "app")
    tip = view.branch("main")
    git(box, "replace", tip, "v1")
    assert git(box, "log", "-1", "--format=%s") == "start"
    assert view.commit(tip).subject == "second"


@pytest.mark.parametrize("text", ["", "ref: refs/heads/main", "ref: ../../../etc/passwd", "0" * 40, "\x00" * 41])
def test_ref_that_leads_nowhere_is_no_crash(box: FakeBox, text: str) -> None:
    (box.root / "workspace/app/.git/refs/heads/main").write_text(text)
    with pytest.raises(NotInStateError):
        GitView(box, "app").history(GitView(box, "app").branch("main"))


def test_object_that_inflates_without_end_is_cut(box: FakeBox) -> None:
    view = GitView(box, "app")
    tip = view.branch("main")
    path = box.root / "workspace/app/.git/objects" / tip[:2] / tip[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"commit 900000000\0" + b"a" * 30_000_000))
    with pytest.raises(NotInStateError, match="damaged"):
        view.commit(tip)


def test_checks_of_one_verification_run_git_once_for_packed_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = family_suite.build(git_history.FAMILY, "hard", 0)
    box = replay(scenario, [*scenario.oracle, "cd /workspace && git -C */ gc -q"], tmp_path)
    assert list(tmp_path.glob("workspace/*/.git/objects/pack/*.pack"))
    runs: list[str] = []
    run = FakeBox.run

    def counted(view: FakeBox, script: str) -> RunResult:
        runs.append(script)
        return run(view, script)

    monkeypatch.setattr(FakeBox, "run", counted)
    assert family_suite.progress(scenario, box).success
    assert len(runs) == 1


def test_the_next_verification_reads_anew(tmp_path: Path) -> None:
    scenario = family_suite.build(git_history.FAMILY, "hard", 0)
    box = replay(scenario, scenario.oracle, tmp_path)
    assert family_suite.progress(scenario, box).success
    for commit in tmp_path.glob("workspace/*/.git/objects/??/*"):
        commit.unlink()
    assert not family_suite.progress(scenario, box).success


def test_what_was_read_dies_with_its_view(box: FakeBox) -> None:
    world = World(repo="app", files=(), tip="", rest=("", ""))
    view = box.view()
    world.git(view).files(GitView(view, "app").branch("main"))
    assert len(world._objects) == 1
    del view
    gc.collect()
    assert len(world._objects) == 0


def test_trees_that_name_one_another_without_end_are_cut(box: FakeBox) -> None:
    inner = git(box, "mktree")
    for _ in range(15):
        rows = "".join(f"040000 tree {inner}\tt{number}\n" for number in range(9))
        inner = git(box, "mktree", given=rows)
    commit = git(box, "commit-tree", "-m", "bomb", inner)
    with pytest.raises(NotInStateError, match="more files"):
        GitView(box, "app").files(commit)


def test_objects_larger_together_than_a_check_reads_are_cut(box: FakeBox) -> None:
    rows = []
    for number in range(40):
        blob = git(box, "hash-object", "-w", "--stdin", given=f"{number}" + "a" * 1_000_000)
        rows.append(f"100644 blob {blob}\tf{number}\n")
    commit = git(box, "commit-tree", "-m", "large", git(box, "mktree", given="".join(rows)))
    with pytest.raises(NotInStateError, match="more than a check reads"):
        GitView(box, "app").files(commit)
