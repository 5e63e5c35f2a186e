"""Behaviour cloning: the warm start of the tiny policy, from oracle demonstrations of the training split.

    make warm-start        (python -m agentenv.baselines.bc --env agentenv/Terminal-v0 --out runs/warm-start)

Reads from top to bottom: demonstrations are collected by stepping the real environment (so observations are real), a
byte-level BPE tokenizer is trained on them, and a `TinyLM` is trained on their action tokens. One trick decides it: a
model this small does not learn from demonstrations alone to copy names out of the instruction. So rows of random tokens
shown twice, with the loss on the second showing, are mixed in over the first part of the run, tapering off.

Invariant: the same arguments, demonstrations and seed give the same weights (one thread, one machine); the budget is a
number of steps, never wall-clock time.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rich.progress import Progress
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F

import agentenv  # noqa: F401  (registers the environments)
from agentenv.baselines.prepare import parse_env_kwargs
from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.policy.tiny import TinyPolicy
from agentenv.policy.tiny_model import TinyConfig, TinyLM
from agentenv.trajectory import Trajectory, Turn, read_trajectories, write_trajectories
from agentenv.transcript import CompactFormat, TokenRow, Transcript, rows_of
from agentenv.transcript.formats import COMPACT_SPECIALS

__all__ = ["Args", "main", "run", "train"]

_LOG = logging.getLogger(__name__)
_WINDOW = 512
_Row = tuple[np.ndarray, np.ndarray]  # ids, and the weight of each one's loss


@dataclass
class Args:
    """Behaviour cloning of oracle demonstrations with the tiny policy."""

    out: Path = Path("runs/warm-start")
    """Where the policy, the demonstrations and the metrics go."""
    env: str = "agentenv/Terminal-v0"
    """Environment id; its task set must have an oracle."""
    env_kwargs: str = "{}"
    """The environment's arguments as a JSON object."""
    difficulties: tuple[str, ...] = ("easy", "medium", "hard")
    """Which tasks are demonstrated, the same number of each; they become the environment's `difficulty`."""
    demos: int = 5500
    """Demonstrated episodes in all."""
    alternatives: float = 0.0
    """Share of episodes that show one of the task's alternative solutions instead of the oracle."""
    steps: int = 2700
    """Optimiser steps: the budget."""
    batch_tokens: int = 2048
    """Tokens of a batch, padding included."""
    lr: float = 3e-3
    """Peak learning rate."""
    warmup: float = 0.05
    """Share of the steps over which the learning rate rises; it falls along a cosine to a tenth after that."""
    weight_decay: float = 0.1
    """AdamW's weight decay, on matrices only."""
    copy_share: float = 0.9
    """Share of a batch's tokens that are copying rows, at the first step."""
    copy_until: float = 0.4
    """Share of the steps by which copying rows have tapered off to none."""
    observed: float = 0.0
    """Weight of the loss on the tokens that were observed, beside 1 for the actions'. Where answers are read out of
    pages, a model this small learns to read only if it is asked to predict the pages too."""
    vocabulary: int = 768
    """Size of the tokenizer."""
    width: int = 128
    """Hidden size."""
    layers: int = 4
    """Number of layers."""
    heads: int = 4
    """Attention heads."""
    max_prompt_tokens: int = 640
    """Longest prompt; training by RL should use the same limits, so that the policy meets what it has seen."""
    max_observation_tokens: int = 96
    """Longest observation after the first."""
    workers: int = 4
    """Environments stepped at once while collecting."""
    threads: int = 1
    """Torch threads; results repeat exactly for a fixed number."""
    seed: int = 1
    """Seed of everything random."""
    half: bool = True
    """Whether to save the weights as float16."""


def main(args: Args) -> Path:
    """Collects (or reads) the demonstrations, trains, and saves the policy; returns its directory."""
    args.out.mkdir(parents=True, exist_ok=True)
    demos = demonstrations(args)
    return train(args, demos)


def _env_kwargs(args: Args, difficulty: str) -> dict[str, Any]:
    return {**parse_env_kwargs(args.env_kwargs), "split": "train", "difficulty": difficulty}


# -- demonstrations ---------------------------------------------------------------------------------------------------


