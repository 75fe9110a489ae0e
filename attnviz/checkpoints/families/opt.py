"""OPT: a table of positions that begins at its third row, LayerNorm before each half of a block, ReLU.

Zhang et al. 2022, arXiv:2205.01068; keys and names as in `transformers`, models/opt.
"""

from __future__ import annotations

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Arrays,
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
    share_of_each_head,
    transposed,
    whole,
)
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition
from attnviz.model.spec.positions import Learned

FIRST = 2
"""The row of the position table that the first token gets."""
EPS = 1e-5
"""Of all norms; the configuration has no key for it."""

KEYS = (
    whole("vocab_size", 50_272),
    whole("hidden_size", 768),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    whole("ffn_dim", 3072),
    whole("max_position_embeddings", 2048),
    whole("word_embed_proj_dim", None),
    activation_key("relu", "activation_function"),
    one_of("do_layer_norm_before", (True,), True),
    one_of("_remove_final_layer_norm", (False,), False),
    one_of("enable_bias", (True,), True),
    one_of("layer_norm_elementwise_affine", (True,), True),
    flag("tie_word_embeddings", True),
)

_LAYER = "model.decoder.layers.{layer}."
_EMBEDDING = "model.decoder.embed_tokens.weight"
_FFN = "block.feed_forward"

TENSORS = (
    Tensor(_EMBEDDING, "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("model.decoder.embed_positions.weight", "position.table", ("positions", "d")),
    *(
        tensor
        for name, role in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output"))
        for tensor in linear(f"{_LAYER}self_attn.{name}_proj", f"projections.{role}", ("d", "d"))
    ),
    *norm(_LAYER + "self_attn_layer_norm", "block.norm_1"),
    *linear(_LAYER + "fc1", f"{_FFN}.up", ("hidden", "d")),
    *linear(_LAYER + "fc2", f"{_FFN}.down", ("d", "hidden")),
    *norm(_LAYER + "final_layer_norm", "block.norm_2"),
    *norm("model.decoder.final_layer_norm", "final_norm"),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (Ignored("lm_head.weight", "a copy of the embedding", _EMBEDDING, is_tied),)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes. Raises `FieldError` for an embedding of another width than the layers."""
    d = config["hidden_size"]
    share_of_each_head(d, config["num_attention_heads"], "hidden_size", "num_attention_heads")
    if config["word_embed_proj_dim"] not in (None, d):
        same = must_be("{d}, as hidden_size", d=d)
        raise FieldError("word_embed_proj_dim", config["word_embed_proj_dim"], same)
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "positions": config["max_position_embeddings"] + FIRST,
        "d": d,
        "hidden": config["ffn_dim"],
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads, norm_ = config["num_attention_heads"], Norm("layer", EPS)
    feed_forward = FeedForward(config["ffn_dim"], ACTIVATIONS[config["activation_function"]])
    return Layer(
        heads=Heads(n_heads, n_heads, config["hidden_size"] // n_heads),
        position=NoPosition() if index else Learned(config["max_position_embeddings"]),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm_, feed_forward=feed_forward, norm_2=norm_),
    )


def around(config: Config) -> Around:
    """A norm after the last layer."""
    return Around(final_norm=Norm("layer", EPS))


def prepare(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """Leave out the rows before the first position."""
    common = arrays["layers", None]
    if "position.table" in common:
        common["position.table"] = common["position.table"][FIRST:]


OPT = Family("OPT", ("opt",), "model.", KEYS, TENSORS, sizes, layer, around, IGNORED, prepare=prepare)
