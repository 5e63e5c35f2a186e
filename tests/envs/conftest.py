from __future__ import annotations

from collections.abc import Iterator

import gymnasium as gym
import pytest

from agentenv.errors import IsolationUnavailableError
from agentenv.sandbox import bwrap
from agentenv.sandbox.registry import host_root
from tests.envs.playing import begin, terminal


@pytest.fixture(scope="session", autouse=True)
def isolation() -> None:
    try:
        bwrap.find(host_root())
    except IsolationUnavailableError as fault:
        pytest.skip(f"no isolation here: {fault}")


@pytest.fixture(scope="module")
def shared() -> Iterator[gym.Env[str, str]]:
    """One environment for a module: every reset makes a new sandbox."""
    env = terminal()
    yield env
    env.close()


@pytest.fixture
def env(shared: gym.Env[str, str]) -> gym.Env[str, str]:
    """A terminal at the start of a task."""
    begin(shared)
    return shared
