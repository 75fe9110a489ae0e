"""Layers of decoders by their parts: a family that differs from Llama in a few of them is one record.

Every part is a function of the configuration; the defaults are those of Llama.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Array,
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    activation_key,
    always,
    as_stored,
    flag,
    is_untied,
    linear,
    never,
    norm,
    norm_after_layers,
    transposed,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS, rope
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm, NormPlacement
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.parts import Causal, Heads, Mask, QKNorm, Scale, SqrtDHead, Window
from attnviz.model.spec.positions import Pairing, Position

SLIDING, FULL = "sliding_attention", "full_attention"


SWISH = activation_key("silu")


def decoder_keys(
    max_positions: int,
    activation: Key = SWISH,
    tied: bool = False,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
) -> tuple[Key, ...]:
    """The keys that most configurations of decoders have, with a family's own defaults."""
    return (
        whole("vocab_size"),
        whole("hidden_size"),
        whole("intermediate_size"),
        whole("num_hidden_layers"),
        whole("num_attention_heads"),
        whole("num_key_value_heads", n_kv_heads, null=None),
        whole("head_dim", d_head, null=None),
        *ROPE_KEYS,
        whole("max_position_embeddings", max_positions),
        activation,
        flag("tie_word_embeddings", tied),
    )


Split = Callable[[Array, Sizes], tuple[Array, ...]]


# --- parts of a layer ------------------------------------------------------------------------------


def heads(config: Config) -> Heads:
    """Query heads, key/value heads and d_head, with the defaults that `transformers` has."""
    n_heads, d = config["num_attention_heads"], config["hidden_size"]
    d_head = config.get("head_dim") or d // n_heads
    return Heads(n_heads, config["num_key_value_heads"] or n_heads, d_head)


def rms(config: Config) -> Norm:
    """RMSNorm."""
    return Norm("rms", config["rms_norm_eps"])


def layer_norm(config: Config) -> Norm:
    """LayerNorm."""
    return Norm("layer", config["layer_norm_eps"])


def causal(config: Config, index: int) -> tuple[Mask, ...]:
    """Every earlier key, or those in a window of the same width in all layers."""
    width = config.get("sliding_window")
    return (Causal(),) if width is None else (Causal(), window(width))


def window(width: int) -> Window:
    """The window of a `sliding_window`, which counts the query's own position."""
    return Window(width - 1, 0)


def kind_of(config: Config, index: int, default: Callable[[int], str]) -> str:
    """Sliding or full, as `layer_types` lists the layers; without a list, the default of their number."""
    given = config["layer_types"]
    if given is None:
        return default(index)
    if len(given) != config["num_hidden_layers"]:
        one_each = Message("must have length {n}, one entry for each layer", n=config["num_hidden_layers"])
        raise FieldError("layer_types", of_length(len(given)), one_each)
    return str(given[index])


def by_kind(default: Callable[[int], str]) -> Callable[[Config, int], tuple[Mask, ...]]:
    """Causal, and a window in the layers that slide; `default` is the kind of a layer by its number."""

    def masks(config: Config, index: int) -> tuple[Mask, ...]:
        if kind_of(config, index, default) == FULL:
            return (Causal(),)
        if config["sliding_window"] is None:
            raise FieldError("sliding_window", None, must_be("a whole number with a sliding layer"))
        return Causal(), window(config["sliding_window"])

    return masks


def every(n: int) -> Callable[[int], str]:
    """Every n-th layer is full, the others slide."""
    return lambda index: FULL if (index + 1) % n == 0 else SLIDING


def rotation(
    pairing: Pairing = "half_split", base: float = 10_000.0, share: float | None = None
) -> Callable[[Config, int], Position]:
    """RoPE in every layer; `base` and `share` are the family's defaults, see `rope`."""

    def position(config: Config, index: int) -> Position:
        return rope(config, heads(config).d_head, pairing, base, share)

    return position


def root(config: Config) -> Scale:
    """Scores divided by the root of d_head."""
    return SqrtDHead()


