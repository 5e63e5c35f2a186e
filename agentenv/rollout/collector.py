"""Collecting episodes for training and evaluation. Invariant: a platform failure never becomes a trajectory.

Many episodes are in flight; generation is batched over those that are ready while the others' environments step. Each
sample is seeded by its episode's seed and its turn, so results do not depend on which episodes share a batch (up to
float rounding) and, in lockstep, not even on that: batches are then the same in every run.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym

from agentenv.errors import ConfigurationError, InfrastructureError, IsolationUnavailableError
from agentenv.policy.base import Policy, Prompt, Sample, Sampling
from agentenv.rollout.pool import EnvPool, Info, Stepped
from agentenv.rollout.seeds import derive_seed
from agentenv.trajectory import Trajectory, Turn
from agentenv.transcript import Transcript

__all__ = ["Collected", "CollectionStats", "EpisodeFailure", "EpisodeRequest", "collect"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode to play.

    Args:
        task_id: The task.
        group_id: Episodes of a group share the task and must meet the same start state; "" for none.
        seed: With the policy's weights, decides the whole episode.
        index: The member's number in its group.
    """

    task_id: str
    group_id: str = ""
    seed: int = 0
    index: int = 0


@dataclass(frozen=True)
class EpisodeFailure:
    """An episode that the platform could not play, after so many attempts. It is no zero: it is not there."""

    request: EpisodeRequest
    error: str
    attempts: int


@dataclass(frozen=True)
class CollectionStats:
    """What collecting took. `policy_s` and `wait_s` are the main thread's: sampling, and waiting for environments."""

    episodes: int = 0
    failures: int = 0
    retries: int = 0
    turns: int = 0
    batches: int = 0
    sampled_tokens: int = 0
    total_s: float = 0.0
    policy_s: float = 0.0
    wait_s: float = 0.0


@dataclass(frozen=True)
class Collected:
    """Trajectories in the order of their requests, those that failed left out; the failures; what it took."""

    trajectories: list[Trajectory]
    failures: list[EpisodeFailure]
    stats: CollectionStats


def collect(
    policy: Policy,
    make_env: Callable[[], gym.Env[str, str]] | EnvPool,
    requests: Sequence[EpisodeRequest],
    *,
    sampling: Sampling | None = None,
    workers: int = 16,
    lockstep: bool = True,
    max_prompt_tokens: int | None = None,
    max_observation_tokens: int | None = None,
    history_turns: int | None = None,
    retries: int = 2,
    on_episode: Callable[[Trajectory], None] | None = None,
) -> Collected:
    """Plays every request and returns what came of each.

    Args:
        policy: Who acts.
        make_env: Makes an environment (closed at the end), or a pool to use (which stays open).
        requests: The episodes.
        sampling: How the policy samples.
        workers: Episodes in flight; a pool's own size if one is given.
        lockstep: Whether batches are formed in a fixed order: two cohorts take turns, one sampling while the other
            steps, each waiting for all of its members. Repeated runs then agree to the bit. Without it, whoever is
            ready is batched, and a slow environment holds up nobody.
        max_prompt_tokens: The limit of a prompt (`Transcript`).
        max_observation_tokens: The limit of every observation after the first (`Transcript`).
        history_turns: Most past turns shown (`Transcript`).
        retries: How often an episode is played again after the platform failed.
        on_episode: Called with each trajectory as it ends, in this thread.

    Raises:
        IsolationUnavailableError: Where the host cannot run any episode at all.
        InfrastructureError: If the policy itself breaks down. (Failures of environments are returned instead.)
        ConfigurationError: On a negative number of retries.
    """
    if retries < 0:
        raise ConfigurationError(f"retries must be at least 0, got {retries}")
    own = not isinstance(make_env, EnvPool)
    pool = make_env if isinstance(make_env, EnvPool) else EnvPool(make_env, max(1, min(workers, len(requests))))

    def transcript(instructions: str) -> Transcript:
        return Transcript(
            policy.format,
            instructions,
            max_prompt_tokens=max_prompt_tokens,
            max_observation_tokens=max_observation_tokens,
            history_turns=history_turns,
        )

    collection = _Collection(policy, pool, requests, sampling or Sampling(), transcript, lockstep, retries, on_episode)
    try:
        return collection.run()
    finally:
        if own:
            pool.close()


