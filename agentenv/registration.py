"""The ids that `gym.make` knows. Importing `agentenv` registers them; environments are imported when made."""

from __future__ import annotations

import gymnasium as gym

__all__ = ["ENV_IDS", "register_all"]

ENV_IDS: dict[str, str] = {
    "agentenv/Code-v0": "agentenv.envs.code.environment:CodeEnv",
    "agentenv/Search-v0": "agentenv.envs.search:SearchEnv",
    "agentenv/Terminal-v0": "agentenv.envs.terminal:TerminalEnv",
    "agentenv/WebShop-v0": "agentenv.envs.webshop:WebShopEnv",
}


def register_all() -> None:
    """Registers every environment with Gymnasium; registering twice changes nothing."""
    for env_id, entry_point in ENV_IDS.items():
        if env_id not in gym.registry:
            gym.register(id=env_id, entry_point=entry_point)
