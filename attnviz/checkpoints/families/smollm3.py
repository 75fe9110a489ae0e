"""SmolLM3: Llama in which every fourth layer has no position.

Bakouch et al. 2025 (huggingface.co/blog/smollm3), after Yang et al. 2025, arXiv:2501.18795; keys and names as
in `transformers`, models/smollm3.
"""

from __future__ import annotations

from typing import Any

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    FULL,
    IGNORED,
    MLP,
    Decoder,
    activation_key,
    attention,
    by_kind,
    gains,
    has,
    rotation,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import Config, Family, Key, flag, one_of, positive, texts, whole
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.model.spec.positions import NoPosition, Position


def _are_flags(value: Any) -> bool:
    return isinstance(value, list) and all(one in (0, 1) for one in value)


NO_ROPE_KEYS = (
    Key("no_rope_layers", None, _are_flags, must_be("a list of zeros and ones")),
    whole("no_rope_layer_interval", 4),
)
"""The layers without positions: a list for all layers, or their interval."""

KEYS = (
    *size_keys(n_kv_heads=4),
    *ROPE_KEYS,
    whole("max_position_embeddings", 32_768),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    one_of("use_sliding_window", (False,), False),
    whole("sliding_window", None),
    texts("layer_types", (FULL,)),
    *NO_ROPE_KEYS,
    flag("attention_bias", False),
    flag("mlp_bias", False),
    flag("tie_word_embeddings", True),
)


def rotates(config: Config, index: int) -> bool:
    """True where `no_rope_layers` has a one; without the list, in all layers but each at the interval."""
    given = config["no_rope_layers"]
    n_layers = config["num_hidden_layers"]
    if given is not None and len(given) != n_layers:
        one_each = Message("must have length {n}, one entry for each layer", n=n_layers)
        raise FieldError("no_rope_layers", of_length(len(given)), one_each)
    return bool((index + 1) % config["no_rope_layer_interval"] if given is None else given[index])


def position(config: Config, index: int) -> Position:
    """RoPE, or no position."""
    return rotation(base=2_000_000.0)(config, index) if rotates(config, index) else NoPosition()


SMOLLM3 = Family(
    "SmolLM3",
    ("smollm3",),
    "model.",
    KEYS,
    (
        *EMBEDDINGS,
        *attention(ATTENTION, has_attention_bias),
        *three_maps(MLP, has("mlp_bias")),
        *gains(*BEFORE_EACH_HALF),
    ),
    sizes,
    Decoder(position=position, masks=by_kind(lambda index: FULL)).layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
