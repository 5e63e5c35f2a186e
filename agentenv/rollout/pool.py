"""A pool of environments that are stepped side by side. Invariant: whatever the pool opened, `close` closes.

Steps run in threads because they wait for a sandbox, not for Python. An environment whose platform failed is closed
and made anew; a healthy one is kept from episode to episode, with whatever it caches.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeAlias

import gymnasium as gym

from agentenv.env import AgentEnv
from agentenv.errors import ClosedEnvironmentError, ConfigurationError

__all__ = ["EnvPool", "Stepped"]

Info: TypeAlias = dict[str, Any]
Stepped: TypeAlias = tuple[str, float, bool, bool, Info]
TextEnv: TypeAlias = gym.Env[Any, Any]


class EnvPool:
    """`size` environments of one kind, made when first needed. A context manager.

    Args:
        make_env: Makes one; called in the pool's threads.
        size: Episodes in flight at once.
        threads: Threads that step them; by default as many as environments, up to four a core and at least eight.

    Raises:
        ConfigurationError: If `size` or `threads` is below 1.
    """

    def __init__(self, make_env: Callable[[], TextEnv], size: int, *, threads: int | None = None) -> None:
        if size < 1 or (threads is not None and threads < 1):
            raise ConfigurationError(f"a pool needs at least one environment and thread, got {size} and {threads}")
        self.size = size
        self._make_env = make_env
        self._envs: list[TextEnv | None] = [None] * size
        self._closed = False
        self._lock = threading.Lock()
        threads = threads or min(size, max(8, 4 * (os.cpu_count() or 1)))
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="agentenv-rollout")

    def reset(self, slot: int, task_id: str, *, anew: bool = False) -> Future[tuple[str, Info]]:
        """Starts an episode of the task in a slot, in a new environment if `anew`."""
        return self._threads.submit(self._reset, slot, task_id, anew)

    def step(self, slot: int, action: str) -> Future[Stepped]:
        """Plays an action in a slot."""
        return self._threads.submit(self._step, slot, action)

    def instructions(self, slot: int) -> str:
        """The action grammar of a slot's environment ("" for one that is not an `AgentEnv`)."""
        env = self._envs[slot]
        return env.unwrapped.instructions if env is not None and isinstance(env.unwrapped, AgentEnv) else ""

    def submission(self, slot: int) -> Info:
        """What benchmarks' own scripts ask of a slot's episode ({} for an environment that is not an `AgentEnv`)."""
        env = self._envs[slot]
        return env.unwrapped.submission() if env is not None and isinstance(env.unwrapped, AgentEnv) else {}

    def spec_json(self, slot: int) -> str:
        """The spec of a slot's environment as JSON ("" for a stack that cannot be rebuilt from one)."""
        env = self._envs[slot]
        spec = env.spec if env is not None else None
        if spec is None:
            return ""
        try:
            return spec.to_json()
        except (TypeError, ValueError):  # an argument that is no JSON: such a stack has no portable spec
            return ""

    def close(self) -> None:
        """Closes every environment, also those being stepped; idempotent."""
        with self._lock:
            self._closed = True
            envs, self._envs = self._envs, [None] * self.size
        self._threads.shutdown(wait=False, cancel_futures=True)
        for env in envs:
            if env is not None:
                env.close()
        self._threads.shutdown(wait=True)

    def __enter__(self) -> EnvPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reset(self, slot: int, task_id: str, anew: bool) -> tuple[str, Info]:
        env = self._envs[slot]
        if anew and env is not None:
            self._envs[slot] = None
            env.close()
            env = None
        if env is None:
            env = self._make_env()
            with self._lock:
                closed = self._closed
                if not closed:
                    self._envs[slot] = env
            if closed:
                env.close()
                raise ClosedEnvironmentError("the pool was closed while an environment was being made")
        return env.reset(options={"task_id": task_id})

    def _step(self, slot: int, action: str) -> Stepped:
        env = self._envs[slot]
        if env is None:
            raise ClosedEnvironmentError(f"slot {slot} has no environment: reset it first")
        observation, reward, terminated, truncated, info = env.step(action)
        return observation, float(reward), terminated, truncated, info
