"""GPT-J: attention and feed-forward layer beside each other behind one norm, RoPE on some interleaved pairs.

Wang and Komatsuzaki 2021; keys and names as in `transformers`, models/gptj. The attention has no biases, the
feed-forward layer and the logits have.
"""

from __future__ import annotations

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    flag,
    is_untied,
    norm_after_layers,
    one_of,
    positive,
    share_of_each_head,
    transposed,
    whole,
)
from attnviz.checkpoints.families.gpt2 import IGNORED as GPT2_IGNORED
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, Rope

KEYS = (
    whole("vocab_size"),
    whole("n_positions", 2048),
    whole("n_embd"),
    whole("n_layer"),
    whole("n_head"),
    whole("n_inner", None),
    whole("rotary_dim", 64),
    # Written in published configurations for another program, and read by nobody.
    flag("rotary", True),
    activation_key("gelu_new", "activation_function"),
    positive("layer_norm_epsilon", 1e-5),
    one_of("scale_attn_weights", (True,), True),
    flag("tie_word_embeddings", False),
)

_LAYER = "transformer.h.{layer}."

TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_LAYER + "ln_1.weight", "block.norm_1.gain", ("d",)),
    Tensor(_LAYER + "ln_1.bias", "block.norm_1.bias", ("d",)),
    Tensor(_LAYER + "attn.q_proj.weight", "projections.query", ("d", "d"), transposed),
    Tensor(_LAYER + "attn.k_proj.weight", "projections.key", ("d", "d"), transposed),
    Tensor(_LAYER + "attn.v_proj.weight", "projections.value", ("d", "d"), transposed),
    Tensor(_LAYER + "attn.out_proj.weight", "projections.output", ("d", "d"), transposed),
    Tensor(_LAYER + "mlp.fc_in.weight", "block.feed_forward.up", ("hidden", "d"), transposed),
    Tensor(_LAYER + "mlp.fc_in.bias", "block.feed_forward.up_bias", ("hidden",)),
    Tensor(_LAYER + "mlp.fc_out.weight", "block.feed_forward.down", ("d", "hidden"), transposed),
    Tensor(_LAYER + "mlp.fc_out.bias", "block.feed_forward.down_bias", ("d",)),
    Tensor("transformer.ln_f.weight", "final_norm.gain", ("d",)),
    Tensor("transformer.ln_f.bias", "final_norm.bias", ("d",)),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor("lm_head.bias", "vocabulary.bias", ("vocabulary",)),
)

IGNORED = (
    *GPT2_IGNORED,
    Ignored(_LAYER + "attn.embed_positions", "RoPE's sines and cosines, which the configuration gives"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d = config["n_embd"]
    return {
        "layers": config["n_layer"],
        "vocabulary": config["vocab_size"],
        "d": d,
        "hidden": config["n_inner"] or 4 * d,
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    n_heads = config["n_head"]
    d_head = share_of_each_head(config["n_embd"], n_heads, "n_embd", "n_head")
    return Layer(
        heads=Heads(n_heads, n_heads, d_head),
        position=Rope(n_rotated=config["rotary_dim"]),
        masks=(Causal(),),
        block=Block(
            "parallel",
            norm_1=Norm("layer", config["layer_norm_epsilon"]),
            feed_forward=FeedForward(sizes(config)["hidden"], ACTIVATIONS[config["activation_function"]]),
        ),
    )


GPTJ = Family(
    "GPT-J",
    ("gptj",),
    "transformer.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    IGNORED,
)
