"""Making an environment by name for the command line and for evaluation, with errors that a user can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from agentenv.env import AgentEnv
from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.registration import ENV_IDS

__all__ = ["base_of", "make_env"]


def make_env(env: str | EnvSpec, kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """A new environment, of an id or of the spec of a wrapper stack.

    Raises:
        ConfigurationError: If the id is not registered, does not take the arguments, or makes no `AgentEnv`.
    """
    name = env if isinstance(env, str) else env.id
    try:
        made = gym.make(env, disable_env_checker=True, **kwargs)
    except gym.error.Error as error:
        raise ConfigurationError(f"environment {name!r} is not registered.{did_you_mean(name, ENV_IDS)}") from error
    except ModuleNotFoundError as error:
        module, colon, _ = name.rpartition(":")
        if not colon or (error.name or module).partition(".")[0] != module.partition(".")[0]:
            raise
        raise ConfigurationError(f"environment {name!r}: there is no module {module!r} to import") from error
    except TypeError as error:
        fault = str(error).partition(" was raised from the environment creator")[0]
        raise ConfigurationError(f"environment {name!r} does not take these arguments: {fault}") from error
    if not isinstance(made.unwrapped, AgentEnv):
        made.close()
        raise ConfigurationError(f"environment {name!r} is not an AgentEnv: it verifies nothing")
    return made


def base_of(env: gym.Env[Any, Any]) -> AgentEnv:
    """The `AgentEnv` inside a wrapper stack.

    Raises:
        ConfigurationError: If there is none.
    """
    base = env.unwrapped
    if not isinstance(base, AgentEnv):
        raise ConfigurationError(f"{type(base).__name__} is not an AgentEnv: it verifies nothing")
    return base
