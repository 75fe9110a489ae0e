"""MPT: ALiBi, LayerNorm without biases, no bias anywhere, and a fused matrix.

MosaicML 2023 (mosaicml.com/blog/mpt-7b); keys and names as in `transformers`, models/mpt. Slopes of a number
of heads that is no power of two are every second one of the next power, then the others.
"""

from __future__ import annotations

import math

from attnviz.checkpoints.families.decoder import fused, gains, two_maps
from attnviz.checkpoints.families.family import (
    QKV,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    absent,
    flag,
    group,
    is_untied,
    linear,
    never,
    norm_after_layers,
    one_of,
    positive,
    share_of_each_head,
    transposed,
    unread,
    whole,
)
from attnviz.errors import FieldError
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, ScaleValue, SqrtDHead
from attnviz.model.spec.positions import Alibi

KEYS = (
    whole("vocab_size"),
    whole("d_model"),
    whole("n_layers"),
    whole("n_heads"),
    whole("max_seq_len", 2048),
    one_of("expansion_ratio", (4,), 4),
    positive("layer_norm_epsilon", 1e-5),
    group("attn_config"),
    one_of("no_bias", (True,), True),
    absent("logit_scale"),
    one_of("embedding_fraction", (1, 1.0), 1.0),
    one_of("norm_type", ("low_precision_layernorm", "layernorm"), "low_precision_layernorm"),
    flag("tie_word_embeddings", True),
    # Read by other programs; the positions are ALiBi's.
    *map(unread, ("learned_pos_emb", "emb_pdrop", "init_config", "init_device", "tokenizer_name", "verbose")),
)

ATTENTION_KEYS = (
    one_of("alibi", (True,), True),
    one_of("alibi_bias_max", (8,), 8),
    one_of("attn_type", ("multihead_attention",), "multihead_attention"),
    absent("clip_qkv"),
    one_of("prefix_lm", (False,), False),
    one_of("qk_ln", (False,), False),
    one_of("attn_uses_sequence_id", (False,), False),
    positive("softmax_scale", None),
)
"""The keys in `attn_config` that a computation reads."""

_LAYER = "transformer.blocks.{layer}."

TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    *fused(_LAYER + "attn.Wqkv", QKV, ("d", "d", "d"), "3d"),
    *linear(_LAYER + "attn.out_proj", "projections.output", ("d", "d"), never),
    *two_maps("up_proj", "down_proj", never, _LAYER + "ffn."),
    *gains(
        (_LAYER + "norm_1", "block.norm_1"),
        (_LAYER + "norm_2", "block.norm_2"),
        ("transformer.norm_f", "final_norm"),
    ),
)

IGNORED = (Ignored("lm_head.weight", "a copy of the embedding", same_as="transformer.wte.weight"),)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d = config["d_model"]
    share_of_each_head(d, config["n_heads"], "d_model", "n_heads")
    return {
        "layers": config["n_layers"],
        "vocabulary": config["vocab_size"],
        "d": d,
        "3d": 3 * d,
        "hidden": 4 * d,
    }


def _slopes(n_heads: int) -> tuple[float, ...]:
    """The slopes of the heads: 2^(-8h/n) of the next power of two n, the even ones first if it is not h."""
    power = 2 ** math.ceil(math.log2(n_heads))
    every = [2.0 ** (-8 * head / power) for head in range(1, power + 1)]
    return tuple(every if power == n_heads else (every[1::2] + every[::2])[:n_heads])


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    n_heads, norm = config["n_heads"], Norm("layer", config["layer_norm_epsilon"])
    try:
        given = {key.name: key.read(config["attn_config"] or {}) for key in ATTENTION_KEYS}
    except FieldError as error:
        raise error.below("attn_config") from None
    scale = given["softmax_scale"]
    return Layer(
        heads=Heads(n_heads, n_heads, config["d_model"] // n_heads),
        position=Alibi(_slopes(n_heads)),
        scale=SqrtDHead() if scale is None else ScaleValue(float(scale)),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=FeedForward(4 * config["d_model"], "gelu"), norm_2=norm),
    )


MPT = Family(
    "MPT",
    ("mpt",),
    "transformer.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    IGNORED,
)