def demonstrations(args: Args) -> list[Trajectory]:
    """The demonstrations of these arguments, collected once and kept in `out`.

    Raises:
        ConfigurationError: If the task set has no training task of a difficulty.
    """
    plan: list[tuple[str, str, list[str]]] = []  # difficulty, task id, actions
    rng = np.random.default_rng(args.seed)
    fingerprint = ""
    for difficulty in args.difficulties:
        env = gym.make(args.env, **_env_kwargs(args, difficulty))
        task_set = env.unwrapped.task_set  # type: ignore[attr-defined]
        env.close()
        fingerprint = task_set.fingerprint
        ids = task_set.ids("train")[: args.demos // len(args.difficulties)]
        if not ids:
            raise ConfigurationError(f"{args.env} has no training task of difficulty {difficulty!r}")
        for task_id in ids:
            ways = task_set.alternatives(task_id) if rng.random() < args.alternatives else []
            actions = ways[int(rng.integers(len(ways)))] if ways else task_set.oracle(task_id)
            plan.append((difficulty, task_id, actions))
    key = hashlib.sha256(json.dumps([args.env, args.env_kwargs, fingerprint, plan]).encode()).hexdigest()[:16]
    path = args.out / f"demonstrations-{key}.jsonl"
    if path.is_file():
        return list(read_trajectories(path))

    local = threading.local()
    opened: list[gym.Env[str, str]] = []

    def play(item: tuple[str, str, list[str]]) -> Trajectory | None:
        difficulty, task_id, actions = item
        envs = local.__dict__.setdefault("envs", {})
        if difficulty not in envs:
            envs[difficulty] = gym.make(args.env, **_env_kwargs(args, difficulty))
            opened.append(envs[difficulty])
        try:
            return _play(envs[difficulty], task_id, actions)
        except InfrastructureError as error:
            _LOG.warning("no demonstration of %s: %s", task_id, error)
            return None

    try:
        with Progress(transient=True) as bar, ThreadPoolExecutor(args.workers) as pool:
            played = list(bar.track(pool.map(play, plan), total=len(plan), description="demonstrations"))
    finally:
        for env in opened:
            env.close()
    good = [demo for demo in played if demo is not None and demo.success]
    if len(good) < len(plan):
        _LOG.warning("%d of %d demonstrations did not succeed and are left out", len(plan) - len(good), len(plan))
    if not good:
        raise ConfigurationError(f"no demonstration of {args.env} succeeded")
    partial = path.with_suffix(".part.jsonl")
    write_trajectories(partial, good)
    partial.replace(path)
    return good


def _play(env: gym.Env[str, str], task_id: str, actions: Sequence[str]) -> Trajectory:
    observation, info = env.reset(options={"task_id": task_id})
    demo = Trajectory(task_id, start_progress=info["progress"])
    for action in actions:
        turn = Turn(observation, action)
        observation, reward, terminated, truncated, info = env.step(action)
        turn.reward, turn.progress = float(reward), info["progress"]
        demo.turns.append(turn)
        if terminated or truncated:
            break
    demo.success, demo.stop_reason, demo.final_observation = info["success"], info["stop_reason"], observation
    return demo


# -- tokens -----------------------------------------------------------------------------------------------------------


def train_tokenizer(texts: Iterator[str], size: int) -> Tokenizer:
    """A byte-level BPE whose tokens never cross from a word into a space, a digit or punctuation.

    So a name has the same tokens wherever it stands, which is what makes it easy to copy. Bytes are all in the
    vocabulary, so any text can be encoded.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}| |\s+|[^\s\p{L}\p{N}]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(COMPACT_SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def demonstration_rows(args: Args, chat: CompactFormat, demos: Sequence[Trajectory]) -> list[TokenRow]:
    """Training rows of the demonstrations, built with the very transcript that prompts are built with."""
    rows: list[TokenRow] = []
    for demo in demos:
        transcript = Transcript(
            chat, max_prompt_tokens=args.max_prompt_tokens, max_observation_tokens=args.max_observation_tokens
        )
        turns = []
        for turn in demo.turns:
            transcript.observe(turn.observation)
            shown, restart = transcript.pending()
            ids = [*chat.encode(turn.action), chat.stop_id]
            transcript.act(ids, turn.action)
            turns.append(Turn(turn.observation, turn.action, shown, ids, logprobs=[0.0] * len(ids), restart=restart))
        rows += rows_of(Trajectory(demo.task_id, turns))
    return rows


def copying_batch(rng: np.random.Generator, args: Args, chat: CompactFormat, size: int, longest: int) -> list[_Row]:
    """Random tokens shown as an observation and again as the action; all rows of a batch are of one length."""
    length = int(rng.integers(2, longest + 1))
    count = max(1, args.batch_tokens // (2 * length + 4))
    shown = rng.integers(len(COMPACT_SPECIALS), size, size=(count, length))
    rows: list[_Row] = []
    for tokens in shown:
        ids = np.concatenate([[chat.bos_id, chat.obs_id], tokens, [chat.act_id], tokens, [chat.stop_id]])
        rows.append((ids, (np.arange(len(ids)) > length + 2).astype(np.float32)))
    return rows


def batches(args: Args, chat: CompactFormat, rows: Sequence[TokenRow], size: int) -> Iterator[list[_Row]]:
    """Endless batches of rows of like length; at first most are copying batches, short ones before long ones."""
    rng = np.random.default_rng([args.seed, 1])
    demonstrated = _demonstrated(args, rng, rows)
    for step in itertools.count():
        done = min(1.0, step / max(1.0, args.copy_until * args.steps))
        if rng.random() < args.copy_share * (1 - done):
            yield copying_batch(rng, args, chat, size, 4 + round(60 * min(1.0, 1.5 * done)))
        else:
            yield next(demonstrated)


def _demonstrated(args: Args, rng: np.random.Generator, rows: Sequence[TokenRow]) -> Iterator[list[_Row]]:
    while True:
        order = rng.permutation(len(rows)).tolist()
        groups: list[list[_Row]] = []
        # Sorted within a window only, so that batches differ from epoch to epoch.
        for start in range(0, len(order), _WINDOW):
            group: list[_Row] = []
            for index in sorted(order[start : start + _WINDOW], key=lambda index: len(rows[index].ids)):
                if group and (len(group) + 1) * len(rows[index].ids) > args.batch_tokens:
                    groups.append(group)
                    group = []
                row = rows[index]
                group.append((row.ids, np.where(row.loss_mask, 1.0, args.observed).astype(np.float32)))
            groups.append(group)
        for place in rng.permutation(len(groups)).tolist():
            yield groups[place]


def _pad(group: Sequence[_Row], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    length = max(len(ids) for ids, _ in group)
    ids = np.full((len(group), length), pad_id, dtype=np.int64)
    weight = np.zeros((len(group), length), dtype=np.float32)
    for row, (row_ids, row_weight) in enumerate(group):
        ids[row, : len(row_ids)] = row_ids
        weight[row, : len(row_weight)] = row_weight
    return torch.from_numpy(ids), torch.from_numpy(weight)


# -- training ---------------------------------------------------------------------------------------------------------


def train(args: Args, demos: Sequence[Trajectory]) -> Path:
    """Trains the tokenizer and the model on the demonstrations; returns the directory of the saved policy."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    texts = (text for demo in demos for turn in demo.turns for text in (turn.observation, turn.action))
    tokenizer = train_tokenizer(texts, args.vocabulary)
    model = TinyLM(
        TinyConfig(
            vocab_size=args.vocabulary,
            hidden_size=args.width,
            num_hidden_layers=args.layers,
            num_attention_heads=args.heads,
            intermediate_size=4 * args.width,
        )
    )
    policy = TinyPolicy(model, tokenizer)
    rows = demonstration_rows(args, policy.format, demos)
    lengths = np.array([len(row.ids) for row in rows])
    _LOG.info("%d rows of %d tokens (median), %d at most", len(rows), np.median(lengths), lengths.max())

    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() != 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": args.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=args.lr,
        betas=(0.9, 0.98),
    )
    feed = batches(args, policy.format, rows, tokenizer.get_vocab_size())
    started, tokens = time.monotonic(), 0
    model.train()
    with (args.out / "metrics.jsonl").open("w", encoding="utf-8") as log, Progress(transient=True) as bar:
        task = bar.add_task("behaviour cloning", total=args.steps)
        for step in range(args.steps):
            for group in optimiser.param_groups:
                group["lr"] = args.lr * _schedule(step / args.steps, args.warmup)
            ids, weight = _pad(next(feed), policy.format.pad_id)
            predicted = weight[:, 1:] > 0
            weight = weight[:, 1:][predicted]
            logits = model.logits(model.hidden(ids[:, :-1])[predicted])
            targets = ids[:, 1:][predicted]
            # A mean over the actions' tokens, so that what was observed adds to it and does not dilute it.
            acted = weight == 1.0
            losses = F.cross_entropy(logits, targets, reduction="none")
            loss = (weight * losses).sum() / acted.sum()
            optimiser.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            tokens += ids.numel()
            bar.update(task, advance=1, description=f"behaviour cloning, loss {loss.item():.3f}")
            if step % 20 == 0 or step + 1 == args.steps:
                entry = {
                    "step": step,
                    "losses/action_nll": losses[acted].mean().item(),
                    "losses/token_accuracy": (logits.argmax(-1) == targets)[acted].float().mean().item(),
                    "losses/grad_norm": norm.item(),
                    "charts/learning_rate": optimiser.param_groups[0]["lr"],
                    "time/tokens_per_second": tokens / (time.monotonic() - started),
                }
                log.write(json.dumps(entry) + "\n")
                log.flush()
    model.eval()
    directory = args.out / "policy"
    policy.save(directory, half=args.half)
    record: dict[str, Any] = {**asdict(args), "out": args.out.name, "demonstrations": len(demos)}
    (directory / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return directory


def _schedule(done: float, warmup: float) -> float:
    if done < warmup:
        return (done + 1e-3) / (warmup + 1e-3)
    return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup)))


def run(argv: Sequence[str] | None = None) -> int:
    """The command line, whose defaults are the settings that `--env`'s shipped warm start was made with."""
    from agentenv.baselines import presets

    words = sys.argv[1:] if argv is None else argv
    preset = presets.preset_of(presets.env_in(words, Args.env))
    default = preset.warm if preset else Args()
    _LOG.info("saved %s", main(presets.parse(default, prog="agentenv train bc", description=__doc__, argv=words)))
    return 0


if __name__ == "__main__":
    from agentenv.baselines import bc  # presets are made of the module that is imported, not of __main__

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(bc.run())
