"""The ablation: credit for progress against credit for the outcome alone, at equal budget, over several seeds.

    make ablation     (python -m agentenv.baselines.ablation --seeds 5)

The main job's arms for each seed, from one warm start, with the same tasks, seeds and number of episodes; each trained
policy is evaluated once on the same held-out tasks with the same samples. The unit of the comparison is the seed: its
difference is paired, and intervals are Student's over seeds. Nothing is chosen by looking at `test`.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.table import Table

from agentenv.baselines import grpo, main_job
from agentenv.baselines.main_job import WARM
from agentenv.baselines.presets import Credit
from agentenv.baselines.processes import run_jobs
from agentenv.baselines.run_log import read_metrics
from agentenv.errors import ConfigurationError
from agentenv.evaluation.results import Results
from agentenv.evaluation.statistics import summarise

__all__ = ["Args", "main", "student_interval"]

_LOG = logging.getLogger(__name__)
CREDITS: tuple[Credit, ...] = ("procredit", "outcome")
#: 97.5% quantiles of Student's t, by degrees of freedom from 1.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_COLOURS = {"procredit": "#1b7f5c", "outcome": "#b5542c"}


@dataclass
class Args(main_job.Args):
    """The main job over several seeds."""

    out: Path = Path("runs/ablation")
    """Where runs and evaluations go; run again, it continues."""
    seeds: int = 5
    """How many seeds, from `seed` on."""
    results: Path = Path("benchmarks/results")
    """Where `ablation.json` and `ablation.png` go."""


def default_args(env: str) -> Args:
    """The arguments of the environment's preset."""
    return Args(**{**vars(main_job.default_args(env)), "out": Args.out, "credits": CREDITS})


def main(args: Args) -> int:
    """Runs what is not done yet, writes the results, prints the table, and returns the exit code.

    Raises:
        ConfigurationError: With fewer than two seeds.
        CheckpointError: If `out` holds another job.
    """
    if args.seeds < 2:
        raise ConfigurationError(f"an interval over seeds needs two at least, got {args.seeds}")
    base = main_job.training_args(args)
    settings = main_job.settings_of(args)
    main_job.open_job(args.out, fresh=args.fresh, settings=settings)
    policy = main_job.warm_start(args)
    arms: dict[str, grpo.Args] = {}
    for seed in range(args.seed, args.seed + args.seeds):
        where, prefix = args.out / f"seed-{seed}", f"seed-{seed}/"
        arms |= main_job.make_arms(replace(base, policy=policy), CREDITS, where, seed, prefix)
    run_jobs([main_job.training_job(name, arm) for name, arm in arms.items()], args.parallel)
    policies = {WARM: policy, **{name: main_job.trained_policy(arm) for name, arm in arms.items()}}
    results = main_job.evaluate_all(args, base, policies)
    curves = {name: [line["charts/success_rate"] for line in read_metrics(arm.out)] for name, arm in arms.items()}
    found = summary(args, results, curves) | {"settings": settings}
    args.results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1, sort_keys=True, allow_nan=False) + "\n"
    (args.results / "ablation.json").write_text(text, encoding="utf-8")
    plot(curves, base.groups * base.group_size, args.results / "ablation.png")
    console = Console()
    console.print(table(found))
    for split, numbers in found["splits"].items():
        gain = numbers["difference"]
        console.print(
            f"{split}: procredit - outcome: {100 * gain['mean']:+.1f} points "
            f"[{100 * gain['low']:+.1f}, {100 * gain['high']:+.1f}] over {args.seeds} seeds (paired)",
            highlight=False,
        )
    if args.report:
        from agentenv.evaluation.report import write_report

        console.print(f"Report: {write_report(args.out, args.out / 'report.html', title='Ablation')}", highlight=False)
    return 0


def student_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95% interval of a few independent values (Student's t).

    Raises:
        ConfigurationError: For fewer than two values.

    >>> [round(x, 3) for x in student_interval([0.1, 0.2, 0.3])]
    [0.2, -0.048, 0.448]
    """
    if len(values) < 2:
        raise ConfigurationError(f"an interval needs two values at least, got {len(values)}")
    degrees = len(values) - 1
    half = (_T[degrees - 1] if degrees <= len(_T) else 1.96 + 2.5 / degrees) * stdev(values) / math.sqrt(len(values))
    mean = fmean(values)
    return mean, mean - half, mean + half


def summary(args: Args, results: dict[str, dict[str, Results]], curves: dict[str, list[float]]) -> dict[str, Any]:
    """The ablation's numbers as JSON values: success of each seed, means with intervals, the paired difference."""
    splits: dict[str, Any] = {}
    for split, by_policy in results.items():
        success = {name: _success(found) for name, found in by_policy.items()}
        by_credit = {
            credit: [success[f"seed-{seed}/{credit}"] for seed in range(args.seed, args.seed + args.seeds)]
            for credit in CREDITS
        }
        pairs = zip(by_credit["procredit"], by_credit["outcome"], strict=True)
        splits[split] = {
            "tasks": len(by_policy[WARM].header.task_ids),
            WARM: success[WARM],
            **{credit: _interval(values) for credit, values in by_credit.items()},
            "difference": _interval([new - old for new, old in pairs]),
        }
    return {"seeds": args.seeds, "splits": splits, "curves": curves}


def table(found: dict[str, Any]) -> Table:
    """Success by split and policy."""
    shown = Table("policy", title=f"Success, mean and 95% interval over {found['seeds']} seeds")
    for split, numbers in found["splits"].items():
        shown.add_column(f"{split} ({numbers['tasks']} tasks)", justify="right")
    shown.add_row(WARM, *(f"{numbers[WARM]:.3f}" for numbers in found["splits"].values()))
    for credit in CREDITS:
        cells = [numbers[credit] for numbers in found["splits"].values()]
        shown.add_row(credit, *(f"{cell['mean']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]" for cell in cells))
    return shown


def plot(curves: dict[str, list[float]], episodes: int, path: Path) -> None:
    """The learning curves: mean over seeds and its 95% interval, one band an arm, a point every `episodes` episodes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=150, layout="constrained")
    axes = figure.subplots()
    for credit in CREDITS:
        runs = [_smooth(values) for name, values in curves.items() if name.endswith(f"/{credit}")]
        points = [student_interval(at) for at in zip(*runs, strict=True)]
        x = [episodes * (update + 1) for update in range(len(points))]
        mean, low, high = ([point[column] for point in points] for column in range(3))
        axes.plot(x, mean, color=_COLOURS[credit], label=credit)
        axes.fill_between(x, low, high, color=_COLOURS[credit], alpha=0.2, linewidth=0)
    axes.set_xlabel("training episodes")
    axes.set_ylabel("success rate in training")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(path, metadata={"Software": None})


def _smooth(values: Sequence[float], width: int = 3) -> list[float]:
    """Trailing means of up to `width` updates, because each update plays other tasks."""
    return [fmean(values[max(0, place + 1 - width) : place + 1]) for place in range(len(values))]


def _interval(values: Sequence[float]) -> dict[str, Any]:
    mean, low, high = student_interval(values)
    return {"mean": mean, "low": low, "high": high, "by_seed": list(values)}


def _success(results: Results) -> float:
    estimate = summarise(results).success
    if estimate is None:
        raise ConfigurationError(f"{results.header.policy}: no episode could be played on {results.header.split}")
    return estimate.value


if __name__ == "__main__":
    sys.exit(main_job.run(main, default_args, __doc__))
