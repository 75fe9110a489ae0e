"""StarCoder2: grouped heads, LayerNorm, biases everywhere, no gate, and a window in all layers.

Lozhkov et al. 2024, arXiv:2402.19173; keys and names as in `transformers`, models/starcoder2.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    gains_and_biases,
    two_maps,
)
from attnviz.checkpoints.families.family import (
    activation_key,
    flag,
    has,
    norm_after_layers,
    one_of,
    positive,
    unread,
    whole,
)
from attnviz.model.spec.block import Norm

KEYS = (
    *decoder_keys(4096, activation_key("gelu_pytorch_tanh"), tied=True, n_kv_heads=2),
    positive("norm_epsilon", 1e-5),
    whole("sliding_window", None),
    flag("use_bias", True),
    # Keys of the training program; the model has no other form.
    one_of("mlp_type", ("default",), "default"),
    one_of("norm_type", ("layer_norm",), "layer_norm"),
    unread("embedding_dropout"),
    unread("residual_dropout"),
)

TENSORS = (
    *attention(has("use_bias")),
    *two_maps("c_fc", "c_proj", has("use_bias")),
    *gains_and_biases(),
)

STARCODER2 = decoder_family(
    "StarCoder2",
    ("starcoder2",),
    KEYS,
    TENSORS,
    Decoder(lambda config: Norm("layer", config["norm_epsilon"]), is_gated=False).layer,
    norm_after_layers("layer", "norm_epsilon"),
)
