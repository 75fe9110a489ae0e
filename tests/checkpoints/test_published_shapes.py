"""The tensors of whole published models: names and shapes as the library builds them, without numbers.

Each family's default configuration is that of a published model; the layers are two, as all are alike, or as
many as the kinds of layers that alternate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from attnviz.checkpoints.blueprint import family_of, read_config  # noqa: E402
from attnviz.checkpoints.families.refusals import REFUSED  # noqa: E402  (skipped without it)
from attnviz.checkpoints.families.table import FAMILIES  # noqa: E402
from attnviz.checkpoints.plan import plan  # noqa: E402
from attnviz.checkpoints.reader import Checkpoint, CheckpointError, StoredTensor  # noqa: E402

PUBLISHED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "microsoft/phi-2": (
        "PhiForCausalLM",
        "PhiConfig",
        {"hidden_size": 2560, "intermediate_size": 10_240, "partial_rotary_factor": 0.4},
    ),
    "microsoft/Phi-3-mini-4k-instruct": ("Phi3ForCausalLM", "Phi3Config", {"sliding_window": 2047}),
    "google/gemma-3-270m": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        {"hidden_size": 640, "intermediate_size": 2048, "num_key_value_heads": 1, "sliding_window": 512},
    ),
    "stabilityai/stablelm-2-1_6b": (
        "StableLmForCausalLM",
        "StableLmConfig",
        {"hidden_size": 2048, "intermediate_size": 5632, "use_qkv_bias": True, "vocab_size": 100_352},
    ),
    "bigcode/starcoder2-3b": ("Starcoder2ForCausalLM", "Starcoder2Config", {"sliding_window": 4096}),
    "HuggingFaceTB/SmolLM3-3B": ("SmolLM3ForCausalLM", "SmolLM3Config", {}),
    "allenai/OLMo-2-1124-7B": ("Olmo2ForCausalLM", "Olmo2Config", {"vocab_size": 100_352}),
    "ibm-granite/granite-3.0-2b-base": (
        "GraniteForCausalLM",
        "GraniteConfig",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_key_value_heads": 8,
            "residual_multiplier": 0.22,
        },
    ),
    "nvidia/Minitron-4B-Base": (
        "NemotronForCausalLM",
        "NemotronConfig",
        {"hidden_size": 3072, "intermediate_size": 9216, "num_attention_heads": 24, "num_key_value_heads": 8},
    ),
    "arcee-ai/AFM-4.5B": ("ArceeForCausalLM", "ArceeConfig", {}),
    "meta-llama/Llama-4-Maverick-17B-128E, text": (
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        {"num_local_experts": 128, "interleave_moe_layer_step": 2, "use_qk_norm": False},
    ),
    "kajuma/DiffLlama-0.3B-handcut": ("DiffLlamaForCausalLM", "DiffLlamaConfig", {}),
    "CohereForAI/c4ai-command-r-v01": ("CohereForCausalLM", "CohereConfig", {}),
    "CohereForAI/c4ai-command-r7b-12-2024": (
        "Cohere2ForCausalLM",
        "Cohere2Config",
        {
            "hidden_size": 4096,
            "intermediate_size": 14_336,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
    ),
    "THUDM/glm-4-9b-chat-hf": ("GlmForCausalLM", "GlmConfig", {}),
    "THUDM/GLM-4-9B-0414": ("Glm4ForCausalLM", "Glm4Config", {}),
    "tiiuae/falcon-7b": ("FalconForCausalLM", "FalconConfig", {"num_attention_heads": 71}),
    "tiiuae/falcon-40b": (
        "FalconForCausalLM",
        "FalconConfig",
        {
            "hidden_size": 8192,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "ffn_hidden_size": 32_768,
            "new_decoder_architecture": True,
        },
    ),
    "mosaicml/mpt-7b": ("MptForCausalLM", "MptConfig", {"d_model": 4096, "n_heads": 32}),
    "bigcode/gpt_bigcode-santacoder": (
        "GPTBigCodeForCausalLM",
        "GPTBigCodeConfig",
        {"n_embd": 2048, "n_head": 16, "n_positions": 2048, "vocab_size": 49_280},
    ),
    "google/electra-base-generator": (
        "ElectraForMaskedLM",
        "ElectraConfig",
        {"hidden_size": 256, "embedding_size": 768, "num_attention_heads": 4, "intermediate_size": 1024},
    ),
    "albert/albert-base-v2": (
        "AlbertForMaskedLM",
        "AlbertConfig",
        {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    ),
    "answerdotai/ModernBERT-base": ("ModernBertForMaskedLM", "ModernBertConfig", {}),
    "openai/clip-vit-large-patch14, text": (
        "CLIPTextModel",
        "CLIPTextConfig",
        {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12},
    ),
    "facebook/bart-large": ("BartForConditionalGeneration", "BartConfig", {}),
    "Helsinki-NLP/opus-mt-en-de": (
        "MarianMTModel",
        "MarianConfig",
        {
            "d_model": 512,
            "encoder_ffn_dim": 2048,
            "decoder_ffn_dim": 2048,
            "encoder_attention_heads": 8,
            "decoder_attention_heads": 8,
            "max_position_embeddings": 512,
            "scale_embedding": True,
            "activation_function": "swish",
        },
    ),
}

LAYER_KEYS = ("num_hidden_layers", "n_layers", "n_layer", "encoder_layers", "decoder_layers")


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_configuration_by_shape(name: str) -> None:
    model_name, config_name, values = PUBLISHED[name]
    config_type = getattr(transformers, config_name)
    layers = {key: 2 for key in LAYER_KEYS if key in config_type().to_dict()}
    config = config_type(**{**layers, **values})
    with torch.device("meta"):
        model = getattr(transformers, model_name)(config)
    tensors = stored(model)
    written = json.loads(config.to_json_string(use_diff=False)) | {"architectures": [model_name]}
    family = family_of(written)
    read = read_config(family, written)
    planned = plan(family, read, family.sizes(read), Checkpoint(Path(), written, tensors))
    assert {one.stored.name for one in planned} == set(tensors)
    assert all(family.layer(read, index) for index in range(2))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.model_types[0])
def test_a_type_that_cannot_be_computed_is_refused_with_its_kin(row: Any) -> None:
    known = {name for family in FAMILIES for name in family.model_types}
    assert row.kin in known
    for model_type in row.model_types:
        assert model_type not in known
        with pytest.raises(CheckpointError, match=f"such as .{row.kin}.; got .{model_type}."):
            family_of({"model_type": model_type})


def stored(model: Any) -> dict[str, StoredTensor]:
    """The tensors of a model by name, without those that are not saved."""
    tied = set(model.all_tied_weights_keys) | set(model._keys_to_ignore_on_save or ())
    return {
        key: StoredTensor(Path("model.safetensors"), key, "F32", tuple(tensor.shape), 0)
        for key, tensor in model.state_dict().items()
        if key not in tied
    }


KNOWN = "a type whose computation is known"
FITS = KNOWN + ": names and shapes of the tensors are those of '{}', but its computation may differ"
UNLISTED = (
    ("Helium", "ForCausalLM", FITS.format("llama")),
    ("EuroBert", "ForMaskedLM", FITS.format("llama")),
    ("Qwen2VLText", "Model", FITS.format("qwen2")),
    ("VaultGemma", "ForCausalLM", KNOWN + ", such as 'gemma2', the nearest one"),
    ("MPNet", "ForMaskedLM", KNOWN + ", such as 'roberta', the nearest one, which has no tensor 'mpnet."),
    ("Persimmon", "ForCausalLM", KNOWN + ", such as 'phi', the nearest one, which has no tensor"),
    ("ViTMSN", "ForImageClassification", KNOWN + ", such as 'vit', the nearest one, which has no tensor"),
    ("Glm4Moe", "ForCausalLM", "a type without experts of another kind, such as "),
    ("Qwen2VL", "ForConditionalGeneration", "a type without image patches as tokens, such as "),
    ("Llava", "ForConditionalGeneration", "a type without image patches as tokens, such as 'llama'"),
    ("Qwen2Audio", "ForConditionalGeneration", "a type without convolutions over sound, such as 'whisper'"),
    ("Levit", "ForImageClassification", "a type without stages of several resolutions, such as 'vit'"),
    ("HGNetV2", "ForImageClassification", "a type without convolutions in place of attention, such as 'vit'"),
)
"""Types of `transformers` that the program does not know, and what their refusals say."""


@pytest.mark.parametrize(("name", "task", "says"), UNLISTED, ids=[row[0] for row in UNLISTED])
def test_a_type_without_a_row_is_refused_with_its_part_and_its_kin(name: str, task: str, says: str) -> None:
    config = getattr(transformers, f"{name}Config")()
    for key in ("num_hidden_layers", "num_layers"):
        if type(getattr(config, key, None)) is int:
            setattr(config, key, 2)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:2]
    with torch.device("meta"):
        model = getattr(transformers, name + task)(config)
    written = json.loads(config.to_json_string(use_diff=False)) | {"architectures": [name + task]}
    with pytest.raises(CheckpointError) as caught:
        family_of(written, stored(model))
    said = str(caught.value)
    assert said.startswith(f"config.json: model_type must be {says}")
    assert said.endswith(f"; got {config.model_type!r}.") and len(said) < 300


def test_layers_of_linear_attention_are_refused_by_number() -> None:
    written = json.loads(transformers.Qwen3NextConfig().to_json_string(use_diff=False))
    family = family_of(written)
    read = read_config(family, written)
    with pytest.raises(ValueError, match="'full_attention' in every layer, .*'qwen3_moe'") as caught:
        family.layer(read, 3)
    assert "got linear_attention in the layers 0-2, 4-6, " in str(caught.value)
