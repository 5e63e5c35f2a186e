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
from agentenv.policy.sampling import check_sampling, draw, uniforms
from agentenv.policy.tiny_model import TinyLM, load_model, save_model
from agentenv.transcript import CompactFormat

__all__ = ["TinyPolicy"]

_SHRINK = 0.75
_PREFILL_ROWS = 16
#: The batch is made smaller when at most this share of it is going on: each time its whole cache is copied.
_COMPACT_AT = 0.75


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
        return cls(model, Tokenizer.from_file(str(path)), name=name, **options)

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
        check_sampling(sampling)
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
        capacity = max(map(len, contexts)) + sampling.max_tokens
        # Rounded, so that the kernels meet few different shapes.
        capacity = min(-(-capacity // 32) * 32, max(capacity, self.model.config.max_position_embeddings))
        cache = self.model.new_cache(len(prompts), capacity)
        numbers = uniforms([prompt.seed for prompt in prompts], sampling.max_tokens)
        logits = self._prefill(prompts, contexts, cache)

        sampled: list[list[int]] = [[] for _ in prompts]
        logprobs: list[list[float]] = [[] for _ in prompts]
        rows = list(range(len(prompts)))  # which prompt each row of the shrinking batch belongs to
        going = set(rows)  # the prompts whose samples have not ended
        lengths = torch.tensor([len(context) for context in contexts])
        for step in range(sampling.max_tokens):
            tokens, values = draw(logits, numbers[rows, step], sampling.temperature)
            for place, (row, token, value) in enumerate(zip(rows, tokens.tolist(), values.tolist(), strict=True)):
                if row not in going:
                    continue
                sampled[row].append(token)
                logprobs[row].append(value)
                if token == self.stop_id or step + 1 == sampling.max_tokens:
                    going.remove(row)
                    known = contexts[row] + sampled[row][:-1]
                    self._keep(prompts[row].key, known, cache[:, :, place, :, : len(known)])
            if not going:
                break
            # Rows that ended ride along until they are many: taking them out copies the whole cache.
            if len(going) <= _SHRINK * len(rows):
                index = torch.tensor([place for place, row in enumerate(rows) if row in going])
                rows, tokens, lengths = [row for row in rows if row in going], tokens[index], lengths[index]
                cache = cache[:, :, index]
            span = min(capacity, -(-(int(lengths.max()) + 1) // 32) * 32)
            logits = self.model.logits(self.model.extend(tokens[:, None], lengths, cache, span)[:, 0])
            lengths = lengths + 1
        return [
            Sample(
                text=self.format.decode(ids),
                ids=tuple(ids),
                logprobs=tuple(values),
                stop_reason="stop" if ids[-1] == self.stop_id else "length",
            )
            for ids, values in zip(sampled, logprobs, strict=True)
        ]

    def _prefill(self, prompts: Sequence[Prompt], contexts: list[list[int]], cache: torch.Tensor) -> torch.Tensor:
        known: list[int] = []
        for row, (prompt, context) in enumerate(zip(prompts, contexts, strict=True)):
            kept = self._kept.get(prompt.key)
            # At least one id is always computed anew: its logits are the first token's.
            shared = min(_common_prefix(kept.ids, context), len(context) - 1) if kept else 0
            if kept is not None and shared:
                cache[:, :, row, :, :shared] = kept.cache[:, :, :, :shared]
            known.append(shared)
        logits = torch.empty(len(prompts), self.model.config.vocab_size, dtype=cache.dtype)
        order = sorted(range(len(prompts)), key=lambda row: len(contexts[row]) - known[row])
        for start in range(0, len(order), _PREFILL_ROWS):
            rows = order[start : start + _PREFILL_ROWS]
            new = [contexts[row][known[row] :] for row in rows]
            width = max(map(len, new))
            ids = torch.tensor([[*ids, *[self.format.pad_id] * (width - len(ids))] for ids in new])
            lengths = torch.tensor([known[row] for row in rows])
            room = int(lengths.max()) + width
            part = cache[..., :room, :].index_select(2, torch.tensor(rows))
            # Padding of a short row may reach beyond the capacity that its own ids need.
            if room > part.shape[-2]:
                part = torch.nn.functional.pad(part, (0, 0, 0, room - part.shape[-2]))
            hidden = self.model.extend(ids, lengths, part, room)
            kept_room = min(room, cache.shape[-2])
            cache[:, :, rows, :, :kept_room] = part[..., :kept_room, :]
            last = torch.tensor([len(ids) - 1 for ids in new])
            logits[rows] = self.model.logits(hidden[torch.arange(len(rows)), last])
        return logits

    def _keep(self, key: str, ids: list[int], cache: torch.Tensor) -> None:
        self._kept[key] = _Kept(ids, cache.clone())
        self._kept.move_to_end(key)

    def _forget_oldest(self) -> None:
        total = sum(len(kept.ids) for kept in self._kept.values())
        while total > self._max_kept_tokens:
            _, kept = self._kept.popitem(last=False)
            total -= len(kept.ids)


def _common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count
