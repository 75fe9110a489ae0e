"""DiffLlama past its layers: generation with a cache, gradients of λ and of weights, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from checkpoints.decoder_cases import CASES  # noqa: E402  (skipped without it)
from checkpoints.reference_models import IDS, expected, imported, promoted, random_model  # noqa: E402

import attnviz  # noqa: E402
from attnviz.checkpoints.blueprint import family_of, read_config  # noqa: E402
from attnviz.engines.decode.run import decode  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402

LAST = "layers.2.self"


@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["np", "pt"])
def test_steps_with_a_cache_have_the_logits_of_transformers(engine: Any, tmp_path: Path) -> None:
    model_type, config_type, values = CASES["diffllama"]
    with promoted():
        model = random_model(model_type, config_type(**values))
        wanted = expected(model)
    found = decode(engine, imported(model, tmp_path), len(IDS))
    steps = [step.site(LAST) for step in found.steps]
    rows = np.stack([np.asarray(step["logits"]).reshape(-1) for step in steps])
    np.testing.assert_allclose(rows, wanted.logits, rtol=0, atol=1e-10)
    one, weights = steps[5]["combined"], wanted.weights[2][:, 5, :6]
    share = model.model.layers[2].self_attn
    with torch.no_grad():
        powers = [torch.exp((q * k).sum()) for q, k in _vectors(share)]
    factor = float(powers[0] - powers[1]) + share.lambda_init
    np.testing.assert_allclose(one[:2], weights[:2] - factor * weights[2:], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(one[2:], one[:2])


def _vectors(attention: Any) -> tuple[tuple[Any, Any], ...]:
    return (
        (attention.lambda_q1, attention.lambda_k1),
        (attention.lambda_q2, attention.lambda_k2),
    )


def test_gradients_are_those_of_autograd_in_transformers(tmp_path: Path) -> None:
    model_type, config_type, values = CASES["diffllama, biases"]
    with promoted():
        model = random_model(model_type, config_type(**values))
        experiment = imported(model, tmp_path)
        model(torch.tensor([IDS])).logits[0, 4, 3].backward()
    found = attnviz.backward(experiment, f"{LAST}.logits[4, 3]").parameters
    for index, layer in enumerate(model.model.layers):
        attention, path = layer.self_attn, f"layers.{index}.self."
        wanted = {
            "differential.query_1": attention.lambda_q1.grad,
            "differential.key_1": attention.lambda_k1.grad,
            "differential.query_2": attention.lambda_q2.grad,
            "differential.key_2": attention.lambda_k2.grad,
            "projections.query": attention.q_proj.weight.grad.T,
            "projections.key": attention.k_proj.weight.grad.T,
            "projections.value": attention.v_proj.weight.grad.T,
        }
        for name, gradient in wanted.items():
            made = np.asarray(found[path + name]).reshape(gradient.shape)
            np.testing.assert_allclose(made, gradient.numpy(), rtol=0, atol=1e-9, err_msg=path + name)
            assert np.abs(gradient.numpy()).max() > 1e-6


def test_an_odd_number_of_values_is_refused_by_its_key() -> None:
    sizes = {"vocab_size": 9, "hidden_size": 12, "intermediate_size": 4, "num_hidden_layers": 1}
    written = {"model_type": "diffllama", **sizes, "num_attention_heads": 6, "num_key_value_heads": 3}
    family = family_of(written)
    with pytest.raises(
        ValueError, match="num_key_value_heads must be even with differential attention; got 3"
    ):
        family.layer(read_config(family, written), 0)
