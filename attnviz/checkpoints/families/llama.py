"""Llama, Mistral, and models that differ from them in one part: Granite, SmolLM3, DiffLlama, OLMo 2.

RMSNorm before each half of a block, RoPE on half-split pairs, grouped heads, SwiGLU.
Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825. Keys and names as in
`transformers`, models/llama and models/mistral. A `sliding_window` of W there lets a query see the keys j
with i - W < j <= i, its own among them: W - 1 earlier keys.
"""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    FULL,
    LAYER,
    Decoder,
    attention,
    by_kind,
    decoder_family,
    decoder_keys,
    gains,
    heads,
    rms,
    rotation,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Around,
    Array,
    Config,
    Key,
    Sizes,
    Tensor,
    flag,
    has,
    has_attention_bias,
    linear,
    one_of,
    positive,
    texts,
    unread,
    whole,
)
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.differential import LAMBDA_ROWS, Differential
from attnviz.model.spec.parts import QKNorm, ScaleValue
from attnviz.model.spec.positions import NoPosition, Position

KEYS = (
    *decoder_keys(2048),
    # Keys of SmolLM's configurations for other programs.
    one_of("rope_interleaved", (False,), False),
    one_of("is_llama_config", (True,), True),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    flag("mlp_bias", False),
)

MISTRAL_KEYS = (
    *decoder_keys(131_072, n_kv_heads=8),
    positive("rms_norm_eps", 1e-6),
    whole("sliding_window", 4096, null=None),
)

TENSORS = (
    *attention(has_attention_bias),
    *three_maps(has("mlp_bias")),
    *gains(),
)

LLAMA = decoder_family("Llama", ("llama",), KEYS, TENSORS)

MISTRAL = decoder_family("Mistral", ("mistral",), MISTRAL_KEYS, (*attention(), *three_maps(), *gains()))


# --- Granite -------------------------------------------------------------------------------------

GRANITE_KEYS = (
    *decoder_keys(2048),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    positive("attention_multiplier", 1.0),
    positive("embedding_multiplier", 1.0),
    positive("logits_scaling", 1.0),
    positive("residual_multiplier", 1.0),
)


def granite_around(config: Config) -> Around:
    """A norm after the last layer, and the factors of the embedding and of the logits."""
    return Around(
        final_norm=rms(config),
        embedding_scale=config["embedding_multiplier"],
        logit_scale=1.0 / config["logits_scaling"],
    )


GRANITE = decoder_family(
    "Granite",
    ("granite",),
    GRANITE_KEYS,
    TENSORS,
    Decoder(
        scale=lambda config: ScaleValue(config["attention_multiplier"]),
        residual_scale=lambda config: float(config["residual_multiplier"]),
    ).layer,
    granite_around,
)
"""Granite: Llama whose embedding, scores, residual connections and logits each have a factor.

IBM Research 2024 (github.com/ibm-granite/granite-3.0-language-models), after Yang et al. 2022,
arXiv:2203.03466; keys and names as in `transformers`, models/granite.
"""


# --- SmolLM3 -------------------------------------------------------------------------------------


def _are_flags(value: Any) -> bool:
    return isinstance(value, list) and all(one in (0, 1) for one in value)


NO_ROPE_KEYS = (
    Key("no_rope_layers", None, _are_flags, must_be("a list of zeros and ones")),
    whole("no_rope_layer_interval", 4),
)
"""The layers without positions: a list for all layers, or their interval."""

SMOLLM3_KEYS = (
    *decoder_keys(32_768, tied=True, n_kv_heads=4),
    positive("rms_norm_eps", 1e-6),
    one_of("use_sliding_window", (False,), False),
    whole("sliding_window", None),
    texts("layer_types", (FULL,)),
    *NO_ROPE_KEYS,
    flag("attention_bias", False),
    flag("mlp_bias", False),
)


def rotates(config: Config, index: int) -> bool:
    """True where `no_rope_layers` has a one; without the list, in all layers but each at the interval."""
    given = config["no_rope_layers"]
    n_layers = config["num_hidden_layers"]
    if given is not None and len(given) != n_layers:
        one_each = Message("must have length {n}, one entry for each layer", n=n_layers)
        raise FieldError("no_rope_layers", of_length(len(given)), one_each)
    return bool((index + 1) % config["no_rope_layer_interval"] if given is None else given[index])


