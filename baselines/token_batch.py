"""Episodes as padded token arrays, in pieces that fit into memory. Invariant: pieces change memory, not gradients.

Rows are padded on the right and attention is causal, so no sampled token sees padding; what stands there is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from agentenv.baselines.advantages import broadcast_to_tokens
from agentenv.baselines.losses import gather_logprobs
from agentenv.baselines.losses.averages import Average
from agentenv.policy.tiny_model import TinyLM
from agentenv.trajectory import Trajectory
from agentenv.transcript import TokenRow, rows_of

__all__ = ["CreditedRow", "TokenBatch", "credited_rows", "microbatches", "model_logprobs"]


@dataclass(frozen=True)
class CreditedRow:
    """A training row with the advantage of each of its tokens, float64 [T], 0 at tokens that were not sampled."""

    tokens: TokenRow
    advantages: Tensor = field(repr=False)

    @property
    def length(self) -> int:
        """Tokens, T."""
        return len(self.tokens.ids)

    def weight(self, average: Average) -> int:
        """What it weighs in an average: its sampled tokens, or 1."""
        return int(self.tokens.loss_mask.sum()) if average == "token" else 1


@dataclass(frozen=True)
class TokenBatch:
    """Rows padded on the right, all [B, T]: ids, mask (True at sampled ids), log-probs at sampling, advantages."""

    ids: Tensor
    mask: Tensor
    logprobs: Tensor
    advantages: Tensor


def credited_rows(episodes: Sequence[Trajectory], advantages: Tensor) -> list[CreditedRow]:
    """The training rows of episodes whose turns have the advantages [B, K]."""
    return [
        CreditedRow(row, broadcast_to_tokens(turns[None], torch.from_numpy(row.turn_index)[None])[0])
        for episode, turns in zip(episodes, advantages, strict=True)
        for row in rows_of(episode)
    ]


def microbatches(rows: Sequence[CreditedRow], most_tokens: int, device: torch.device) -> Iterator[TokenBatch]:
    """Batches of at most so many tokens (one row at least), rows of like length together so that little is padded."""
    piece: list[CreditedRow] = []
    for row in sorted(rows, key=lambda row: row.length):
        if piece and (len(piece) + 1) * row.length > most_tokens:
            yield _padded(piece, device)
            piece = []
        piece.append(row)
    if piece:
        yield _padded(piece, device)


def model_logprobs(model: nn.Module, batch: TokenBatch, temperature: float) -> Tensor:
    """Log-probs [B, T] of the sampled ids under a `TinyLM` or a transformers model, 0 elsewhere."""
    if isinstance(model, TinyLM):
        return gather_logprobs(model.hidden(batch.ids), model.logits, batch.ids, batch.mask, temperature=temperature)
    logits: Tensor = model(input_ids=batch.ids, use_cache=False).logits
    return gather_logprobs(logits, lambda rows: rows, batch.ids, batch.mask, temperature=temperature)


def _padded(rows: Sequence[CreditedRow], device: torch.device) -> TokenBatch:
    def stack(columns: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
        return nn.utils.rnn.pad_sequence(list(columns), batch_first=True).to(device, dtype)

    return TokenBatch(
        ids=stack([torch.from_numpy(row.tokens.ids) for row in rows], torch.int64),
        mask=stack([torch.from_numpy(row.tokens.loss_mask) for row in rows], torch.bool),
        logprobs=stack([torch.from_numpy(row.tokens.logprobs) for row in rows], torch.float32),
        advantages=stack([row.advantages for row in rows], torch.float32),
    )
