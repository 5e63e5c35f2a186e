"""Evaluating one policy under the limits it was trained with, in a process of its own.

    python -m agentenv.baselines.evaluation_job --policy tiny:runs/main/procredit/policy --out results.json

Invariant: the seed decides every episode's samples, so policies evaluated alike are paired task by task.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from agentenv.baselines import grpo
from agentenv.baselines.prepare import parse_env_kwargs
from agentenv.evaluation.evaluate import evaluate
from agentenv.policy.base import Sampling
from agentenv.policy.loading import load_policy

__all__ = ["Args", "main"]


@dataclass
class Args:
    """Evaluation of a trained policy."""

    policy: str = "tiny"
    """tiny, tiny:DIR, hf:NAME_OR_DIR."""
    name: str = ""
    """Its name in the results; the policy's own if empty."""
    env: str = grpo.Args.env
    """Environment id."""
    env_kwargs: str = grpo.Args.env_kwargs
    """The environment's arguments as a JSON object."""
    split: str = "test"
    """Where the tasks come from."""
    tasks: int = 200
    """How many, from the start of the split."""
    seed: int = 0
    """Decides every episode's samples."""
    temperature: float = grpo.Args.temperature
    """Of sampling."""
    max_tokens: int = grpo.Args.max_tokens
    """Longest action."""
    max_prompt_tokens: int | None = grpo.Args.max_prompt_tokens
    """Longest prompt."""
    max_observation_tokens: int | None = grpo.Args.max_observation_tokens
    """Longest observation after the first."""
    workers: int = grpo.Args.workers
    """Episodes in flight."""
    out: Path = Path("results.json")
    """The results file; the same call continues one that was stopped."""


def main(args: Args) -> int:
    """Evaluates, writes the results file, and returns the exit code."""
    torch.set_num_threads(1)
    policy: Any = load_policy(args.policy)
    policy.name = args.name or policy.name
    evaluate(
        policy,
        args.env,
        env_kwargs=parse_env_kwargs(args.env_kwargs),
        split=args.split,
        tasks=args.tasks,
        seed=args.seed,
        sampling=Sampling(args.temperature, args.max_tokens),
        workers=args.workers,
        max_prompt_tokens=args.max_prompt_tokens,
        max_observation_tokens=args.max_observation_tokens,
        out=args.out,
    )
    return 0


if __name__ == "__main__":
    import tyro

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        sys.exit(main(tyro.cli(Args, description=__doc__)))
    except KeyboardInterrupt:
        sys.exit(130)