def smollm3_position(config: Config, index: int) -> Position:
    """RoPE, or no position."""
    return rotation(base=2_000_000.0)(config, index) if rotates(config, index) else NoPosition()


SMOLLM3 = decoder_family(
    "SmolLM3",
    ("smollm3",),
    SMOLLM3_KEYS,
    (
        *attention(has_attention_bias),
        *three_maps(has("mlp_bias")),
        *gains(),
    ),
    Decoder(position=smollm3_position, masks=by_kind(lambda index: FULL)).layer,
)
"""SmolLM3: Llama in which every fourth layer has no position.

Bakouch et al. 2025 (huggingface.co/blog/smollm3), after Yang et al. 2025, arXiv:2501.18795; keys and names as
in `transformers`, models/smollm3.
"""


# --- DiffLlama -----------------------------------------------------------------------------------

DIFFLLAMA_KEYS = (
    *decoder_keys(2048),
    positive("rms_norm_eps", 1e-5),
    flag("attention_bias", False),
    unread("lambda_std_dev"),  # of the vectors of λ before a training
)


def _first_ones_first(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """(out, pair · 2 · d_head) as (in, out), the first head of all pairs before the second of all."""
    by_pair = array.T.reshape(-1, 2, sizes["head"], array.shape[0])
    return (by_pair.transpose(1, 0, 2, 3).reshape(-1, array.shape[0]),)


DIFFLLAMA_TENSORS = (
    *linear(ATTENTION + "q_proj", "projections.query", ("q", "d"), has_attention_bias),
    *linear(ATTENTION + "k_proj", "projections.key", ("kv", "d"), has_attention_bias),
    *linear(ATTENTION + "v_proj", "projections.value", ("kv", "d"), has_attention_bias),
    Tensor(ATTENTION + "o_proj.weight", "projections.output", ("d", "q"), _first_ones_first),
    Tensor(ATTENTION + "o_proj.bias", "projections.output_bias", ("d",), is_there=has_attention_bias),
    *(
        Tensor(f"{ATTENTION}lambda_{name[0]}{name[-1]}", f"differential.{name}", ("head",))
        for name in LAMBDA_ROWS
    ),
    *three_maps(),
    *gains(),
)


def diffllama_layer(config: Config, index: int) -> Layer:
    """One layer without its weights. Raises `FieldError` for an odd number of key/value heads."""
    n_kv_heads = heads(config).n_kv_heads
    if n_kv_heads % 2:
        raise FieldError("num_key_value_heads", n_kv_heads, must_be("even with differential attention"))
    initial = 0.8 - 0.6 * math.exp(-0.3 * index)
    return replace(
        Decoder().layer(config, index), differential=Differential(initial, eps=config["rms_norm_eps"])
    )


DIFFLLAMA = decoder_family("DiffLlama", ("diffllama",), DIFFLLAMA_KEYS, DIFFLLAMA_TENSORS, diffllama_layer)
"""DiffLlama: Llama with differential attention.

Ye et al. 2024, arXiv:2410.05258; keys and names as in `transformers`, models/diffllama. Its two
softmaxes are the weights of heads j and j + h ÷ 2, whose difference mixes two value heads side by side, one
of each half. Here each of the two heads mixes one of these value heads by the same difference, so that the
features of all second heads stand behind those of all first ones, in W_O too.
"""


# --- OLMo 2 --------------------------------------------------------------------------------------

OLMO2_KEYS = (
    *decoder_keys(2048),
    positive("rms_norm_eps", 1e-5),
    flag("attention_bias", False),
)

OLMO2_TENSORS = (
    *attention(has_attention_bias),
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("q",)),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("kv",)),
    *three_maps(),
    *gains(
        (LAYER + "post_attention_layernorm", "block.after_1"),
        (LAYER + "post_feedforward_layernorm", "block.after_2"),
        ("model.norm", "final_norm"),
    ),
)

OLMO2 = decoder_family(
    "OLMo 2",
    ("olmo2",),
    OLMO2_KEYS,
    OLMO2_TENSORS,
    Decoder(
        qk_norm=lambda config: QKNorm("rms", config["rms_norm_eps"], across=True),
        placement=lambda config: "sandwich",
        norms=lambda config: ("after_1", "after_2"),
    ).layer,
)
"""OLMo 2: Llama with norms after each half instead of before, and of the queries and keys of all heads.

OLMo Team 2025, arXiv:2501.00656; keys and names as in `transformers`, models/olmo2.
"""
