"""What every trainer here needs: environments by id, a Ctrl-C that waits for whole updates, policies saved."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym

import agentenv  # noqa: F401  (registers the environments)
from agentenv.env import AgentEnv
from agentenv.errors import ConfigurationError
from agentenv.policy.tiny import TinyPolicy

__all__ = ["env_maker", "parse_env_kwargs", "save_policy", "split_ids", "uninterrupted"]


def parse_env_kwargs(text: str) -> dict[str, Any]:
    """An environment's arguments from a JSON object without `split`, which trainers set themselves.

    Raises:
        ConfigurationError: If it is anything else.

    >>> parse_env_kwargs('{"difficulty": "easy"}')
    {'difficulty': 'easy'}
    """
    try:
        kwargs = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"env_kwargs is not JSON ({error}): {text!r}") from error
    if not isinstance(kwargs, dict) or "split" in kwargs:
        raise ConfigurationError(f"env_kwargs is a JSON object without 'split', got {text!r}")
    return kwargs


def env_maker(env: str, kwargs: Mapping[str, Any], split: str) -> Callable[[], gym.Env[Any, Any]]:
    """Makes environments of a split."""
    return lambda: gym.make(env, disable_env_checker=True, **kwargs, split=split)


def split_ids(env: str, kwargs: Mapping[str, Any], split: str) -> Sequence[str]:
    """The task ids of a split, in their fixed order.

    Raises:
        ConfigurationError: If the environment has no task set, or no task in the split.
    """
    made = env_maker(env, kwargs, split)()
    try:
        base = made.unwrapped
        if not isinstance(base, AgentEnv):
            raise ConfigurationError(f"{env!r} is a {type(base).__name__}; training needs an AgentEnv's task set")
        ids = base.task_set.ids(split)
    finally:
        made.close()
    if not ids:
        raise ConfigurationError(f"{env!r} with {dict(kwargs)} has no task in split {split!r}")
    return ids


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts a Ctrl-C off until the block has ended (in the main thread; elsewhere none arrives)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if arrived:
        raise KeyboardInterrupt


def save_policy(policy: Any, directory: Path) -> None:
    """Saves a policy with a model in Hugging Face's format, whole or not at all: `tiny:DIR` or `hf:DIR` loads it."""
    partial = directory.with_name(f".partial-{directory.name}")
    shutil.rmtree(partial, ignore_errors=True)
    if isinstance(policy, TinyPolicy):
        policy.save(partial)
    else:
        policy.model.save_pretrained(partial)
        policy.format.tokenizer.save_pretrained(partial)
    shutil.rmtree(directory, ignore_errors=True)
    partial.rename(directory)
