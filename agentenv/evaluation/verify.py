"""Checking a results file by playing it again. Invariant: no number is believed; each is recomputed and compared.

The environment is rebuilt from the file's spec (see `rebuild`), the task set's fingerprint and the plan are compared,
the recorded actions are played in fresh episodes, and every record and aggregate is computed anew. What a replay cannot
tell is said: token counts are the policy's own, and a platform failure cannot be disproved, so a failed episode counts
against `success_lower_bound`.
"""

from __future__ import annotations

import logging
import math
import queue
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from agentenv.env import AgentEnv
from agentenv.errors import InfrastructureError
from agentenv.evaluation.environments import base_of
from agentenv.evaluation.families import family_of
from agentenv.evaluation.rebuild import EnvRecipe, recipe_of
from agentenv.evaluation.results import EpisodeRecord, Results, plan_faults, read_results
from agentenv.evaluation.statistics import Summary, summarise
from agentenv.rollout import derive_seed

__all__ = ["Mismatch", "VerifyReport", "verify"]

logger = logging.getLogger(__name__)

_TOLERANCE = 1e-9
_ENDINGS = ("", "success", "submitted", "answered", "bought", "max_turns")


@dataclass(frozen=True)
class Mismatch:
    """One thing in the file that is not so, and what says otherwise: a replay, or the file's own records."""

    where: str
    recorded: str
    recomputed: str
    source: str = "a replay gives"

    def __str__(self) -> str:
        return f"{self.where}: the file says {self.recorded}, {self.source} {self.recomputed}"


