"""Nemotron and Arcee: decoders whose feed-forward layer has a squared ReLU and no gate.

Parmar et al. 2024, arXiv:2402.16819 (Nemotron: LayerNorm with gains about 1, part of each head rotated);
Arcee AI 2025 (AFM-4.5B: Llama beside that). Keys and names as in `transformers`, models/nemotron and arcee.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    BEFORE_EACH_HALF,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    gains,
    rotation,
    two_maps,
)
from attnviz.checkpoints.families.family import (
    Config,
    Tensor,
    activation_key,
    flag,
    has,
    has_attention_bias,
    norm_after_layers,
    plus_one,
    positive,
)
from attnviz.model.spec.block import Norm

_COMMON = (
    *decoder_keys(4096, activation_key("relu2")),
    flag("attention_bias", False),
    flag("mlp_bias", False),
)
_MAPS = (
    *attention(has_attention_bias),
    *two_maps("up_proj", "down_proj", has("mlp_bias")),
)


def _layer_norm(config: Config) -> Norm:
    return Norm("layer", config["norm_eps"])


NEMOTRON = decoder_family(
    "Nemotron",
    ("nemotron",),
    (*_COMMON, positive("norm_eps", 1e-5)),
    (
        *_MAPS,
        *gains(split=plus_one),
        *(Tensor(f"{stem}.bias", f"{place}.bias", ("d",)) for stem, place in BEFORE_EACH_HALF),
    ),
    Decoder(_layer_norm, rotation(share=0.5), is_gated=False).layer,
    norm_after_layers("layer", "norm_eps"),
)

ARCEE = decoder_family(
    "Arcee",
    ("arcee",),
    (*_COMMON, positive("rms_norm_eps", 1e-5)),
    (*_MAPS, *gains()),
    Decoder(is_gated=False).layer,
)
