"""The temperature by position against an attention of Llama 4 without positions, whole and with a cache."""

from __future__ import annotations

import numpy as np
import pytest
from first_layer import stacked

torch = pytest.importorskip("torch")
modeling = pytest.importorskip("transformers.models.llama4.modeling_llama4")

from checkpoints.reference_models import promoted  # noqa: E402  (skipped without it)
from transformers import Llama4TextConfig  # noqa: E402

from attnviz.engines.decode.run import decode  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402
from attnviz.model.spec.arrays import Matrix  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.model.spec.parts import (  # noqa: E402
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    PositionTemperature,
    Projections,
)

N, D = 11, 12


@pytest.fixture(scope="module")
def case() -> tuple[Experiment, np.ndarray]:
    torch.manual_seed(3)
    config = Llama4TextConfig(
        hidden_size=D,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        num_hidden_layers=1,
        no_rope_layers=[0],
        floor_scale=3,
        attn_scale=0.4,
        vocab_size=9,
        pad_token_id=0,
    )
    config._attn_implementation = "eager"
    with promoted(), torch.no_grad():
        layer = modeling.Llama4TextAttention(config, 0).double().eval()
        x = torch.randn(1, N, D, dtype=torch.float64)
        mask = torch.full((N, N), -torch.inf).triu(1)[None, None]
        rows = torch.zeros(1, N, 3)
        expected = layer(x, rows, mask)[0][0].numpy()
    assert not layer.use_rope
    weights = [
        Explicit(Matrix(getattr(layer, f"{name}_proj").weight.detach().numpy().T.copy())) for name in "qkvo"
    ]
    experiment = stacked(
        tokens=tuple(f"t{i}" for i in range(N)),
        vectors=ExplicitVectors(Matrix(x[0].numpy())),
        heads=Heads(4, 2, 6),
        projections=Projections(*weights),
        masks=(Causal(),),
        position_temperature=PositionTemperature(3, 0.4),
        readout="similarity",
        dtype="float64",
    )
    return experiment, expected


@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["np", "pt"])
def test_every_output_is_that_of_llama_4(case: tuple[Experiment, np.ndarray], engine: object) -> None:
    experiment, expected = case
    trace = run(engine, experiment)  # type: ignore[arg-type]
    np.testing.assert_allclose(trace["attention_output"], expected, rtol=0, atol=1e-13)
    assert np.abs(trace["q_tempered"][:, 5] / trace["q"][:, 5] - (1 + 0.4 * np.log(3))).max() < 1e-12


def test_a_cached_step_has_the_temperature_of_its_position(case: tuple[Experiment, np.ndarray]) -> None:
    experiment, expected = case
    found = decode(NumpyEngine("float64"), experiment, N)
    rows = np.stack([step.main["attention_output"] for step in found.steps])
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-13)
