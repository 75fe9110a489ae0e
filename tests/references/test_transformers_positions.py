"""RoPE's scalings, T5, DeBERTa and Transformer-XL (XLNet) against transformers' own layers.

transformers computes frequencies in float32, so they are compared at 1e-6; with its float32 promoted to
float64 (`torch.float`, `Tensor.float` and the float32 ramp are the only casts), at 1e-12.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from experiments import sited
from first_layer import stacked
from transformers import DebertaV2Config, LlamaConfig, T5Config, XLNetConfig, modeling_rope_utils
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from attnviz.core.positions import deberta_buckets, rope_angles, t5_buckets
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.positions import bias, magnitude, pair_frequencies
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.parts import (
    Explicit,
    ExplicitVectors,
    Heads,
    Projections,
    Rope,
    ScaleValue,
    SeededVectors,
)
from attnviz.model.spec.positions import Deberta, T5Buckets, TransformerXl
from attnviz.model.spec.scalings import (
    DynamicNtk,
    LinearScaling,
    Llama3Scaling,
    LongRope,
    NoScaling,
    Scaling,
    Yarn,
)
from attnviz.model.spec.source import WrittenTable

CASES: dict[str, tuple[Scaling, dict[str, Any], int]] = {
    "linear": (LinearScaling(4.0), {"rope_type": "linear", "factor": 4.0}, 8),
    "dynamic, short": (DynamicNtk(2.0, 64), {"rope_type": "dynamic", "factor": 2.0}, 50),
    "dynamic, long": (DynamicNtk(2.0, 64), {"rope_type": "dynamic", "factor": 2.0}, 200),
    "dynamic, factor 8": (DynamicNtk(8.0, 64), {"rope_type": "dynamic", "factor": 8.0}, 65),
    "yarn": (
        Yarn(4.0, 64),
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        8,
    ),
    "yarn, all set": (
        Yarn(16.0, 4096, 24.0, 2.0, attention_factor=1.2),
        {
            "rope_type": "yarn",
            "factor": 16.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 24.0,
            "beta_slow": 2.0,
            "attention_factor": 1.2,
        },
        8,
    ),
    "yarn, ends between pairs": (
        Yarn(4.0, 4096, truncate=False),
        {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 4096,
            "truncate": False,
        },
        8,
    ),
    "yarn, ends between pairs and before them": (
        Yarn(2.0, 3, truncate=False),
        {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 3, "truncate": False},
        8,
    ),
    "yarn, ends past the pairs": (
        Yarn(2.0, 900_000, 32.0, 1.0),
        {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 900_000},
        8,
    ),
    "yarn, ends before the pairs": (
        Yarn(2.0, 3, 32.0, 1.0),
        {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 3},
        8,
    ),
    "llama 3": (
        Llama3Scaling(8.0, 1.0, 4.0, 8192),
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        8,
    ),
}
SHORT = tuple(1.0 + pair / 50 for pair in range(64))
LONG = tuple(1.1**pair for pair in range(64))
_LISTS = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG}
CASES |= {
    "longrope, short": (
        LongRope(4.0, SHORT, LONG, 64),
        {**_LISTS, "factor": 4.0, "original_max_position_embeddings": 64},
        64,
    ),
    "longrope, long": (
        LongRope(32.0, SHORT, LONG, 64),
        {**_LISTS, "factor": 32.0, "original_max_position_embeddings": 64},
        65,
    ),
    "longrope, the ratio of the lengths": (
        LongRope(1_000_000 / 4096, SHORT, LONG, 4096),
        {**_LISTS, "original_max_position_embeddings": 4096},
        8,
    ),
    "longrope, attention factor": (
        LongRope(2.0, SHORT, LONG, 4, 1.2),
        {**_LISTS, "factor": 2.0, "original_max_position_embeddings": 4, "attention_factor": 1.2},
        8,
    ),
}
BASES = [100.0, 10_000.0, 500_000.0]
D_HEADS = [8, 64, 128]


def config_of(scaling: Scaling, parameters: dict[str, Any], base: float, d_head: int) -> LlamaConfig:
    length = scaling.original_length if isinstance(scaling, DynamicNtk) else 1_000_000
    names = {"short_factor", "long_factor"} & parameters.keys()
    lists = {name: list(parameters[name][: d_head // 2]) for name in names}
    return LlamaConfig(
        hidden_size=2 * d_head,
        num_attention_heads=2,
        head_dim=d_head,
        max_position_embeddings=length,
        rope_parameters={**parameters, **lists, "rope_theta": base},
    )


def ours(scaling: Scaling, base: float, d_head: int, n: int) -> tuple[Any, float]:
    rope = Rope(base=base, scaling=scaling.cut_to(d_head // 2))
    experiment = stacked(
        tuple("a" * n), SeededVectors(n, 2), heads=Heads(1, 1, d_head), position=rope, dtype="float64"
    )
    return pair_frequencies(sited(experiment)), magnitude(rope)


@pytest.mark.parametrize("d_head", D_HEADS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", CASES)
def test_frequencies_equal_transformers_in_float32(name: str, base: float, d_head: int) -> None:
    scaling, parameters, n = CASES[name]
    initialise = modeling_rope_utils.ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
    theirs, factor = initialise(config_of(scaling, parameters, base, d_head), torch.device("cpu"), seq_len=n)
    frequencies, length = ours(scaling, base, d_head, n)
    np.testing.assert_allclose(frequencies, theirs.numpy().astype(np.float64), rtol=1e-6)
    assert length == pytest.approx(factor, rel=1e-14)


@pytest.mark.parametrize("d_head", D_HEADS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", CASES)
def test_frequencies_equal_transformers_in_float64(
    name: str, base: float, d_head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling, parameters, n = CASES[name]
    initialise = modeling_rope_utils.ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
    config = config_of(scaling, parameters, base, d_head)
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    theirs, _factor = initialise(config, torch.device("cpu"), seq_len=n)
    assert theirs.dtype == torch.float64
    np.testing.assert_allclose(ours(scaling, base, d_head, n)[0], theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_cosines_and_sines_equal_llamas(name: str) -> None:
    """The whole path of a Llama layer: the length of the sequence is read off the positions."""
    scaling, parameters, n = CASES[name]
    layer = LlamaRotaryEmbedding(config_of(scaling, parameters, 10_000.0, 64))
    cos, sin = layer(torch.zeros(1, n, 64), torch.arange(n)[None])
    frequencies, length = ours(scaling, 10_000.0, 64, n)
    angles = rope_angles(np.arange(n), frequencies)
    np.testing.assert_allclose(length * np.cos(angles), cos[0, :, :32].numpy(), atol=3e-5)
    np.testing.assert_allclose(length * np.sin(angles), sin[0, :, :32].numpy(), atol=3e-5)


def test_every_scaling_is_compared() -> None:
    compared = {type(scaling) for scaling, _parameters, _n in CASES.values()}
    assert compared | {NoScaling} == {row.record for row in SCALINGS}


# --- T5 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (32, 100), (8, 20), (4, 7), (64, 1000)])
def test_buckets_equal_t5(n_buckets: int, max_distance: int, bidirectional: bool) -> None:
    reach = np.arange(2500)
    for q, k in ((np.array([1200]), reach), (reach, np.array([1200]))):
        found = t5_buckets(q, k, n_buckets, max_distance, bidirectional)
        relative = torch.from_numpy(k[None, :] - q[:, None])
        theirs = T5Attention._relative_position_bucket(relative, bidirectional, n_buckets, max_distance)
        np.testing.assert_array_equal(found, theirs.numpy())
    assert set(np.unique(found)) <= set(range(n_buckets))


@pytest.mark.parametrize("is_decoder", [False, True])
def test_bias_of_a_t5_layer(is_decoder: bool) -> None:
    torch.manual_seed(3)
    config = T5Config(d_model=16, d_kv=4, num_heads=4, is_decoder=is_decoder)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    table = layer.relative_attention_bias.weight.detach().numpy().astype(np.float64)
    position = T5Buckets(bidirectional=not is_decoder, table=WrittenTable(Matrix(table)))
    experiment = stacked(
        tuple("a" * 200), SeededVectors(200, 3), heads=Heads(4, 2, 4), position=position, dtype="float64"
    )
    theirs = layer.compute_bias(200, 200)[0].detach().numpy()
    rows = np.arange(200)
    np.testing.assert_array_equal(bias(sited(experiment), np.arange(4), rows, rows), theirs)
    trace = run(NumpyEngine("float64"), experiment)
    np.testing.assert_allclose(trace["biased"] - trace["scaled"], theirs, atol=1e-12)


# --- DeBERTa ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("span", "max_distance"), [(256, 512), (8, 64), (32, 128), (4, 9)])
def test_buckets_equal_debertas(span: int, max_distance: int) -> None:
    away = np.arange(-1000, 1001)
    theirs = modeling_deberta_v2.make_log_bucket_position(torch.from_numpy(away), span, max_distance)
    expected = torch.clamp(theirs.long() + span, 0, 2 * span - 1).numpy()
    np.testing.assert_array_equal(deberta_buckets(away, span, max_distance), expected)


def test_weights_of_a_deberta_layer() -> None:
    """The layer in float64: content, content to position, position to content, divided by sqrt(3 d)."""
    torch.manual_seed(5)
    n, n_heads, d, span, longest = 21, 2, 4, 8, 20
    config = DebertaV2Config(
        hidden_size=n_heads * d,
        num_attention_heads=n_heads,
        relative_attention=True,
        position_buckets=span,
        max_relative_positions=longest,
        pos_att_type=["c2p", "p2c"],
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )
    layer = modeling_deberta_v2.DisentangledSelfAttention(config).double().eval()
    for module in layer.children():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.5)
            torch.nn.init.zeros_(module.bias)
    x, embeddings = torch.randn(1, n, n_heads * d).double(), torch.randn(2 * span, n_heads * d).double()
    output, weights = layer(x, torch.ones(1, 1, n, n), output_attentions=True, rel_embeddings=embeddings)
    tables = [
        WrittenTable(Matrix(proj(embeddings).detach().numpy()))
        for proj in (layer.pos_key_proj, layer.pos_query_proj)
    ]
    matrices = [
        Explicit(Matrix(proj.weight.T.detach().numpy()))
        for proj in (layer.query_proj, layer.key_proj, layer.value_proj)
    ]
    experiment = stacked(
        tuple("a" * n),
        ExplicitVectors(Matrix(x[0].numpy())),
        heads=Heads(n_heads, n_heads, d),
        projections=Projections(*matrices),
        position=Deberta(span, longest, *tables),
        scale=ScaleValue((3 * d) ** -0.5),
        dtype="float64",
    )
    trace = run(NumpyEngine("float64"), experiment)
    np.testing.assert_allclose(trace["weights"], weights[0].detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(trace["concatenated"], output[0].detach().numpy(), atol=1e-5)


# --- Transformer-XL --------------------------------------------------------------------------------


def test_weights_of_an_xlnet_layer() -> None:
    """XLNet's attention is Transformer-XL's; its sinusoids have all sines first: W_R's rows are reordered."""
    torch.manual_seed(7)
    n, n_heads, d, d_model = 13, 2, 4, 8
    config = XLNetConfig(d_model=d_model, n_head=n_heads, n_layer=1, d_inner=8, dropout=0.0)
    layer = XLNetRelativeAttention(config).double().eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    h = torch.randn(n, 1, d_model).double()
    positions = XLNetModel(config).relative_positional_encoding(n, n, bsz=1).double()
    project = "ibh,hnd->ibnd"
    q, k, v = (torch.einsum(project, h, w) for w in (layer.q, layer.k, layer.v))
    k_r = torch.einsum(project, positions, layer.r)
    mixed, weights = layer.rel_attn_core(q, k, v, k_r, output_attentions=True)
    rows = np.arange(d_model).reshape(2, -1).T.ravel()
    flat = [w.reshape(d_model, -1).detach().numpy() for w in (layer.q, layer.k, layer.v, layer.r)]
    tables = [flat[3][rows], layer.r_w_bias.detach().numpy(), layer.r_r_bias.detach().numpy()]
    experiment = stacked(
        tuple("a" * n),
        ExplicitVectors(Matrix(h[:, 0].numpy())),
        heads=Heads(n_heads, n_heads, d),
        projections=Projections(*(Explicit(Matrix(w)) for w in flat[:3])),
        position=TransformerXl(10_000.0, *(WrittenTable(Matrix(table)) for table in tables)),
        dtype="float64",
    )
    trace = run(NumpyEngine("float64"), experiment)
    theirs = weights[:, :, 0].permute(2, 0, 1).detach().numpy()
    np.testing.assert_allclose(trace["weights"], theirs, atol=1e-6)
    np.testing.assert_allclose(trace["mixed"], mixed[:, 0].permute(1, 0, 2).detach().numpy(), atol=1e-5)
