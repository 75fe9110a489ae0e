"""DeepSeek-V2 and V3 against eager `transformers` with random weights, layer by layer, in float64, on both
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

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from checkpoints.reference_models import (  # noqa: E402  (skipped without it)
    IDS,
    Expected,
    expected,
    imported,
    promoted,
    random_model,
    rewrite_config,
    run_and_compare,
)
from transformers import (  # noqa: E402
    DeepseekV2Config,
    DeepseekV2ForCausalLM,
    DeepseekV2Model,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    DeepseekV3Model,
)

from attnviz.checkpoints import CheckpointError, import_checkpoint  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402

TOLERANCE = 1e-10

V2 = (DeepseekV2ForCausalLM, DeepseekV2Config)
V3 = (DeepseekV3ForCausalLM, DeepseekV3Config)

SMALL = {
    "vocab_size": 13,
    "hidden_size": 24,
    "intermediate_size": 40,
    "moe_intermediate_size": 10,
    "num_hidden_layers": 3,
    "first_k_dense_replace": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "kv_lora_rank": 10,
    "q_lora_rank": 14,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 8,
    "v_head_dim": 6,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-3,
}


def yarn(**values: float) -> dict[str, Any]:
    stretched = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0}
    return {"rope_parameters": {**stretched, "original_max_position_embeddings": 16, **values}}


LINEAR = {
    "rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0, "mscale_all_dim": 0.7}
}

CASES: dict[str, tuple[type[Any], type[Any], dict[str, Any]]] = {
    "v2": (*V2, SMALL),
    "v2 without a latent of queries": (*V2, {**SMALL, "q_lora_rank": None}),
    "v2 biases of the feed-forward layer": (*V2, {**SMALL, "mlp_bias": True}),
    "v2 yarn": (*V2, {**SMALL, **yarn()}),
    "v2 yarn, mscale of all": (*V2, {**SMALL, **yarn(mscale=0.707, mscale_all_dim=0.707)}),
    "v2 yarn, mscale of some": (*V2, {**SMALL, **yarn(mscale=1.3, mscale_all_dim=0.7)}),
    "v2 yarn, mscale alone": (*V2, {**SMALL, **yarn(mscale=1.3)}),
    "v2 linear, mscale of all": (*V2, {**SMALL, **LINEAR}),
    "v2 tied": (*V2, {**SMALL, "tie_word_embeddings": True}),
    "v2 without a head": (DeepseekV2Model, DeepseekV2Config, SMALL),
    "v3": (*V3, SMALL),
    "v3 without a latent of queries": (*V3, {**SMALL, "q_lora_rank": None}),
    "v3 half-split pairs": (*V3, {**SMALL, "rope_interleave": False}),
    "v3 yarn": (*V3, {**SMALL, **yarn(mscale=1.0, mscale_all_dim=1.0)}),
    "v3 yarn, mscale of some, half-split": (
        *V3,
        {**SMALL, **yarn(mscale=0.5, mscale_all_dim=0.9), "rope_interleave": False},
    ),
    "v3 narrow head": (*V3, {**SMALL, "qk_rope_head_dim": 2, "num_attention_heads": 3}),
    "v2 experts": (*V2, {**SMALL, "first_k_dense_replace": 1}),
    "v2 experts of the best group": (
        *V2,
        {
            **SMALL,
            "first_k_dense_replace": 0,
            "topk_method": "group_limited_greedy",
            "routed_scaling_factor": 16.0,
            "n_shared_experts": 2,
        },
    ),
    "v3 experts": (*V3, {**SMALL, "first_k_dense_replace": 1, "n_routed_experts": 8, "topk_group": 2}),
    "v3 experts of the best group": (
        *V3,
        {**SMALL, "first_k_dense_replace": 0, "norm_topk_prob": False, "n_shared_experts": 2},
    ),
    "v3 without a head": (DeepseekV3Model, DeepseekV3Config, SMALL),
}
CASES["v3 narrow head"][2]["num_key_value_heads"] = None


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
    assert experiment.layers[0].latent is not None
    assert max(float(abs(layer).max()) for layer in wanted.hidden) > 0.5
    found = run_and_compare(engine, experiment, wanted)
    assert found.keys() >= {"weights", "hidden states"}
    assert (wanted.logits is None) == ("logits" not in found)
    assert max(found.values()) < TOLERANCE, found


# --- every tensor counts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["v2 biases of the feed-forward layer", "v3 without a latent of queries", "v3 experts"]
)
def test_every_tensor_is_needed_in_its_shape(name: str, tmp_path: Path) -> None:
    model_type, config_type, values = CASES[name]
    experiment = imported(random_model(model_type, config_type(**values)), tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
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


@pytest.mark.parametrize(
    "tensor",
    [
        "model.layers.3.input_layernorm.weight",
        "model.layers.0.mlp.experts.0.up_proj.weight",
        "model.layers.0.mlp.shared_experts.up_proj.weight",
        "model.layers.0.self_attn.kv_a_proj_with_mqa.bias",
        "model.layers.0.self_attn.q_proj.weight",
    ],
)
def test_a_tensor_without_a_place_is_refused(tensor: str, tmp_path: Path) -> None:
    imported(random_model(*V2[:1], DeepseekV2Config(**SMALL)), tmp_path)
    file = tmp_path / "model.safetensors"
    save_file({**load_file(file), tensor: np.ones((2, 2))}, file)
    said = "a tensor of this configuration; got one of shape 2x2."
    if ".3." in tensor:
        said = "in one of the layers 0 to 2 of this configuration; got layer 3."
    with pytest.raises(CheckpointError, match=re.escape(f"tensor {tensor!r} must be {said}")) as caught:
        import_checkpoint(tmp_path, ids=IDS)
    assert repr(tensor) in str(caught.value)


def test_keys_that_change_nothing_may_be_there(tmp_path: Path) -> None:
    """As the configuration of DeepSeek-V2-Lite has them, with its scaling in the old form."""
    model_type, config_type, values = CASES["v2 yarn, mscale of all"]
    experiment = imported(random_model(model_type, config_type(**values)), tmp_path)
    old = {
        "aux_loss_alpha": 0.001,
        "ep_size": 1,
        "moe_layer_freq": 1,
        "norm_topk_prob": False,
        "routed_scaling_factor": 1.0,
        "scoring_func": "softmax",
        "seq_aux": True,
        "topk_method": "greedy",
        "pretraining_tp": 1,
        "rope_parameters": None,
        "rope_theta": 500.0,
        "rope_scaling": {
            "type": "yarn",
            "beta_fast": 32,
            "beta_slow": 1,
            "factor": 4,
            "mscale": 0.707,
            "mscale_all_dim": 0.707,
            "original_max_position_embeddings": 16,
        },
    }
    rewrite_config(tmp_path, old)
    assert import_checkpoint(tmp_path, ids=IDS, dtype="float64").experiment == experiment


# --- what is refused -------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "values of another width": (
        {"v_head_dim": 8},
        "v_head_dim must be 6 (qk_nope_head_dim); got 8.",
    ),
    "fewer key heads": (
        {"num_key_value_heads": 2},
        "num_key_value_heads must be 4 (num_attention_heads); got 2.",
    ),
    "biases of the latents": ({"attention_bias": True}, "attention_bias must be false; got true."),
    "every other layer": ({"moe_layer_freq": 2}, "moe_layer_freq must be 1; got 2."),
    "head_dim": ({"head_dim": 6}, "head_dim must be 8 (qk_rope_head_dim); got 6."),
    "axial positions": (
        {"rope_parameters": {"rope_type": "axial"}},
        "rope_parameters.rope_type must be one of ",
    ),
    "no factor": (
        {"rope_parameters": {"rope_type": "yarn", "mscale_all_dim": 1.0}},
        "rope_parameters.factor must be a number with mscale_all_dim; got nothing.",
    ),
    "a key that nobody knows": (
        {"qk_gain": 2.0},
        "qk_gain must be a key of DeepSeek-V2, since it may change numbers; got 2.0.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_change_numbers_is_refused(name: str, tmp_path: Path) -> None:
    changes, words = REFUSED[name]
    imported(random_model(*V2[:1], DeepseekV2Config(**SMALL)), tmp_path)
    rewrite_config(tmp_path, changes)
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(tmp_path, ids=IDS)
    assert str(caught.value).startswith(f"config.json: {words.removeprefix('config.json: ')}")
    assert "\n" not in str(caught.value)


# --- the attention alone ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_dense", [0, 1])
@pytest.mark.parametrize("version", [V2, V3], ids=["v2", "v3"])
def test_the_first_attention_of_experts_alone(
    version: tuple[type[Any], type[Any]], n_dense: int, tmp_path: Path
) -> None:
    model_type, config_type = version
    with promoted():
        model = random_model(model_type, config_type(**{**SMALL, "first_k_dense_replace": n_dense}))
        outputs: list[Any] = []
        first = model.model.layers[0].self_attn
        first.register_forward_hook(lambda module, given, out: outputs.append(out[0][0].numpy()))
        wanted = expected(model)
    experiment = imported(model, tmp_path, attention_only=True)
    trace = run(NumpyEngine("float64"), experiment)
    assert "ffn_up" not in trace.site("layers.0.self").stages
    np.testing.assert_allclose(trace["weights"], wanted.weights[0], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(trace["attention_output"], outputs[0], rtol=0, atol=TOLERANCE)
