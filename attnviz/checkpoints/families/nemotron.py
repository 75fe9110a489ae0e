"""Nemotron and Arcee: decoders whose feed-forward layer has a squared ReLU and no gate.

Parmar et al. 2024, arXiv:2402.16819 (Nemotron: LayerNorm with gains about 1, part of each head rotated);
Arcee AI 2025 (AFM-4.5B: Llama beside that). Keys and names as in `transformers`, models/nemotron and arcee.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    IGNORED,
    MLP,
    Decoder,
    activation_key,
    attention,
    gains,
    has,
    rotation,
    size_keys,
    sizes,
    two_maps,
)
from attnviz.checkpoints.families.family import Config, Family, Tensor, flag, plus_one, positive, whole
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.block import Norm

_COMMON = (
    *size_keys(),
    *ROPE_KEYS,
    activation_key("relu2"),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    flag("tie_word_embeddings", False),
)
_MAPS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has_attention_bias),
    *two_maps(MLP, "up_proj", "down_proj", has("mlp_bias")),
)


def _layer_norm(config: Config) -> Norm:
    return Norm("layer", config["norm_eps"])


NEMOTRON = Family(
    "Nemotron",
    ("nemotron",),
    "model.",
    (*_COMMON, whole("max_position_embeddings", 4096), positive("norm_eps", 1e-5)),
    (
        *_MAPS,
        *gains(*BEFORE_EACH_HALF, split=plus_one),
        *(Tensor(f"{stem}.bias", f"{place}.bias", ("d",)) for stem, place in BEFORE_EACH_HALF),
    ),
    sizes,
    Decoder(_layer_norm, rotation(share=0.5), is_gated=False).layer,
    norm_after_layers("layer", "norm_eps"),
    is_tied,
    IGNORED,
)

ARCEE = Family(
    "Arcee",
    ("arcee",),
    "model.",
    (*_COMMON, whole("max_position_embeddings", 4096), positive("rms_norm_eps", 1e-5)),
    (*_MAPS, *gains(*BEFORE_EACH_HALF)),
    sizes,
    Decoder(is_gated=False).layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
