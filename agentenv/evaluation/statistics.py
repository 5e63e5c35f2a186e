"""What results say, and how sure one may be. Invariant: a planned episode never leaves the count in silence.

Success is measured over the tasks that were played; beside it stand the coverage (played over planned) and the lower
bound that counts every platform failure as a miss. Intervals are over *tasks*: several episodes of one task are not
independent, so they are resampled together. All randomness has a fixed seed: the same records give the same numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import NormalDist, fmean
from typing import Any, Literal

import numpy as np

from agentenv.errors import ConfigurationError
from agentenv.evaluation.results import EpisodeRecord, Results

__all__ = [
    "Estimate",
    "PairedDifference",
    "Summary",
    "bootstrap_interval",
    "paired_difference",
    "pass_at_k",
    "progress_auc",
    "success_estimate",
    "summarise",
    "wilson_interval",
]

CONFIDENCE = 0.95
_RESAMPLES = 10_000
_SEED = 20_240
_CHUNK = 2_000_000

Metric = Literal["success", "progress_auc", "final_progress"]


@dataclass(frozen=True)
class Estimate:
    """A value with its 95% interval over tasks, the number of tasks, and how the interval was made."""

    value: float
    low: float
    high: float
    tasks: int
    method: str

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class PairedDifference:
    """How much better one policy did than another on the same tasks, with its 95% interval over tasks.

    `better`, `worse` and `same` count tasks; `left_out` counts tasks that either side's platform failed on.
    """

    value: float
    low: float
    high: float
    tasks: int
    method: str
    better: int
    worse: int
    same: int
    left_out: int


@dataclass(frozen=True)
class Summary:
    """The aggregates of an evaluation; everything is recomputable from the records.

    Attributes:
        planned: Episodes planned.
        played: Episodes played to their end.
        platform_failures: Episodes that the platform failed.
        coverage: Played over planned.
        success: Mean over tasks of the task's success rate; None when nothing was played.
        success_lower_bound: Successful episodes over planned ones: every platform failure counted as a miss.
        progress_auc: Mean over tasks of `progress_auc`.
        final_progress: Mean over tasks of the progress of the final state.
        turns: Mean number of turns of an episode.
        turns_to_success: Mean number of turns of the successful episodes; None without one.
        invalid_action_rate: Invalid actions over actions.
        sampled_tokens: Mean per episode, as the policy reported them.
        pass_at_k: Unbiased pass@k, for k = 1, 2, 4, ... up to the fewest episodes that any played task has.
        families: Success by task family.
        stop_reasons: Episodes by stop reason.
    """

    planned: int
    played: int
    platform_failures: int
    coverage: float
    success: Estimate | None
    success_lower_bound: float
    progress_auc: Estimate | None
    final_progress: Estimate | None
    turns: float | None
    turns_to_success: float | None
    invalid_action_rate: float | None
    sampled_tokens: float | None
    pass_at_k: dict[str, float]
    families: dict[str, Estimate]
    stop_reasons: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return asdict(self)


def summarise(results: Results) -> Summary:
    """Adds an evaluation up."""
    records, planned = results.records, len(list(results.planned()))
    by_task = results.by_task()
    by_family: dict[str, dict[str, list[EpisodeRecord]]] = {}
    for task, episodes in by_task.items():
        by_family.setdefault(episodes[0].family, {})[task] = episodes
    max_turns = results.header.max_turns
    actions = sum(record.turns for record in records)
    invalid = sum(not valid for record in records for valid in record.valid)
    won = [record.turns for record in records if record.success]
    return Summary(
        planned=planned,
        played=len(records),
        platform_failures=len(results.failures),
        coverage=len(records) / planned if planned else 0.0,
        success=success_estimate(by_task) if by_task else None,
        success_lower_bound=len(won) / planned if planned else 0.0,
        progress_auc=_mean_over_tasks(by_task, lambda record: progress_auc(record.progress, max_turns)),
        final_progress=_mean_over_tasks(by_task, lambda record: record.progress[-1]),
        turns=fmean(record.turns for record in records) if records else None,
        turns_to_success=fmean(won) if won else None,
        invalid_action_rate=invalid / actions if actions else None,
        sampled_tokens=fmean(record.sampled_tokens for record in records) if records else None,
        pass_at_k=_all_pass_at_k(by_task),
        families={family: success_estimate(by_family[family]) for family in sorted(by_family)},
        stop_reasons=dict(sorted(Counter(record.stop_reason for record in records).items())),
    )


def success_estimate(by_task: Mapping[str, Sequence[EpisodeRecord]]) -> Estimate:
    """Mean over tasks of the task's success rate.

    One episode a task is a binomial sample: Wilson's interval. Several are resampled by task (`bootstrap_interval`).

    Raises:
        ConfigurationError: Without a task.
    """
    if not by_task:
        raise ConfigurationError("a success rate needs at least one played task")
    rates = [Fraction(sum(r.success for r in episodes), len(episodes)) for episodes in by_task.values()]
    if all(len(episodes) == 1 for episodes in by_task.values()):
        won = int(sum(rates))
        low, high = wilson_interval(won, len(rates))
        return Estimate(won / len(rates), low, high, len(rates), "wilson")
    return _bootstrapped([float(rate) for rate in rates])


def wilson_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a proportion; it stays inside [0, 1] and is never a point.

    Raises:
        ConfigurationError: If there is no trial, or the numbers do not fit each other.

    >>> low, high = wilson_interval(5, 10)
    >>> round(low, 4), round(high, 4)
    (0.2366, 0.7634)
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ConfigurationError(f"{successes} successes in {trials} trials is not a proportion")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    return (
        0.0 if successes == 0 else max(0.0, centre - half),
        1.0 if successes == trials else min(1.0, centre + half),
    )


def bootstrap_interval(
    values: Sequence[float], *, bounds: tuple[float, float] = (0.0, 1.0), confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Percentile interval of the mean of one value per task, from 10,000 resamples with a fixed seed.

    When all values are equal a resample cannot vary, and a point would claim certainty. Then the interval reaches as
    far as a share of `1 - (alpha/2)^(1/n)` of the tasks (what n tasks without one exception still allow at this
    confidence) could pull the mean towards the bounds.

    Raises:
        ConfigurationError: Without a value.

    >>> low, high = bootstrap_interval([0.0, 0.5, 1.0, 0.5] * 25)
    >>> 0.40 < low < 0.5 < high < 0.60
    True
    """
    if not values:
        raise ConfigurationError("an interval needs at least one task")
    data = np.asarray(values, dtype=np.float64)
    tail = (1 - confidence) / 2
    if np.all(data == data[0]):
        unseen, value = 1 - tail ** (1 / len(data)), float(data[0])
        return value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)
    rng = np.random.default_rng(_SEED)
    means: list[np.ndarray] = []
    step = max(1, _CHUNK // len(data))
    for start in range(0, _RESAMPLES, step):
        draws = rng.integers(len(data), size=(min(step, _RESAMPLES - start), len(data)))
        means.append(data[draws].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)


def progress_auc(progress: Sequence[float], max_turns: int) -> float:
    """Area under the progress curve: the mean over turns 1 to `max_turns` of the progress after that turn.

    An episode that ended earlier keeps its last value for the turns that it did not need, so that being quick is worth
    more than being slow, and giving up is worth what had been reached.

    Args:
        progress: The start state's, then one value per turn.
        max_turns: The environment's limit.

    Raises:
        ConfigurationError: Without a start value, or with more turns than the limit.

    >>> progress_auc([0.0, 0.5, 1.0], 4)
    0.875
    """
    turns = len(progress) - 1
    if turns < 0 or max_turns < 1 or turns > max_turns:
        raise ConfigurationError(f"{len(progress)} progress values do not fit a start and {max_turns} turns")
    return math.fsum([*progress[1:], *[progress[-1]] * (max_turns - turns)]) / max_turns


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k samples succeeds, estimated without bias from c successes in n samples.

    Raises:
        ConfigurationError: If n < k, where no unbiased estimate exists, or the numbers do not fit each other.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if k < 1 or not 0 <= c <= n:
        raise ConfigurationError(f"pass@{k} of {c} successes in {n} samples: want k >= 1 and 0 <= c <= n")
    if n < k:
        raise ConfigurationError(f"pass@{k} needs at least {k} episodes a task, got {n}: raise episodes_per_task")
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def paired_difference(new: Results, base: Results, metric: Metric = "success") -> PairedDifference:
    """`new` minus `base`, task by task, with a paired bootstrap interval over tasks.

    Raises:
        ConfigurationError: If the two did not plan the same tasks of the same task set, or share no played task.
    """
    for name in ("task_set", "split", "fingerprint", "task_ids"):
        if getattr(new.header, name) != getattr(base.header, name):
            raise ConfigurationError(
                f"a paired difference needs the same tasks: {name} differs between {new.header.policy!r} and "
                f"{base.header.policy!r}; evaluate both with the same environment, split and number of tasks"
            )
    ours, theirs = _task_values(new, metric), _task_values(base, metric)
    shared = [task for task in new.header.task_ids if task in ours and task in theirs]
    if not shared:
        raise ConfigurationError("a paired difference needs a task that both played; none is shared")
    differences = [ours[task] - theirs[task] for task in shared]
    low, high = bootstrap_interval(differences, bounds=(-1.0, 1.0))
    return PairedDifference(
        value=math.fsum(differences) / len(differences),
        low=low,
        high=high,
        tasks=len(shared),
        method="paired bootstrap",
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        same=sum(difference == 0 for difference in differences),
        left_out=len(new.header.task_ids) - len(shared),
    )


def _task_values(results: Results, metric: Metric) -> dict[str, float]:
    measures: dict[str, Callable[[EpisodeRecord], float]] = {
        "success": lambda record: float(record.success),
        "progress_auc": lambda record: progress_auc(record.progress, results.header.max_turns),
        "final_progress": lambda record: record.progress[-1],
    }
    if metric not in measures:
        raise ConfigurationError(f"metric {metric!r} is not one of {', '.join(measures)}")
    measure = measures[metric]
    return {task: fmean(map(measure, episodes)) for task, episodes in results.by_task().items()}


def _mean_over_tasks(
    by_task: Mapping[str, Sequence[EpisodeRecord]], measure: Callable[[EpisodeRecord], float]
) -> Estimate | None:
    if not by_task:
        return None
    return _bootstrapped([fmean(map(measure, episodes)) for episodes in by_task.values()])


def _bootstrapped(values: Sequence[float]) -> Estimate:
    low, high = bootstrap_interval(values)
    return Estimate(math.fsum(values) / len(values), low, high, len(values), "bootstrap over tasks")


def _all_pass_at_k(by_task: Mapping[str, Sequence[EpisodeRecord]]) -> dict[str, float]:
    fewest = min((len(episodes) for episodes in by_task.values()), default=0)
    found: dict[str, float] = {}
    k = 1
    while k <= fewest:
        found[str(k)] = fmean(
            pass_at_k(len(episodes), sum(r.success for r in episodes), k) for episodes in by_task.values()
        )
        k *= 2
    return found
