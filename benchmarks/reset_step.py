"""What a reset and a step of the environments without a sandbox cost: tasks not met before, tasks met before, steps.

Each environment is measured in a process of its own, after an earlier one has made what is kept on disk (index, shop).
Cold resets are of tasks that the process has not met, warm ones of the same tasks again. Steps are the oracle's, their
verification included.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from rich.table import Table

TASKS = 200
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "Search, train": ("agentenv/Search-v0", {"split": "train"}),
    "Search, test": ("agentenv/Search-v0", {"split": "test"}),
    "Search, compact": ("agentenv/Search-v0", {"split": "test", "observation": "compact"}),
    "WebShop, train": ("agentenv/WebShop-v0", {"split": "train"}),
    "WebShop, test": ("agentenv/WebShop-v0", {"split": "test"}),
    "WebShop, original reward": ("agentenv/WebShop-v0", {"split": "test", "reward": "original"}),
    "WebShop, 1,000 products": ("agentenv/WebShop-v0", {"split": "test", "tasks": "generated:1000"}),
}


def measured(env_id: str, kwargs: dict[str, Any]) -> dict[str, float]:
    """Milliseconds, and steps a second, in this process."""
    import gymnasium as gym

    import agentenv  # noqa: F401 (registers the environments)

    spent: list[float] = []

    def timed(call: Callable[[], object]) -> float:
        start = time.perf_counter()
        call()
        spent.append(1000 * (time.perf_counter() - start))
        return spent[-1]

    made: list[gym.Env[Any, Any]] = []
    construction = timed(lambda: made.append(gym.make(env_id, disable_env_checker=True, **kwargs)))
    [env] = made
    tasks: Any = env.get_wrapper_attr("task_set")
    ids = list(tasks.ids(kwargs["split"])[:TASKS])

    def reset(task_id: str) -> float:
        return timed(lambda: env.reset(options={"task_id": task_id}))

    cold = [reset(task_id) for task_id in ids]
    warm = [reset(task_id) for task_id in ids]
    steps = []
    for task_id in ids:
        actions = tasks.oracle(task_id)
        env.reset(options={"task_id": task_id})
        steps += [timed(lambda action=action: env.step(action)) for action in actions]
    env.close()
    return {
        "made": construction,
        "first reset": cold[0],
        "cold": statistics.median(cold[1:]),
        "cold, p99": sorted(cold[1:])[int(0.99 * len(cold[1:]))],
        "warm": statistics.median(warm),
        "step": statistics.median(steps),
        "steps/s": 1000 * len(steps) / sum(steps),
    }


def table() -> Table:
    """A row per environment, milliseconds but for the last column."""
    out = Table(title=f"Resets and steps over {TASKS} tasks, ms")
    out.add_column("environment")
    rows = {name: _alone(env_id, kwargs) for name, (env_id, kwargs) in SETTINGS.items()}
    for heading in next(iter(rows.values())):
        out.add_column(heading, justify="right")
    for name, figures in rows.items():
        *times, rate = figures.values()
        out.add_row(name, *(f"{value:.2f}" for value in times), f"{rate:,.0f}")
    return out


def _alone(env_id: str, kwargs: dict[str, Any]) -> dict[str, float]:
    """The figures of a process that finds on disk what another has made."""
    for _ in range(2):
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_send, args=(env_id, kwargs, theirs))
        process.start()
        theirs.close()
        try:
            figures: dict[str, float] = ours.recv()
        finally:
            process.join()
    return figures


def _send(env_id: str, kwargs: dict[str, Any], pipe: Connection) -> None:
    pipe.send(measured(env_id, kwargs))
