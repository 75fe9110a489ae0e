"""Decoder families against eager `transformers` with random weights, layer by layer, in float64, on both
engines.

The models are saved by `save_pretrained` and read from the disk. `reference_models.promoted` says how the
library's own casts to float32 are made float64.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as torch_tensors
from safetensors.torch import save_file as save_torch_tensors

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from checkpoints import decoder_cases  # noqa: E402  (skipped without it)
from checkpoints.reference_models import (  # noqa: E402  (skipped without it)
    IDS,
    Expected,
    expected,
    imported,
    promoted,
    random_model,
    run_and_compare,
)
from transformers import (  # noqa: E402
    Gemma2Config,
    Gemma2ForCausalLM,
    GemmaConfig,
    GemmaForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    GPTJConfig,
    GPTJForCausalLM,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaModel,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from attnviz.checkpoints import CheckpointError, import_checkpoint  # noqa: E402
from attnviz.checkpoints.blueprint import family_of, read_config  # noqa: E402
from attnviz.checkpoints.families.family import REQUIRED  # noqa: E402
from attnviz.compute.execute import execute_decoding  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402
from attnviz.model.io.files import matrices  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.model.spec.parts import Rope  # noqa: E402

TOLERANCE = 1e-10

LLAMA = {
    "vocab_size": 13,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}
GPT2 = {"vocab_size": 13, "n_positions": 20, "n_embd": 24, "n_layer": 3, "n_head": 4}

GEMMA2 = {**LLAMA, "sliding_window": 3, "query_pre_attn_scalar": 5}
NEOX = {
    "vocab_size": 13,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5},
}
QWEN = {key: value for key, value in LLAMA.items() if key != "head_dim"}
GPT_NEO = {
    "vocab_size": 13,
    "hidden_size": 24,
    "num_layers": 3,
    "num_heads": 4,
    "max_position_embeddings": 20,
    "window_size": 3,
    "attention_types": [[["global", "local"], 1], [["global"], 1]],
}
OPT = {
    "vocab_size": 13,
    "hidden_size": 24,
    "word_embed_proj_dim": 24,
    "ffn_dim": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 20,
}
OSS = {**LLAMA, "head_dim": 16, "num_local_experts": 1, "num_experts_per_tok": 1, "sliding_window": 4}


def rope(kind: str, **values: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 500.0, **values}}


LONGROPE = {"short_factor": [1.0, 1.25, 1.5, 2.0], "long_factor": [1.0, 2.0, 6.0, 16.0], "factor": 16.0}

CASES: dict[str, tuple[type[Any], type[Any], dict[str, Any]]] = {
    "gpt2": (GPT2LMHeadModel, GPT2Config, GPT2),
    "gpt2 untied": (GPT2LMHeadModel, GPT2Config, {**GPT2, "tie_word_embeddings": False}),
    "gpt2 by layer": (GPT2LMHeadModel, GPT2Config, {**GPT2, "scale_attn_by_inverse_layer_idx": True}),
    "gpt2 no scale": (GPT2LMHeadModel, GPT2Config, {**GPT2, "scale_attn_weights": False, "n_inner": 31}),
    "gpt2 relu": (GPT2LMHeadModel, GPT2Config, {**GPT2, "activation_function": "relu"}),
    "gpt2 gelu": (GPT2LMHeadModel, GPT2Config, {**GPT2, "activation_function": "gelu"}),
    "gpt2 without a head": (GPT2Model, GPT2Config, GPT2),
    "llama": (LlamaForCausalLM, LlamaConfig, LLAMA),
    "llama tied": (LlamaForCausalLM, LlamaConfig, {**LLAMA, "tie_word_embeddings": True}),
    "llama biases": (
        LlamaForCausalLM,
        LlamaConfig,
        {**LLAMA, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 1},
    ),
    "llama base": (LlamaForCausalLM, LlamaConfig, {**LLAMA, **rope("default")}),
    "llama linear": (LlamaForCausalLM, LlamaConfig, {**LLAMA, **rope("linear", factor=3.0)}),
    "llama dynamic": (
        LlamaForCausalLM,
        LlamaConfig,
        {**LLAMA, **rope("dynamic", factor=3.0), "max_position_embeddings": 4},
    ),
    "llama dynamic, short": (LlamaForCausalLM, LlamaConfig, {**LLAMA, **rope("dynamic", factor=3.0)}),
    "llama yarn": (
        LlamaForCausalLM,
        LlamaConfig,
        {**LLAMA, **rope("yarn", factor=4.0, original_max_position_embeddings=16)},
    ),
    "llama yarn, its own factor": (
        LlamaForCausalLM,
        LlamaConfig,
        {
            **LLAMA,
            **rope(
                "yarn",
                factor=4.0,
                original_max_position_embeddings=16,
                attention_factor=1.5,
                beta_fast=4.0,
                beta_slow=0.25,
            ),
        },
    ),
    "llama yarn, mscale": (
        LlamaForCausalLM,
        LlamaConfig,
        {
            **LLAMA,
            **rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.3, mscale_all_dim=0.7),
        },
    ),
    "llama 3": (
        LlamaForCausalLM,
        LlamaConfig,
        {
            **LLAMA,
            **rope(
                "llama3",
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        },
    ),
    "llama longrope, long": (
        LlamaForCausalLM,
        LlamaConfig,
        {**LLAMA, **rope("longrope", **LONGROPE, original_max_position_embeddings=4)},
    ),
    "llama longrope, short": (
        LlamaForCausalLM,
        LlamaConfig,
        {**LLAMA, **rope("longrope", **LONGROPE, original_max_position_embeddings=32, attention_factor=1.5)},
    ),
    "llama without a head": (LlamaModel, LlamaConfig, LLAMA),
    "mistral": (MistralForCausalLM, MistralConfig, {**LLAMA, "sliding_window": 4}),
    "mistral, own position only": (MistralForCausalLM, MistralConfig, {**LLAMA, "sliding_window": 1}),
    "mistral, no window": (MistralForCausalLM, MistralConfig, {**LLAMA, "sliding_window": None}),
    "gemma2": (Gemma2ForCausalLM, Gemma2Config, GEMMA2),
    "gemma2, hard caps": (
        Gemma2ForCausalLM,
        Gemma2Config,
        {
            **GEMMA2,
            "attn_logit_softcapping": 1.5,
            "final_logit_softcapping": 2.0,
            "tie_word_embeddings": False,
        },
    ),
    "gemma2, no caps": (
        Gemma2ForCausalLM,
        Gemma2Config,
        {**GEMMA2, "attn_logit_softcapping": None, "final_logit_softcapping": None, "attention_bias": True},
    ),
    "gemma2, own layers": (
        Gemma2ForCausalLM,
        Gemma2Config,
        {**GEMMA2, "layer_types": ["full_attention", "full_attention", "sliding_attention"]},
    ),
    "gpt-neox": (GPTNeoXForCausalLM, GPTNeoXConfig, NEOX),
    "gpt-neox, one after the other": (
        GPTNeoXForCausalLM,
        GPTNeoXConfig,
        {**NEOX, "use_parallel_residual": False, "attention_bias": False, "hidden_act": "gelu_new"},
    ),
    "gpt-neox, all features turn": (
        GPTNeoXForCausalLM,
        GPTNeoXConfig,
        {**NEOX, **rope("linear", partial_rotary_factor=1.0, factor=2.0)},
    ),
    "gpt-j": (GPTJForCausalLM, GPTJConfig, {**GPT2, "rotary_dim": 4}),
    "gpt-j, all features turn": (GPTJForCausalLM, GPTJConfig, {**GPT2, "rotary_dim": 6, "n_inner": 31}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, QWEN),
    "qwen2, windows": (
        Qwen2ForCausalLM,
        Qwen2Config,
        {**QWEN, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
    ),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, LLAMA),
    "qwen3 biases": (Qwen3ForCausalLM, Qwen3Config, {**LLAMA, "attention_bias": True}),
    "gemma": (GemmaForCausalLM, GemmaConfig, LLAMA),
    "gpt-neo": (GPTNeoForCausalLM, GPTNeoConfig, GPT_NEO),
    "gpt-neo untied": (GPTNeoForCausalLM, GPTNeoConfig, {**GPT_NEO, "tie_word_embeddings": False}),
    "opt": (OPTForCausalLM, OPTConfig, OPT),
    "opt untied": (OPTForCausalLM, OPTConfig, {**OPT, "tie_word_embeddings": False}),
    "gpt-oss": (GptOssForCausalLM, GptOssConfig, OSS),
    "gpt-oss experts": (
        GptOssForCausalLM,
        GptOssConfig,
        {**OSS, "num_local_experts": 3, "num_experts_per_tok": 2},
    ),
    "gpt-oss, no biases": (
        GptOssForCausalLM,
        GptOssConfig,
        {**OSS, "attention_bias": False, "layer_types": ["full_attention"] * 3, "tie_word_embeddings": True},
    ),
    **decoder_cases.CASES,
}


@pytest.fixture(scope="module", params=CASES, ids=list(CASES))
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, Expected]:
    model_type, config_type, values = CASES[request.param]
    folder: Path = tmp_path_factory.mktemp("model")
    with promoted():
        model = random_model(model_type, config_type(**values))
        wanted = expected(model)
    return imported(model, folder), wanted


@pytest.mark.parametrize(
    "engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["numpy", "torch"]
)
def test_every_layer_equals_transformers(case: tuple[Experiment, Expected], engine: Any) -> None:
    experiment, wanted = case
    assert max(float(abs(layer).max()) for layer in wanted.hidden) > 0.5
    found = run_and_compare(engine, experiment, wanted)
    assert found.keys() >= {"weights", "hidden states"}
    assert (wanted.logits is None) == ("logits" not in found)
    assert max(found.values()) < TOLERANCE, found


@pytest.mark.parametrize("name", CASES)
def test_weights_of_16_bits_are_multiplied_where_they_lie(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All weights in the file in bfloat16: a whole pass, and a token after the other."""
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)
    model_type, config_type, values = CASES[name]
    with promoted():
        model = random_model(model_type, config_type(**values))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16())
        wanted = expected(model)
    model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    short = {name: tensor.bfloat16() for name, tensor in torch_tensors(file).items()}
    save_torch_tensors(short, file)
    experiment = import_checkpoint(tmp_path, ids=IDS, dtype="float64").experiment
    assert any(matrix.bits is not None for _path, matrix in matrices(experiment) if matrix.lies_in_file)
    worst = run_and_compare(NumpyEngine("float64"), experiment, wanted)
    assert max(worst.values()) <= TOLERANCE, worst
    if wanted.logits is not None:
        steps = execute_decoding(experiment).steps
        found = np.array([step["logits"] for step in steps])
        np.testing.assert_allclose(found, wanted.logits, rtol=0, atol=TOLERANCE)


