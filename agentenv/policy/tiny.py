"""The tiny policy's engine. Invariant: its log-probs are those of the model's training forward on the same ids.

Each episode's keys and values are kept from turn to turn, so that a turn costs its new tokens only. A kept cache is
used as far as its ids are a prefix of the new prompt, and none outlives a change of the weights.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tokenizers import Tokenizer

from agentenv.errors import ConfigurationError
from agentenv.policy.base import Prompt, Sample, Sampling
from agentenv.policy.sampling import draw, uniforms
from agentenv.policy.tiny_model import TinyLM, load_model, save_model
from agentenv.transcript import CompactFormat

__all__ = ["TinyPolicy"]

_PREFILL_ROWS = 16


@dataclass
class _Kept:
    """An episode's cache: keys and values [layers, 2, heads, len(ids), width] of `ids`."""

    ids: list[int]
    cache: torch.Tensor = field(repr=False)


class TinyPolicy:
    """A `TinyLM` that acts.

    Args:
        model: The model; train it in place and call `weights_changed` after each update.
        tokenizer: A `tokenizers.Tokenizer` with the special tokens of `CompactFormat`.
        name: For results files.
        max_batch: Most rows decoded at once.
        max_kept_tokens: Most tokens whose keys and values are kept between calls (4 KB each); the episodes least
            recently used lose theirs first, which costs time only.
    """

    def __init__(
        self,
        model: TinyLM,
        tokenizer: Tokenizer,
        *,
        name: str = "tiny",
        max_batch: int = 64,
        max_kept_tokens: int = 100_000,
    ) -> None:
        self.model = model
        self.format = CompactFormat(tokenizer)
        self.name = name
        self.version = 0
        self.stop_id = self.format.stop_id
        self._max_batch = max_batch
        self._max_kept_tokens = max_kept_tokens
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._buffer: torch.Tensor | None = None
        if tokenizer.get_vocab_size() > model.config.vocab_size:
            raise ConfigurationError(
                f"the tokenizer has {tokenizer.get_vocab_size()} tokens, the model only {model.config.vocab_size}"
            )

    @classmethod
    def load(cls, directory: str | Path, *, name: str = "tiny", **options: int) -> TinyPolicy:
        """Loads a directory that `save` wrote.

        Raises:
            ConfigurationError: If the directory holds no such policy.
        """
        directory = Path(directory)
        model = load_model(directory)
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise ConfigurationError(f"{directory} holds no tiny policy: tokenizer.json is missing")
        tokenizer = Tokenizer.from_file(str(path))
        if tokenizer.get_vocab_size() > model.config.vocab_size:
            raise ConfigurationError(
                f"{directory}: the tokenizer has {tokenizer.get_vocab_size()} tokens, the model "
                f"{model.config.vocab_size}"
            )
        return cls(model, tokenizer, name=name, **options)

    def save(self, directory: str | Path, *, half: bool = False) -> None:
        """Writes a directory that transformers loads too (float16 weights if `half`)."""
        directory = Path(directory)
        chat = self.format
        save_model(self.model, directory, pad_id=chat.pad_id, bos_id=chat.bos_id, eos_id=chat.stop_id, half=half)
        chat.tokenizer.save(str(directory / "tokenizer.json"))
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<bos>",
            "eos_token": "<end>",
            "pad_token": "<pad>",
            "model_max_length": self.model.config.max_position_embeddings,
            "clean_up_tokenization_spaces": False,
        }
        (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")

    def weights_changed(self) -> None:
        """Call after every update of the weights: drops all caches and counts the version."""
        self.version += 1
        self._kept.clear()

    def release(self, keys: Sequence[str]) -> None:
        """Drops the caches of episodes that ended."""
        for key in keys:
            self._kept.pop(key, None)

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        """One sample per prompt, in order.

        Raises:
            ConfigurationError: On an empty prompt, or one longer than the model's positions allow.
            InfrastructureError: If the model gives logits that are not finite.
        """
        for prompt in prompts:
            if not prompt.ids:
                raise ConfigurationError(f"prompt {prompt.key!r} has no ids: build it with a Transcript")
        samples: list[Sample] = []
        with torch.inference_mode():
            for start in range(0, len(prompts), self._max_batch):
                samples += self._act(prompts[start : start + self._max_batch], sampling)
        self._forget_oldest()
        return samples

    def _act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        contexts = [list(prompt.ids) for prompt in prompts]
        known = [self._known(prompt.key, context) for prompt, context in zip(prompts, contexts, strict=True)]
        # Which prompt each place of the batch holds: like ones side by side, so that few are padded to read them in.
        rows = sorted(range(len(prompts)), key=lambda row: len(contexts[row]) - known[row])
        chunks = self._chunks(rows, known, contexts)
        # Padding of a short prompt may reach beyond what its own ids need.
        room = max(max(known[row] for row in chunk) + len(contexts[chunk[-1]]) - known[chunk[-1]] for chunk in chunks)
        capacity = max(room, max(map(len, contexts)) + sampling.max_tokens)
        buffer, self._buffer = self._room(len(rows), capacity), None
        cache = buffer[:, :, : len(rows)]
        numbers = uniforms([prompt.seed for prompt in prompts], sampling.max_tokens)
        logits = self._prefill(prompts, contexts, known, chunks, cache)

        sampled: list[list[int]] = [[] for _ in prompts]
        logprobs: list[list[float]] = [[] for _ in prompts]
        lengths = [len(contexts[row]) for row in rows]
        for step in range(sampling.max_tokens):
            drawn, values = draw(logits, numbers[rows, step], sampling.temperature)
            tokens = drawn.tolist()
            ended = []
            for place, (row, token, value) in enumerate(zip(rows, tokens, values.tolist(), strict=True)):
                sampled[row].append(token)
                logprobs[row].append(value)
                if token == self.stop_id or step + 1 == sampling.max_tokens:
                    ended.append(place)
                    self._keep(prompts[row].key, contexts[row] + sampled[row][:-1], cache[:, :, place])
            # The places of those that ended are taken over by the last ones, so that the batch stays in one piece.
            for place in reversed(ended):
                last = len(rows) - 1
                if place != last:
                    cache[:, :, place, :, : lengths[last]] = cache[:, :, last, :, : lengths[last]]
                for column in (rows, lengths, tokens):
                    column[place] = column[last]
                    column.pop()
            if not rows:
                break
            cache = cache[:, :, : len(rows)]
            span = min(buffer.shape[-2], _rounded(max(lengths) + 1))
            hidden = self.model.extend(torch.tensor(tokens)[:, None], torch.tensor(lengths), cache, span)
            logits = self.model.logits(hidden[:, 0])
            lengths = [length + 1 for length in lengths]
        self._buffer = buffer  # not after a failure: what it holds may not be finite then
        return [
            Sample(
                text=self.format.decode(ids),
                ids=tuple(ids),
                logprobs=tuple(values),
                stop_reason="stop" if ids[-1] == self.stop_id else "length",
            )
            for ids, values in zip(sampled, logprobs, strict=True)
        ]

    def _room(self, batch: int, capacity: int) -> torch.Tensor:
        """A cache for at least so many rows and positions: the last call's, if it is large enough.

        What it holds is finite, and never seen: no row looks beyond its own length.
        """
        kept = self._buffer
        if kept is not None and kept.shape[2] >= batch and kept.shape[-2] >= capacity:
            return kept
        rows, positions = (kept.shape[2], kept.shape[-2]) if kept is not None else (0, 0)
        limit = self.model.config.max_position_embeddings
        return self.model.new_cache(max(rows, batch), max(positions, min(_rounded(capacity), max(capacity, limit))))

    def _chunks(self, rows: list[int], known: list[int], contexts: list[list[int]]) -> list[list[int]]:
        """The rows in pieces read in together, none of which is padded beyond the model's positions."""
        chunks: list[list[int]] = []
        before = 0
        for row in rows:
            before = max(before, known[row])
            reach = before + len(contexts[row]) - known[row]
            if not chunks or len(chunks[-1]) == _PREFILL_ROWS or reach > self.model.config.max_position_embeddings:
                chunks.append([])
                before = known[row]
            chunks[-1].append(row)
        return chunks

    def _known(self, key: str, context: Sequence[int]) -> int:
        """How many ids of a prompt have keys and values already; at least one never has: it gives the first logits."""
        kept = self._kept.get(key)
        return min(_common_prefix(kept.ids, context), len(context) - 1) if kept else 0

    def _prefill(
        self,
        prompts: Sequence[Prompt],
        contexts: list[list[int]],
        known: list[int],
        chunks: list[list[int]],
        cache: torch.Tensor,
    ) -> torch.Tensor:
        """Reads the prompts into the cache, in the order of the chunks; logits [B, V] of what comes first."""
        logits = []
        start = 0
        for rows in chunks:
            part = cache[:, :, start : start + len(rows)]
            start += len(rows)
            for place, row in enumerate(rows):
                if known[row]:
                    part[:, :, place, :, : known[row]] = self._kept[prompts[row].key].cache[:, :, :, : known[row]]
            new = [contexts[row][known[row] :] for row in rows]
            width = max(map(len, new))
            ids = torch.tensor([[*ids, *[self.format.pad_id] * (width - len(ids))] for ids in new])
            lengths = torch.tensor([known[row] for row in rows])
            hidden = self.model.extend(ids, lengths, part, int(lengths.max()) + width)
            last = torch.tensor([len(ids) - 1 for ids in new])
            logits.append(self.model.logits(hidden[torch.arange(len(rows)), last]))
        return torch.cat(logits)

    def _keep(self, key: str, ids: list[int], cache: torch.Tensor) -> None:
        self._kept[key] = _Kept(ids, cache[..., : len(ids), :].clone())
        self._kept.move_to_end(key)

    def _forget_oldest(self) -> None:
        total = sum(len(kept.ids) for kept in self._kept.values())
        while total > self._max_kept_tokens:
            _, kept = self._kept.popitem(last=False)
            total -= len(kept.ids)


def _rounded(count: int) -> int:
    """Up to a multiple of 32, so that the kernels meet few different shapes."""
    return -(-count // 32) * 32


def _common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count
