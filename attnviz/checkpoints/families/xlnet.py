"""XLNet: the content stream, with Transformer-XL's positions, LayerNorm after each half of a block.

Scores add q · r + u · k + v · r with r = R W_R of the distance; u is `r_w_bias` and v is `r_r_bias`. The
tokens are read in their order, without a permutation and without the query stream that predicts permuted
ones; in a text of one segment the segment terms add the same number to all keys of a query, so that no weight
changes. Yang et al. 2019, arXiv:1906.08237; keys and names as in `transformers`, models/xlnet.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.families.bert import layer_norm
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Array,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    flag,
    is_tied,
    is_untied,
    linear,
    norm,
    one_of,
    positive,
    transposed,
    unread,
    whole,
)
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.parts import Causal, Heads
from attnviz.model.spec.positions import TransformerXl

KEYS = (
    whole("vocab_size"),
    whole("d_model"),
    whole("n_layer"),
    whole("n_head"),
    whole("d_inner"),
    whole("d_head", None),
    activation_key("gelu", "ff_activation"),
    one_of("attn_type", ("bi", "uni"), "bi"),
    positive("layer_norm_eps", 1e-12),
    one_of("bi_data", (False,), False),
    one_of("clamp_len", (-1,), -1),
    one_of("same_length", (False,), False),
    flag("tie_word_embeddings", True),
    # States of earlier texts, which a text alone lacks, heads of classifiers, and the training program.
    *map(unread, ("mem_len", "reuse_len", "use_mems_eval", "use_mems_train", "untie_r")),
    *map(unread, ("summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout")),
    *map(unread, ("start_n_top", "end_n_top", "dropatt", "init", "init_range", "init_std", "ff_act")),
)

_LAYER = "transformer.layer.{layer}."
_ATTENTION = _LAYER + "rel_attn."


def _heads_side_by_side(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """(d, head, feature) as a matrix (d, head · feature)."""
    return (array.reshape(sizes["d"], -1),)


def _into_model(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """(d, head, feature) as a matrix out of the heads, (head · feature, d)."""
    return (array.reshape(sizes["d"], -1).T,)


def _waves_in_turn(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """W_R with the rows of sines and cosines in turn; the file has those of all sines first."""
    rows = np.arange(sizes["d"]).reshape(2, -1).T.ravel()
    return (in_float64(array.reshape(sizes["d"], -1))[rows],)


TENSORS = (
    Tensor("transformer.word_embedding.weight", "vocabulary.embedding", ("vocabulary", "d")),
    *(
        Tensor(_ATTENTION + name, f"projections.{role}", ("d", "heads", "d_head"), _heads_side_by_side)
        for name, role in (("q", "query"), ("k", "key"), ("v", "value"))
    ),
    Tensor(_ATTENTION + "o", "projections.output", ("d", "heads", "d_head"), _into_model),
    Tensor(_ATTENTION + "r", "position.weights", ("d", "heads", "d_head"), _waves_in_turn),
    Tensor(_ATTENTION + "r_w_bias", "position.u", ("heads", "d_head")),
    Tensor(_ATTENTION + "r_r_bias", "position.v", ("heads", "d_head")),
    *norm(_ATTENTION + "layer_norm", "block.norm_1"),
    *linear(_LAYER + "ff.layer_1", "block.feed_forward.up", ("hidden", "d")),
    *linear(_LAYER + "ff.layer_2", "block.feed_forward.down", ("d", "hidden")),
    *norm(_LAYER + "ff.layer_norm", "block.norm_2"),
    Tensor("lm_loss.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor("lm_loss.bias", "vocabulary.bias", ("vocabulary",)),
)

_SEGMENTS = "the segments: within one, every key gets the same"

IGNORED = (
    Ignored("transformer.mask_emb", "the first vector of the query stream, which is not computed"),
    Ignored(_ATTENTION + "r_s_bias", _SEGMENTS),
    Ignored(_ATTENTION + "seg_embed", _SEGMENTS),
    Ignored("lm_loss.weight", "a copy of the embedding", "transformer.word_embedding.weight", is_tied),
)


def _d_head(config: Config) -> int:
    n_heads: int = config["n_head"]
    return config["d_head"] or int(config["d_model"]) // n_heads


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes. Raises `FieldError` for sines without their cosines."""
    d = config["d_model"]
    if d % 2:
        raise FieldError("d_model", d, must_be("an even number, for pairs of a sine and a cosine"))
    return {
        "layers": config["n_layer"],
        "vocabulary": config["vocab_size"],
        "d": d,
        "heads": config["n_head"],
        "d_head": _d_head(config),
        "hidden": config["d_inner"],
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    feed_forward = FeedForward(config["d_inner"], ACTIVATIONS[config["ff_activation"]])
    return Layer(
        heads=Heads(config["n_head"], config["n_head"], _d_head(config)),
        position=TransformerXl(),
        masks=(Causal(),) if config["attn_type"] == "uni" else (),
        block=Block("post", norm_1=layer_norm(config), feed_forward=feed_forward, norm_2=layer_norm(config)),
    )


def around(config: Config) -> Around:
    """Nothing stands around the layers."""
    return Around()


XLNET = Family("XLNet", ("xlnet",), "transformer.", KEYS, TENSORS, sizes, layer, around, IGNORED)
