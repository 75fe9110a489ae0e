"""DeepSeek-V2 and V3: keys and values of all heads from one latent of each token, RoPE beside the content.

DeepSeek-AI 2024, arXiv:2405.04434 and arXiv:2412.19437; keys and names as in `transformers`,
models/deepseek_v2 and models/deepseek_v3. The norms of the latents have the eps 1e-6, independent of the
configuration's. With a scaling `factor` and `mscale_all_dim` m, scores grow by the square of 0.1 m ln(factor)
+ 1, besides the effect of `mscale` on cosines and sines.

`first_k_dense_replace` layers, from the first on, have one feed-forward layer, all others experts.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from attnviz.checkpoints.families.decoder import ATTENTION, MLP, decoder_family, gains, three_maps
from attnviz.checkpoints.families.experts import expert_maps, join, router, shared_maps
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Array,
    Config,
    Family,
    Key,
    Sizes,
    Tensor,
    activation_key,
    count,
    flag,
    one_of,
    positive,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS, rope, scaling_values
from attnviz.core.positions import yarn_attention_factor
from attnviz.errors import FieldError, missing, must_be
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Heads, Scale, ScaleValue, SqrtDHead

LATENT_EPS = 1e-6


def _keys(n_dense: int) -> tuple[Key, ...]:
    """Keys of both versions; `n_dense` is the default of `first_k_dense_replace`."""
    return (
        whole("vocab_size"),
        whole("hidden_size"),
        whole("intermediate_size"),
        whole("num_hidden_layers"),
        whole("num_attention_heads"),
        whole("num_key_value_heads", None),
        whole("kv_lora_rank", 512),
        whole("q_lora_rank", 1536, null=None),
        whole("qk_nope_head_dim", 128),
        whole("qk_rope_head_dim", 64),
        whole("v_head_dim", 128),
        *ROPE_KEYS,
        whole("max_position_embeddings", 2048),
        activation_key("silu"),
        positive("rms_norm_eps", 1e-6),
        # The latents' projections have no biases here.
        one_of("attention_bias", (False,), False),
        flag("tie_word_embeddings", False),
        count("first_k_dense_replace", n_dense),
        one_of("moe_layer_freq", (1,), 1),
        # Keys that repeat the widths above.
        whole("head_dim", None),
        whole("qk_head_dim", None),
        *map(unread, ("aux_loss_alpha", "ep_size", "seq_aux")),
    )


V2_KEYS = (
    *_keys(0),
    flag("mlp_bias", False),
    whole("n_routed_experts", 64),
    whole("n_shared_experts", 2),
    whole("moe_intermediate_size", 1407),
    whole("num_experts_per_tok", None),
    whole("n_group", None),
    whole("topk_group", None),
    positive("routed_scaling_factor", 1.0),
    one_of("norm_topk_prob", (False,), False),
    one_of("scoring_func", ("softmax",), "softmax"),
    one_of("topk_method", ("greedy", "group_limited_greedy"), "greedy"),
)

V3_KEYS = (
    *_keys(3),
    whole("n_routed_experts", 256),
    whole("n_shared_experts", 1),
    whole("moe_intermediate_size", 2048),
    whole("num_experts_per_tok", 8),
    whole("n_group", 8),
    whole("topk_group", 4),
    positive("routed_scaling_factor", 2.5),
    flag("norm_topk_prob", True),
    one_of("scoring_func", ("sigmoid",), "sigmoid"),
    one_of("topk_method", ("noaux_tc",), "noaux_tc"),
    flag("rope_interleave", True),
    # Layers that predict further tokens, behind the model's own.
    count("num_nextn_predict_layers", 1),
)


def _has_query_latent(config: Config) -> bool:
    return config["q_lora_rank"] is not None


def _has_no_query_latent(config: Config) -> bool:
    return not _has_query_latent(config)


def _has_mlp_bias(config: Config) -> bool:
    return bool(config.get("mlp_bias"))


def _is_dense(config: Config, index: int) -> bool:
    return bool(index < config["first_k_dense_replace"])


def _has_experts(config: Config, index: int) -> bool:
    return not _is_dense(config, index)


def _is_corrected(config: Config) -> bool:
    return config["topk_method"] == "noaux_tc"


def _down(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """The latent's matrix, and behind it that of the key which all heads share; (out, in)."""
    return array[: sizes["d_c"]].T, array[sizes["d_c"] :].T


