"""One small generated shop for all tests of this folder."""

from __future__ import annotations

import pytest

from agentenv.tasks.webshop.generated import GeneratedGoals


@pytest.fixture(scope="session")
def goals(tmp_path_factory: pytest.TempPathFactory) -> GeneratedGoals:
    return GeneratedGoals(size=800, cache=tmp_path_factory.mktemp("shop"))
