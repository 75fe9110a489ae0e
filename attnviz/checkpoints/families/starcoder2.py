"""StarCoder2: grouped heads, LayerNorm, biases everywhere, no gate, and a window in all layers.

Lozhkov et al. 2024, arXiv:2402.19173; keys and names as in `transformers`, models/starcoder2.
"""

from __future__ import annotations

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
    size_keys,
    sizes,
    two_maps,
)
from attnviz.checkpoints.families.family import Family, flag, one_of, positive, unread, whole
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.block import Norm

KEYS = (
    *size_keys(n_kv_heads=2),
    *ROPE_KEYS,
    whole("max_position_embeddings", 4096),
    activation_key("gelu_pytorch_tanh"),
    positive("norm_epsilon", 1e-5),
    whole("sliding_window", None),
    flag("use_bias", True),
    flag("tie_word_embeddings", True),
    # Keys of the training program; the model has no other form.
    one_of("mlp_type", ("default",), "default"),
    one_of("norm_type", ("layer_norm",), "layer_norm"),
    unread("embedding_dropout"),
    unread("residual_dropout"),
)

TENSORS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has("use_bias")),
    *two_maps(MLP, "c_fc", "c_proj", has("use_bias")),
    *gains_and_biases(*BEFORE_EACH_HALF),
)

STARCODER2 = Family(
    "StarCoder2",
    ("starcoder2",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder(lambda config: Norm("layer", config["norm_epsilon"]), is_gated=False).layer,
    norm_after_layers("layer", "norm_epsilon"),
    is_tied,
    IGNORED,
)