def no_norm(config: Config) -> QKNorm | None:
    """Queries and keys as they are."""
    return None


def rms_of_heads(config: Config) -> QKNorm | None:
    """RMSNorm of each head's q and k."""
    return QKNorm("rms", config["rms_norm_eps"])


def in_turn(config: Config) -> NormPlacement:
    """A norm before each half."""
    return "pre"


@dataclass(frozen=True)
class Decoder:
    """Parts of a family's layers.

    `norms` are those that a block has; `activation` is the key of its name.
    """

    norm: Callable[[Config], Norm] = rms
    position: Callable[[Config, int], Position] = rotation()
    masks: Callable[[Config, int], tuple[Mask, ...]] = causal
    scale: Callable[[Config], Scale] = root
    qk_norm: Callable[[Config], QKNorm | None] = no_norm
    placement: Callable[[Config], NormPlacement] = in_turn
    norms: Callable[[Config], tuple[str, ...]] = lambda config: ("norm_1", "norm_2")
    cap: Callable[[Config], float | None] = lambda config: None
    residual_scale: Callable[[Config], float] = lambda config: 1.0
    gate: Callable[[Config], Gate | None] = lambda config: None
    activation: str = "hidden_act"
    is_gated: bool = True
    experts: Callable[[Config, int], Experts | None] = lambda config, index: None
    hidden: Callable[[Config, int], int] = lambda config, index: int(config["intermediate_size"])

    def layer(self, config: Config, index: int) -> Layer:
        """One layer without its weights."""
        activation = ACTIVATIONS[config[self.activation]]
        norms = dict.fromkeys(self.norms(config), self.norm(config))
        width, experts = self.hidden(config, index), self.experts(config, index)
        feed_forward = FeedForward(width, activation, gated=self.is_gated, experts=experts)
        return Layer(
            heads=heads(config),
            position=self.position(config, index),
            masks=self.masks(config, index),
            scale=self.scale(config),
            qk_norm=self.qk_norm(config),
            cap=self.cap(config),
            gate=self.gate(config),
            block=Block(
                self.placement(config),
                norm_1=norms.get("norm_1"),
                feed_forward=feed_forward,
                norm_2=norms.get("norm_2"),
                after_1=norms.get("after_1"),
                after_2=norms.get("after_2"),
                residual_scale=self.residual_scale(config),
            ),
        )


# --- tensors ---------------------------------------------------------------------------------------

LAYER = "model.layers.{layer}."
ATTENTION = LAYER + "self_attn."
MLP = LAYER + "mlp."


def fused(
    stem: str,
    places: tuple[str, ...],
    outs: tuple[str, ...],
    size: str,
    has_bias: Callable[[Config], bool] = never,
) -> tuple[Tensor, ...]:
    """A linear map from d whose parts, `outs` wide, follow each other; `size` names the sum."""
    split = _one_after_the_other(outs)
    biases = tuple(f"{place}_bias" for place in places)
    return (
        Tensor(stem + ".weight", places, (size, "d"), split),
        Tensor(stem + ".bias", biases, (size,), split, has_bias),
    )


def _one_after_the_other(outs: tuple[str, ...]) -> Split:
    def split(array: Array, sizes: Sizes) -> tuple[Array, ...]:
        ends = np.cumsum([sizes[name] for name in outs])[:-1]
        return tuple(part.T for part in np.split(array, ends))

    return split


def attention(
    has_bias: Callable[[Config], bool] = never,
    output: str = "o_proj",
    has_output_bias: Callable[[Config], bool] | None = None,
    stem: str = ATTENTION,
) -> tuple[Tensor, ...]:
    """The four maps of an attention; `output` is the name of the last one, with biases of its own."""
    return (
        *linear(stem + "q_proj", "projections.query", ("q", "d"), has_bias),
        *linear(stem + "k_proj", "projections.key", ("kv", "d"), has_bias),
        *linear(stem + "v_proj", "projections.value", ("kv", "d"), has_bias),
        *linear(stem + output, "projections.output", ("d", "q"), has_output_bias or has_bias),
    )


