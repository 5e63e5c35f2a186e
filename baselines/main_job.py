"""The main job: what turn-level credit gains over a warm start, and over credit for the outcome alone.

    make train                                (python -m agentenv.baselines.main_job --out runs/main)
    make train ENV=agentenv/Search-v0

A warm start, then GRPO from it, one arm per kind of credit on the same tasks, seeds and number of episodes (`procredit`
and `outcome` on the terminal), then all of them on held-out tasks (`test`) and on what training never saw (`ood`),
paired task by task, then a page to look at. Run again it continues where it was stopped; what is done is not done
again.
"""

from __future__ import annotations

import itertools
import json
import logging
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentenv.baselines import bc, evaluation_job, grpo
from agentenv.baselines.checkpoint import write_durably
from agentenv.baselines.prepare import env_maker, parse_env_kwargs, split_ids
from agentenv.baselines.presets import PRESETS, TERMINAL, Credit, env_in, parse, preset_of
from agentenv.baselines.processes import Job, run_jobs, to_flags
from agentenv.baselines.run_log import read_metrics
from agentenv.env import AgentEnv
from agentenv.errors import AgentEnvError, CheckpointError, ConfigurationError
from agentenv.evaluation.journal import partial_path
from agentenv.evaluation.results import Results, read_results
from agentenv.evaluation.statistics import paired_difference, summarise

__all__ = ["WARM", "Args", "default_args", "main"]

_LOG = logging.getLogger(__name__)
WARM = "warm-start"


@dataclass
class Args:
    """Warm start, GRPO from it, evaluation, report."""

    out: Path = Path("runs/main")
    """Where everything goes."""
    fresh: bool = False
    """Delete what is in `out` and begin anew."""
    retrain: bool = False
    """Make the warm start here, by behaviour cloning, instead of taking the shipped one."""
    policy: str = TERMINAL.policy
    """The warm start."""
    env: str = TERMINAL.arms.env
    """Environment id. The defaults shown are those of this environment."""
    env_kwargs: str = TERMINAL.arms.env_kwargs
    """The environment's arguments as a JSON object."""
    credits: tuple[Credit, ...] = TERMINAL.credits
    """An arm each: what the credit is given for."""
    updates: int = TERMINAL.arms.updates
    """Updates of each arm; the same number of episodes for all."""
    groups: int = TERMINAL.arms.groups
    """Tasks per update."""
    group_size: int = TERMINAL.arms.group_size
    """Episodes per task."""
    lr: float = TERMINAL.arms.lr
    """Learning rate."""
    seed: int = 1
    """Decides tasks and samples of training, the same for all arms."""
    test_tasks: int = TERMINAL.test_tasks
    """Held-out tasks to evaluate on."""
    ood_tasks: int = TERMINAL.ood_tasks
    """Tasks of the `ood` split to evaluate on, apart."""
    ood_kwargs: str = json.dumps(TERMINAL.ood_kwargs)
    """The environment's arguments that are others on `ood`, as a JSON object."""
    eval_seed: int = 1000
    """Decides the samples of evaluation, the same for all policies."""
    parallel: int = 2
    """Processes at once, a core each."""
    report: bool = True
    """Whether to write `report.html`."""


def default_args(env: str) -> Args:
    """The arguments of the environment's preset; the terminal's settings where it has none.

    >>> default_args("agentenv/Terminal-v0") == Args()
    True
    """
    preset = preset_of(env)
    if preset is None:
        return Args(env=env, env_kwargs="{}", ood_kwargs="{}")
    return Args(
        policy=preset.policy,
        env=env,
        env_kwargs=preset.arms.env_kwargs,
        credits=preset.credits,
        updates=preset.arms.updates,
        groups=preset.arms.groups,
        group_size=preset.arms.group_size,
        lr=preset.arms.lr,
        test_tasks=preset.test_tasks,
        ood_tasks=preset.ood_tasks,
        ood_kwargs=json.dumps(preset.ood_kwargs),
    )


