"""A stand-in for the sandbox that runs our own trusted commands in a temporary directory. Never for untrusted text."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentenv.errors import NotInStateError
from agentenv.progress import FileStat, RunResult
from agentenv.tasks.terminal.scenario import Scenario, StartFile

ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in
       (("NAME", "agent"), ("EMAIL", "agent@localhost"), ("DATE", "2024-01-01T00:00:00Z"))},
}  # fmt: skip


class FakeBox:
    """/workspace and /home/agent as two temporary directories; both a shell that keeps its place and a `StateView`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cwd = "/workspace"
        for path in ("/workspace", "/home/agent"):
            (root / path[1:]).mkdir(parents=True, exist_ok=True)

    @classmethod
    def of(cls, scenario: Scenario, root: Path) -> FakeBox:
        box = cls(root)
        for entry in scenario.files:
            box.place(entry)
        if scenario.setup:
            done = box.bash(scenario.setup)
            if done.exit_code:
                raise RuntimeError(f"setup failed: {done.stderr}")
        return box

    def place(self, entry: StartFile) -> None:
        path = self._host(entry.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link is not None:
            path.symlink_to(self._in(entry.link))
        elif entry.content is None:
            path.mkdir(exist_ok=True)
            path.chmod(entry.mode if entry.mode is not None else 0o755)
        else:
            path.write_bytes(entry.content.encode() if isinstance(entry.content, str) else entry.content)
            path.chmod(entry.mode if entry.mode is not None else 0o644)

    def act(self, command: str) -> int:
        """One turn in the kept working directory; its exit code."""
        note = self.root / "cwd"
        code = self.bash(f"trap 'pwd >\"{note}\"' EXIT\n{command}", cwd=self.cwd).exit_code
        self.cwd = self._out(note.read_text().strip())
        return code

    def bash(self, script: str, *, cwd: str = "/workspace", timeout_s: float = 10.0) -> RunResult:
        argv = ["bash", "--norc", "--noprofile", "-c", self._in(script)]
        env = {**ENV, "HOME": str(self.root / "home/agent"), "TMPDIR": str(self.root)}
        try:
            done = subprocess.run(
                argv, cwd=self._host(cwd), env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            return RunResult(124, "", timed_out=True)
        out, err = (self._out(raw.decode("utf-8", "replace")) for raw in (done.stdout, done.stderr))
        return RunResult(done.returncode, out, err)

    def view(self) -> FakeBox:
        """The state as it is now: checks may keep what they read through one view, but not longer."""
        return FakeBox(self.root)

    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        real = Path(os.path.realpath(self._checked(path)))
        try:
            if real.is_relative_to(self.root) and real.is_file() and real.stat().st_size <= max_bytes:
                return real.read_bytes()
        except OSError as fault:
            raise NotInStateError(f"{path} cannot be read: {fault.strerror}") from fault
        raise NotInStateError(f"{path} is no readable regular file")

    def text(self, path: str, max_bytes: int = 4 << 20) -> str:
        try:
            return self.read(path, max_bytes).decode()
        except UnicodeDecodeError as fault:
            raise NotInStateError(f"{path} is not UTF-8") from fault

    def stat(self, path: str) -> FileStat:
        host = self._checked(path)
        found = host.lstat()
        kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
        kind = kinds.get(stat.S_IFMT(found.st_mode), "other")
        target = self._out(os.readlink(host)) if kind == "link" else ""
        return FileStat(kind, stat.S_IMODE(found.st_mode), found.st_size, target, found.st_ino, found.st_dev,
                        found.st_nlink)  # fmt: skip

    def listdir(self, path: str) -> list[str]:
        host = self._checked(path)
        if not host.is_dir():
            raise NotInStateError(f"{path} is no directory")
        return sorted(os.listdir(host))

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._host(path))

    def run(self, script: str, timeout_s: float = 10.0) -> RunResult:
        with tempfile.TemporaryDirectory() as copy:
            subprocess.run(["cp", "-a", str(self.root), f"{copy}/root"], check=True)
            return FakeBox((Path(copy) / "root").resolve()).bash(self._out(script), timeout_s=timeout_s)

    def _checked(self, path: str) -> Path:
        if not os.path.lexists(self._host(path)):
            raise NotInStateError(f"{path} is not there")
        return self._host(path)

    def _host(self, path: str) -> Path:
        absolute = path if path.startswith("/") else f"/workspace/{path}"
        return self.root / absolute.lstrip("/")

    def _in(self, text: str) -> str:
        return text.replace("/workspace", f"{self.root}/workspace").replace("/home/agent", f"{self.root}/home/agent")

    def _out(self, text: str) -> str:
        return text.replace(str(self.root), "")


def replay(scenario: Scenario, actions: Sequence[str], root: Path) -> FakeBox:
    """The box after the actions, from the scenario's start."""
    box = FakeBox.of(scenario, root)
    for action in actions:
        box.act(action)
    return box
