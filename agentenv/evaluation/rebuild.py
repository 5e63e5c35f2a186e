"""An environment from the spec in a results file. Invariant: nothing that the file names is imported.

A Gymnasium spec holds import paths, and making an environment from a stranger's spec would run whatever they name. Here
the id must be one that this package registered (or that the caller allows), the class comes from this process's
registry, the only wrappers are those of `agentenv.wrappers`, and arguments must be ones that the constructors have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from agentenv.errors import ResultsFileError, did_you_mean
from agentenv.evaluation.fields import Fields, loads_strict
from agentenv.registration import ENV_IDS

__all__ = ["EnvRecipe", "recipe_of"]

_SPEC_KEYS = (
    "id",
    "entry_point",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
    "kwargs",
    "additional_wrappers",
    "vector_entry_point",
)
_WRAPPERS = "agentenv.wrappers"
_MOST_SECONDS = 3600.0
_LARGEST = float(1 << 40)


@dataclass(frozen=True)
class EnvRecipe:
    """How to make the environment stack of a results file."""

    file: str
    env_id: str
    kwargs: dict[str, Any]
    max_episode_steps: int | None
    wrappers: tuple[tuple[Callable[..., gym.Env[Any, Any]], dict[str, Any]], ...]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment with its wrappers.

        Raises:
            ResultsFileError: If a constructor refuses the file's arguments.
        """
        env: gym.Env[Any, Any] | None = None
        try:
            env = gym.make(
                self.env_id, max_episode_steps=self.max_episode_steps, disable_env_checker=True, **self.kwargs
            )
            for wrap, kwargs in self.wrappers:
                env = wrap(env, **kwargs)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            if env is not None:
                env.close()
            raise ResultsFileError(f"{self.file}: header.env_spec does not make an environment: {error}") from error
        return env


def recipe_of(spec: str, file: str, allow: Collection[str] = ()) -> EnvRecipe:
    """Reads a spec and checks it against what is registered here.

    Args:
        spec: `EnvSpec` JSON.
        file: For messages.
        allow: Further environment ids, and task sources (`tasks="harbor:DIR"`, ...), that the caller vouches for.

    Raises:
        ResultsFileError: On an id, argument or wrapper that is not known or not allowed.
    """
    values = Fields.of(loads_strict(spec, f"{file}: header.env_spec"), f"{file}: header.env_spec")
    values.only(_SPEC_KEYS)
    env_id = values.string("id")
    known = {*ENV_IDS, *allow}
    if env_id not in known or env_id not in gym.registry:
        raise values.error(
            "id",
            f"environment {env_id!r:.80} is not one of agentenv's.{did_you_mean(env_id, known)} Register your own "
            "before verifying and name it in `allow`",
        )
    registered = gym.registry[env_id]
    if registered.entry_point is None:
        raise values.error("id", f"environment {env_id!r} has no entry point here")
    creator = (
        load_env_creator(registered.entry_point) if isinstance(registered.entry_point, str) else registered.entry_point
    )
    kwargs = values.object("kwargs")
    _check_arguments(kwargs, creator, allow)
    steps = values.values.get("max_episode_steps")
    if steps is not None:
        steps = values.integer("max_episode_steps", 1, 1_000_000)
    wrappers = values.objects("additional_wrappers") if values.values.get("additional_wrappers") else []
    return EnvRecipe(file, env_id, dict(kwargs.values), steps, tuple(_wrapper(entry, allow) for entry in wrappers))


def _wrapper(entry: Fields, allow: Collection[str]) -> tuple[Callable[..., gym.Env[Any, Any]], dict[str, Any]]:
    entry.only(("name", "entry_point", "kwargs"))
    name = entry.string("name")
    room = import_module(_WRAPPERS)
    exported: Sequence[str] = getattr(room, "__all__", ())
    if name not in exported:
        raise entry.error("name", f"wrapper {name!r:.80} is not one of {_WRAPPERS}.{did_you_mean(name, exported)}")
    wrapper = getattr(room, name)
    if not (isinstance(wrapper, type) and issubclass(wrapper, gym.Wrapper)):
        raise entry.error("name", f"{name!r} is not a wrapper")
    if entry.string("entry_point") != f"{wrapper.__module__}:{wrapper.__name__}":
        raise entry.error("entry_point", f"{entry.string('entry_point')!r:.80} is not where {name} comes from")
    if entry.values.get("kwargs") is None:
        raise entry.error("kwargs", f"{name} did not record its arguments")
    kwargs = entry.object("kwargs")
    _check_arguments(kwargs, wrapper, allow)
    return wrapper, dict(kwargs.values)


def _check_arguments(kwargs: Fields, creator: Callable[..., Any], allow: Collection[str]) -> None:
    names = [
        name
        for name, parameter in inspect.signature(creator).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and name != "env"
    ]
    for name, value in kwargs.values.items():
        if name not in names:
            raise kwargs.error(name, f"is not an argument of {creator.__name__}.{did_you_mean(name, names)}")
        for text in _leaves(value, str):
            # A source is reached by its prefix: files, hubs and servers that the file's author chose.
            if ":" in text and text not in allow:
                raise kwargs.error(name, f"{text!r:.120} is outside this package: name it in `allow` to trust it")
        for number in _leaves(value, (int, float)):
            most = _MOST_SECONDS if name.endswith("_s") else _LARGEST
            if abs(number) > most:
                raise kwargs.error(name, f"{number} is over {most:g}")


def _leaves(value: Any, kind: type[Any] | tuple[type[Any], ...]) -> list[Any]:
    """The values of a kind inside JSON lists and objects."""
    if isinstance(value, kind):
        return [value]
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [leaf for child in children for leaf in _leaves(child, kind)]
