"""GRPO on text environments, with outcome or turn-level credit.

    python -m agentenv.baselines.grpo --policy tiny --credit procredit --out runs/procredit

Reads from top to bottom: collect groups of episodes that share a task and a start state, give each turn its credit,
update the policy on the sampled tokens, log. Kept from the published algorithm: groups, z-normed advantages, the PPO
clip (token level), k3 to a reference. Changed: the clip's old log-probs are those recorded at sampling. What the
platform failed is counted and never trained on; episodes that a limit cut keep the progress they made.

Invariant: the same arguments give the same metrics (but `time/`) to the bit, on one machine with one thread, also when
the run was killed and resumed any number of times.
"""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from rich.progress import Progress
from torch import Tensor, nn

from agentenv.baselines.advantages import TurnBatch, outcome_advantages, procredit_advantages
from agentenv.baselines.checkpoint import Checkpoints, random_state, restore_random_state
from agentenv.baselines.episode_metrics import episode_metrics, mean
from agentenv.baselines.losses import Average, kl_loss, ppo_clip_loss
from agentenv.baselines.prepare import env_maker, parse_env_kwargs, save_policy, split_ids, uninterrupted
from agentenv.baselines.run_log import RunLog, describe_run
from agentenv.baselines.token_batch import credited_rows, microbatches, model_logprobs
from agentenv.errors import AgentEnvError, CheckpointError, ConfigurationError, InfrastructureError
from agentenv.policy.base import Sampling
from agentenv.policy.loading import load_policy
from agentenv.rollout import Collected, EnvPool, EpisodeRequest, collect, derive_seed
from agentenv.task import stable_rng
from agentenv.trajectory import Trajectory

__all__ = ["Args", "main"]

_LOG = logging.getLogger(__name__)
_LOSSES = ("policy_loss", "approx_kl", "clipfrac", "kl_ref", "grad_norm", "mean_ratio")
#: Arguments that may differ when a run is resumed, because no number depends on them.
_FREE = ("out", "resume", "updates", "save_every", "episodes_every", "tensorboard")


