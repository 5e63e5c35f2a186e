"""A small causal language model in plain PyTorch, of the Llama architecture and with Hugging Face's weight names.

Invariant: transformers' `LlamaForCausalLM` computes the same logits from the same directory.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from agentenv.errors import ConfigurationError

__all__ = ["TinyConfig", "TinyLM", "load_model", "save_model"]


@dataclass(frozen=True)
class TinyConfig:
    """The shape of a `TinyLM`; field names are those of a Llama `config.json`."""

    vocab_size: int = 768
    hidden_size: int = 128
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    intermediate_size: int = 512
    max_position_embeddings: int = 2048
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_attention_heads or (self.hidden_size // self.num_attention_heads) % 2:
            raise ConfigurationError(
                f"hidden_size={self.hidden_size} does not divide into {self.num_attention_heads} heads of even width"
            )


class _Attention(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], cache: _LayerCache | None) -> Tensor:
        batch, length, width = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, self.heads, -1).transpose(1, 2)

        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        q, k = _rotate(q, rotation), _rotate(k, rotation)
        if cache is None:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache.put(k, v)
            out = F.scaled_dot_product_attention(q, keys, values, attn_mask=cache.mask)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, width))


class _MLP(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class _Layer(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = _Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = _MLP(config)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], cache: _LayerCache | None) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rotation, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class _Backbone(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)


class TinyLM(nn.Module):
    """The model: token ids in, next-token logits out, input and output embeddings tied.

    >>> model = TinyLM(TinyConfig(vocab_size=32, hidden_size=16, num_attention_heads=2, num_hidden_layers=1))
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 32])
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.config = config
        self.model = _Backbone(config)
        self._initialise()
        width = config.hidden_size // config.num_attention_heads
        frequencies = config.rope_theta ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = torch.outer(torch.arange(config.max_position_embeddings, dtype=torch.float64), frequencies)
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def _initialise(self) -> None:
        """Llama's usual start, but for an embedding large enough to copy and with a part that all tokens share.

        Llama has no biases, so attention by position alone (which a head that looks one token back needs, and copying
        builds on such heads) has nothing to start from but what all tokens have in common. Tied as it is, the shared
        part adds the same to every logit and so changes no probability.
        """
        layers = self.config.num_hidden_layers
        for name, weight in self.named_parameters():
            if name.endswith("embed_tokens.weight"):
                nn.init.normal_(weight, std=0.08)
                with torch.no_grad():
                    weight[:, : self.config.hidden_size // 16] += 0.15
            elif weight.dim() == 2:
                # The two projections that write into the residual stream start smaller, the more layers there are.
                writes = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=0.05 / (2 * layers) ** 0.5 if writes else 0.05)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [B, T, V] of ids [B, T]. Rows are padded on the right: attention is causal, so no mask is needed."""
        return self.logits(self.hidden(ids))

    def hidden(self, ids: Tensor) -> Tensor:
        """The last hidden states [B, T, C], so that logits can be made at chosen positions only."""
        self._check_length(ids.shape[1])
        x = self.model.embed_tokens(ids)
        rotation = (self.cos[: ids.shape[1]], self.sin[: ids.shape[1]])
        for layer in self.model.layers:
            x = layer(x, rotation, None)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of hidden states, through the tied embedding."""
        return F.linear(hidden, self.model.embed_tokens.weight)

    def extend(self, ids: Tensor, lengths: Tensor, cache: Tensor, span: int) -> Tensor:
        """Hidden states [B, N, C] of new ids [B, N] behind `lengths` [B] cached ones, whose keys and values it adds.

        Args:
            ids: Right-padded. What padding writes lies beyond a row's length and is overwritten before it is read.
            lengths: Cached positions of each row.
            cache: Keys and values [layers, 2, B, heads, capacity, head width].
            span: Positions of the cache that any row may look at; at least `max(lengths) + N`.
        """
        positions = lengths[:, None] + torch.arange(ids.shape[1], device=ids.device)
        self._check_length(span)
        x = self.model.embed_tokens(ids)
        rotation = (self.cos[positions][:, None], self.sin[positions][:, None])
        visible = torch.arange(span, device=ids.device) <= positions[:, :, None]
        mask = torch.zeros(visible.shape, dtype=x.dtype, device=x.device).masked_fill_(~visible, float("-inf"))[:, None]
        for index, layer in enumerate(self.model.layers):
            x = layer(x, rotation, _LayerCache(cache[index], positions, mask, span))
        return self.model.norm(x)

    def new_cache(self, batch: int, capacity: int) -> Tensor:
        """Room for the keys and values of `batch` rows of up to `capacity` positions."""
        config = self.config
        width = config.hidden_size // config.num_attention_heads
        shape = (config.num_hidden_layers, 2, batch, config.num_attention_heads, capacity, width)
        return torch.zeros(
            shape, dtype=self.model.embed_tokens.weight.dtype, device=self.model.embed_tokens.weight.device
        )

    def _check_length(self, length: int) -> None:
        if length > self.config.max_position_embeddings:
            raise ConfigurationError(
                f"{length} tokens are more than the model's {self.config.max_position_embeddings} positions: lower "
                "max_prompt_tokens or max_tokens"
            )


@dataclass(frozen=True)
class _LayerCache:
    """One layer's part of the cache [2, B, heads, capacity, width], and where the new positions go."""

    store: Tensor
    positions: Tensor
    mask: Tensor
    span: int

    def put(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.arange(k.shape[0], device=k.device)[:, None]
        self.store[0].transpose(1, 2)[rows, self.positions] = k.transpose(1, 2)
        self.store[1].transpose(1, 2)[rows, self.positions] = v.transpose(1, 2)
        return self.store[0, :, :, : self.span], self.store[1, :, :, : self.span]


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rotation
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


def save_model(model: TinyLM, directory: Path, *, pad_id: int, bos_id: int, eos_id: int, half: bool = False) -> None:
    """Writes `config.json` and `model.safetensors` (float16 if `half`) in Hugging Face's Llama format."""
    directory.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "num_key_value_heads": model.config.num_attention_heads,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float32",
        "pad_token_id": pad_id,
        "bos_token_id": bos_id,
        "eos_token_id": eos_id,
        **asdict(model.config),
    }
    (directory / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    dtype = torch.float16 if half else torch.float32
    weights = {name: weight.detach().to("cpu", dtype).contiguous() for name, weight in model.state_dict().items()}
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


def load_model(directory: Path) -> TinyLM:
    """Reads what `save_model` wrote, as float32.

    Raises:
        ConfigurationError: If the directory holds no such model.
    """
    try:
        values = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        weights = load_file(directory / "model.safetensors")
        model = TinyLM(TinyConfig(**{name: values[name] for name in asdict(TinyConfig())}))
        model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"{directory} holds no tiny policy: {error}") from error
    return model.eval()
