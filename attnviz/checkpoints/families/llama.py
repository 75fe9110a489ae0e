"""Llama and Mistral: RMSNorm before each half of a block, RoPE on half-split pairs, grouped heads, SwiGLU.

Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825. Keys and names as in
`transformers`, models/llama and models/mistral. A `sliding_window` of W there lets a query see the keys j
with i - W < j <= i, its own among them: W - 1 earlier keys.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import (
    ACTIVATIONS,
    has_attention_bias,
    is_tied,
    is_untied,
    norm_after_layers,
)
from attnviz.checkpoints.families.family import (
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    flag,
    one_of,
    positive,
    transposed,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS, rope
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, Mask, Window

SIZE_KEYS: tuple[Key, ...] = (
    whole("vocab_size"),
    whole("hidden_size"),
    whole("intermediate_size"),
    whole("num_hidden_layers"),
    whole("num_attention_heads"),
    whole("num_key_value_heads", None),
    whole("head_dim", None),
)
"""The sizes of a model, as most configurations name them."""

KEYS = (
    *SIZE_KEYS,
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    # What SmolLM's configurations say for other programs.
    one_of("rope_interleaved", (False,), False),
    one_of("is_llama_config", (True,), True),
    one_of("hidden_act", tuple(ACTIVATIONS), "silu"),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    flag("tie_word_embeddings", False),
)

MISTRAL_KEYS = (
    *(key for key in SIZE_KEYS if key.name != "num_key_value_heads"),
    whole("num_key_value_heads", 8, null=None),
    *ROPE_KEYS,
    whole("max_position_embeddings", 131_072),
    one_of("hidden_act", tuple(ACTIVATIONS), "silu"),
    positive("rms_norm_eps", 1e-6),
    whole("sliding_window", 4096, null=None),
    flag("tie_word_embeddings", False),
)


def _has_mlp_bias(config: Config) -> bool:
    return bool(config["mlp_bias"])


_LAYER = "model.layers.{layer}."

EMBEDDINGS = (
    Tensor("model.embed_tokens.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

MATRICES = (
    Tensor(_LAYER + "self_attn.q_proj.weight", "projections.query", ("q", "d"), transposed),
    Tensor(_LAYER + "self_attn.k_proj.weight", "projections.key", ("kv", "d"), transposed),
    Tensor(_LAYER + "self_attn.v_proj.weight", "projections.value", ("kv", "d"), transposed),
    Tensor(_LAYER + "self_attn.o_proj.weight", "projections.output", ("d", "q"), transposed),
    Tensor(_LAYER + "mlp.gate_proj.weight", "block.feed_forward.gate", ("hidden", "d"), transposed),
    Tensor(_LAYER + "mlp.up_proj.weight", "block.feed_forward.up", ("hidden", "d"), transposed),
    Tensor(_LAYER + "mlp.down_proj.weight", "block.feed_forward.down", ("d", "hidden"), transposed),
)

NORMS = (
    Tensor(_LAYER + "input_layernorm.weight", "block.norm_1.gain", ("d",)),
    Tensor(_LAYER + "post_attention_layernorm.weight", "block.norm_2.gain", ("d",)),
    Tensor("model.norm.weight", "final_norm.gain", ("d",)),
)

ATTENTION_BIASES = tuple(
    Tensor(
        _LAYER + f"self_attn.{name}_proj.bias",
        f"projections.{role}_bias",
        (size,),
        is_there=has_attention_bias,
    )
    for name, role, size in (
        ("q", "query", "q"),
        ("k", "key", "kv"),
        ("v", "value", "kv"),
        ("o", "output", "d"),
    )
)

MLP_BIASES = tuple(
    Tensor(
        _LAYER + f"mlp.{role}_proj.bias", f"block.feed_forward.{role}_bias", (size,), is_there=_has_mlp_bias
    )
    for role, size in (("gate", "hidden"), ("up", "hidden"), ("down", "d"))
)

IGNORED = (
    Ignored(_LAYER + "self_attn.rotary_emb.inv_freq", "RoPE's frequencies, which the configuration gives"),
    Ignored("model.rotary_emb.inv_freq", "RoPE's frequencies, which the configuration gives"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="model.embed_tokens.weight"),
)


def heads(config: Config) -> Heads:
    """Query heads, key/value heads and d_head, with the defaults that `transformers` has."""
    n_heads, d = config["num_attention_heads"], config["hidden_size"]
    return Heads(n_heads, config["num_key_value_heads"] or n_heads, config["head_dim"] or d // n_heads)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    layout = heads(config)
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "d": config["hidden_size"],
        "q": layout.n_heads * layout.d_head,
        "kv": layout.n_kv_heads * layout.d_head,
        "heads": layout.n_heads,
        "hidden": config["intermediate_size"],
    }


def window(width: int) -> Window:
    """The window of a `sliding_window`, which counts the query's own position."""
    return Window(width - 1, 0)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    layout, norm = heads(config), Norm("rms", config["rms_norm_eps"])
    masks: tuple[Mask, ...] = (Causal(),)
    if config.get("sliding_window") is not None:
        masks += (window(config["sliding_window"]),)
    feed_forward = FeedForward(config["intermediate_size"], ACTIVATIONS[config["hidden_act"]], gated=True)
    return Layer(
        heads=layout,
        position=rope(config, layout.d_head),
        masks=masks,
        block=Block("pre", norm_1=norm, feed_forward=feed_forward, norm_2=norm),
    )


LLAMA = Family(
    "Llama",
    ("llama",),
    "model.",
    KEYS,
    (*EMBEDDINGS, *MATRICES, *NORMS, *ATTENTION_BIASES, *MLP_BIASES),
    sizes,
    layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)

MISTRAL = Family(
    "Mistral",
    ("mistral",),
    "model.",
    MISTRAL_KEYS,
    (*EMBEDDINGS, *MATRICES, *NORMS),
    sizes,
    layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