@dataclass
class Args:
    """GRPO with outcome or turn-level credit."""

    out: Path = Path("runs/grpo")
    """Where metrics, checkpoints, sampled episodes and the trained policy go."""
    resume: bool = False
    """Continue from the latest checkpoint in `out`; begin where there is none."""
    policy: str = "tiny"
    """What is trained: tiny (the shipped warm start), tiny:DIR, hf:NAME_OR_DIR."""
    device: str = "cpu"
    """Where an hf policy runs."""

    env: str = "agentenv/Terminal-v0"
    """Environment id; tasks come from its `train` split."""
    env_kwargs: str = "{}"
    """The environment's arguments as a JSON object, such as '{"difficulty": "easy", "max_turns": 8}'."""
    max_prompt_tokens: int | None = 640
    """Longest prompt; older turns are dropped beyond it, never the task."""
    max_observation_tokens: int | None = 96
    """Longest observation after the first; longer ones are cut to head and tail."""

    credit: Literal["outcome", "procredit"] = "procredit"
    """Who gets the credit: the whole episode for its outcome, or each turn for the checks it met as well."""
    progress_weight: float = 0.5
    """procredit's c: weight of progress beside the outcome."""
    turn_weight: float = 1.0
    """procredit's lambda: weight of the turn's own part."""

    updates: int = 30
    """Updates of the policy; with the two below, the budget of episodes."""
    groups: int = 16
    """Tasks per update."""
    group_size: int = 8
    """Episodes per task."""
    lr: float = 2e-4
    """AdamW's learning rate."""
    anneal_lr: bool = False
    """Whether the learning rate falls linearly to zero over the updates."""
    epochs: int = 1
    """Passes over an update's episodes."""
    minibatches: int = 2
    """Optimiser steps per pass."""
    clip_low: float = 0.2
    """The ratio is clipped below at 1 - clip_low."""
    clip_high: float = 0.28
    """The ratio is clipped above at 1 + clip_high."""
    kl_coef: float = 0.0
    """Weight of the k3 divergence from the policy as it was at the start; 0 keeps no reference."""
    average: Average = "token"
    """Losses are averaged over sampled tokens, or over sequences of their means."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    microbatch_tokens: int = 4096
    """Most tokens, padding included, in one forward pass: memory and time, not results."""

    temperature: float = 1.0
    """Of sampling, and of the log-probs trained on."""
    max_tokens: int = 48
    """Longest action."""
    workers: int = 64
    """Episodes in flight."""
    retries: int = 2
    """How often an episode is played again after the platform failed."""

    val_every: int = 0
    """Play tasks of the `val` split before every so many updates; 0 for never."""
    val_tasks: int = 64
    """How many, one episode each."""
    save_every: int = 5
    """Updates between checkpoints."""
    episodes_every: int = 10
    """Updates between files of sampled episodes with their advantages; 0 for none."""
    episodes_kept: int = 32
    """Episodes in such a file."""
    tensorboard: bool = True
    """Whether to write TensorBoard files as well."""
    threads: int = 1
    """Torch threads; results repeat to the bit for one."""
    seed: int = 1
    """Seed of everything random."""


def main(args: Args) -> int:
    """Trains; returns 0, or 130 after Ctrl-C (with a checkpoint to resume from).

    Raises:
        ConfigurationError: On arguments that cannot be used.
        CheckpointError: If the run cannot be saved, or what is there is of another run.
        InfrastructureError: If the platform failed every episode of an update.
    """
    env_kwargs = _check(args)
    task_ids = split_ids(args.env, env_kwargs, "train")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    config = {**asdict(args), "out": ""}
    checkpoints = Checkpoints(args.out / "checkpoints")
    saved = _saved_run(args, checkpoints, config)
    describe_run(args.out, config)

    # An engine with a model: `_check` refused the scripted ones.
    options: dict[str, Any] = {"device": args.device} if args.policy.startswith("hf:") else {}
    policy: Any = load_policy(args.policy, **options)
    model: nn.Module = policy.model
    reference = copy.deepcopy(model).eval().requires_grad_(False) if args.kl_coef else None
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), eps=1e-5, weight_decay=0.0)
    done, offset, quiet = 0, 0, 0
    if saved:
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        if reference is not None:
            reference.load_state_dict(saved["reference"])
        policy.version, done, offset, quiet = saved["version"], saved["done"], saved["offset"], saved["quiet"]
        restore_random_state(saved["random"])
    randomness = random_state()

    def state() -> dict[str, Any]:
        return {
            "config": config,
            "done": done,
            "offset": log.offset,
            "quiet": quiet,
            "version": policy.version,
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "reference": reference.state_dict() if reference is not None else {},
            "random": randomness,
        }

    with (
        RunLog(args.out, offset=offset, step=done, tensorboard=args.tensorboard) as log,
        EnvPool(env_maker(args.env, env_kwargs, "train"), args.workers) as envs,
        Progress(transient=True) as bar,
    ):
        task = bar.add_task(f"grpo {args.credit}", total=args.updates, completed=done)
        try:
            for update in range(done, args.updates):
                began = time.monotonic()
                metrics = validate(args, env_kwargs, policy, update)

                # Collect.
                started = time.monotonic()
                collected = play(args, policy, envs, plan(args, task_ids, update))
                episodes = collected.trajectories
                if not episodes:
                    raise InfrastructureError(f"no episode could be played: {collected.failures[0].error}")
                played = time.monotonic()

                # Credit.
                batch = TurnBatch.of(episodes)
                advantages = credit(args, batch)
                for episode, row in zip(episodes, advantages.tolist(), strict=True):
                    episode.meta["advantages"] = row[: len(episode.turns)]
                metrics |= episode_metrics(collected, batch, advantages)
                unheard = quiet + 1 if metrics["charts/no_signal_groups"] > 0.5 else 0
                if unheard == 3 or (unheard and unheard % 10 == 0):
                    _LOG.warning(
                        "%d updates in a row most groups had no signal: their members all earned the same", unheard
                    )

                # Update and log. A Ctrl-C in here waits, so that what is saved is always a whole update.
                with uninterrupted():
                    rate = args.lr * (1 - update / args.updates if args.anneal_lr else 1)
                    for group in optimiser.param_groups:
                        group["lr"] = rate
                    metrics |= optimise(args, model, reference, optimiser, episodes, advantages, update)
                    policy.weights_changed()
                    metrics |= {
                        "charts/learning_rate": rate,
                        "charts/episodes": float(args.groups * args.group_size * (update + 1)),
                        "time/val_s": started - began,
                        "time/rollout_s": played - started,
                        "time/update_s": time.monotonic() - played,
                        "time/sampling_s": collected.stats.policy_s,
                        "time/waiting_s": collected.stats.wait_s,
                        "time/sampled_tokens_per_s": collected.stats.sampled_tokens / max(played - started, 1e-9),
                    }
                    if args.episodes_every and (update % args.episodes_every == 0 or update + 1 == args.updates):
                        log.save_episodes(update, episodes[: args.episodes_kept])
                    log.write(update, metrics)
                    done, quiet, randomness = update + 1, unheard, random_state()
                    if done % args.save_every == 0 or done == args.updates:
                        checkpoints.save(done, state())
                summary = f"success {metrics['charts/success_rate']:.2f} progress {metrics['charts/progress']:.2f}"
                bar.update(task, advance=1, description=f"grpo {args.credit} {summary}")
                _LOG.info("update %d/%d: %s", done, args.updates, summary)
        except KeyboardInterrupt:
            with uninterrupted():  # an impatient second Ctrl-C
                if done:
                    checkpoints.save(done, state())
            _LOG.warning("interrupted after update %d: continue with --resume --out %s", done, args.out)
            return 130
    save_policy(policy, args.out / "policy")
    return 0


# -- collect ----------------------------------------------------------------------------------------------------------


def plan(args: Args, task_ids: Sequence[str], update: int) -> list[EpisodeRequest]:
    """The episodes of an update: groups of copies of tasks drawn without repetition, a function of seed and update."""
    rng = stable_rng("grpo tasks", args.seed, update)
    drawn = rng.choice(len(task_ids), size=args.groups, replace=len(task_ids) < args.groups)
    return [
        EpisodeRequest(
            task_id=task_ids[int(place)],
            group_id=f"{update}-{group}",
            seed=derive_seed("grpo", args.seed, update, group, member),
            index=member,
        )
        for group, place in enumerate(drawn)
        for member in range(args.group_size)
    ]


def play(args: Args, policy: Any, envs: EnvPool, requests: Sequence[EpisodeRequest]) -> Collected:
    """Plays the requests with the policy as it is now."""
    policy.model.eval()
    return collect(
        policy,
        envs,
        requests,
        sampling=Sampling(args.temperature, args.max_tokens),
        max_prompt_tokens=args.max_prompt_tokens,
        max_observation_tokens=args.max_observation_tokens,
        retries=args.retries,
    )


def validate(args: Args, env_kwargs: dict[str, Any], policy: Any, update: int) -> dict[str, float]:
    """Success and progress on `val` tasks before this update, in environments of their own; {} when it is not due."""
    if not args.val_every or update % args.val_every:
        return {}
    ids = split_ids(args.env, env_kwargs, "val")[: args.val_tasks]
    requests = [EpisodeRequest(task_id, seed=derive_seed("grpo val", args.seed, task_id)) for task_id in ids]
    with EnvPool(env_maker(args.env, env_kwargs, "val"), min(args.workers, len(ids))) as envs:
        episodes = play(args, policy, envs, requests).trajectories
    return {
        "charts/val_success": mean([float(episode.success) for episode in episodes]),
        "charts/val_progress": mean([episode.final_progress for episode in episodes]),
    }


# -- credit -----------------------------------------------------------------------------------------------------------


def credit(args: Args, batch: TurnBatch) -> Tensor:
    """Advantages [B, K] of the chosen kind."""
    if args.credit == "outcome":
        return outcome_advantages(batch)
    return procredit_advantages(batch, c=args.progress_weight, lam=args.turn_weight)


# -- update -----------------------------------------------------------------------------------------------------------


def optimise(
    args: Args,
    model: nn.Module,
    reference: nn.Module | None,
    optimiser: torch.optim.Optimizer,
    episodes: Sequence[Trajectory],
    advantages: Tensor,
    update: int,
) -> dict[str, float]:
    """The update's optimiser steps; returns the means of their metrics.

    Raises:
        AgentEnvError: If a gradient is not finite; the weights are then as they were before that step.
    """
    model.train()
    rows = credited_rows(episodes, advantages)
    device = next(model.parameters()).device
    steps: list[dict[str, float]] = []
    for epoch in range(args.epochs):
        order = stable_rng("grpo minibatches", args.seed, update, epoch).permutation(len(rows))
        for start in range(min(args.minibatches, len(rows))):
            minibatch = [rows[place] for place in order[start :: args.minibatches]]
            # Without a reference, rows of zero advantage have zero gradient: they weigh, but need no pass.
            kept = [row for row in minibatch if reference is not None or bool(row.advantages.any())]
            if not kept:
                continue
            weight = sum(row.weight(args.average) for row in kept)
            share = weight / sum(row.weight(args.average) for row in minibatch)
            metrics: dict[str, float] = {}
            optimiser.zero_grad(set_to_none=True)
            for tokens in microbatches(kept, args.microbatch_tokens, device):
                logprobs = model_logprobs(model, tokens, args.temperature)
                loss, found = ppo_clip_loss(
                    logprobs,
                    tokens.logprobs,
                    tokens.advantages,
                    tokens.mask,
                    clip_low=args.clip_low,
                    clip_high=args.clip_high,
                    average=args.average,
                    weight=weight,
                )
                if reference is not None:
                    with torch.no_grad():
                        before = model_logprobs(reference, tokens, args.temperature)
                    divergence, more = kl_loss(logprobs, before, tokens.mask, average=args.average, weight=weight)
                    loss, found = loss + args.kl_coef * divergence, found | more
                (share * loss).backward()
                for name, value in found.items():
                    metrics[name] = metrics.get(name, 0.0) + value
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm).item()
            if not math.isfinite(norm):
                raise AgentEnvError(f"update {update}: the gradient's norm is {norm}; lower --lr or raise --kl-coef")
            optimiser.step()
            metrics["policy_loss"] *= share
            steps.append(metrics | {"grad_norm": norm})
    return {f"losses/{name}": mean([step.get(name, 0.0) for step in steps]) for name in _LOSSES}


# -- arguments --------------------------------------------------------------------------------------------------------


def _saved_run(args: Args, checkpoints: Checkpoints, config: dict[str, Any]) -> dict[str, Any] | None:
    saved = checkpoints.latest()
    if saved is None:
        return None
    if not args.resume:
        raise CheckpointError(f"{args.out} holds a run: continue it with --resume, or give another --out")
    fixed = set(config) - set(_FREE) | ({"updates"} if args.anneal_lr else set())
    changed = sorted(name for name in fixed if config[name] != saved["config"].get(name))
    if changed:
        shown = ", ".join(f"{name} ({saved['config'].get(name)!r} there, {config[name]!r} now)" for name in changed)
        raise CheckpointError(f"{args.out} holds a run with another {shown}: give another --out")
    return saved


def _check(args: Args) -> dict[str, Any]:
    for name in ("updates", "groups", "group_size", "epochs", "minibatches", "workers", "save_every", "threads"):
        if getattr(args, name) < 1:
            raise ConfigurationError(f"{name} must be at least 1, got {getattr(args, name)}")
    if not args.temperature > 0:
        raise ConfigurationError(f"temperature must be positive to train, got {args.temperature}")
    if args.policy.partition(":")[0] not in ("tiny", "hf"):
        raise ConfigurationError(f"policy {args.policy!r} has no weights to train; known: tiny, tiny:DIR, hf:NAME")
    return parse_env_kwargs(args.env_kwargs)


if __name__ == "__main__":
    import sys

    from agentenv.cli import main as command_line

    sys.exit(command_line(["train", "grpo", *sys.argv[1:]]))
