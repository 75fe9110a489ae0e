"""GPT-BigCode (SantaCoder, StarCoder): GPT-2 whose query heads share one key and one value.

Allal et al. 2023, arXiv:2301.03988; Li et al. 2023, arXiv:2305.06161. Keys and names as in `transformers`,
models/gpt_bigcode.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.families.common import (
    ACTIVATIONS,
    QKV,
    QKV_BIAS,
    is_tied,
    is_untied,
    norm_after_layers,
    share_of_each_head,
)
from attnviz.checkpoints.families.decoder import activation_key, gains_and_biases, product, two_maps
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    always,
    flag,
    one_of,
    positive,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.families.gpt_neox import by_head
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition, NoScale, SqrtDHead
from attnviz.model.spec.positions import Learned

KEYS = (
    whole("vocab_size"),
    whole("n_positions", 1024),
    whole("n_embd", 768),
    whole("n_layer", 12),
    whole("n_head", 12),
    whole("n_inner", None),
    activation_key("gelu_pytorch_tanh", "activation_function"),
    positive("layer_norm_epsilon", 1e-5),
    flag("multi_query", True),
    flag("scale_attn_weights", True),
    one_of("add_cross_attention", (False,), False),
    flag("tie_word_embeddings", True),
    # Repeats multi_query; and only the order and the width of roundings.
    whole("num_key_value_heads", None),
    *map(unread, ("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner")),
    *map(unread, ("max_batch_size", "max_sequence_length", "pad_key_length", "pre_allocate_kv_cache")),
    unread("validate_runner_input"),
)


def _split(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Queries, keys and values: one after the other, or, without shared keys, head by head."""
    if sizes["kv"] == sizes["d"]:
        return by_head(array, sizes)
    ends = (sizes["d"], sizes["d"] + sizes["kv"])
    return tuple(part.T for part in np.split(array, ends))


_LAYER = "transformer.h.{layer}."

TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("transformer.wpe.weight", "position.table", ("positions", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor(_LAYER + "attn.c_attn.weight", QKV, ("d+2kv", "d"), _split),
    Tensor(_LAYER + "attn.c_attn.bias", QKV_BIAS, ("d+2kv",), _split),
    *product(_LAYER + "attn.c_proj", "projections.output", ("d", "d"), always),
    *two_maps(_LAYER + "mlp.", "c_fc", "c_proj"),
    *gains_and_biases(
        (_LAYER + "ln_1", "block.norm_1"),
        (_LAYER + "ln_2", "block.norm_2"),
        ("transformer.ln_f", "final_norm"),
    ),
)

IGNORED = (
    Ignored(_LAYER + "attn.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored("transformer.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="transformer.wte.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d, layout = config["n_embd"], heads(config)
    kv = layout.n_kv_heads * layout.d_head
    return {
        "layers": config["n_layer"],
        "vocabulary": config["vocab_size"],
        "positions": config["n_positions"],
        "heads": layout.n_heads,
        "d": d,
        "kv": kv,
        "d+2kv": d + 2 * kv,
        "hidden": config["n_inner"] or 4 * d,
    }


def heads(config: Config) -> Heads:
    """The query heads, and one key/value head for all or one for each."""
    n_heads = config["n_head"]
    d_head = share_of_each_head(config["n_embd"], n_heads, "n_embd", "n_head")
    return Heads(n_heads, 1 if config["multi_query"] else n_heads, d_head)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    norm = Norm("layer", config["layer_norm_epsilon"])
    feed_forward = FeedForward(sizes(config)["hidden"], ACTIVATIONS[config["activation_function"]])
    return Layer(
        heads=heads(config),
        position=NoPosition() if index else Learned(config["n_positions"]),
        scale=SqrtDHead() if config["scale_attn_weights"] else NoScale(),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=feed_forward, norm_2=norm),
    )


GPT_BIGCODE = Family(
    "GPT-BigCode",
    ("gpt_bigcode",),
    "transformer.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    is_tied,
    IGNORED,
)
