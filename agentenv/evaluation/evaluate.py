"""Playing a policy on a fixed list of tasks. Invariant: every planned episode ends up played, or counted as a failure.

Success is the score: the environment's own verdict at the end. Shaped rewards are recorded and never averaged into it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

import agentenv
from agentenv.env import AgentEnv
from agentenv.errors import ConfigurationError
from agentenv.evaluation.environments import base_of, make_env
from agentenv.evaluation.families import family_of
from agentenv.evaluation.journal import Journal
from agentenv.evaluation.results import MAX_EPISODES, EpisodeRecord, Header, PlatformFailure, Results, write_results
from agentenv.evaluation.statistics import summarise
from agentenv.policy.base import Policy, Sampling
from agentenv.rollout import EpisodeRequest, collect, derive_seed
from agentenv.task import TaskSet
from agentenv.trajectory import Trajectory

__all__ = ["evaluate", "record_of"]

logger = logging.getLogger(__name__)


def evaluate(
    policy: Policy,
    env_id: str | EnvSpec,
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    split: str = "test",
    tasks: int | None = None,
    episodes_per_task: int = 1,
    seed: int = 0,
    sampling: Sampling | None = None,
    workers: int = 8,
    max_prompt_tokens: int | None = None,
    max_observation_tokens: int | None = None,
    history_turns: int | None = None,
    out: Path | None = None,
    on_episode: Callable[[int, int], None] | None = None,
) -> Results:
    """Plays the first `tasks` tasks of a split and adds the episodes up.

    With `out`, episodes are kept as they end: the same call continues a run that was stopped, plays again what the
    platform failed, and returns at once what is finished.

    Args:
        policy: Who plays.
        env_id: An environment id, or the spec of a wrapper stack.
        env_kwargs: The environment's arguments; `split` is set from the argument below.
        split: Where the tasks come from.
        tasks: How many, from the start of the split's own order; None for all.
        episodes_per_task: Episodes of each (more than one for pass@k).
        seed: Decides every episode's seed, together with the task and the episode's number.
        sampling: How the policy samples.
        workers: Episodes played at a time.
        max_prompt_tokens: Longest prompt (see `agentenv.transcript.Transcript`, also for the next two).
        max_observation_tokens: Longest observation after the first.
        history_turns: Most past turns shown.
        out: The results file.
        on_episode: Called with (done, planned) as episodes end.

    Raises:
        ConfigurationError: On an argument that cannot be used, or an `out` of another evaluation.
        ResultsFileError: If `out` is damaged or cannot be written.
    """
    if workers < 1:
        raise ConfigurationError(f"workers must be at least 1, got {workers}")
    sampling = sampling or Sampling()
    prompt_limits = {
        "max_prompt_tokens": max_prompt_tokens,
        "max_observation_tokens": max_observation_tokens,
        "history_turns": history_turns,
    }
    kwargs = dict(env_kwargs or {})
    if kwargs.get("split", split) != split:
        raise ConfigurationError(f"split={split!r} and env_kwargs['split']={kwargs['split']!r} differ: give one")
    kwargs["split"] = split

    def make() -> gym.Env[Any, Any]:
        return make_env(env_id, kwargs)

    probe = make()
    try:
        base = base_of(probe)
        task_set = base.task_set
        header = _header(probe, base, policy, tasks, episodes_per_task, seed, sampling, prompt_limits)
    finally:
        probe.close()
    opened: AbstractContextManager[Journal | None] = Journal.open(out, header) if out is not None else nullcontext()
    with opened as journal:
        records = dict(journal.records) if journal else {}
        plan = list(Results(header, ()).planned())
        missing = [key for key in plan if key not in records]

        def note(trajectory: Trajectory, key: tuple[str, int]) -> None:
            record = record_of(trajectory, key[1], task_set)
            if journal is not None:
                journal.add(record)
            records[key] = record
            if on_episode is not None:
                on_episode(len(records), len(plan))

        if on_episode is not None:
            on_episode(len(records), len(plan))
        failures = _play(policy, make, missing, seed, sampling, workers, prompt_limits, note)
        results = Results(header, tuple(records[key] for key in plan if key in records), tuple(failures))
        results = replace(results, summary=summarise(results).to_json())
        if out is not None and journal is not None:
            write_results(out, results)
            journal.finish()
    if failures:
        logger.warning(
            "the platform failed %d of %d episodes; they are outside the success rate and inside the coverage",
            len(failures),
            len(plan),
        )
    return results


def record_of(trajectory: Trajectory, episode: int, task_set: TaskSet) -> EpisodeRecord:
    """What a results file keeps of an episode: enough to replay it, nothing that only training needs."""
    turns = trajectory.turns
    return EpisodeRecord(
        task_id=trajectory.task_id,
        episode=episode,
        family=family_of(task_set.task(trajectory.task_id)),
        seed=int(trajectory.seed or 0),
        actions=tuple(turn.action for turn in turns),
        progress=(float(trajectory.start_progress), *(float(turn.progress) for turn in turns)),
        rewards=tuple(float(turn.reward) for turn in turns),
        valid=tuple(bool(turn.valid_action) for turn in turns),
        state_hashes=(trajectory.start_hash, *(turn.state_hash for turn in turns)),
        success=bool(trajectory.success),
        outcome=float(trajectory.outcome),
        stop_reason=trajectory.stop_reason,
        checks=dict(turns[-1].checks if turns else trajectory.start_checks),
        sampled_tokens=sum(len(turn.action_ids) for turn in turns),
        prompt_tokens=sum(len(turn.observation_ids) for turn in turns),
        submission=dict(trajectory.meta.get("submission", {})),
    )


def _header(
    env: gym.Env[Any, Any],
    base: AgentEnv,
    policy: Policy,
    tasks: int | None,
    episodes_per_task: int,
    seed: int,
    sampling: Sampling,
    prompt_limits: Mapping[str, int | None],
) -> Header:
    ids = list(base.task_set.ids(base.split))
    if not ids:
        raise ConfigurationError(
            f"task set {base.task_set.name!r} has no task in split {base.split!r}{base.task_set.elsewhere()}"
        )
    if tasks is not None and not 1 <= tasks <= len(ids):
        raise ConfigurationError(f"tasks={tasks}: has to be from 1 to {len(ids)}, which split {base.split!r} has")
    if episodes_per_task < 1:
        raise ConfigurationError(f"episodes_per_task must be at least 1, got {episodes_per_task}")
    if len(ids[:tasks]) * episodes_per_task > MAX_EPISODES:
        raise ConfigurationError(f"an evaluation has at most {MAX_EPISODES} episodes: lower tasks or episodes_per_task")
    if not 0 <= seed < 1 << 53:
        raise ConfigurationError(f"seed must lie in [0, 2^53), got {seed}")
    if env.spec is None:
        raise ConfigurationError("the environment has no spec: register it with gymnasium and name its id")
    return Header(
        env_spec=env.spec.to_json(),
        task_set=base.task_set.name,
        split=base.split,
        fingerprint=base.task_set.fingerprint,
        max_turns=base.max_turns,
        task_ids=tuple(ids[:tasks]),
        episodes_per_task=episodes_per_task,
        policy=policy.name,
        seed=seed,
        sampling={
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            **prompt_limits,
        },
        agentenv_version=agentenv.__version__,
    )


def _play(
    policy: Policy,
    make: Callable[[], gym.Env[Any, Any]],
    missing: Sequence[tuple[str, int]],
    seed: int,
    sampling: Sampling,
    workers: int,
    prompt_limits: Mapping[str, int | None],
    note: Callable[[Trajectory, tuple[str, int]], None],
) -> list[PlatformFailure]:
    """Plays the missing episodes, notes each as it ends, and returns those that the platform failed."""
    if not missing:
        return []
    seeds = {key: derive_seed(seed, *key) for key in missing}
    keys = {(key[0], number): key for key, number in seeds.items()}
    requests = [EpisodeRequest(task_id=key[0], group_id=key[0], seed=seeds[key], index=key[1]) for key in missing]

    def ended(trajectory: Trajectory) -> None:
        note(trajectory, keys[trajectory.task_id, int(trajectory.seed or 0)])

    collected = collect(
        policy,
        make,
        requests,
        sampling=sampling,
        workers=min(workers, len(requests)),
        max_prompt_tokens=prompt_limits["max_prompt_tokens"],
        max_observation_tokens=prompt_limits["max_observation_tokens"],
        history_turns=prompt_limits["history_turns"],
        on_episode=ended,
    )
    return [
        PlatformFailure(failure.request.task_id, failure.request.index, failure.error[:500])
        for failure in collected.failures
    ]
