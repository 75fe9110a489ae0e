"""Llama 4 past its layers: generation with a cache, sigmoids that are all 1, and refused configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from checkpoints.decoder_cases import CASES  # noqa: E402  (skipped without it)
from checkpoints.reference_models import IDS, expected, imported, promoted, random_model  # noqa: E402

from attnviz.checkpoints.blueprint import family_of, read_config  # noqa: E402
from attnviz.engines.decode.run import decode  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402


@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["np", "pt"])
def test_steps_with_a_cache_have_the_logits_of_transformers(engine: Any, tmp_path: Path) -> None:
    """Nine tokens reach the third block of four, and the third interval of the temperature."""
    model_type, config_type, values = CASES["llama4"]
    with promoted():
        model = random_model(model_type, config_type(**values))
        wanted = expected(model).logits
    found = decode(engine, imported(model, tmp_path), len(IDS))
    rows = np.stack([np.asarray(step.site("layers.2.self")["logits"]).reshape(-1) for step in found.steps])
    np.testing.assert_allclose(rows, wanted, rtol=0, atol=1e-10)


def test_logits_choose_where_sigmoids_are_equal_after_rounding(tmp_path: Path) -> None:
    model_type, config_type, values = CASES["llama4"]
    with promoted():
        model = random_model(model_type, config_type(**values))
        with torch.no_grad():
            model.model.layers[1].feed_forward.router.weight *= 2000.0
        wanted = expected(model).logits
    trace = run(NumpyEngine("float64"), imported(model, tmp_path))
    shares = 1 / (1 + np.exp(-np.clip(trace.site("layers.1.self")["router"], -700, 700)))
    assert ((shares == 1.0).sum(axis=1) > 1).any()
    assert wanted is not None
    np.testing.assert_allclose(trace.site("layers.2.self")["logits"], wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention_chunk_size": None}, "attention_chunk_size must be a whole number with a chunked layer"),
        ({"num_experts_per_tok": 17}, "num_experts_per_tok must be a whole number from 1 to 16; got 17"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
            "rope_scaling must be without a factor of cosines and sines where use_qk_norm is true",
        ),
        ({"moe_layers": "all"}, "moe_layers must be a list of layer numbers"),
    ],
)
def test_a_configuration_that_would_be_computed_wrongly_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    sizes = {
        "vocab_size": 9,
        "hidden_size": 8,
        "intermediate_size": 4,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
    }
    written = {"model_type": "llama4_text", **sizes, **changes}
    family = family_of(written)
    with pytest.raises(ValueError, match=message):
        family.layer(read_config(family, written), 0)


def test_an_empty_list_of_layers_without_positions_means_their_interval() -> None:
    """As the published configurations have it."""
    sizes = {"vocab_size": 9, "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 4}
    written = {"model_type": "llama4_text", **sizes, "num_attention_heads": 8, "no_rope_layers": []}
    family = family_of(written)
    config = read_config(family, written)
    kinds = [type(family.layer(config, index).position).__name__ for index in range(4)]
    assert kinds == ["Rope", "Rope", "Rope", "NoPosition"]
