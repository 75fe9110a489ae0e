"""ModernBERT: an encoder with norms before each half, GEGLU, and windows in two of three layers.

The first layer has no norm of its own: the embedding has one. Sliding layers have a RoPE base of their own.
Warner et al. 2024, arXiv:2412.13663; keys and names as in `transformers`, models/modernbert.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from attnviz.checkpoints.families.decoder import (
    FFN,
    FULL,
    SLIDING,
    Decoder,
    decoder_keys,
    fused,
    gains,
    heads,
    kind_of,
    sizes,
)
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    QKV,
    Around,
    Config,
    Family,
    Ignored,
    Tensor,
    activation_key,
    flag,
    has,
    has_attention_bias,
    is_tied,
    is_untied,
    linear,
    one_of,
    positive,
    texts,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import of_kind, rope
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Norm
from attnviz.model.spec.parts import Mask, Window
from attnviz.model.spec.positions import Position
from attnviz.model.spec.vocabulary import Transform

KEYS = (
    *decoder_keys(8192, activation_key("gelu", "hidden_activation"), tied=True),
    activation_key("gelu", "classifier_activation"),
    positive("norm_eps", 1e-5),
    one_of("norm_bias", (False,), False),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    flag("classifier_bias", False),
    flag("decoder_bias", True),
    whole("local_attention", 128),
    texts("layer_types", (SLIDING, FULL)),
    # The bases and the order of the layers, before objects and a list had them.
    positive("global_rope_theta", None),
    positive("local_rope_theta", None),
    whole("global_attn_every_n_layers", 3),
    positive("layer_norm_eps", None),
    one_of("position_embedding_type", ("absolute",), None),
    # Keys of training, of classification, and of the order of sums.
    *map(unread, ("embedding_dropout", "mlp_dropout", "initializer_cutoff_factor", "classifier_pooling")),
    *map(unread, ("deterministic_flash_attn", "reference_compile", "repad_logits_with_grad")),
    *map(unread, ("sparse_prediction", "sparse_pred_ignore_index")),
)

_LAYER = "model.layers.{layer}."
_EMBEDDING = "model.embeddings.tok_embeddings.weight"
_FIRST = gains((_LAYER + "attn_norm", "block.norm_1"))[0]

TENSORS = (
    Tensor(_EMBEDDING, "vocabulary.embedding", ("vocabulary", "d")),
    *gains(("model.embeddings.norm", "embedding_norm"), (_LAYER + "mlp_norm", "block.norm_2")),
    replace(_FIRST, in_layer=lambda config, number: number > 0),
    *fused(_LAYER + "attn.Wqkv", QKV, ("q", "kv", "kv"), "q+2kv", has_attention_bias),
    *linear(_LAYER + "attn.Wo", "projections.output", ("d", "q"), has_attention_bias),
    *fused(_LAYER + "mlp.Wi", (FFN + "gate", FFN + "up"), ("hidden", "hidden"), "2hidden", has("mlp_bias")),
    *linear(_LAYER + "mlp.Wo", FFN + "down", ("d", "hidden"), has("mlp_bias")),
    *gains(("model.final_norm", "final_norm")),
    Tensor("head.dense.weight", "vocabulary.transform.weights", ("d", "d"), transposed),
    Tensor("head.dense.bias", "vocabulary.transform.bias", ("d",), is_there=has("classifier_bias")),
    *gains(("head.norm", "vocabulary.transform.norm")),
    Tensor("decoder.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor("decoder.bias", "vocabulary.bias", ("vocabulary",), is_there=has("decoder_bias")),
)

IGNORED = (Ignored("decoder.weight", "a copy of the embedding", _EMBEDDING, is_tied),)


def _kind(config: Config, index: int) -> str:
    """Every third layer is full, the first one too."""
    n = config["global_attn_every_n_layers"]
    return kind_of(config, index, lambda layer: SLIDING if layer % n else FULL)


def _position(config: Config, index: int) -> Position:
    """RoPE, with a base of their own in the layers that slide."""
    kind = _kind(config, index)
    bases = {SLIDING: ("local_rope_theta", 10_000.0), FULL: ("global_rope_theta", 160_000.0)}
    return rope(of_kind(config, kind, *bases[kind], is_scaled=True), heads(config).d_head)


def _masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Half a window on each side in the layers that slide."""
    side = config["local_attention"] // 2
    return (Window(side, side),) if _kind(config, index) == SLIDING else ()


def _norm(config: Config) -> Norm:
    return Norm("layer", config["norm_eps"])


_ENCODER = Decoder(_norm, _position, _masks, activation="hidden_activation")


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; the first has no norm before its attention."""
    layer = _ENCODER.layer(config, index)
    assert layer.block is not None
    return layer if index else structs.replace(layer, block=structs.replace(layer.block, norm_1=None))


def around(config: Config) -> Around:
    """A norm of the embedding, one after the last layer, and a transform before the vocabulary."""
    norm, activation = _norm(config), ACTIVATIONS[config["classifier_activation"]]
    return Around(norm, norm, transform=Transform(activation=activation, norm=norm))


MODERNBERT = Family("ModernBERT", ("modernbert",), "model.", KEYS, TENSORS, sizes, layer, around, IGNORED)
