"""Gated units against the feed-forwards of transformers' Llama, Gemma and GPT-OSS, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnviz.core.block import CLAMP_ALPHA, CLAMP_LIMIT, GATED_UNIT_BY_ID
from attnviz.core.special import NUMPY_SPECIAL

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import GemmaConfig, GptOssConfig, LlamaConfig  # noqa: E402  (skipped without it)
from transformers.models.gemma.modeling_gemma import GemmaMLP  # noqa: E402
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts  # noqa: E402
from transformers.models.llama.modeling_llama import LlamaMLP  # noqa: E402

X = np.random.default_rng(6).standard_normal((5, 8))


def weight(layer: Any) -> Any:
    """A linear layer's matrix as (in, out)."""
    return layer.weight.detach().numpy().T


@pytest.mark.parametrize(
    ("activation", "block", "config"),
    [("silu", LlamaMLP, LlamaConfig), ("gelu_tanh", GemmaMLP, GemmaConfig)],
)
def test_a_gated_feed_forward(activation: str, block: Any, config: Any) -> None:
    torch.manual_seed(1)
    module = block(config(hidden_size=8, intermediate_size=12, num_attention_heads=1)).double()
    unit = GATED_UNIT_BY_ID[activation]
    joined = unit.apply(np, X @ weight(module.gate_proj), X @ weight(module.up_proj), NUMPY_SPECIAL)
    with torch.no_grad():
        expected = module(torch.tensor(X)).numpy()
    np.testing.assert_allclose(joined @ weight(module.down_proj), expected, rtol=1e-12, atol=1e-15)


def test_the_clamped_unit_is_gpt_oss() -> None:
    experts = GptOssExperts(GptOssConfig(hidden_size=8, intermediate_size=12, num_local_experts=2))
    assert (experts.limit, experts.alpha) == (CLAMP_LIMIT, CLAMP_ALPHA)
    numbers = 6 * np.random.default_rng(7).standard_normal((40, 24))
    assert (numbers > CLAMP_LIMIT).any() and (numbers < -CLAMP_LIMIT).any()
    expected = experts._apply_gate(torch.tensor(numbers)).numpy()
    found = GATED_UNIT_BY_ID["clamped_swish"].apply(np, numbers[:, ::2], numbers[:, 1::2], NUMPY_SPECIAL)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
