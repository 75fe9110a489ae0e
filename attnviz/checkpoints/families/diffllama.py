"""DiffLlama: Llama with differential attention.

Ye et al. 2024, arXiv:2410.05258; keys and names as in `transformers`, models/diffllama. Its two
softmaxes are the weights of heads j and j + h ÷ 2, whose difference mixes two value heads side by side, one
of each half. Here each of the two heads mixes one of these value heads by the same difference, so that the
features of all second heads stand behind those of all first ones, in W_O too.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    IGNORED,
    MLP,
    Decoder,
    activation_key,
    gains,
    heads,
    product,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Family,
    Sizes,
    Tensor,
    flag,
    positive,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.differential import LAMBDA_ROWS, Differential

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-5),
    flag("attention_bias", False),
    unread("lambda_std_dev"),  # of the vectors of λ before a training
    flag("tie_word_embeddings", False),
)


def _first_ones_first(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """(out, pair · 2 · d_head) as (in, out), the first head of all pairs before the second of all."""
    by_pair = array.T.reshape(-1, 2, sizes["head"], array.shape[0])
    return (by_pair.transpose(1, 0, 2, 3).reshape(-1, array.shape[0]),)


TENSORS = (
    *EMBEDDINGS,
    *product(ATTENTION + "q_proj", "projections.query", ("q", "d"), has_attention_bias),
    *product(ATTENTION + "k_proj", "projections.key", ("kv", "d"), has_attention_bias),
    *product(ATTENTION + "v_proj", "projections.value", ("kv", "d"), has_attention_bias),
    Tensor(ATTENTION + "o_proj.weight", "projections.output", ("d", "q"), _first_ones_first),
    Tensor(ATTENTION + "o_proj.bias", "projections.output_bias", ("d",), is_there=has_attention_bias),
    *(
        Tensor(f"{ATTENTION}lambda_{name[0]}{name[-1]}", f"differential.{name}", ("head",))
        for name in LAMBDA_ROWS
    ),
    *three_maps(MLP),
    *gains(*BEFORE_EACH_HALF),
)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights. Raises `FieldError` for an odd number of key/value heads."""
    n_kv_heads = heads(config).n_kv_heads
    if n_kv_heads % 2:
        raise FieldError("num_key_value_heads", n_kv_heads, must_be("even with differential attention"))
    initial = 0.8 - 0.6 * math.exp(-0.3 * index)
    return replace(
        Decoder().layer(config, index), differential=Differential(initial, eps=config["rms_norm_eps"])
    )


DIFFLLAMA = Family(
    "DiffLlama",
    ("diffllama",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
