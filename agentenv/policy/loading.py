"""Policies by name. Invariant: only what the name asks for is imported, so scripted policies need no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.policy.base import Policy
from agentenv.scripts import Scripts
from agentenv.task import TaskSet

__all__ = ["SHIPPED", "load_policy", "shipped_warm_start"]

#: The tiny policies that come with the package, each named for its environment.
SHIPPED = ("terminal", "search", "webshop")
_KINDS = ("tiny", "hf", "oracle", "noop", "random", "careless", "fixed", "replay")
_FORMS = "tiny, tiny:NAME_OR_DIR, hf:NAME_OR_DIR, oracle, noop, random, careless, fixed:ACTION, replay:FILE"


def load_policy(
    name: str, *, task_set: TaskSet | None = None, scripts: Scripts | None = None, **options: Any
) -> Policy:
    """Loads a policy by its name.

    Args:
        name: `tiny` (the terminal's shipped warm start), `tiny:terminal` and so on (by name), `tiny:DIR`,
            `hf:NAME_OR_DIR`, `oracle`, `noop`, `random`, `careless`, `fixed:ACTION`, `replay:FILE` (a trajectories
            file).
        task_set: Where `oracle` takes its solutions from (`env.unwrapped.task_set`).
        scripts: How `noop`, `random` and `careless` act (`env.unwrapped.scripts`).
        **options: Passed to the engine (`device`, `dtype` for `hf`; `max_batch` for either).

    Raises:
        ConfigurationError: On a name of another form, or an argument that is missing or unusable.

    >>> load_policy("noop").name
    'noop'
    >>> load_policy("tinny")
    Traceback (most recent call last):
    ...
    agentenv.errors.ConfigurationError: policy 'tinny' is not known. Did you mean 'tiny'? \
Known: tiny, tiny:NAME_OR_DIR, hf:NAME_OR_DIR, oracle, noop, random, careless, fixed:ACTION, replay:FILE
    """
    kind, colon, rest = name.partition(":")
    if kind not in _KINDS:
        raise ConfigurationError(f"policy {name!r} is not known.{did_you_mean(kind, _KINDS)} Known: {_FORMS}")
    takes_rest = kind in ("tiny", "hf", "fixed", "replay")
    if (colon and not (takes_rest and rest)) or (not colon and takes_rest and kind != "tiny"):
        raise ConfigurationError(f"policy {name!r} is not complete. Known: {_FORMS}")
    if options and kind not in ("tiny", "hf"):
        raise ConfigurationError(f"policy {name!r} takes no options, got {sorted(options)}")
    if kind == "tiny":
        from agentenv.policy.tiny import TinyPolicy

        directory = shipped_warm_start(rest or "terminal") if rest in ("", *SHIPPED) else Path(rest)
        return TinyPolicy.load(directory, name=name, **options)
    if kind == "hf":
        from agentenv.policy.hf import HFPolicy

        return HFPolicy(rest, name=name, **options)
    from agentenv.policy import scripted

    if kind == "oracle":
        if task_set is None:
            raise ConfigurationError("the oracle policy needs a task set: load_policy('oracle', task_set=...)")
        return scripted.OraclePolicy(task_set)
    if kind == "noop":
        return scripted.NoopPolicy((scripts or Scripts()).noop)
    if kind == "random":
        return scripted.RandomPolicy(scripts)
    if kind == "careless":
        return scripted.CarelessPolicy(scripts or Scripts())
    if kind == "fixed":
        return scripted.FixedPolicy([rest], name=name)
    from agentenv.trajectory import read_trajectories

    if not Path(rest).is_file():
        raise ConfigurationError(f"policy {name!r}: there is no such file")
    return scripted.ReplayPolicy(read_trajectories(rest), name=name)


def shipped_warm_start(name: str = "terminal") -> Path:
    """The directory of a tiny policy that comes with the package.

    Raises:
        ConfigurationError: If this build has none.
    """
    import agentenv

    for root in agentenv.__path__:
        directory = Path(root) / "baselines" / "data" / f"tiny-{name}"
        if directory.is_dir():
            return directory
    raise ConfigurationError(
        f"this build ships no warm start {name!r}: make one with `agentenv train bc`, or name one as tiny:DIR"
    )
