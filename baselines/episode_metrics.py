"""What the episodes of an update were like, under fixed names. docs/grpo.md lists them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from agentenv.baselines.advantages import TurnBatch
from agentenv.rollout import Collected

__all__ = ["episode_metrics", "mean"]


def mean(values: Sequence[float]) -> float:
    """The mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def episode_metrics(collected: Collected, batch: TurnBatch, advantages: Tensor) -> dict[str, float]:
    """The `charts/` of an update.

    Args:
        collected: At least one episode.
        batch: The same episodes.
        advantages: [B, K].
    """
    episodes = collected.trajectories
    turns = [turn for episode in episodes for turn in episode.turns]
    signal: dict[int, bool] = {}
    seen: set[tuple[int, tuple[tuple[int, ...], ...]]] = set()
    for episode, group, row in zip(episodes, batch.group.tolist(), advantages, strict=True):
        signal[group] = signal.get(group, False) or bool(row.any())
        seen.add((group, tuple(tuple(turn.action_ids) for turn in episode.turns)))
    return {
        "charts/episodic_return": mean([episode.episode_return for episode in episodes]),
        "charts/success_rate": mean([float(episode.success) for episode in episodes]),
        "charts/progress": mean([episode.final_progress for episode in episodes]),
        "charts/episode_turns": mean([float(len(episode.turns)) for episode in episodes]),
        "charts/truncated_rate": mean([float(episode.truncated) for episode in episodes]),
        "charts/invalid_action_rate": mean([float(not turn.valid_action) for turn in turns]),
        "charts/cut_action_rate": mean([float(turn.action_stop == "length") for turn in turns]),
        "charts/no_signal_groups": mean([float(not found) for found in signal.values()]),
        "charts/duplicate_sample_rate": 1 - len(seen) / len(episodes),
        "charts/platform_failures": float(len(collected.failures)),
        "charts/platform_retries": float(collected.stats.retries),
        "charts/sampled_tokens": float(collected.stats.sampled_tokens),
    }
