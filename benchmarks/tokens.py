"""Tokens per second of the tiny policy: sampling with a KV cache kept across turns, and training."""

from __future__ import annotations

import time

import torch
from rich.table import Table

from agentenv.policy import Prompt, Sampling
from agentenv.policy.loading import load_policy


def table() -> Table:
    """Sampling 64 x 32 tokens, fresh and as a second turn of 300-token episodes, and training tokens per second."""
    policy = load_policy("tiny")
    out = Table(title=f"Tiny policy, {torch.get_num_threads()} threads")
    for column in ("what", "seconds", "tokens/s"):
        out.add_column(column, justify="left" if column == "what" else "right")
    sampling = Sampling(temperature=1.0, max_tokens=32)
    generator = torch.Generator().manual_seed(0)
    vocabulary = policy.model.config.vocab_size

    def ids(length: int) -> list[int]:
        return torch.randint(8, vocabulary, (length,), generator=generator).tolist()

    contexts = [ids(200) for _ in range(64)]
    keys = [f"bench-{index}" for index in range(64)]
    for label in ("first turn, 200-token prompts", "second turn, 40 new tokens"):
        prompts = [
            Prompt(key, ids=context, seed=i) for i, (key, context) in enumerate(zip(keys, contexts, strict=True))
        ]
        start = time.perf_counter()
        samples = policy.act(prompts, sampling)
        seconds = time.perf_counter() - start
        count = sum(len(sample.ids) for sample in samples)
        out.add_row(f"sample 64 rows, {label}", f"{seconds:.2f}", f"{count / seconds:,.0f}")
        contexts = [context + list(sample.ids) + ids(40) for context, sample in zip(contexts, samples, strict=True)]
    policy.release(keys)

    batch = torch.randint(8, vocabulary, (32, 256), generator=generator)
    optimiser = torch.optim.AdamW(policy.model.parameters(), lr=1e-5)
    start = time.perf_counter()
    for _ in range(5):
        logits = policy.model(batch[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = time.perf_counter() - start
    out.add_row("train, 5 steps of 32 x 256", f"{seconds:.2f}", f"{5 * batch.numel() / seconds:,.0f}")
    return out
