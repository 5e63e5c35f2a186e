"""Taking apart what vector environments merge. Gymnasium merges the infos of its copies into arrays with masks."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["unbatch_info"]


def unbatch_info(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """The infos of each copy, as it gave them: keys that a copy did not give are absent, values are Python's own.

    Args:
        infos: What a `gymnasium.vector.VectorEnv` returned.
        num_envs: How many copies it holds.

    >>> merged = {"progress": np.array([0.5, 0.0]), "_progress": np.array([True, False])}
    >>> unbatch_info(merged, 2)
    [{'progress': 0.5}, {}]
    """
    return [_pick(infos, index) for index in range(num_envs)]


def _pick(infos: dict[str, Any], index: int) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_"):
            continue
        mask = infos.get(f"_{key}")
        if mask is not None and not bool(mask[index]):
            continue
        if isinstance(value, dict):
            picked[key] = _pick(value, index)
        else:
            item = value[index]
            picked[key] = item.item() if isinstance(item, np.generic) else item
    return picked