def test_falcons_alibi_is_added_once(tmp_path: Path) -> None:
    """The reference's eager layers add the biases to the mask, too; its fused ones do not."""
    values = {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}
    with promoted():
        model = random_model(
            transformers.FalconForCausalLM,
            transformers.FalconConfig(**decoder_cases.FALCON, **values),
        )
        model.config._attn_implementation = "sdpa"
        with torch.no_grad():
            wanted = model(torch.tensor([IDS]), use_cache=False).logits[0].numpy()
    trace = run(NumpyEngine("float64"), imported(model, tmp_path))
    np.testing.assert_allclose(trace.site("layers.2.self")["logits"], wanted, rtol=0, atol=TOLERANCE)


# --- every tensor counts ---------------------------------------------------------------------------

ONE_OF_EACH = (
    "gpt2 untied",
    "llama biases",
    "mistral",
    "gemma2, no caps",
    "gpt-neox",
    "gpt-j",
    "gpt-oss",
    "qwen2",
    "qwen3 biases",
    "gemma",
    "gpt-neo untied",
    *decoder_cases.NEEDED,
)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_tensor_is_needed_in_its_shape(name: str, tmp_path: Path) -> None:
    model_type, config_type, values = CASES[name]
    model = random_model(model_type, config_type(**values))
    experiment = imported(model, tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    assert len(experiment.layers) == 3
    for tensor in sorted(tensors):
        kept = {other: array for other, array in tensors.items() if other != tensor}
        save_file(kept, file)
        with pytest.raises(
            CheckpointError,
            match=re.escape(f"tensor {tensor!r} must have the shape ") + ".*; got nothing",
        ) as caught:
            import_checkpoint(tmp_path, ids=IDS)
        assert repr(tensor) in str(caught.value)
        longer = np.concatenate([tensors[tensor], tensors[tensor][:1]])
        save_file({**kept, tensor: longer}, file)
        with pytest.raises(
            CheckpointError,
            match=re.escape(f"tensor {tensor!r} must have the shape ") + r".*; got \d",
        ):
            import_checkpoint(tmp_path, ids=IDS)
        # Another number in any tensor makes another experiment: none is read and thrown away.
        changed = tensors[tensor].copy()
        changed.flat[-1] += 1.0
        save_file({**kept, tensor: changed}, file)
        assert import_checkpoint(tmp_path, ids=IDS, dtype="float64").experiment != experiment, tensor


# --- configurations --------------------------------------------------------------------------------

OWN = {
    "attention_layers",
    "attention_types",
    "attn_config",
    "ffn_hidden_size",
    "layer_types",
    "head_dim",
    "moe_layers",
    "no_rope_layers",
    "num_key_value_heads",
    "num_kv_heads",
    "rope_parameters",
    "rope_scaling",
}
"""Keys that the library fills in from others; every case above reads them."""


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_what_a_missing_key_means(name: str) -> None:
    config = CASES[name][1]()
    family = family_of({"model_type": config.model_type})
    sizes = {key.name: getattr(config, key.name) for key in family.keys if key.default is REQUIRED}
    read = read_config(family, {"model_type": config.model_type, **sizes})
    compared = [key for key in read if hasattr(config, key) and key not in OWN | set(sizes)]
    unread = {key.name for key in family.keys if str(key.requirement) == "must be any value"}
    compared = [key for key in compared if key not in unread]
    assert {key: read[key] for key in compared} == {key: getattr(config, key) for key in compared}
    assert len(compared) >= 4
    computed = {"num_local_experts": 1, "num_experts_per_tok": 1, "full_attention_interval": 1}
    layers = [family.layer({**read, **computed}, index) for index in (0, 1)]
    rotation = getattr(config, "rope_parameters", None)
    for layer in layers:
        if rotation is not None and "rope_theta" in rotation:
            assert isinstance(layer.position, Rope)
            assert layer.position.base == rotation["rope_theta"]
            n_rotated = layer.position.n_rotated or layer.heads.d_head
            assert n_rotated == layer.heads.d_head * rotation.get("partial_rotary_factor", 1)
            kind = layer.position.scaling.__struct_config__.tag
            assert kind == {"default": "none"}.get(rotation["rope_type"], rotation["rope_type"])


# --- the attention alone ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "llama biases", "gemma2", "gpt-neox", "gpt-j", "gpt-oss experts"])
def test_the_first_attention_alone(name: str, tmp_path: Path) -> None:
    model_type, config_type, values = CASES[name]
    with promoted():
        model = random_model(model_type, config_type(**values))
        outputs: list[Any] = []
        modules = [module for module in model.modules() if type(module).__name__.endswith("Attention")]
        modules[0].register_forward_hook(lambda module, given, out: outputs.append(out[0][0].numpy()))
        wanted = expected(model)
    trace = run(NumpyEngine("float64"), imported(model, tmp_path, attention_only=True))
    np.testing.assert_allclose(trace["weights"], wanted.weights[0], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(trace["attention_output"], outputs[0], rtol=0, atol=TOLERANCE)


def test_a_text_longer_than_a_table_of_positions_is_refused(tmp_path: Path) -> None:
    model = random_model(GPT2LMHeadModel, GPT2Config(**GPT2))
    most = model.config.n_positions
    assert imported(model, tmp_path, ids=(1,) * most).n_queries == most
    said = (
        f"ids must be a text of at most {most} tokens, for which GPT-2 has positions; got {most + 1} tokens."
    )
    with pytest.raises(CheckpointError, match=re.escape(f"{tmp_path.name}: {said}")):
        import_checkpoint(tmp_path, ids=(1,) * (most + 1))
