"""`RecordTrajectory`: writes every episode as a line of strict JSON."""

from __future__ import annotations

import copy
import fcntl
import os
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenv.trajectory import Trajectory, Turn, dump_line
from agentenv.wrappers._base import TextWrapper, needed, needed_number

__all__ = ["RecordTrajectory"]


class RecordTrajectory(TextWrapper, RecordConstructorArgs):
    """Appends a `Trajectory` (texts, rewards, progress; no token ids) to `path` when an episode ends.

    An episode left by `reset` or `close` before its end is written too, with ``meta["unfinished"]`` set, unless nothing
    was played. Each line is one write under a file lock, so copies in other processes may share the file.

    Args:
        env: An environment that fills the info contract.
        path: A `.jsonl` file; `agentenv.read_trajectories` reads it. Parents are made.

    >>> import agentenv, gymnasium as gym, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "episodes.jsonl"
    >>> env = RecordTrajectory(gym.make("agentenv/Terminal-v0", difficulty="easy"), path=str(path))
    >>> observation, info = env.reset(seed=0)
    >>> _ = env.step("submit")
    >>> env.close()
    >>> [turn.action for turn in next(agentenv.read_trajectories(path)).turns]
    ['submit']
    """

    def __init__(self, env: gym.Env[str, str], path: str) -> None:
        RecordConstructorArgs.__init__(self, path=str(path))
        gym.Wrapper.__init__(self, env)
        self.path = Path(path)
        self._episode: Trajectory | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode, and writes the one before if it was left unfinished."""
        self._write_unfinished()
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = Trajectory(
            task_id=str(needed(self, info, "task_id")),
            env_spec=self.env.spec.to_json() if self.env.spec is not None else "",
            seed=seed,
            final_observation=observation,
            start_progress=needed_number(self, info, "progress"),
            start_checks=dict(needed(self, info, "checks")),
            start_hash=str(needed(self, info, "state_hash")),
        )
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays a turn and keeps it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        episode = self._episode
        if episode is not None:
            turn = Turn(
                observation=episode.final_observation,
                action=str(action),
                reward=float(reward),
                reward_parts=dict(needed(self, info, "reward_parts")),
                progress=needed_number(self, info, "progress"),
                checks=dict(needed(self, info, "checks")),
                valid_action=bool(needed(self, info, "valid_action")),
                state_hash=str(needed(self, info, "state_hash")),
                parsed_action=str(info.get("parsed_action", "")),
            )
            episode.turns.append(turn)
            episode.final_observation = observation
            if terminated or truncated:
                episode.success = bool(needed(self, info, "success"))
                episode.terminated, episode.truncated = bool(terminated), bool(truncated)
                episode.stop_reason = str(needed(self, info, "stop_reason"))
                self._write(episode)
                self._episode = None
        return observation, float(reward), terminated, truncated, info

    def close(self) -> None:
        """Writes an unfinished episode and closes the environment."""
        self._write_unfinished()
        super().close()

    def save(self) -> Trajectory | None:
        """The episode so far."""
        return copy.deepcopy(self._episode)

    def load(self, saved: Trajectory | None) -> None:
        """The inverse of `save`."""
        self._episode = copy.deepcopy(saved)

    def _write_unfinished(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None and episode.turns:
            episode.meta["unfinished"] = True
            self._write(episode)

    def _write(self, episode: Trajectory) -> None:
        line = dump_line(episode).encode("utf-8") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with os.fdopen(os.dup(descriptor), "ab") as out:
                out.write(line)
        finally:
            os.close(descriptor)
