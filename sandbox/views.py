"""What checks see of a local sandbox. Invariant: read-only; scripts run on throw-away forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenv.progress import FileStat, RunResult

if TYPE_CHECKING:
    from agentenv.sandbox.local import LocalSandbox

__all__ = ["LocalView"]


class LocalView:
    """A `StateView` of a sandbox: its files as they are, scripts on throw-away forks.

    A view is for one state: a script that it ran once is not run again, so checks that ask the same share a fork.
    """

    def __init__(self, box: LocalSandbox) -> None:
        self._box = box
        self._ran: dict[tuple[str, float], RunResult] = {}

    def read(self, path: str, max_bytes: int = 4 << 20) -> bytes:
        """See `StateView.read`."""
        return self._box.read(path, max_bytes)

    def text(self, path: str, max_bytes: int = 4 << 20) -> str:
        """See `StateView.text`."""
        return self._box.text(path, max_bytes)

    def stat(self, path: str) -> FileStat:
        """See `StateView.stat`."""
        return self._box.stat(path)

    def listdir(self, path: str) -> list[str]:
        """See `StateView.listdir`."""
        return self._box.listdir(path)

    def exists(self, path: str) -> bool:
        """See `StateView.exists`."""
        return self._box.exists(path)

    def run(self, script: str, timeout_s: float = 10.0) -> RunResult:
        """See `StateView.run`."""
        key = (script, timeout_s)
        if key not in self._ran:
            self._ran[key] = self._box.run_on_fork(script, timeout_s)
        return self._ran[key]
