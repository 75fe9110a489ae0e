"""StableLM: Llama with LayerNorm, a quarter of each head rotated, and, in some, parallel halves.

Bellagente et al. 2024, arXiv:2402.17834; keys and names as in `transformers`, models/stablelm.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.common import is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    IGNORED,
    MLP,
    Decoder,
    activation_key,
    attention,
    gains_and_biases,
    has,
    lacks,
    layer_norm,
    never,
    rotation,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import Config, Family, flag, one_of, positive, unread, whole
from attnviz.checkpoints.rotary import ROPE_KEYS

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 4096),
    activation_key("silu"),
    positive("layer_norm_eps", 1e-5),
    flag("use_qkv_bias", False),
    one_of("qk_layernorm", (False,), False),
    flag("use_parallel_residual", False),
    flag("tie_word_embeddings", False),
    unread("hidden_dropout"),
)


def _is_parallel(config: Config) -> bool:
    return bool(config["use_parallel_residual"])


_FIRST, _SECOND, _LAST = BEFORE_EACH_HALF

TENSORS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has("use_qkv_bias"), has_output_bias=never),
    *three_maps(MLP),
    *gains_and_biases(_FIRST, _LAST),
    *(replace(row, is_there=lacks("use_parallel_residual")) for row in gains_and_biases(_SECOND)),
)

STABLELM = Family(
    "StableLM",
    ("stablelm",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder(
        layer_norm,
        rotation(share=0.25),
        placement=lambda config: "parallel" if _is_parallel(config) else "pre",
        norms=lambda config: ("norm_1",) if _is_parallel(config) else ("norm_1", "norm_2"),
    ).layer,
    norm_after_layers("layer", "layer_norm_eps"),
    is_tied,
    IGNORED,
)