@dataclass
class _Live:
    """An episode in flight: exactly one of `resetting` and `stepping` is what it waits for."""

    position: int
    request: EpisodeRequest
    attempt: int
    trajectory: Trajectory
    transcript: Transcript | None = None
    observation: str = ""
    resetting: Future[tuple[str, Info]] | None = field(default=None, repr=False)
    stepping: Future[Stepped] | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        return f"{self.position}:{self.request.group_id}:{self.request.index}:{self.attempt}"

    @property
    def waits_for(self) -> Future[Any]:
        future = self.resetting or self.stepping
        if future is None:
            raise ConfigurationError(f"episode {self.key} waits for nothing")
        return future


class _Collection:
    def __init__(
        self,
        policy: Policy,
        pool: EnvPool,
        requests: Sequence[EpisodeRequest],
        sampling: Sampling,
        transcript: Callable[[str], Transcript],
        lockstep: bool,
        retries: int,
        on_episode: Callable[[Trajectory], None] | None,
    ) -> None:
        self._policy = policy
        self._pool = pool
        self._queue = deque(enumerate(requests))
        self._sampling = sampling
        self._transcript = transcript
        self._lockstep = lockstep
        self._retries = retries
        self._on_episode = on_episode
        self._live: dict[int, _Live] = {}
        self._cohort = 1
        self._starts: dict[str, str] = {}
        self._specs: dict[int, str] = {}
        self._done: dict[int, Trajectory] = {}
        self._failures: dict[int, EpisodeFailure] = {}
        self._stats = CollectionStats()

    def run(self) -> Collected:
        started = time.monotonic()
        try:
            for slot in range(self._pool.size):
                self._start_next(slot)
            while self._live:
                asking = [slot for slot in self._ready() if self._advance(slot)]
                if asking:
                    self._act(asking)
        finally:
            self._policy.release([live.key for live in self._live.values()])
        stats = replace(
            self._stats,
            episodes=len(self._done),
            failures=len(self._failures),
            total_s=time.monotonic() - started,
        )
        trajectories = [self._done[position] for position in sorted(self._done)]
        return Collected(trajectories, [self._failures[position] for position in sorted(self._failures)], stats)

    def _start_next(self, slot: int, *, anew: bool = False) -> None:
        self._live.pop(slot, None)
        if self._queue:
            position, request = self._queue.popleft()
            self._start(slot, position, request, attempt=1, anew=anew)

    def _start(self, slot: int, position: int, request: EpisodeRequest, *, attempt: int, anew: bool) -> None:
        trajectory = Trajectory(
            request.task_id,
            group_id=request.group_id,
            seed=request.seed,
            meta={"index": request.index, "attempt": attempt},
        )
        resetting = self._pool.reset(slot, request.task_id, anew=anew)
        self._live[slot] = _Live(position, request, attempt, trajectory, resetting=resetting)

    def _ready(self) -> list[int]:
        """Slots whose environment has answered, in a fixed order."""
        began = time.monotonic()
        if self._lockstep:
            self._cohort = 1 - self._cohort
            slots = [slot for slot in sorted(self._live) if slot % 2 == self._cohort]
            wait([self._live[slot].waits_for for slot in slots])
        else:
            wait([live.waits_for for live in self._live.values()], return_when=FIRST_COMPLETED)
            slots = [slot for slot in sorted(self._live) if self._live[slot].waits_for.done()]
        self._stats = replace(self._stats, wait_s=self._stats.wait_s + time.monotonic() - began)
        return slots

    def _advance(self, slot: int) -> bool:
        """Takes in what the environment answered; tells whether the policy is to act next."""
        live = self._live[slot]
        try:
            if live.resetting is not None:
                self._begun(slot, live, *live.resetting.result())
                return True
            if live.stepping is not None and self._stepped(live, *live.stepping.result()):
                return True
        except IsolationUnavailableError:
            raise  # no episode can run on this host: retrying would only hide the reason
        except InfrastructureError as error:
            self._failed(slot, live, error)
            return False
        self._policy.release([live.key])
        if submission := self._pool.submission(slot):
            live.trajectory.meta["submission"] = submission
        self._done[live.position] = live.trajectory
        self._start_next(slot)
        if self._on_episode is not None:
            self._on_episode(live.trajectory)
        return False

    def _begun(self, slot: int, live: _Live, observation: str, info: Info) -> None:
        request, trajectory = live.request, live.trajectory
        trajectory.start_hash = info["state_hash"]
        if request.group_id:
            expected = self._starts.setdefault(request.group_id, trajectory.start_hash)
            if trajectory.start_hash != expected:
                raise InfrastructureError(
                    f"task {request.task_id!r}: member {request.index} of group {request.group_id!r} started in state "
                    f"{trajectory.start_hash:.16} and its group in {expected:.16}: the start state does not repeat"
                )
        trajectory.start_progress = info["progress"]
        trajectory.start_checks = dict(info["checks"])
        if slot not in self._specs:
            self._specs[slot] = self._pool.spec_json(slot)
        trajectory.env_spec = self._specs[slot]
        live.transcript = self._transcript(self._pool.instructions(slot))
        live.transcript.observe(observation)
        live.observation = observation
        live.resetting = None

    def _stepped(
        self, live: _Live, observation: str, reward: float, terminated: bool, truncated: bool, info: Info
    ) -> bool:
        trajectory, turn = live.trajectory, live.trajectory.turns[-1]
        live.stepping = None
        turn.reward, turn.reward_parts = reward, dict(info["reward_parts"])
        turn.progress, turn.checks = info["progress"], dict(info["checks"])
        turn.valid_action, turn.state_hash = info["valid_action"], info["state_hash"]
        turn.parsed_action = info.get("parsed_action", "")
        if terminated or truncated:
            trajectory.success = bool(info["success"])
            trajectory.terminated, trajectory.truncated = bool(terminated), bool(truncated)
            trajectory.stop_reason, trajectory.final_observation = info["stop_reason"], observation
            return False
        if live.transcript is not None:
            live.transcript.observe(observation)
        live.observation = observation
        return True

    def _failed(self, slot: int, live: _Live, error: InfrastructureError) -> None:
        self._policy.release([live.key])
        message = f"{type(error).__name__}: {error}"
        if live.attempt <= self._retries:
            _LOG.warning("task %s: %s; playing it again", live.request.task_id, message)
            self._stats = replace(self._stats, retries=self._stats.retries + 1)
            self._start(slot, live.position, live.request, attempt=live.attempt + 1, anew=True)
            return
        _LOG.warning("task %s: %s; given up after %d attempts", live.request.task_id, message, live.attempt)
        self._failures[live.position] = EpisodeFailure(live.request, message, live.attempt)
        self._start_next(slot, anew=True)

    def _act(self, slots: Sequence[int]) -> None:
        began = time.monotonic()
        asking = [(slot, live, live.transcript) for slot in slots if (live := self._live[slot]).transcript is not None]
        prompts = [
            Prompt(
                key=live.key,
                ids=transcript.prompt_ids() if transcript is not None else (),
                observation=live.observation,
                task_id=live.request.task_id,
                turn=len(live.trajectory.turns),
                seed=derive_seed(live.request.seed, len(live.trajectory.turns)),
            )
            for _, live, transcript in asking
        ]
        samples = self._policy.act(prompts, self._sampling)
        for (slot, live, transcript), sample in zip(asking, samples, strict=True):
            if transcript is not None:
                self._record(live, transcript, sample)
                live.stepping = self._pool.step(slot, sample.text)
        self._stats = replace(
            self._stats,
            policy_s=self._stats.policy_s + time.monotonic() - began,
            batches=self._stats.batches + 1,
            turns=self._stats.turns + len(samples),
            sampled_tokens=self._stats.sampled_tokens + sum(len(sample.ids) for sample in samples),
        )

    def _record(self, live: _Live, transcript: Transcript, sample: Sample) -> None:
        observation_ids, restart = transcript.pending()
        live.trajectory.turns.append(
            Turn(
                observation=live.observation,
                action=sample.text,
                observation_ids=observation_ids,
                action_ids=list(sample.ids),
                logprobs=list(sample.logprobs),
                policy_version=self._policy.version,
                restart=restart,
                action_stop=sample.stop_reason,
            )
        )
        transcript.act(sample.ids, sample.text)
