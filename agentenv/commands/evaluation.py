"""`agentenv eval`: plays a policy on held-out tasks and prints what came of it, with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from agentenv.commands.console import environment_kwargs, output_console, parse, plain, print_json, progress_bar
from agentenv.evaluation.environments import base_of, make_env
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.journal import partial_path
from agentenv.evaluation.official import official_score, predictions_path, require_format
from agentenv.evaluation.results import read_results
from agentenv.evaluation.statistics import Estimate, PairedDifference, Summary, paired_difference, summarise
from agentenv.policy.base import Sampling
from agentenv.policy.loading import load_policy
from agentenv.task import OfficialScore

__all__ = ["main"]

_DESCRIPTION = """Play a policy on held-out tasks and add up what came of it.

The tasks are the first N of the split, the same for every policy. Results are kept in a file as episodes end: the same
command continues a run that was stopped. Success is the environment's verdict at the end; shaped rewards are never in
it. Episodes that the platform failed are counted apart (coverage), and the lower bound counts them as misses.

Examples:
  agentenv eval oracle --tasks 20                       the reference solutions: should score 1
  agentenv eval tiny --difficulty easy                  the shipped policy on 200 easy test tasks
  agentenv eval tiny:runs/main/procredit/policy --compare results/tiny-test.json
                                                        what training gained, on the same tasks
  agentenv eval hf:NAME --episodes 8 --tasks 50         pass@1, 2, 4 and 8
  agentenv eval hf:NAME --env agentenv/Search-v0 --env-kwargs '{"tasks": "hotpotqa:dev.json?split=test"}' \
    --format hotpotqa                                   HotpotQA's prediction file and metrics as well"""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv eval`."""

    policy: Annotated[str, tyro.conf.Positional]
    """tiny, tiny:DIR, hf:NAME_OR_DIR, oracle, noop, random, careless, fixed:ACTION or replay:FILE."""
    env: str = "agentenv/Terminal-v0"
    """The environment."""
    split: str = "test"
    """val, test or ood (train to look for overfitting)."""
    tasks: int | None = 200
    """How many tasks, from the start of the split; None for all."""
    episodes: int = 1
    """Episodes of each task; pass@k needs at least k."""
    difficulty: str | None = None
    """Only tasks of this difficulty."""
    families: tuple[str, ...] | None = None
    """Only tasks of these families."""
    env_kwargs: str = "{}"
    """Further arguments of the environment, as a JSON object."""
    seed: int = 0
    """Decides every episode's seed; equal seeds make two policies comparable task by task."""
    temperature: float = 1.0
    """0 takes the most probable token."""
    max_tokens: int = 64
    """Most tokens of one action."""
    max_prompt_tokens: int | None = None
    """Longest prompt; older turns are left out beyond it. The tiny policy was trained with 640."""
    max_observation_tokens: int | None = None
    """Longest observation after the first, cut to head and tail. The tiny policy was trained with 96."""
    device: str | None = None
    """Where an hf policy runs (cpu, cuda, cuda:1)."""
    workers: int = 8
    """Episodes played at a time."""
    out: Path | None = None
    """The results file [default: results/POLICY-SPLIT.json]."""
    overwrite: bool = False
    """Start anew where the results file is of another evaluation, or is to be played again."""
    format: str | None = None
    """A benchmark (hotpotqa, 2wiki, musique) whose questions are played: write its own prediction file next to the
    results, and print its own metrics."""
    compare: Path | None = None
    """Another results file on the same tasks: print the paired difference."""
    json: bool = False
    """Print the summary as JSON."""


