from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentenv.envs.code.grader import Grader


@pytest.fixture(scope="package")
def grader() -> Iterator[Grader]:
    with Grader() as made:
        yield made