def main(args: Args) -> int:
    """Runs what is not done yet, prints the table, and returns the exit code.

    Raises:
        CheckpointError: If `out` holds another job.
    """
    base = training_args(args)
    open_job(args.out, fresh=args.fresh, settings=settings_of(args))
    policy = warm_start(args)
    arms = make_arms(replace(base, policy=policy), args.credits, args.out, args.seed)
    run_jobs([training_job(name, arm) for name, arm in arms.items()], args.parallel)
    policies = {WARM: policy, **{name: trained_policy(arm) for name, arm in arms.items()}}
    results = evaluate_all(args, base, policies)
    console = Console()
    console.print(table(results))
    for line in gains(results):
        console.print(line, highlight=False)
    if args.report:
        from agentenv.evaluation.report import write_report

        page = write_report(args.out, args.out / "report.html", title=", ".join(policies))
        console.print(f"Report: {page}", highlight=False)
    return 0


def training_args(args: Args) -> grpo.Args:
    """The arguments that all arms share."""
    return replace(
        (preset_of(args.env) or TERMINAL).arms,
        env=args.env,
        env_kwargs=args.env_kwargs,
        updates=args.updates,
        groups=args.groups,
        group_size=args.group_size,
        lr=args.lr,
    )


def make_arms(
    base: grpo.Args, credits: Sequence[Credit], out: Path, seed: int, prefix: str = ""
) -> dict[str, grpo.Args]:
    """One arm per kind of credit, by name, otherwise alike."""
    return {f"{prefix}{credit}": replace(base, credit=credit, seed=seed, out=out / credit) for credit in credits}


def trained_policy(arm: grpo.Args) -> str:
    """The name, for `load_policy`, of what an arm trains."""
    return f"{arm.policy.partition(':')[0]}:{arm.out / 'policy'}"


def training_job(name: str, arm: grpo.Args) -> Job:
    """The process that trains an arm."""

    def progress() -> tuple[int, str]:
        metrics = read_metrics(arm.out)
        last = metrics[-5:]
        means = (
            sum(line[f"charts/{key}"] for line in last) / max(1, len(last)) for key in ("success_rate", "progress")
        )
        return len(metrics), "success {:.2f}  progress {:.2f}".format(*means)

    return Job(
        name=name,
        module="agentenv.baselines.grpo",
        flags=to_flags(replace(arm, resume=True)),
        log=arm.out / "log.txt",
        total=arm.updates,
        done=(arm.out / "policy").is_dir,  # put in place last, in one step
        progress=progress,
    )


def evaluation_jobs(args: Args, base: grpo.Args, policies: dict[str, str]) -> dict[tuple[str, str], Job]:
    """By split and policy, the process that evaluates it; splits without tasks are left out."""
    jobs = {}
    for split, wanted in (("test", args.test_tasks), ("ood", args.ood_tasks)):
        other = parse_env_kwargs(args.ood_kwargs) if split == "ood" else {}
        env_kwargs = json.dumps({**parse_env_kwargs(base.env_kwargs), **other})
        tasks = min(wanted, _tasks_in(replace(base, env_kwargs=env_kwargs), split))
        for name, policy in policies.items() if tasks else ():
            out = args.out / "eval" / f"{name.replace('/', '-')}-{split}.json"
            flags = evaluation_job.Args(
                policy=policy,
                name=name,
                env=base.env,
                env_kwargs=env_kwargs,
                split=split,
                tasks=tasks,
                seed=args.eval_seed,
                temperature=base.temperature,
                max_tokens=base.max_tokens,
                max_prompt_tokens=base.max_prompt_tokens,
                max_observation_tokens=base.max_observation_tokens,
                workers=base.workers,
                out=out,
            )
            jobs[split, name] = Job(
                name=f"{name} on {split}",
                module="agentenv.baselines.evaluation_job",
                flags=to_flags(flags),
                log=out.with_suffix(".log"),
                total=tasks,
                done=lambda out=out: out.is_file() and not partial_path(out).exists(),  # type: ignore[misc]
                progress=lambda out=out: (_played(out), ""),  # type: ignore[misc]
            )
    return jobs


def evaluate_all(args: Args, base: grpo.Args, policies: dict[str, str]) -> dict[str, dict[str, Results]]:
    """Every policy on `test` and on `ood`, what is done already left alone: results by split and policy."""
    jobs = evaluation_jobs(args, base, policies)
    run_jobs(list(jobs.values()), args.parallel)
    found: dict[str, dict[str, Results]] = {}
    for split, name in jobs:
        results = read_results(args.out / "eval" / f"{name.replace('/', '-')}-{split}.json")
        found.setdefault(split, {})[name] = results
    return found


