"""The main job: what turn-level credit gains over a warm start, and over credit for the outcome alone.

    make train        (python -m agentenv.baselines.main_job --out runs/main)

A warm start, then GRPO from it with `procredit` and with `outcome` on the same tasks, seeds and number of episodes,
then all three on held-out tasks (`test`) and on families that training never saw (`ood`), paired task by task, then a
page to look at. Run again it continues where it was stopped; what is done is not done again.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentenv.baselines import evaluation_job, grpo
from agentenv.baselines.checkpoint import write_durably
from agentenv.baselines.prepare import env_maker, parse_env_kwargs, split_ids
from agentenv.baselines.processes import Job, run_jobs, to_flags
from agentenv.baselines.run_log import read_metrics
from agentenv.env import AgentEnv
from agentenv.errors import AgentEnvError, CheckpointError, ConfigurationError
from agentenv.evaluation.journal import partial_path
from agentenv.evaluation.results import Results, read_results
from agentenv.evaluation.statistics import paired_difference, summarise

__all__ = ["CREDITS", "DEFAULTS", "WARM", "Args", "main"]

_LOG = logging.getLogger(__name__)
WARM = "warm-start"
#: Unseen families that need nothing beyond coreutils, as the seen ones.
OOD_FAMILIES = ("disk_usage", "systemd_units", "text_reports")
CREDITS = ("procredit", "outcome")

#: What is trained on: a budget of minutes is spread too thin over more families (tried on `val` with all eleven). In
#: these four the warm start's best guesses (temperature 0, on `val`) beat its samples by most.
FAMILIES = ("archives", "encodings", "search_replace", "links")
#: The comparison's training settings; only credit, seed and place differ between arms.
DEFAULTS = grpo.Args(
    env_kwargs=json.dumps({"families": FAMILIES, "difficulty": "medium", "max_turns": 6}),
    updates=40,
    groups=16,
    group_size=8,
    lr=1.5e-4,
    anneal_lr=True,
    epochs=2,
    minibatches=2,
    workers=128,  # two cohorts of 64: the batch that the engine samples fastest
    save_every=5,
    microbatch_tokens=1024,  # about what a core's cache holds
    tensorboard=False,
)


@dataclass
class Args:
    """Warm start, GRPO with turn credit against outcome only, evaluation, report."""

    out: Path = Path("runs/main")
    """Where everything goes."""
    fresh: bool = False
    """Delete what is in `out` and begin anew."""
    retrain: bool = False
    """Make the warm start here, by behaviour cloning, instead of taking the shipped one."""
    policy: str = "tiny"
    """The warm start."""
    env: str = DEFAULTS.env
    """Environment id."""
    env_kwargs: str = DEFAULTS.env_kwargs
    """The environment's arguments as a JSON object."""
    updates: int = DEFAULTS.updates
    """Updates of each arm; the same number of episodes for both."""
    groups: int = DEFAULTS.groups
    """Tasks per update."""
    group_size: int = DEFAULTS.group_size
    """Episodes per task."""
    lr: float = DEFAULTS.lr
    """Learning rate."""
    seed: int = 1
    """Decides tasks and samples of training, the same for both arms."""
    test_tasks: int = 300
    """Held-out tasks to evaluate on."""
    ood_tasks: int = 100
    """Tasks of unseen families to evaluate on, apart."""
    ood_families: tuple[str, ...] = OOD_FAMILIES
    """Which unseen families; none for all."""
    eval_seed: int = 1000
    """Decides the samples of evaluation, the same for all policies."""
    parallel: int = 2
    """Processes at once, a core each."""
    report: bool = True
    """Whether to write `report.html`."""


def main(args: Args) -> int:
    """Runs what is not done yet, prints the table, and returns the exit code.

    Raises:
        CheckpointError: If `out` holds another job.
    """
    base = training_args(args)
    open_job(args.out, fresh=args.fresh, settings=settings_of(args))
    policy = warm_start(args)
    arms = make_arms(replace(base, policy=policy), args.out, args.seed)
    run_jobs([training_job(name, arm) for name, arm in arms.items()], args.parallel)
    policies = {WARM: policy, **{name: trained_policy(arm) for name, arm in arms.items()}}
    results = evaluate_all(args, base, policies)
    console = Console()
    console.print(table(results))
    for line in gains(results):
        console.print(line, highlight=False)
    if args.report:
        from agentenv.evaluation.report import write_report

        page = write_report(args.out, args.out / "report.html", title="Warm start, procredit, outcome")
        console.print(f"Report: {page}", highlight=False)
    return 0


def training_args(args: Args) -> grpo.Args:
    """The arguments that both arms share."""
    return replace(
        DEFAULTS,
        env=args.env,
        env_kwargs=args.env_kwargs,
        updates=args.updates,
        groups=args.groups,
        group_size=args.group_size,
        lr=args.lr,
    )


def make_arms(base: grpo.Args, out: Path, seed: int, prefix: str = "") -> dict[str, grpo.Args]:
    """One arm per kind of credit, by name, otherwise alike."""
    return {
        f"{prefix}{credit}": replace(base, credit=credit, seed=seed, out=out / credit)  # type: ignore[arg-type]
        for credit in CREDITS
    }


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
        env_kwargs = base.env_kwargs if split == "test" else _ood_kwargs(args)
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


def _ood_kwargs(args: Args) -> str:
    """The environment's arguments with the unseen families in place of the seen ones, where it has families."""
    kwargs = parse_env_kwargs(args.env_kwargs)
    if kwargs.pop("families", None) is not None and args.ood_families:
        kwargs["families"] = list(args.ood_families)
    return json.dumps(kwargs)


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
        for new, old in (("procredit", WARM), ("outcome", WARM), ("procredit", "outcome")):
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
    """The policy that training starts from; with `retrain`, made here."""
    if not args.retrain:
        return args.policy
    from agentenv.baselines import bc

    directory = args.out / WARM
    if not (directory / "policy" / "training.json").is_file():  # the last file that behaviour cloning writes
        bc.main(bc.Args(out=directory))
    return f"tiny:{directory / 'policy'}"


def run(entry: Any, arguments: type[Any], description: str | None, argv: Sequence[str] | None = None) -> int:
    """The command line of a job: our own errors in a line, Ctrl-C as exit code 130."""
    import tyro

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    prog = f"python -m agentenv.baselines.{Path(sys.argv[0]).stem}"
    args = tyro.cli(arguments, prog=prog, description=description, args=argv)
    try:
        return int(entry(args))
    except AgentEnvError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: run it again to continue\n")
        return 130


if __name__ == "__main__":
    sys.exit(run(main, Args, __doc__))