@dataclass(frozen=True)
class VerifyReport:
    """What verification found.

    Attributes:
        path: The file.
        results: Its content, as recorded.
        summary: The aggregates of the *replayed* episodes; None where the episodes could not be replayed at all.
        replayed: How many episodes were.
        mismatches: What differs; each makes the file wrong.
        unreplayed: Episodes that this machine's platform failed on: neither confirmed nor refuted.
        notes: What a reader should know and what does not make the file wrong.
    """

    path: str
    results: Results
    summary: Summary | None
    replayed: int
    mismatches: tuple[Mismatch, ...] = ()
    unreplayed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every episode was replayed and every number agreed."""
        return not self.mismatches and not self.unreplayed


@dataclass
class _Replay:
    """One record's replay: the episode as it really goes, and what differs from the record."""

    record: EpisodeRecord
    mismatches: list[Mismatch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: str = ""


def verify(
    path: Path,
    *,
    allow: Collection[str] = (),
    workers: int = 2,
    on_episode: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Replays a results file and recomputes everything in it.

    Args:
        path: The results file; it may come from anyone.
        allow: Environment ids and task sources beyond agentenv's own that the caller trusts.
        workers: Episodes replayed at a time.
        on_episode: Called with (replayed, total) after each.

    Raises:
        ResultsFileError: If the file cannot be read, or asks for an environment that is not known or allowed.
    """
    path = Path(path)
    results = read_results(path, check_plan=False)
    recipe = recipe_of(results.header.env_spec, str(path), allow)
    mismatches = [
        Mismatch(fault, "every planned episode is there once", "another number", "its records give")
        for fault in plan_faults(results)
    ]
    stated = _compare("summary", results.summary, summarise(results).to_json(), "its own records give")
    probe = recipe.make()
    try:
        unfit = _header_mismatches(results, base_of(probe))
    finally:
        probe.close()
    mismatches += unfit
    if any(mismatch.where.startswith("header.fingerprint") for mismatch in unfit):
        note = "nothing was replayed: this version's tasks are not those of the file"
        return VerifyReport(str(path), results, None, 0, (*mismatches, *stated), (), (note,))
    replays = _replay_all(results, recipe, max(1, workers), on_episode)
    done = [replay for replay in replays if not replay.failure]
    mismatches += [mismatch for replay in replays for mismatch in replay.mismatches]
    honest = Results(results.header, tuple(replay.record for replay in done), results.failures)
    summary = summarise(honest)
    if not mismatches and not stated and len(done) == len(replays):
        stated = _compare("summary", results.summary, summary.to_json())
    notes = [note for replay in replays for note in replay.notes]
    if results.failures:
        notes.append(
            f"{len(results.failures)} of {summary.planned} episodes are recorded as platform failures, which a replay "
            f"cannot confirm: success counted over the plan is at least {summary.success_lower_bound:.3f}"
        )
    unreplayed = tuple(f"{_name(replay.record)}: {replay.failure}" for replay in replays if replay.failure)
    return VerifyReport(str(path), results, summary, len(done), (*mismatches, *stated), unreplayed, tuple(notes))


def _header_mismatches(results: Results, env: AgentEnv) -> list[Mismatch]:
    header, tasks = results.header, env.task_set
    planned = len(header.task_ids)
    pairs: list[tuple[str, Any, Any]] = [
        ("header.fingerprint", header.fingerprint, tasks.fingerprint),
        ("header.task_set", header.task_set, tasks.name),
        ("header.split", header.split, env.split),
        ("header.max_turns", header.max_turns, env.max_turns),
        ("header.task_ids", list(header.task_ids), list(tasks.ids(env.split)[:planned])),
    ]
    return [
        Mismatch(where, _shown(said), _shown(real), "the environment has")
        for where, said, real in pairs
        if said != real
    ]


def _replay_all(
    results: Results, recipe: EnvRecipe, workers: int, on_episode: Callable[[int, int], None] | None
) -> list[_Replay]:
    total = len(results.records)
    with _environments(recipe, min(workers, total)) as pool, ThreadPoolExecutor(max(1, min(workers, total))) as threads:
        futures = [threads.submit(_replay, record, results, recipe, pool) for record in results.records]
        found: list[_Replay] = []
        try:
            for number, future in enumerate(futures, start=1):
                found.append(future.result())
                if on_episode is not None:
                    on_episode(number, total)
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
        return found


@contextmanager
def _environments(recipe: EnvRecipe, count: int) -> Iterator[queue.SimpleQueue[gym.Env[Any, Any]]]:
    """A pool of environments, one a worker; each episode resets one, which gives it a fresh state."""
    pool: queue.SimpleQueue[gym.Env[Any, Any]] = queue.SimpleQueue()
    try:
        for _ in range(count):
            pool.put(recipe.make())
        yield pool
    finally:
        while not pool.empty():
            pool.get().close()


def _replay(
    record: EpisodeRecord,
    results: Results,
    recipe: EnvRecipe,
    pool: queue.SimpleQueue[gym.Env[Any, Any]],
) -> _Replay:
    """Replays one episode, with one retry on a fresh environment where the platform fails."""
    env = pool.get()
    try:
        for attempt in (1, 2):
            try:
                return _checked(record, results, env)
            except InfrastructureError as error:
                logger.warning("replay of %s, attempt %d: %s", _name(record), attempt, error)
                failure = f"{type(error).__name__}: {error}"
                env.close()
                env = recipe.make()
        return _Replay(record, failure=failure)
    finally:
        pool.put(env)


def _checked(record: EpisodeRecord, results: Results, env: gym.Env[Any, Any]) -> _Replay:
    base = base_of(env)
    where = _name(record)
    if record.task_id not in base.task_set.ids(base.split):
        return _Replay(record, [Mismatch(where, "a task of the split", "no such task")])
    task = base.task_set.task(record.task_id)
    real = _play(record, env)
    replay = _Replay(real)
    wrong = replay.mismatches
    wrong += _compare(f"{where}, seed", record.seed, derive_seed(results.header.seed, record.task_id, record.episode))
    wrong += _compare(f"{where}, family", record.family, family_of(task))
    if real.turns < record.turns:
        wrong.append(
            Mismatch(f"{where}, actions", f"{record.turns} turns", f"an episode that ended after {real.turns}")
        )
        return replay
    for name in ("success", "outcome", "valid", "rewards", "progress", "checks", "submission"):
        wrong += _compare(f"{where}, {name}", _plain(getattr(record, name)), _plain(getattr(real, name)))
    if real.stop_reason:
        wrong += _compare(f"{where}, stop_reason", record.stop_reason, real.stop_reason)
    elif record.stop_reason in _ENDINGS:
        wrong.append(Mismatch(f"{where}, stop_reason", repr(record.stop_reason), "an episode that had not ended"))
    else:
        replay.notes.append(f"{where}: cut by the rollout ({record.stop_reason:.80}), counted as a miss")
    if record.state_hashes != real.state_hashes:
        _compare_hashes(record, real, env, replay)
    replay.record = _as_replayed(record, real)
    return replay


def _compare_hashes(record: EpisodeRecord, real: EpisodeRecord, env: gym.Env[Any, Any], replay: _Replay) -> None:
    """A state that differs between two replays (a date written to a file) says nothing; one that repeats does."""
    again = _play(record, env)
    where = _name(record)
    hashes = zip(record.state_hashes, real.state_hashes, again.state_hashes, strict=False)
    for turn, (said, first, second) in enumerate(hashes):
        if first != second:
            replay.notes.append(f"{where}: the state after turn {turn} does not repeat (time or chance went into it)")
            return
        if said != first:
            replay.mismatches.append(Mismatch(f"{where}, state_hashes[{turn}]", _shown(said), _shown(first)))
            return


def _play(record: EpisodeRecord, env: gym.Env[Any, Any]) -> EpisodeRecord:
    """The record as the environment really plays it; it stops early if the episode ends before the actions do."""
    _, info = env.reset(options={"task_id": record.task_id})
    progress, hashes = [float(info["progress"])], [str(info["state_hash"])]
    rewards: list[float] = []
    valid: list[bool] = []
    outcome, success, stop_reason = 0.0, False, ""
    for action in record.actions:
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        valid.append(bool(info["valid_action"]))
        progress.append(float(info["progress"]))
        hashes.append(str(info["state_hash"]))
        outcome += float(info["reward_parts"]["outcome"])
        if terminated or truncated:
            success, stop_reason = bool(info["success"]), str(info["stop_reason"]) or "truncated"
            break
    return EpisodeRecord(
        task_id=record.task_id,
        episode=record.episode,
        family=record.family,
        seed=record.seed,
        actions=record.actions[: len(rewards)],
        progress=tuple(progress),
        rewards=tuple(rewards),
        valid=tuple(valid),
        state_hashes=tuple(hashes),
        success=success,
        outcome=outcome,
        stop_reason=stop_reason,
        checks={name: float(score) for name, score in info["checks"].items()},
        sampled_tokens=record.sampled_tokens,
        prompt_tokens=record.prompt_tokens,
        submission=base_of(env).submission(),
    )


def _as_replayed(record: EpisodeRecord, real: EpisodeRecord) -> EpisodeRecord:
    """The replayed record; where the rollout cut the episode, its reason stands."""
    if real.stop_reason:
        return real
    return replace(real, stop_reason=record.stop_reason)


def _compare(where: str, said: Any, real: Any, source: str = Mismatch.source) -> list[Mismatch]:
    """Differences between JSON-like values, deep; floats agree within a relative 1e-9."""
    if isinstance(said, dict) and isinstance(real, dict):
        names = sorted({*said, *real})
        missing = object()
        return [
            fault
            for name in names
            for fault in _compare(f"{where}.{name}", said.get(name, missing), real.get(name, missing), source)
        ]
    if isinstance(said, list) and isinstance(real, list) and len(said) == len(real):
        return [
            fault
            for number, pair in enumerate(zip(said, real, strict=True))
            for fault in _compare(f"{where}[{number}]", *pair, source)
        ]
    if _number(said) and _number(real) and math.isclose(said, real, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return []
    if type(said) is type(real) and said == real:
        return []
    return [Mismatch(where, _shown(said), _shown(real), source)]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    if type(value) is object:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _name(record: EpisodeRecord) -> str:
    return f"task {record.task_id!r:.120}, episode {record.episode}"
