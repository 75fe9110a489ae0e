"""Tiny configurations of the families that are rows of `checkpoints/families/decoder.py`."""

from __future__ import annotations

from typing import Any

import transformers

LLAMA = {
    "vocab_size": 13,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WIDE = {**LLAMA, "head_dim": 8}
LISTED = {"layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "sliding_window": 3}


def rope(kind: str = "default", **values: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 500.0, **values}}


FOUR = {"num_experts": 4, "num_experts_per_tok": 2}
FALCON = {
    "vocab_size": 13,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "ffn_hidden_size": 40,
}
MPT = {"vocab_size": 13, "d_model": 24, "n_layers": 3, "n_heads": 4, "max_seq_len": 20}
BIGCODE = {"vocab_size": 13, "n_positions": 20, "n_embd": 24, "n_layer": 3, "n_head": 4}
HALF = rope(partial_rotary_factor=2 / 3)
LONG = {
    "max_position_embeddings": 64,
    "original_max_position_embeddings": 4,
    **rope(
        "longrope",
        short_factor=[1.0, 1.25, 1.5],
        long_factor=[1.0, 2.0, 6.0],
        original_max_position_embeddings=4,
        partial_rotary_factor=1.0,
    ),
}

NEXT = {
    **WIDE,
    **FOUR,
    "moe_intermediate_size": 10,
    "shared_expert_intermediate_size": 14,
    "layer_types": ["full_attention"] * 3,
}

LLAMA_4 = {
    **WIDE,
    "num_local_experts": 4,
    "interleave_moe_layer_step": 2,
    "intermediate_size_mlp": 28,
    "intermediate_size": 10,
    "no_rope_layer_interval": 3,
    "attention_chunk_size": 4,
    "floor_scale": 3,
    "attn_scale": 0.5,
}

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "phi": ("Phi", {**LLAMA, **HALF}),
    "phi3": ("Phi3", LLAMA),
    "phi3, a window and a share": ("Phi3", {**LLAMA, **HALF, "sliding_window": 3}),
    "phi3, longrope": ("Phi3", {**LLAMA, **LONG}),
    "gemma3": ("Gemma3", {**WIDE, **LISTED, "query_pre_attn_scalar": 5}),
    "gemma3, caps": (
        "Gemma3",
        {**WIDE, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "num_hidden_layers": 7},
    ),
    "stablelm": ("StableLm", {**LLAMA, **HALF}),
    "stablelm, parallel": (
        "StableLm",
        {**LLAMA, **HALF, "use_parallel_residual": True, "use_qkv_bias": True},
    ),
    "starcoder2": ("Starcoder2", {**LLAMA, "sliding_window": 3}),
    "starcoder2, no biases": ("Starcoder2", {**LLAMA, "use_bias": False, "tie_word_embeddings": False}),
    "smollm3": ("SmolLM3", {**LLAMA, "num_hidden_layers": 5}),
    "smollm3, own layers": (
        "SmolLM3",
        {**LLAMA, "no_rope_layers": [0, 1, 0], "attention_bias": True, "mlp_bias": True},
    ),
    "olmo2": ("Olmo2", LLAMA),
    "olmo2, biases": ("Olmo2", {**LLAMA, "attention_bias": True, "num_key_value_heads": 1}),
    "granite": (
        "Granite",
        {
            **LLAMA,
            "attention_multiplier": 0.3,
            "embedding_multiplier": 3.0,
            "logits_scaling": 4.0,
            "residual_multiplier": 0.22,
            "hidden_act": "quick_gelu",
        },
    ),
    "cohere": ("Cohere", LLAMA),
    "cohere, biases": ("Cohere", {**LLAMA, "attention_bias": True, "logit_scale": 3.0}),
    "cohere2": ("Cohere2", {**WIDE, **LISTED}),
    "falcon": ("Falcon", FALCON),
    "falcon, two norms": (
        "Falcon",
        {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2, "bias": True},
    ),
    "falcon, one norm": (
        "Falcon",
        {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1},
    ),
    "falcon, one after the other": ("Falcon", {**FALCON, "multi_query": False, "parallel_attn": False}),
    "mpt": ("Mpt", MPT),
    "mpt, six heads": ("Mpt", {**MPT, "n_heads": 6, "attn_config": {"softmax_scale": 0.3}}),
    "bigcode": ("GPTBigCode", BIGCODE),
    "bigcode, own keys": ("GPTBigCode", {**BIGCODE, "multi_query": False, "n_inner": 31}),
    "glm": ("Glm", {**WIDE, **rope(partial_rotary_factor=0.5)}),
    "glm4": ("Glm4", {**WIDE, **rope(partial_rotary_factor=0.5), "attention_bias": False}),
    "mixtral": ("Mixtral", {**LLAMA, "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 4}),
    "qwen2 experts": (
        "Qwen2Moe",
        {**LLAMA, **FOUR, "moe_intermediate_size": 10, "shared_expert_intermediate_size": 14},
    ),
    "qwen2 experts, shares of the chosen": (
        "Qwen2Moe",
        {**LLAMA, **FOUR, "moe_intermediate_size": 9, "norm_topk_prob": True},
    ),
    "qwen3 experts": ("Qwen3Moe", {**LLAMA, **FOUR, "moe_intermediate_size": 10, "norm_topk_prob": True}),
    "nemotron": ("Nemotron", {**LLAMA, **rope(partial_rotary_factor=0.5), "head_dim": 8}),
    "nemotron, biases": ("Nemotron", {**LLAMA, "attention_bias": True, "mlp_bias": True, "head_dim": 4}),
    "arcee": ("Arcee", {**LLAMA, "mlp_bias": True}),
    "qwen3-next": ("Qwen3Next", NEXT),
    "qwen3-next, biases": (
        "Qwen3Next",
        {**NEXT, **rope(partial_rotary_factor=0.5), "attention_bias": True, "norm_topk_prob": False},
    ),
    "llama4": ("Llama4", LLAMA_4),
    "llama4, two of its experts": (
        "Llama4",
        {
            **LLAMA_4,
            "num_experts_per_tok": 2,
            "moe_layers": [0, 2],
            "no_rope_layers": [0, 1, 0],
            "use_qk_norm": False,
            "attn_temperature_tuning": False,
            "attention_bias": True,
            **rope(
                "llama3",
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        },
    ),
    "diffllama": ("DiffLlama", LLAMA),
    "diffllama, biases": (
        "DiffLlama",
        {**WIDE, "num_attention_heads": 8, "num_key_value_heads": 4, "attention_bias": True},
    ),
    "olmoe": ("Olmoe", {**LLAMA, **FOUR, "num_experts_per_tok": 3}),
}
"""The name in `transformers` before `ForCausalLM`, and the values of its configuration."""

NEEDED = (
    "phi",
    "phi3",
    "gemma3",
    "stablelm",
    "starcoder2",
    "cohere2",
    "glm4",
    "falcon, two norms",
    "olmo2",
    "mpt",
    "bigcode",
    "mixtral",
    "qwen2 experts",
    "qwen3-next",
    "nemotron",
    "arcee",
    "llama4",
    "diffllama",
)
"""Cases with three layers whose every tensor is left out in turn."""


def model_and_config(name: str) -> tuple[type[Any], type[Any]]:
    """The model with a head and its configuration."""
    config = f"{name}TextConfig" if name in ("Gemma3", "Llama4") else f"{name}Config"
    return getattr(transformers, f"{name}ForCausalLM"), getattr(transformers, config)


CASES = {name: (*model_and_config(family), values) for name, (family, values) in ROWS.items()}
