from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agentenv.errors import IsolationUnavailableError
from agentenv.sandbox import bwrap
from agentenv.sandbox.base import FileEntry, Limits
from agentenv.sandbox.local import LocalSandbox
from agentenv.sandbox.registry import host_root

Make = Callable[..., LocalSandbox]


@pytest.fixture(scope="session", autouse=True)
def isolation() -> None:
    try:
        bwrap.find(host_root())
    except IsolationUnavailableError as fault:
        pytest.skip(f"no isolation here: {fault}")


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes started sandboxes that are closed after the test."""
    made: list[LocalSandbox] = []

    def build(*files: FileEntry, **limits: object) -> LocalSandbox:
        box = LocalSandbox(Limits(**{"wall_s": 10.0, **limits}))  # type: ignore[arg-type]
        made.append(box)
        box.start(files)
        return box

    yield build
    for box in made:
        box.close()


@pytest.fixture
def box(make: Make) -> LocalSandbox:
    return make(FileEntry("notes.txt", b"hello\n"), FileEntry("sub/inner.txt", b"inner\n"))
