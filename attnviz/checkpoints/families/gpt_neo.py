"""GPT-Neo: GPT-2 with separate projections, scores that nothing divides, and a window in every other layer.

Black et al. 2021, doi:10.5281/zenodo.5297715; the TinyStories models (Eldan and Li 2023, arXiv:2305.07759).
Keys and names as in `transformers`, models/gpt_neo.
"""

from __future__ import annotations

from typing import Any

from attnviz.checkpoints.families.decoder import window
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    activation_key,
    flag,
    is_tied,
    is_untied,
    linear,
    norm,
    positive,
    share_of_each_head,
    texts,
    transposed,
    whole,
)
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition, NoScale
from attnviz.model.spec.positions import Learned

GLOBAL, LOCAL = "global", "local"

MOST_LAYERS = 1000
"""Largest count of a pair of `attention_types`."""


def _are_repeated(value: Any) -> bool:
    """True for a list of pairs: a list of kinds, and how often it is repeated."""
    return isinstance(value, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], list)
        and all(kind in (GLOBAL, LOCAL) for kind in pair[0])
        and type(pair[1]) is int
        and 0 <= pair[1] <= MOST_LAYERS
        for pair in value
    )


KEYS = (
    whole("vocab_size", 50_257),
    whole("hidden_size", 2048),
    whole("num_layers", 24),
    whole("num_heads", 16),
    whole("intermediate_size", None),
    whole("max_position_embeddings", 2048),
    whole("window_size", 256),
    activation_key("gelu_new", "activation_function"),
    positive("layer_norm_epsilon", 1e-5),
    texts("attention_layers", (GLOBAL, LOCAL)),
    # [[["global", "local"], 12]]: the kinds, repeated; attention_layers lists them one by one.
    Key("attention_types", None, _are_repeated, must_be("a list of [kinds, count]")),
    flag("tie_word_embeddings", True),
)

_LAYER = "transformer.h.{layer}."
_ATTENTION = _LAYER + "attn.attention."
_FFN = "block.feed_forward"

TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("transformer.wpe.weight", "position.table", ("positions", "d")),
    *norm(_LAYER + "ln_1", "block.norm_1"),
    *(
        Tensor(f"{_ATTENTION}{name}_proj.weight", f"projections.{role}", ("d", "d"), transposed)
        for name, role in (("q", "query"), ("k", "key"), ("v", "value"))
    ),
    *linear(_ATTENTION + "out_proj", "projections.output", ("d", "d")),
    *norm(_LAYER + "ln_2", "block.norm_2"),
    *linear(_LAYER + "mlp.c_fc", f"{_FFN}.up", ("hidden", "d")),
    *linear(_LAYER + "mlp.c_proj", f"{_FFN}.down", ("d", "hidden")),
    *norm("transformer.ln_f", "final_norm"),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored(_ATTENTION + "bias", "the causal mask"),
    Ignored(_ATTENTION + "masked_bias", "the number of a blocked score"),
    Ignored("lm_head.weight", "a copy of the embedding", "transformer.wte.weight", is_tied),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    share_of_each_head(config["hidden_size"], config["num_heads"], "hidden_size", "num_heads")
    return {
        "layers": config["num_layers"],
        "vocabulary": config["vocab_size"],
        "positions": config["max_position_embeddings"],
        "d": config["hidden_size"],
        "hidden": _hidden(config),
    }


def _hidden(config: Config) -> int:
    return int(config["intermediate_size"] or 4 * config["hidden_size"])


def _kind(config: Config, index: int) -> Any:
    """Global or local: as listed, or alternating."""
    listed = config["attention_layers"]
    if listed is None and config["attention_types"] is not None:
        listed = [kind for kinds, count in config["attention_types"] for _ in range(count) for kind in kinds]
    if listed is None:
        return (GLOBAL, LOCAL)[index % 2]
    if len(listed) != config["num_layers"]:
        one_each = Message("must have length {n}, one entry for each layer", n=config["num_layers"])
        raise FieldError("attention_layers", of_length(len(listed)), one_each)
    return listed[index]


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads, norm_ = config["num_heads"], Norm("layer", config["layer_norm_epsilon"])
    feed_forward = FeedForward(_hidden(config), ACTIVATIONS[config["activation_function"]])
    is_local = _kind(config, index) == LOCAL
    return Layer(
        heads=Heads(n_heads, n_heads, config["hidden_size"] // n_heads),
        position=NoPosition() if index else Learned(config["max_position_embeddings"]),
        scale=NoScale(),
        masks=(Causal(), window(config["window_size"])) if is_local else (Causal(),),
        block=Block("pre", norm_1=norm_, feed_forward=feed_forward, norm_2=norm_),
    )


def around(config: Config) -> Around:
    """A norm after the last layer."""
    return Around(final_norm=Norm("layer", config["layer_norm_epsilon"]))


GPT_NEO = Family("GPT-Neo", ("gpt_neo",), "transformer.", KEYS, TENSORS, sizes, layer, around, IGNORED)