def main(argv: Sequence[str]) -> int:
    """Evaluates."""
    options = parse(Options, argv, "eval", _DESCRIPTION)
    shortcuts = {"difficulty": options.difficulty, "families": list(options.families) if options.families else None}
    kwargs = environment_kwargs(options.env_kwargs, shortcuts)
    base = read_results(options.compare) if options.compare is not None else None
    probe = make_env(options.env, {**kwargs, "split": options.split})
    try:
        task_set, scripts = base_of(probe).task_set, base_of(probe).scripts
    finally:
        probe.close()
    if options.format is not None:
        require_format(task_set, options.format, options.episodes)
    available = len(task_set.ids(options.split))
    count = None if options.tasks is None or available == 0 else min(options.tasks, available)
    engine = {"device": options.device} if options.device is not None else {}
    policy = load_policy(options.policy, task_set=task_set, scripts=scripts, **engine)
    out = options.out or Path("results") / f"{_slug(options.policy)}-{options.split}.json"
    if options.overwrite:
        for stale in (out, partial_path(out)):
            stale.unlink(missing_ok=True)
    with progress_bar() as bar:
        line = bar.add_task(f"{options.policy} on {options.split}", total=None)
        results = evaluate(
            policy,
            options.env,
            env_kwargs=kwargs,
            split=options.split,
            tasks=count,
            episodes_per_task=options.episodes,
            seed=options.seed,
            sampling=Sampling(options.temperature, options.max_tokens),
            workers=options.workers,
            max_prompt_tokens=options.max_prompt_tokens,
            max_observation_tokens=options.max_observation_tokens,
            out=out,
            on_episode=lambda done, planned: bar.update(line, completed=done, total=planned),
        )
    summary = summarise(results)
    gain = paired_difference(results, base) if base is not None else None
    official: OfficialScore | None = None
    predictions: Path | None = None
    if options.format is not None:
        predictions = predictions_path(out, task_set, options.format)
        official = official_score(results, task_set, options.format, predictions)
    if options.json:
        more = {} if official is None else {"official": asdict(official), "predictions": str(predictions)}
        difference = asdict(gain) if gain else None
        print_json({"results": str(out), **summary.to_json(), "paired_difference": difference, **more})
        return 0
    console = output_console()
    console.print(plain(f"{options.policy} on {len(results.header.task_ids)} {options.split} tasks", "bold"))
    show_summary(console, summary)
    if gain is not None and base is not None:
        _show_gain(console, gain, base.header.policy)
    if official is not None:
        _show_official(console, official, f"{options.format}")
        console.print(plain(f"predictions in {predictions}", "dim"))
    console.print(plain(f"results in {out}; `agentenv verify {out}` replays them", "dim"))
    return 0


def show_summary(console: Console, summary: Summary) -> None:
    """Prints the aggregates and the families."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    rows = [
        ("success", _estimate(summary.success)),
        ("success, failures as misses", f"{summary.success_lower_bound:.3f}"),
        (
            "coverage",
            f"{summary.coverage:.3f} ({summary.platform_failures} of {summary.planned} failed by the platform)",
        ),
        ("progress at the end", _estimate(summary.final_progress)),
        ("progress AUC over turns", _estimate(summary.progress_auc)),
        ("turns", _number(summary.turns)),
        ("turns to success", _number(summary.turns_to_success)),
        ("invalid actions", _number(summary.invalid_action_rate, 3)),
        ("sampled tokens an episode", _number(summary.sampled_tokens)),
    ]
    rows += [(f"pass@{k}", f"{value:.3f}") for k, value in summary.pass_at_k.items() if len(summary.pass_at_k) > 1]
    rows.append(("ended by", ", ".join(f"{reason or '?'} {count}" for reason, count in summary.stop_reasons.items())))
    for name, value in rows:
        table.add_row(name, plain(value))
    console.print(table)
    if len(summary.families) > 1:
        families = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("family", "success", "95% interval", "tasks"):
            families.add_column(heading, justify="left" if heading == "family" else "right")
        for family, estimate in summary.families.items():
            interval = f"[{estimate.low:.2f}, {estimate.high:.2f}]"
            families.add_row(plain(family), f"{estimate.value:.2f}", plain(interval), str(estimate.tasks))
        console.print()
        console.print(families)


def _show_gain(console: Console, gain: PairedDifference, base: str) -> None:
    console.print(
        plain(
            f"against {base}: {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] on {gain.tasks} shared tasks "
            f"({gain.better} better, {gain.worse} worse, {gain.same} the same)",
            "bold",
        )
    )


def _show_official(console: Console, official: OfficialScore, format: str) -> None:
    console.print()
    of = f"{official.questions} of the file's {official.available} questions"
    console.print(plain(f"{format}'s own metrics, over {of}", "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value in official.metrics.items():
        table.add_row(name, plain(f"{value:.6g}"))
    console.print(table)


def _estimate(estimate: Estimate | None) -> str:
    return "-" if estimate is None else str(estimate)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "policy"
