"""The bundled model as a PyTorch module: a small decoder of the form that `transformers` calls Llama.

RMSNorm before each half of a block, rotary positions (half-split pairs), grouped key and value heads, a
gated feed-forward layer with SiLU, no biases, and one matrix for embedding and output. The names of the
tensors are those of Llama checkpoints, so whatever reads those reads this.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Config:
    """The sizes of the model, by the names of a Llama `config.json`."""

    vocab_size: int
    hidden_size: int = 128
    intermediate_size: int = 448
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 32
    max_position_embeddings: int = 256
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5

    def document(self, begin: int, end: int) -> dict[str, object]:
        """Content of `config.json`; `begin` and `end` are the ids of those tokens."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            **asdict(self),
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": True,
            "bos_token_id": begin,
            "eos_token_id": end,
            "torch_dtype": "float16",
        }


class Attention(nn.Module):
    """Causal attention with grouped heads."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, width = config.hidden_size, config.head_dim
        self.width = width
        self.q_proj = nn.Linear(d, config.num_attention_heads * width, bias=False)
        self.k_proj = nn.Linear(d, config.num_key_value_heads * width, bias=False)
        self.v_proj = nn.Linear(d, config.num_key_value_heads * width, bias=False)
        self.o_proj = nn.Linear(config.num_attention_heads * width, d, bias=False)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], maps: list[Tensor] | None) -> Tensor:
        """x (batch, token, d_model) -> the same; weights (batch, head, query, key) join `maps`, if any."""
        q, k, v = (
            project(x).unflatten(-1, (-1, self.width)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotated(q, turn), rotated(k, turn)
        repeats = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
        if maps is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / self.width**0.5
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            maps.append(scores.masked_fill(later, -torch.inf).softmax(-1))
            mixed = maps[-1] @ v
        joined: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return joined


class FeedForward(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, token, d_model) -> the same."""
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Block(nn.Module):
    """Attention, then the feed-forward layer, each after a norm and beside a residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = FeedForward(config)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], maps: list[Tensor] | None) -> Tensor:
        """x (batch, token, d_model) -> the same."""
        x = x + self.self_attn(self.input_layernorm(x), turn, maps)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Body(nn.Module):
    """Everything below the output matrix."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)


class Decoder(nn.Module):
    """Token ids in, logits out. `model` is named so for the sake of the tensors' names."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.model = Body(config)
        self.turn = angles(config)
        self._start()

    def _start(self) -> None:
        """Sample the weights: each matrix keeps the size of its input.

        The rows of the embedding share a part, which adds the same to all logits and so changes no
        probability, but adds a constant feature to every token: without biases, a head that attends by
        distance alone needs one.
        """
        for name, weights in self.named_parameters():
            if "embed_tokens" in name:
                nn.init.normal_(weights, std=0.09)
                weights.data += 0.15 * torch.randn(weights.shape[1])
            elif weights.dim() > 1:
                # Additions to the residual stream are smaller, so that the sum over the blocks keeps its
                # size.
                adds = name.endswith(("o_proj.weight", "down_proj.weight"))
                shrink = 2 * self.config.num_hidden_layers if adds else 1
                nn.init.normal_(weights, std=(shrink * weights.shape[1]) ** -0.5)

    def forward(self, ids: Tensor, maps: list[Tensor] | None = None) -> Tensor:
        """ids (batch, token) -> logits (batch, token, vocabulary).

        With a list as `maps`, each layer's attention weights (batch, head, query, key) are appended to it.
        """
        cosine, sine = (part[: ids.shape[1]] for part in self.turn)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, (cosine, sine), maps)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)


def angles(config: Config) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary angles, each (position, d_head): angle = position * base^(-2i/d_head).

    Su et al. 2021, arXiv:2104.09864; feature i and feature i + d_head/2 make one pair.
    """
    frequency = config.rope_theta ** (-torch.arange(0, config.head_dim, 2) / config.head_dim)
    angle = torch.outer(torch.arange(config.max_position_embeddings), frequency).repeat(1, 2)
    return angle.cos(), angle.sin()


def rotated(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate x (batch, head, token, d_head) by its positions' angles."""
    first, second = x.chunk(2, -1)
    return x * turn[0] + torch.cat((-second, first), -1) * turn[1]


def load(folder: Path) -> Decoder:
    """The model that `train.py` wrote to `folder`, its float16 weights in float32."""
    document = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = Decoder(Config(**{size.name: document[size.name] for size in fields(Config)}))
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict({name: weights.float() for name, weights in tensors.items()})
    return model