HEAD_GAINS = (
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("head",)),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("head",)),
)
"""The gains of a norm of each head's q and k."""

FFN = "block.feed_forward."


def two_maps(
    up: str, down: str, has_bias: Callable[[Config], bool] = always, stem: str = MLP
) -> tuple[Tensor, ...]:
    """A feed-forward layer without a gate."""
    return (
        *linear(stem + up, FFN + "up", ("hidden", "d"), has_bias),
        *linear(stem + down, FFN + "down", ("d", "hidden"), has_bias),
    )


def three_maps(has_bias: Callable[[Config], bool] = never, stem: str = MLP) -> tuple[Tensor, ...]:
    """A feed-forward layer with a gate."""
    return (
        *linear(stem + "gate_proj", FFN + "gate", ("hidden", "d"), has_bias),
        *linear(stem + "up_proj", FFN + "up", ("hidden", "d"), has_bias),
        *linear(stem + "down_proj", FFN + "down", ("d", "hidden"), has_bias),
    )


def fused_gate(stem: str = MLP) -> tuple[Tensor, ...]:
    """A feed-forward layer whose gate and up are one matrix."""
    return (
        *fused(stem + "gate_up_proj", (FFN + "gate", FFN + "up"), ("hidden", "hidden"), "2hidden"),
        *linear(stem + "down_proj", FFN + "down", ("d", "hidden"), never),
    )


BEFORE_EACH_HALF = (
    (LAYER + "input_layernorm", "block.norm_1"),
    (LAYER + "post_attention_layernorm", "block.norm_2"),
    ("model.norm", "final_norm"),
)
"""Names and places of the norms of Llama."""


def gains(*names: tuple[str, str], split: Split = as_stored) -> tuple[Tensor, ...]:
    """The gains of norms by the stems of their names and their places; without any, those of Llama."""
    return tuple(
        Tensor(f"{stem}.weight", f"{place}.gain", ("d",), split) for stem, place in names or BEFORE_EACH_HALF
    )


def gains_and_biases(*names: tuple[str, str]) -> tuple[Tensor, ...]:
    """The gains and biases of norms, as `gains`."""
    return tuple(row for stem, place in names or BEFORE_EACH_HALF for row in norm(stem, place))


EMBEDDINGS = (
    Tensor("model.embed_tokens.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored(ATTENTION + "rotary_emb.inv_freq", "RoPE's frequencies, which the configuration gives"),
    Ignored("model.rotary_emb.inv_freq", "RoPE's frequencies, which the configuration gives"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="model.embed_tokens.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    layout, hidden = heads(config), config["intermediate_size"]
    q, kv = layout.n_heads * layout.d_head, layout.n_kv_heads * layout.d_head
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "d": config["hidden_size"],
        "q": q,
        "kv": kv,
        "q+2kv": q + 2 * kv,
        "heads": layout.n_heads,
        "head": layout.d_head,
        "hidden": hidden,
        "2hidden": 2 * hidden,
    }


LLAMA_LAYER = Decoder().layer
LLAMA_AROUND = norm_after_layers("rms", "rms_norm_eps")


def decoder_family(
    title: str,
    model_types: tuple[str, ...],
    keys: tuple[Key, ...],
    tensors: tuple[Tensor, ...],
    layer: Callable[[Config, int], Layer] = LLAMA_LAYER,
    around: Callable[[Config], Around] = LLAMA_AROUND,
    sizes: Callable[[Config], Sizes] = sizes,
    prepare: Callable[[Config, Sizes, Arrays], None] | None = None,
) -> Family:
    """A family whose names and sizes are those of Llama; `tensors` are those beside embedding and head."""
    tensors = (*EMBEDDINGS, *tensors)
    return Family(title, model_types, "model.", keys, tensors, sizes, layer, around, IGNORED, prepare=prepare)
