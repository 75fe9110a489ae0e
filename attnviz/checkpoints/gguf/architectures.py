"""`ARCHITECTURES`: GGUF's names of models, keys and tensors, and those of `transformers` that they stand for.

A row turns a file into the configuration and the tensors that a family of `checkpoints/families` reads. The
names are those of llama.cpp (gguf-py, constants.py and tensor_mapping.py); what its conversion changes in the
numbers is changed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.model.spec.arrays import in_float64

Numbers = NDArray[Any]
Config = dict[str, Any]
Change = Callable[[Numbers, Config], Numbers]


def as_stored(array: Numbers, config: Config) -> Numbers:
    """The numbers as they are."""
    return array


def _unpermuted(heads: str) -> Change:
    """Rows of each head in the order of half-split pairs; llama.cpp has the two of a pair side by side."""

    def change(array: Numbers, config: Config) -> Numbers:
        parts = array.reshape(config[heads], -1, 2, *array.shape[1:])
        return parts.swapaxes(1, 2).reshape(array.shape)

    return change


def minus_one(array: Numbers, config: Config) -> Numbers:
    """A gain as its difference from 1."""
    return (in_float64(array) - 1.0).astype(np.float32)


def transposed(array: Numbers, config: Config) -> Numbers:
    """(in, out), as GPT-2 has its matrices in `transformers`."""
    return array.T


@dataclass(frozen=True)
class Architecture:
    """One value of `general.architecture`.

    `keys` are the configuration's keys by those of the metadata behind the name of the architecture; `idle`
    are keys there that change no number. `names` are the tensors' names, with `{}` for the number of a layer
    and without the ending `.weight` or `.bias`; `changes` by the name there undo what the conversion did.
    `fixed` are keys that the metadata lack.
    """

    id: str
    model_type: str
    keys: Mapping[str, str]
    names: Mapping[str, str]
    changes: Mapping[str, Change] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[[Config], None] = lambda config: None


IDLE = frozenset(
    "vocab_size rope.dimension_count attention.value_length pooling_type attention.causal "
    "tensor_data_layout source.hf.repo rope.scaling.finetuned".split()
)
"""Keys that repeat others, or change no number of the layers."""

_SIZES = {
    "context_length": "max_position_embeddings",
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
}

_LLAMA_KEYS = {
    **_SIZES,
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
}

_LAYER = "model.layers.{}."

_LLAMA_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.{}.attn_norm": _LAYER + "input_layernorm",
    "blk.{}.ffn_norm": _LAYER + "post_attention_layernorm",
    **{f"blk.{{}}.attn_{name}": f"{_LAYER}self_attn.{name}_proj" for name in "qkv"},
    "blk.{}.attn_output": _LAYER + "self_attn.o_proj",
    **{f"blk.{{}}.ffn_{name}": f"{_LAYER}mlp.{name}_proj" for name in ("gate", "up", "down")},
}

_HEAD_NORMS = {f"blk.{{}}.attn_{name}_norm": f"{_LAYER}self_attn.{name}_norm" for name in "qk"}

_GEMMA_KEYS = {
    **_LLAMA_KEYS,
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "attention.sliding_window": "sliding_window",
}

_GEMMA_2_NAMES = {
    **_LLAMA_NAMES,
    "blk.{}.post_attention_norm": _LAYER + "post_attention_layernorm",
    "blk.{}.ffn_norm": _LAYER + "pre_feedforward_layernorm",
    "blk.{}.post_ffw_norm": _LAYER + "post_feedforward_layernorm",
}


def _gains(names: Mapping[str, str]) -> dict[str, Change]:
    return {name: minus_one for name in names if name.endswith("_norm")}


def _gemma_2(config: Config) -> None:
    # llama.cpp's converter has no key for it; the model of 46 layers divides by the width of a head's share.
    is_27b = config.get("num_hidden_layers") == 46
    scalar = config.get("head_dim", 256)
    if is_27b:
        scalar = config.get("hidden_size", 0) // max(1, config.get("num_attention_heads", 1))
    config["query_pre_attn_scalar"] = scalar


_GPT_2_LAYER = "transformer.h.{}."
_GPT_2_NAMES = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
    "blk.{}.attn_norm": _GPT_2_LAYER + "ln_1",
    "blk.{}.attn_qkv": _GPT_2_LAYER + "attn.c_attn",
    "blk.{}.attn_output": _GPT_2_LAYER + "attn.c_proj",
    "blk.{}.ffn_norm": _GPT_2_LAYER + "ln_2",
    "blk.{}.ffn_up": _GPT_2_LAYER + "mlp.c_fc",
    "blk.{}.ffn_down": _GPT_2_LAYER + "mlp.c_proj",
}
_GPT_2_MATRICES = ("blk.{}.attn_qkv", "blk.{}.attn_output", "blk.{}.ffn_up", "blk.{}.ffn_down")

_BERT_LAYER = "encoder.layer.{}."
_BERT_NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
    "blk.{}.attn_q": _BERT_LAYER + "attention.self.query",
    "blk.{}.attn_k": _BERT_LAYER + "attention.self.key",
    "blk.{}.attn_v": _BERT_LAYER + "attention.self.value",
    "blk.{}.attn_output": _BERT_LAYER + "attention.output.dense",
    "blk.{}.attn_output_norm": _BERT_LAYER + "attention.output.LayerNorm",
    "blk.{}.ffn_up": _BERT_LAYER + "intermediate.dense",
    "blk.{}.ffn_down": _BERT_LAYER + "output.dense",
    "blk.{}.layer_output_norm": _BERT_LAYER + "output.LayerNorm",
}

ARCHITECTURES = (
    Architecture(
        "llama",
        "llama",
        _LLAMA_KEYS,
        _LLAMA_NAMES,
        {
            "blk.{}.attn_q": _unpermuted("num_attention_heads"),
            "blk.{}.attn_k": _unpermuted("num_key_value_heads"),
        },
    ),
    Architecture("qwen2", "qwen2", _LLAMA_KEYS, _LLAMA_NAMES),
    Architecture("qwen3", "qwen3", _LLAMA_KEYS, {**_LLAMA_NAMES, **_HEAD_NORMS}),
    Architecture("gemma", "gemma", _LLAMA_KEYS, _LLAMA_NAMES, _gains(_LLAMA_NAMES)),
    Architecture("gemma2", "gemma2", _GEMMA_KEYS, _GEMMA_2_NAMES, _gains(_GEMMA_2_NAMES), finish=_gemma_2),
    Architecture(
        "gpt2",
        "gpt2",
        {
            "context_length": "n_positions",
            "block_count": "n_layer",
            "embedding_length": "n_embd",
            "feed_forward_length": "n_inner",
            "attention.head_count": "n_head",
            "attention.layer_norm_epsilon": "layer_norm_epsilon",
        },
        _GPT_2_NAMES,
        dict.fromkeys(_GPT_2_MATRICES, transposed),
    ),
    Architecture(
        "bert",
        "bert",
        {**_SIZES, "attention.layer_norm_epsilon": "layer_norm_eps"},
        _BERT_NAMES,
        fixed={"architectures": ["BertModel"]},
    ),
)

ARCHITECTURE_BY_ID = {row.id: row for row in ARCHITECTURES}
