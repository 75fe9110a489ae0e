"""StableLM: Llama with LayerNorm, a quarter of each head rotated, and, in some, parallel halves.

Bellagente et al. 2024, arXiv:2402.17834; keys and names as in `transformers`, models/stablelm.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.decoder import (
    BEFORE_EACH_HALF,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    gains_and_biases,
    layer_norm,
    rotation,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Config,
    flag,
    has,
    lacks,
    never,
    norm_after_layers,
    one_of,
    positive,
    unread,
)

KEYS = (
    *decoder_keys(4096),
    positive("layer_norm_eps", 1e-5),
    flag("use_qkv_bias", False),
    one_of("qk_layernorm", (False,), False),
    flag("use_parallel_residual", False),
    unread("hidden_dropout"),
)


def _is_parallel(config: Config) -> bool:
    return bool(config["use_parallel_residual"])


_FIRST, _SECOND, _LAST = BEFORE_EACH_HALF

TENSORS = (
    *attention(has("use_qkv_bias"), has_output_bias=never),
    *three_maps(),
    *gains_and_biases(_FIRST, _LAST),
    *(replace(row, is_there=lacks("use_parallel_residual")) for row in gains_and_biases(_SECOND)),
)

STABLELM = decoder_family(
    "StableLM",
    ("stablelm",),
    KEYS,
    TENSORS,
    Decoder(
        layer_norm,
        rotation(share=0.25),
        placement=lambda config: "parallel" if _is_parallel(config) else "pre",
        norms=lambda config: ("norm_1",) if _is_parallel(config) else ("norm_1", "norm_2"),
    ).layer,
    norm_after_layers("layer", "layer_norm_eps"),
)
