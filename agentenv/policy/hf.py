"""Any causal language model with a chat template, through transformers.

Invariant: ids and log-probs are those of plain temperature sampling. The model's generation defaults (top-k, top-p,
repetition penalty) are never used, since generation is a loop of forward passes here. Prompts are computed anew at
every turn (no cache between turns); within a turn keys and values are kept.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from agentenv.errors import ConfigurationError
from agentenv.policy.base import Prompt, Sample, Sampling
from agentenv.policy.sampling import draw, uniforms
from agentenv.transcript import ChatTemplateFormat

__all__ = ["HFPolicy"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class HFPolicy:
    """A transformers model that acts.

    Args:
        model: A model's name, a directory, a `.gguf` file, or a loaded model (then `tokenizer` is needed).
        tokenizer: A loaded tokenizer; None to load the one that comes with the model.
        device: Where it runs ("cpu", "cuda", "cuda:1").
        dtype: "float32", "bfloat16" or "float16". Log-probs are computed in float64 from the logits.
        stop: Strings that end an action (`AgentEnv.stop`). The ids stay as sampled; the text ends before the string.
        max_batch: Most rows decoded at once.
        template_kwargs: Passed to the chat template.
        name: For results files.

    Raises:
        ConfigurationError: If the model, its tokenizer or its chat template cannot be used.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        stop: Sequence[str] = (),
        max_batch: int = 32,
        template_kwargs: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> None:
        if dtype not in _DTYPES:
            raise ConfigurationError(f"dtype={dtype!r} is not one of {', '.join(_DTYPES)}")
        if isinstance(model, (str, Path)):
            name = name or f"hf:{model}"
            model, tokenizer = _load(str(model), tokenizer, _DTYPES[dtype])
        elif tokenizer is None:
            raise ConfigurationError("a loaded model needs its tokenizer")
        self.model = model.to(device).eval()
        self.name = name or "hf"
        self.version = 0
        self.format = ChatTemplateFormat(tokenizer, template_kwargs)
        self._device = torch.device(device)
        self._stop = tuple(stop)
        self._max_batch = max_batch
        # Renamed from `past_key_values` in transformers 5.
        self._cache = "cache" if "cache" in inspect.signature(self.model.forward).parameters else "past_key_values"
        self._positions = getattr(model.config, "max_position_embeddings", None)

    def weights_changed(self) -> None:
        """Call after every update of the weights: counts the version (nothing is cached between calls)."""
        self.version += 1

    def release(self, keys: Sequence[str]) -> None:
        """Nothing is kept for an episode."""

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        """One sample per prompt, in order.

        Raises:
            ConfigurationError: On an empty prompt, or one that leaves no position for an action.
            InfrastructureError: If the model gives logits that are not finite.
        """
        for prompt in prompts:
            if not prompt.ids:
                raise ConfigurationError(f"prompt {prompt.key!r} has no ids: build it with a Transcript")
            if self._positions is not None and len(prompt.ids) + sampling.max_tokens > self._positions:
                raise ConfigurationError(
                    f"prompt {prompt.key!r} has {len(prompt.ids)} tokens: with max_tokens={sampling.max_tokens} that "
                    f"passes the model's {self._positions} positions; lower max_prompt_tokens"
                )
        # Rows of like length together, so that little is padded; each sample depends on its own prompt and seed.
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row].ids))
        samples: dict[int, Sample] = {}
        with torch.inference_mode():
            for start in range(0, len(order), self._max_batch):
                rows = order[start : start + self._max_batch]
                samples.update(zip(rows, self._act([prompts[row] for row in rows], sampling), strict=True))
        return [samples[row] for row in range(len(prompts))]

    def _act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        width = max(len(prompt.ids) for prompt in prompts)
        pads = [width - len(prompt.ids) for prompt in prompts]
        # Padded on the left with any id: the attention mask is made from lengths, never from a pad id.
        ids = torch.tensor([[0] * pad + list(prompt.ids) for pad, prompt in zip(pads, prompts, strict=True)])
        mask = torch.tensor([[0] * pad + [1] * (width - pad) for pad in pads])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        numbers = uniforms([prompt.seed for prompt in prompts], sampling.max_tokens)
        sampled: list[list[int]] = [[] for _ in prompts]
        logprobs: list[list[float]] = [[] for _ in prompts]
        reasons: dict[int, str] = {}
        rows = list(range(len(prompts)))
        cache: Any = None
        for step in range(sampling.max_tokens):
            out = self.model(
                input_ids=ids.to(self._device),
                attention_mask=mask.to(self._device),
                position_ids=positions.to(self._device),
                use_cache=True,
                **{self._cache: cache},
            )
            cache = out[self._cache]
            tokens, values = draw(out.logits[:, -1].float(), numbers[rows, step], sampling.temperature)
            going = []
            for place, (row, token, value) in enumerate(zip(rows, tokens.tolist(), values.tolist(), strict=True)):
                sampled[row].append(token)
                logprobs[row].append(value)
                if token in self.format.stop_ids or self._stops(sampled[row]):
                    reasons[row] = "stop"
                else:
                    going.append(place)
            if not going:
                break
            index = torch.tensor(going)
            if len(going) < len(rows):
                cache.batch_select_indices(index.to(self._device))
                rows = [rows[place] for place in going]
            ids = tokens[index][:, None]
            mask = torch.cat([mask[index], torch.ones(len(going), 1, dtype=mask.dtype)], dim=1)
            positions = positions[index][:, -1:] + 1
        return [
            Sample(self._text(ids_), tuple(ids_), tuple(values_), reasons.get(row, "length"))
            for row, (ids_, values_) in enumerate(zip(sampled, logprobs, strict=True))
        ]

    def _stops(self, ids: list[int]) -> bool:
        return bool(self._stop) and any(string in self.format.decode(ids) for string in self._stop)

    def _text(self, ids: list[int]) -> str:
        text = self.format.decode(ids)
        ends = [text.find(string) for string in self._stop if string in text]
        return text[: min(ends)] if ends else text


def _load(name: str, tokenizer: Any, dtype: torch.dtype) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {}
    source = name
    if name.endswith(".gguf"):
        path = Path(name)
        source, where = str(path.parent), {"gguf_file": path.name}
    try:
        if tokenizer is None:
            tokenizer = AutoTokenizer.from_pretrained(source, **where)
        return AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **where), tokenizer
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigurationError(f"the model {name!r} cannot be loaded: {error}") from error
