"""`snapshot`, `restore` and `fork` of a whole wrapper stack. Invariant: no wrapper's state is lost in silence.

A wrapper joins in by having ``save() -> object`` and ``load(saved)``, or by declaring ``stateless = True``.
Gymnasium's own stateful wrappers are known here; any other wrapper is refused by name.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import (
    Autoreset,
    ClipReward,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformAction,
    TransformObservation,
    TransformReward,
)

from agentenv.env import AgentEnv, Snapshot
from agentenv.errors import SnapshotError

__all__ = ["fork", "restore", "snapshot", "wrappers_of"]

# Gymnasium's wrappers whose attributes are all plain values. All are kept, not a list of names: releases add to them.
_PLAIN_STATE = frozenset({Autoreset, OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics, TimeLimit})
_NOT_STATE = frozenset({"env", "_action_space", "_observation_space", "_metadata", "_cached_spec", "_saved_kwargs"})
_STATELESS = frozenset({ClipReward, TransformAction, TransformObservation, TransformReward})


def wrappers_of(env: gym.Env[Any, Any]) -> Iterator[gym.Wrapper[Any, Any, Any, Any]]:
    """The stack's wrappers, outermost first."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env


def snapshot(env: gym.Env[Any, Any]) -> Snapshot:
    """Keeps the state of an environment with all its wrappers.

    Raises:
        SnapshotError: If the stack holds a wrapper whose state cannot be kept; the message names it.
    """
    saved = tuple((type(wrapper).__name__, _save(wrapper)) for wrapper in wrappers_of(env))
    inner = _base(env).snapshot()
    return Snapshot(inner.kind, inner.task_id, inner.base, inner.saved, saved)


def restore(env: gym.Env[Any, Any], kept: Snapshot) -> None:
    """Puts a whole stack at a kept state, of this stack or of one built the same way.

    Raises:
        SnapshotError: If the stacks differ.
    """
    wrappers = list(wrappers_of(env))
    names, kept_names = [type(w).__name__ for w in wrappers], [name for name, _ in kept.wrappers]
    if names != kept_names:
        raise SnapshotError(f"the snapshot is of the stack {kept_names}, this one is {names}")
    _base(env).restore(Snapshot(kept.kind, kept.task_id, kept.base, kept.saved))
    for wrapper, (_, saved) in zip(wrappers, kept.wrappers, strict=True):
        _load(wrapper, saved)


def fork(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """An independent copy of a whole stack at this very state; close it like any environment."""
    wrappers = list(wrappers_of(env))
    saved = [_save(wrapper) for wrapper in wrappers]  # refuses before anything is started
    for wrapper in wrappers:
        _constructor_arguments(wrapper)
    twin: gym.Env[Any, Any] = _base(env).fork()
    try:
        for wrapper in reversed(wrappers):
            twin = type(wrapper)(twin, **_constructor_arguments(wrapper))
        for wrapper, state in zip(wrappers_of(twin), saved, strict=True):
            _load(wrapper, state)
    except BaseException:
        twin.close()
        raise
    return twin


def _base(env: gym.Env[Any, Any]) -> AgentEnv:
    base = env.unwrapped
    if not isinstance(base, AgentEnv):
        raise SnapshotError(f"{type(base).__name__} is not an AgentEnv and cannot be kept")
    return base


def _constructor_arguments(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> dict[str, Any]:
    kwargs = getattr(wrapper, "_saved_kwargs", None)
    if kwargs is None:
        raise SnapshotError(f"wrapper {type(wrapper).__name__} must record its arguments (RecordConstructorArgs)")
    return copy.deepcopy(dict(kwargs))


def _save(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> Any:
    own_save = getattr(wrapper, "save", None) if _defines(wrapper, "save") else None
    if own_save is not None:
        return own_save()
    if type(wrapper) in _PLAIN_STATE:
        return copy.deepcopy({name: value for name, value in vars(wrapper).items() if name not in _NOT_STATE})
    if type(wrapper).__dict__.get("stateless", False) or type(wrapper) in _STATELESS:
        return None
    raise SnapshotError(
        f"wrapper {type(wrapper).__name__} has state that agentenv does not know: give it save() and load(saved), or "
        "declare `stateless = True` in its class"
    )


def _load(wrapper: gym.Wrapper[Any, Any, Any, Any], saved: Any) -> None:
    if _defines(wrapper, "load"):
        wrapper.load(saved)  # type: ignore[attr-defined]
        return
    for name, value in (saved or {}).items():
        setattr(wrapper, name, copy.deepcopy(value))


def _defines(wrapper: gym.Wrapper[Any, Any, Any, Any], name: str) -> bool:
    """Whether the wrapper's own class has the method (a Wrapper forwards nothing of that name from inside)."""
    return callable(getattr(type(wrapper), name, None))
