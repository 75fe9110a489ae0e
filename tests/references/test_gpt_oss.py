"""Attention sinks against the eager attention of transformers' GPT-OSS, in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from first_layer import stacked

from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec.parts import (
    Causal,
    ExplicitSinks,
    Heads,
    Projections,
    Seeded,
    SeededSinks,
    SeededVectors,
    Window,
)

torch = pytest.importorskip("torch")
gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")

N = 9


@pytest.mark.parametrize("sinks", [SeededSinks(2), ExplicitSinks((0.0, 12.0, -3.0, 700.0))])
@pytest.mark.parametrize("masks", [(), (Causal(),), (Causal(), Window(3))])
@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")])
def test_weights_and_mixture_are_those_of_gpt_oss(engine: Engine, masks: Any, sinks: Any) -> None:
    experiment = stacked(
        tuple(map(str, range(N))),
        SeededVectors(N, 12, 5),
        heads=Heads(4, 2, 6),
        projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
        masks=masks,
        sinks=sinks,
        dtype="float64",
    )
    trace = run(engine, experiment)
    q, k, v = (torch.tensor(trace[stage])[None] for stage in ("q", "k", "v"))
    drawn = np.random.default_rng(2).standard_normal(4)
    logits = sinks.values if isinstance(sinks, ExplicitSinks) else drawn
    module = SimpleNamespace(
        num_key_value_groups=2, training=False, sinks=torch.tensor(logits, dtype=torch.float64)
    )
    mask = None
    if masks:
        distance = np.arange(N)[:, None] - np.arange(N)
        hidden = (distance < 0) | ((distance > 3) & (len(masks) == 2))
        mask = torch.tensor(np.where(hidden, -np.inf, 0.0))[None, None]
    mixed, weights = gpt_oss.eager_attention_forward(module, q, k, v, mask, scaling=6**-0.5)
    np.testing.assert_allclose(trace["weights"], weights[0].numpy(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(trace["mixed"], mixed[0].transpose(0, 1).numpy(), rtol=1e-12, atol=1e-15)
    assert (trace["weights"].sum(axis=-1) < 1).all()
