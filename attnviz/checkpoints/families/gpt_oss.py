"""GPT-OSS: attention sinks, every other layer windowed, YaRN, biases, and a clamped unit in each expert.

The router has a bias, and so has every expert's output; the weights are a softmax over the chosen logits.
OpenAI 2025, arXiv:2508.10925; keys and names as in `transformers`, models/gpt_oss.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    FULL,
    LAYER,
    SLIDING,
    attention,
    by_kind,
    decoder_family,
    decoder_keys,
    every,
    gains,
    heads,
)
from attnviz.checkpoints.families.decoder import sizes as _sizes
from attnviz.checkpoints.families.experts import OF_EXPERT, join, router, stacked
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Sizes,
    Tensor,
    flag,
    has_attention_bias,
    one_of,
    positive,
    texts,
    whole,
)
from attnviz.checkpoints.rotary import rope
from attnviz.core.block import CLAMP_ALPHA, CLAMP_LIMIT
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experts import Experts

YARN = {"rope_type": "yarn", "factor": 32.0, "truncate": False, "original_max_position_embeddings": 4096}
"""The scaling of a configuration that names none."""

KEYS = (
    # The activation is stored beside the sizes; the experts' unit is the clamped one whatever it says.
    *decoder_keys(131_072, one_of("hidden_act", ("silu",), "silu"), n_kv_heads=8, d_head=64),
    one_of("swiglu_alpha", (CLAMP_ALPHA,), CLAMP_ALPHA),
    one_of("swiglu_limit", (CLAMP_LIMIT,), CLAMP_LIMIT),
    positive("rms_norm_eps", 1e-5),
    flag("attention_bias", True),
    whole("sliding_window", 128, null=None),
    texts("layer_types", (SLIDING, FULL)),
    whole("num_local_experts", 128),
    whole("num_experts_per_tok", 4),
)

_EXPERTS = LAYER + "mlp.experts."


def _pairs(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """The gates and ups of the experts side by side, (in, out); they alternate along the last axis."""
    parts = (array[..., 0::2], array[..., 1::2])
    if array.ndim == 2:  # biases
        return tuple(part.reshape(-1) for part in parts)
    return tuple(part.transpose(1, 0, 2).reshape(array.shape[1], -1) for part in parts)


_GATE_UP = (OF_EXPERT + "gate.0", OF_EXPERT + "up.0")
_GATE_UP_BIAS = ("block.feed_forward.gate_bias", "block.feed_forward.up_bias")

TENSORS = (
    *attention(has_attention_bias),
    *gains(),
    Tensor(ATTENTION + "sinks", "sinks", ("heads",)),
    Tensor(_EXPERTS + "gate_up_proj", _GATE_UP, ("experts", "d", "2hidden"), _pairs),
    Tensor(_EXPERTS + "gate_up_proj_bias", _GATE_UP_BIAS, ("experts", "2hidden"), _pairs),
    Tensor(_EXPERTS + "down_proj", OF_EXPERT + "down.0", ("experts", "hidden", "d"), stacked),
    Tensor(_EXPERTS + "down_proj_bias", OF_EXPERT + "down.bias", ("experts", "d")),
    router(LAYER + "mlp.router.weight"),
    Tensor(LAYER + "mlp.router.bias", "block.feed_forward.router_bias", ("experts",)),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    return {**_sizes(config), "experts": config["num_local_experts"]}


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    layout, norm = heads(config), Norm("rms", config["rms_norm_eps"])
    experts = Experts(config["num_local_experts"], config["num_experts_per_tok"], biased=True)
    has_rope = config["rope_parameters"] or config["rope_scaling"]
    return Layer(
        heads=layout,
        position=rope(
            config if has_rope else {**config, "rope_parameters": YARN}, layout.d_head, base=150_000.0
        ),
        masks=by_kind(every(2))(config, index),
        block=Block(
            "pre",
            norm_1=norm,
            feed_forward=FeedForward(
                config["intermediate_size"], "clamped_swish", gated=True, experts=experts
            ),
            norm_2=norm,
        ),
    )


GPT_OSS = decoder_family("GPT-OSS", ("gpt_oss",), KEYS, TENSORS, layer, sizes=sizes, prepare=join)