def open_job(out: Path, *, fresh: bool, settings: dict[str, Any]) -> None:
    """Makes the job's directory, or checks that the one there is of the same job.

    Raises:
        CheckpointError: If it is of another, or cannot be written.
    """
    marker = out / "job.json"
    text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
    if fresh and out.exists():
        if not marker.is_file():
            raise ConfigurationError(f"{out} holds no job of ours and is not deleted: remove it yourself")
        shutil.rmtree(out)
    try:
        if marker.is_file():
            kept = json.loads(marker.read_text(encoding="utf-8"))
            changed = sorted(name for name in {*kept, *settings} if kept.get(name) != settings.get(name))
            if changed:
                raise CheckpointError(
                    f"{out} has a job with another {', '.join(changed)}: start over with --fresh, or name another --out"
                )
            return
        out.mkdir(parents=True, exist_ok=True)
        partial = out / ".job.json"
        write_durably(partial, text.encode())
        partial.replace(marker)
    except OSError as error:
        raise CheckpointError(f"{out} cannot be written: {error.strerror or error}") from error


def table(results: dict[str, dict[str, Results]]) -> Table:
    """Success with intervals, policy by policy."""
    shown = Table("policy", title="Success with 95% intervals over tasks")
    for split, by_policy in results.items():
        counts = sorted({len(found.records) for found in by_policy.values()})
        shown.add_column(f"{split} ({'-'.join(map(str, counts))} tasks)", justify="right")
    for name in next(iter(results.values()), {}):
        shown.add_row(name, *(str(summarise(by_policy[name]).success) for by_policy in results.values()))
    return shown


def gains(results: dict[str, dict[str, Results]]) -> list[str]:
    """The paired differences, a line each."""
    lines = []
    for split, by_policy in results.items():
        arms = [name for name in by_policy if name != WARM]
        for new, old in [*((name, WARM) for name in arms), *itertools.combinations(arms, 2)]:
            gain = paired_difference(by_policy[new], by_policy[old])
            interval = f"[{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
            lines.append(f"{split}: {new} - {old}: {100 * gain.value:+.1f} points {interval} over {gain.tasks} tasks")
    return lines


def settings_of(args: Args) -> dict[str, Any]:
    """What decides the job's numbers: the arguments, and the tasks themselves."""
    free = ("out", "fresh", "parallel", "report", "results", "seeds")
    settings = {name: value for name, value in asdict(args).items() if name not in free}
    made = env_maker(args.env, parse_env_kwargs(args.env_kwargs), "train")()
    try:
        base = made.unwrapped
        settings["tasks"] = base.task_set.fingerprint if isinstance(base, AgentEnv) else ""
    finally:
        made.close()
    as_read: dict[str, Any] = json.loads(json.dumps(settings))  # tuples as lists, as they come back from the file
    return as_read


def _tasks_in(base: grpo.Args, split: str) -> int:
    try:
        return len(split_ids(base.env, parse_env_kwargs(base.env_kwargs), split))
    except ConfigurationError:
        return 0


def _played(out: Path) -> int:
    journal = partial_path(out)
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.is_file() else 0


def warm_start(args: Args) -> str:
    """The policy that training starts from; with `retrain`, made here.

    Raises:
        ConfigurationError: If it is to be made for an environment without a preset.
    """
    if not args.retrain:
        return args.policy
    preset = preset_of(args.env)
    if preset is None:
        known = ", ".join(PRESETS)
        raise ConfigurationError(
            f"how a warm start for {args.env!r} is made is not known (it is for {known}): make one with "
            "`agentenv train bc --env ... --out DIR` and name it as --policy tiny:DIR/policy"
        )
    directory = args.out / WARM
    if not (directory / "policy" / "training.json").is_file():  # the last file that behaviour cloning writes
        bc.main(replace(preset.warm, out=directory))
    return f"tiny:{directory / 'policy'}"


def run(
    entry: Callable[[Any], int],
    defaults: Callable[[str], Any],
    description: str | None,
    argv: Sequence[str] | None = None,
) -> int:
    """The command line of a job: defaults by `--env`, our own errors in a line, Ctrl-C as exit code 130."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    words = sys.argv[1:] if argv is None else argv
    prog = f"python -m agentenv.baselines.{Path(sys.argv[0]).stem}"
    args = parse(defaults(env_in(words, Args.env)), prog=prog, description=description, argv=words)
    try:
        return entry(args)
    except AgentEnvError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: run it again to continue\n")
        return 130


if __name__ == "__main__":
    sys.exit(run(main, default_args, __doc__))