def _up(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Of each head the rows of its keys' content, and behind them those of its values; (out, in)."""
    by_head = array.reshape(sizes["heads"], 2, sizes["d_head"], sizes["d_c"])
    return tuple(np.ascontiguousarray(by_head[:, i].reshape(-1, sizes["d_c"]).T) for i in range(2))


TENSORS = (
    *gains(),
    Tensor(ATTENTION + "q_proj.weight", "projections.query", ("q", "d"), transposed, _has_no_query_latent),
    Tensor(ATTENTION + "q_a_proj.weight", "latent.query_down", ("d_q", "d"), transposed, _has_query_latent),
    Tensor(
        ATTENTION + "q_a_layernorm.weight",
        "latent.query_norm.gain",
        ("d_q",),
        is_there=_has_query_latent,
    ),
    Tensor(ATTENTION + "q_b_proj.weight", "projections.query", ("q", "d_q"), transposed, _has_query_latent),
    Tensor(
        ATTENTION + "kv_a_proj_with_mqa.weight",
        ("latent.down", "latent.rope_key"),
        ("d_c+d_rope", "d"),
        _down,
    ),
    Tensor(ATTENTION + "kv_a_layernorm.weight", "latent.norm.gain", ("d_c",)),
    Tensor(ATTENTION + "kv_b_proj.weight", ("latent.up_key", "latent.up_value"), ("kv", "d_c"), _up),
    Tensor(ATTENTION + "o_proj.weight", "projections.output", ("d", "v"), transposed),
    *(replace(row, in_layer=_is_dense) for row in three_maps(_has_mlp_bias)),
    *(
        replace(row, in_layer=_has_experts)
        for row in (
            *expert_maps(MLP + "experts", ("gate_proj", "up_proj", "down_proj")),
            *shared_maps(MLP + "shared_experts"),
            router(MLP + "gate.weight"),
            Tensor(
                MLP + "gate.e_score_correction_bias",
                "block.feed_forward.experts.correction",
                ("experts",),
                is_there=_is_corrected,
            ),
        )
    ),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    n_heads, d_head, d_rope = (
        config[name] for name in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim")
    )
    _check_widths(config)
    return {
        "layers": config["num_hidden_layers"],
        "experts": config["n_routed_experts"],
        "expert_hidden": config["moe_intermediate_size"],
        "shared_hidden": config["moe_intermediate_size"] * config["n_shared_experts"],
        "vocabulary": config["vocab_size"],
        "d": config["hidden_size"],
        "heads": n_heads,
        "d_head": d_head,
        "q": n_heads * (d_head + d_rope),
        "kv": n_heads * 2 * d_head,
        "v": n_heads * d_head,
        "d_c": config["kv_lora_rank"],
        "d_c+d_rope": config["kv_lora_rank"] + d_rope,
        "d_q": config["q_lora_rank"] or 0,
        "hidden": config["intermediate_size"],
    }


def _check_widths(config: Config) -> None:
    """Refuse heads whose values are not as wide as their keys' content, and widths that contradict."""
    d_head, d_rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    widths = {
        "v_head_dim": (d_head, "qk_nope_head_dim"),
        "num_key_value_heads": (config["num_attention_heads"], "num_attention_heads"),
        "head_dim": (d_rope, "qk_rope_head_dim"),
        "qk_head_dim": (d_head + d_rope, "qk_nope_head_dim + qk_rope_head_dim"),
    }
    for name, (value, equal) in widths.items():
        if config[name] not in (None, value):
            raise FieldError(name, config[name], must_be("{value} ({field})", value=value, field=equal))


def experts(config: Config) -> Experts:
    """Of V2 the largest softmax shares, of V3 sigmoids, both perhaps of the best groups; a shared expert."""
    n_groups = config["n_group"] or 1
    is_grouped = config["topk_method"] != "greedy"
    return Experts(
        config["n_routed_experts"],
        config["num_experts_per_tok"],
        "softmax" if config["scoring_func"] == "softmax" else "sigmoid",
        config["norm_topk_prob"],
        config["routed_scaling_factor"],
        n_groups if is_grouped else 1,
        (config["topk_group"] or 1) if is_grouped else 1,
        d_shared=config["moe_intermediate_size"] * config["n_shared_experts"],
    )


def _feed_forward(config: Config, index: int) -> FeedForward:
    """The one feed-forward layer of the first layers, the experts of the others."""
    activation = ACTIVATIONS[config["hidden_act"]]
    if _is_dense(config, index):
        return FeedForward(config["intermediate_size"], activation, gated=True)
    if _has_mlp_bias(config):
        raise FieldError("mlp_bias", True, must_be("false with experts"))
    width, mixture = config["moe_intermediate_size"], experts(config)
    return FeedForward(width, activation, gated=True, experts=mixture)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    n_heads, d_head, d_rope = (
        config[name] for name in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim")
    )
    norm, latent_norm = Norm("rms", config["rms_norm_eps"]), Norm("rms", LATENT_EPS)
    return Layer(
        heads=Heads(n_heads, n_heads, d_head),
        latent=Latent(
            config["kv_lora_rank"],
            config["q_lora_rank"],
            d_rope,
            norm=latent_norm,
            query_norm=latent_norm if _has_query_latent(config) else None,
        ),
        position=rope(config, d_rope, "interleaved" if config.get("rope_interleave", True) else "half_split"),
        scale=scale(config),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=_feed_forward(config, index), norm_2=norm),
    )


def scale(config: Config) -> Scale:
    """1 over the root of a query's features, and more where RoPE is stretched with `mscale_all_dim`."""
    given = scaling_values(config)
    share, factor = given["mscale_all_dim"], given["factor"]
    if given["rope_type"] == "default" or not share:
        return SqrtDHead()
    if factor is None:
        raise missing(f"{given['written']}.factor", must_be("a number with {kind}", kind="mscale_all_dim"))
    grown = 1.0 + share * (yarn_attention_factor(factor) - 1.0)
    return ScaleValue(grown**2 / math.sqrt(config["qk_nope_head_dim"] + config["qk_rope_head_dim"]))


def _family(title: str, model_type: str, keys: tuple[Key, ...]) -> Family:
    return decoder_family(title, (model_type,), keys, TENSORS, layer, sizes=sizes, prepare=join)


DEEPSEEK_V2 = _family("DeepSeek-V2", "deepseek_v2", V2_KEYS)
DEEPSEEK_V3 = _family("DeepSeek-V3", "deepseek_v3", V3_KEYS)
