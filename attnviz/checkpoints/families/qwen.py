"""Qwen2 and Qwen3: Llama with biases of q, k and v (2), or with a norm of each head's q and k (3).

Yang et al. 2024, arXiv:2407.10671; Qwen Team 2025, arXiv:2505.09388. Keys and names as in `transformers`,
models/qwen2 and models/qwen3.
"""

from __future__ import annotations

from msgspec.structs import replace

from attnviz.checkpoints.families.common import ACTIVATIONS, is_tied, norm_after_layers
from attnviz.checkpoints.families.family import (
    Config,
    Family,
    Sizes,
    Tensor,
    flag,
    one_of,
    positive,
    texts,
    whole,
)
from attnviz.checkpoints.families.gemma2 import FULL, SLIDING
from attnviz.checkpoints.families.llama import (
    ATTENTION_BIASES,
    EMBEDDINGS,
    IGNORED,
    MATRICES,
    NORMS,
    SIZE_KEYS,
    heads,
    sizes,
    window,
)
from attnviz.checkpoints.families.llama import layer as llama_layer
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.parts import Causal, Mask, QKNorm

KEYS = (
    *SIZE_KEYS,
    *ROPE_KEYS,
    whole("max_position_embeddings", 32_768),
    one_of("hidden_act", tuple(ACTIVATIONS), "silu"),
    positive("rms_norm_eps", 1e-6),
    flag("use_sliding_window", False),
    whole("sliding_window", None),
    whole("max_window_layers", 28),
    texts("layer_types", (SLIDING, FULL)),
    flag("tie_word_embeddings", False),
)

_LAYER = "model.layers.{layer}.self_attn."

BIASES = tuple(
    Tensor(_LAYER + f"{name}_proj.bias", f"projections.{role}_bias", (size,))
    for name, role, size in (("q", "query", "q"), ("k", "key", "kv"), ("v", "value", "kv"))
)

GAINS = tuple(
    Tensor(_LAYER + f"{name}_norm.weight", f"qk_norm.{role}_gain", ("head",))
    for name, role in (("q", "query"), ("k", "key"))
)


def masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Causal, and a window in the layers that slide: from `max_window_layers` on, unless they are listed."""
    if not config["use_sliding_window"]:
        return (Causal(),)
    given = config["layer_types"]
    slides = index >= config["max_window_layers"] if given is None else given[index] == SLIDING
    if not slides:
        return (Causal(),)
    if config["sliding_window"] is None:
        raise FieldError("sliding_window", None, must_be("a whole number with a sliding layer"))
    return Causal(), window(config["sliding_window"])


def layer(config: Config, index: int) -> Layer:
    """One layer of Qwen2 without its weights."""
    plain = {name: value for name, value in config.items() if name != "sliding_window"}
    return replace(llama_layer(plain, index), masks=masks(config, index))


def normed_layer(config: Config, index: int) -> Layer:
    """One layer of Qwen3: each head's q and k are normalised."""
    return replace(layer(config, index), qk_norm=QKNorm("rms", config["rms_norm_eps"]))


def sizes_with_head(config: Config) -> Sizes:
    """The sizes of Llama, and that of one head."""
    return {**sizes(config), "head": heads(config).d_head}


_AROUND = norm_after_layers("rms", "rms_norm_eps")

QWEN2 = Family(
    "Qwen2",
    ("qwen2",),
    "model.",
    KEYS,
    (*EMBEDDINGS, *MATRICES, *NORMS, *BIASES),
    sizes,
    layer,
    _AROUND,
    is_tied,
    IGNORED,
)

QWEN3 = Family(
    "Qwen3",
    ("qwen3",),
    "model.",
    (*KEYS, flag("attention_bias", False)),
    (*EMBEDDINGS, *MATRICES, *NORMS, *ATTENTION_BIASES, *GAINS),
    sizes_with_head,
    normed_layer,
    _AROUND,
    is_tied,
    IGNORED,
)
