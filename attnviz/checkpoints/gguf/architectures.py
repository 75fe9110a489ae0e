"""`ARCHITECTURES`: GGUF's names of models, keys and tensors, and those of `transformers` that they stand for.

A row turns a file into the configuration and the tensors that a family of `checkpoints/families` reads. The
names are those of llama.cpp (gguf-py, constants.py and tensor_mapping.py); what its conversion changes in the
numbers is changed back. Every key behind the name of an architecture is in `keys` or `IDLE`, or it is one of
the rotation (rotation.py); the configuration keeps any other one under its own name, which no family knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.checkpoints.families.family import Key, flag, one_of, positive, whole
from attnviz.checkpoints.gguf import rotation
from attnviz.errors import Message, must_be
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
    """A gain as its difference from 1, in float64: the family adds 1 to it again, which then rounds nothing
    that float32 holds.
    """
    return np.asarray(in_float64(array) - 1.0)


def transposed(array: Numbers, config: Config) -> Numbers:
    """(in, out), as GPT-2 has its matrices in `transformers`."""
    return array.T


@dataclass(frozen=True)
class Architecture:
    """One value of `general.architecture`.

    `keys` are the keys of the metadata behind the name of the architecture, with the configuration's key that
    each gives; an empty one for a key that has only the value with which the family computes. `names` are the
    tensors' names, with `{}` for the number of a layer and without the ending `.weight` or `.bias`; `changes`
    by the name there undo what the conversion did. `fixed` are keys that the metadata lack.
    """

    id: str
    model_type: str
    keys: Mapping[Key, str]
    names: Mapping[str, str]
    changes: Mapping[str, Change] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[[Config], None] = lambda config: None

    @property
    def rotates(self) -> bool:
        """True if queries and keys are rotated."""
        return _BASE in self.keys

    def knows(self, name: str) -> bool:
        """True for a key that is computed, or that changes no number."""
        if name.startswith("rope.") and not self.rotates:
            return True
        return name in IDLE or any(key.name == name for key in (*self.keys, *rotation.KEYS))


IDLE = {
    "vocab_size": "the number of rows of the embedding",
    "pooling_type": "the vector of a whole text, after the layers",
    "tensor_data_layout": "a note of the conversion, which llama.cpp does not read",
    "source.hf.repo": "where the model comes from",
}
"""Keys that change no number of the layers, with the reason."""

_BASE = positive("rope.freq_base", None)
_CONTEXT, _LAYERS, _WIDTH = whole("context_length"), whole("block_count"), whole("embedding_length")
_HIDDEN, _HEADS = whole("feed_forward_length"), whole("attention.head_count")
_LAYER_NORM = positive("attention.layer_norm_epsilon")
_CAUSAL = one_of("attention.causal", (True,), True)

_SIZES: dict[Key, str] = {
    _CONTEXT: "max_position_embeddings",
    _LAYERS: "num_hidden_layers",
    _WIDTH: "hidden_size",
    _HIDDEN: "intermediate_size",
    _HEADS: "num_attention_heads",
}

_KEY_WIDTH, _OWN_WIDTH = whole("attention.key_length", None), whole("attention.key_length")

_LLAMA_KEYS: dict[Key, str] = {
    **_SIZES,
    whole("attention.head_count_kv", None): "num_key_value_heads",
    _KEY_WIDTH: "head_dim",
    positive("attention.layer_norm_rms_epsilon"): "rms_norm_eps",
    _BASE: "rope_theta",
    _CAUSAL: "",
}

_WIDE_KEYS = {_OWN_WIDTH if key is _KEY_WIDTH else key: name for key, name in _LLAMA_KEYS.items()}
"""Keys of models whose families have another width of a head than its share of the features."""

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

_GEMMA_KEYS: dict[Key, str] = {
    **_WIDE_KEYS,
    positive("attn_logit_softcapping", None): "attn_logit_softcapping",
    positive("final_logit_softcapping", None): "final_logit_softcapping",
    whole("attention.sliding_window", None): "sliding_window",
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
    Architecture("qwen3", "qwen3", _WIDE_KEYS, {**_LLAMA_NAMES, **_HEAD_NORMS}),
    Architecture("gemma", "gemma", _WIDE_KEYS, _LLAMA_NAMES, _gains(_LLAMA_NAMES)),
    Architecture("gemma2", "gemma2", _GEMMA_KEYS, _GEMMA_2_NAMES, _gains(_GEMMA_2_NAMES), finish=_gemma_2),
    Architecture(
        "gpt2",
        "gpt2",
        {
            _CONTEXT: "n_positions",
            _LAYERS: "n_layer",
            _WIDTH: "n_embd",
            _HIDDEN: "n_inner",
            _HEADS: "n_head",
            _LAYER_NORM: "layer_norm_epsilon",
            _CAUSAL: "",
        },
        _GPT_2_NAMES,
        dict.fromkeys(_GPT_2_MATRICES, transposed),
    ),
    Architecture(
        "bert",
        "bert",
        {**_SIZES, _LAYER_NORM: "layer_norm_eps", flag("attention.causal", False): "is_decoder"},
        _BERT_NAMES,
        fixed={"architectures": ["BertModel"]},
    ),
)

ARCHITECTURE_BY_ID = {row.id: row for row in ARCHITECTURES}


TOKENIZER = "tokenizer.ggml."


def _text(name: str) -> Key:
    return Key(name, None, lambda value: isinstance(value, str), must_be("a text"))


def _list(name: str, is_member: Callable[[Any], bool], requirement: Message) -> Key:
    def is_legal(value: Any) -> bool:
        return isinstance(value, list) and all(map(is_member, value))

    return Key(name, None, is_legal, requirement)


def _texts(name: str) -> Key:
    return _list(name, lambda value: isinstance(value, str), must_be("a list of texts"))


def _numbers(name: str) -> Key:
    return _list(name, lambda value: type(value) in (int, float), must_be("a list of numbers"))


COMMON_KEYS: tuple[Key, ...] = (
    Key(
        "general.type",
        "model",
        lambda value: value == "model",
        must_be("'model': a file with all the weights of a language model"),
    ),
    Key(
        "split.count",
        1,
        lambda value: value in (0, 1),
        must_be("1: llama-gguf-split --merge of llama.cpp joins the files of a model"),
    ),
    _text(TOKENIZER + "model"),
    _text(TOKENIZER + "pre"),
    _texts(TOKENIZER + "tokens"),
    _texts(TOKENIZER + "merges"),
    _numbers(TOKENIZER + "scores"),
    _numbers(TOKENIZER + "token_type"),
    flag(TOKENIZER + "add_bos_token", None),
    flag(TOKENIZER + "add_eos_token", None),
    flag(TOKENIZER + "add_space_prefix", None),
    _text("tokenizer.chat_template"),
)
"""The keys of a file beside those of its architecture that change the result, with their types.

Other keys of `general` are notes; other keys of `tokenizer` change no id here.
"""


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise `FieldError` for a key of the table whose value is of another type."""
    for key in COMMON_KEYS:
        key.read(metadata)
