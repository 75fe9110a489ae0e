"""A number added to blocked scores in place of −∞: against torch's attention, and half precision."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from first_layer import stacked
from numpy.testing import assert_allclose, assert_array_equal

from attnviz.engines.decode.decodable import CHANGES
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.formulas.stages import stage_formula
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.parts import (
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    Memory,
    NoScale,
    Padding,
    Projections,
    SeededSinks,
    SeededVectors,
)
from attnviz.model.spec.view import Cell

N, D = 5, 4


def attention(**changes: Any) -> Experiment:
    """Causal, the first key padded: query 0 sees nothing."""
    fields: dict[str, Any] = {
        "tokens": tuple("abcde"),
        "vectors": SeededVectors(N, D, 3),
        "heads": Heads(1, 1, D),
        "masks": (Causal(), Padding((0,))),
        "mask_bias": -1e4,
        "dtype": "float64",
    }
    return stacked(**{**fields, **changes})


def scored(scores: list[list[float]], **changes: Any) -> Experiment:
    """Scores as they are typed: keys are the unit vectors."""
    n = len(scores)
    return attention(
        tokens=tuple("abcdefgh"[:n]),
        vectors=ExplicitVectors(Matrix(scores)),
        heads=Heads(1, 1, n),
        projections=Projections(key=Explicit(Matrix(np.linalg.inv(np.array(scores)).tolist()))),
        scale=NoScale(),
        **changes,
    )


def of_torch(experiment: Experiment, dtype: torch.dtype) -> Any:
    """torch's attention with a float mask, which it adds to the scaled scores."""
    x = torch.tensor(np.array(run(NumpyEngine("float64"), experiment)["q"][0]), dtype=dtype)
    hidden = run(NumpyEngine("float64"), experiment).only.blocked()
    added = torch.tensor(np.where(hidden, experiment.layers[0].mask_bias, 0.0), dtype=dtype)
    made = torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=added[None])
    return made[0].numpy()


@pytest.mark.parametrize("bias", [-1e4, -2.5])
def test_the_output_is_that_of_torch_with_a_float_mask(bias: float) -> None:
    experiment = attention(mask_bias=bias)
    for engine in (NumpyEngine("float64"), TorchEngine("float64", "cpu")):
        found = run(engine, experiment)["attention_output"]
        assert_allclose(found, of_torch(experiment, torch.float64), rtol=1e-11, atol=1e-12)


def test_a_row_with_nothing_left_has_the_softmax_of_its_own_scores() -> None:
    trace = run(NumpyEngine("float64"), attention(fully_masked_row="nan"))
    plain = run(NumpyEngine("float64"), attention(masks=()))
    assert trace.only.fully_masked().tolist() == [True, False, False, False, False]
    assert_allclose(trace["weights"][0, 0], plain["weights"][0, 0], atol=1e-10)
    assert_array_equal(trace["weights"][0, 2, 3:], 0)  # exp(−10000) is nothing, even in float64
    infinite = run(NumpyEngine("float64"), attention(mask_bias=None))
    assert_allclose(trace["weights"][0, 1:], infinite["weights"][0, 1:], rtol=1e-12)


def test_half_precision_rounds_the_scores_of_a_blocked_row_to_steps_of_eight() -> None:
    """float16 has 11 bits: from 8192 to 16384 its numbers are 8 apart."""
    scores = [[3.0, -3.0, 4.5, 0.0], [1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.25, 0.0], [0.5, 0.0, 0.0, 2.0]]
    masks = (Padding((0, 1, 2, 3)),)
    half = run(TorchEngine("float16", "cpu"), scored(scores, masks=masks, dtype="float16"))
    assert_allclose(half["scores"][0, 0].astype(float), scores[0], atol=0.01)
    assert_array_equal(half["masked"][0, 0].astype(float), [-10000, -10000, -9992, -10000])
    expected = torch.softmax(torch.tensor([0.0, 0.0, 8.0, 0.0]), -1).numpy()
    assert_allclose(half["weights"][0, 0].astype(float), expected, atol=1e-3)
    assert_array_equal(half["weights"][0, 1].astype(float), [0.25] * 4)  # smaller differences are gone
    single = run(NumpyEngine("float32"), scored(scores, masks=masks))
    true = torch.softmax(torch.tensor(scores, dtype=torch.float64), -1).numpy()
    assert_allclose(single["weights"][0], true, atol=1e-3)  # steps of 2⁻¹⁰ are 0.001


def test_the_weights_of_blocked_keys_leak_where_scores_are_large() -> None:
    scores = [[10.0, 12_000.0], [1.0, 2.0]]
    leaking = run(NumpyEngine("float32"), scored(scores, masks=(Causal(),), dtype="float32"))
    assert_allclose(leaking["weights"][0, 0], [0, 1])
    assert leaking.only.hatched("weights") is None and leaking.only.hatched("masked") is not None
    closed = run(NumpyEngine("float32"), scored(scores, masks=(Causal(),), mask_bias=None))
    assert_array_equal(closed["weights"][0, 0], [1, 0])


def test_a_small_number_leaks_everywhere_and_a_sink_takes_its_share() -> None:
    leaking = run(NumpyEngine("float64"), attention(mask_bias=-1.0))
    assert (leaking["weights"] > 0).all()
    assert_allclose(leaking["weights"].sum(axis=-1), 1)
    sunk = run(NumpyEngine("float64"), attention(sinks=SeededSinks(1)))
    assert sunk["weights"][0, 0].max() < 1e-300, "the sink stands, all scores of the row lie 10000 below"


def test_after_the_softmax_nothing_is_added() -> None:
    late = {"mask_placement": "after_softmax"}
    assert_array_equal(
        run(NumpyEngine("float64"), attention(**late))["weights"],
        run(NumpyEngine("float64"), attention(**late, mask_bias=None))["weights"],
    )


def test_scores_that_are_bounded_do_not_underflow_with_what_is_added() -> None:
    """Without the row's maximum subtracted, a row of s − 10000 would be 0 ÷ 0."""
    n = 400
    many = one_layer(
        ("t",) * n,
        SeededVectors(n, 4, 1),
        heads=Heads(1, 1, 4),
        masks=(Padding(tuple(range(n))),),
        mask_bias=-1e4,
    )
    weights = run(NumpyEngine("float32"), many)["weights"]
    assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)


def test_the_sum_is_written_out_with_what_blocks_the_cell() -> None:
    site = run(NumpyEngine("float64"), attention()).only
    explanation = explain(site, Cell("masked", 1, 3))
    line = explanation.lines[0]
    assert line.recomputed == pytest.approx(float(site.window("scaled")[1, 3]) - 1e4)
    assert line.value == pytest.approx(line.recomputed)
    assert stage_formula(site.experiment, "masked") == "s, or s + (−10000) where blocked"


@pytest.mark.parametrize("value", [0.0, 1.0, -1e39, float("nan"), float("-inf")])
def test_what_is_no_number_below_zero_is_refused(value: float) -> None:
    with pytest.raises(
        ValueError,
        match=r"mask_bias must be a negative number of at least -3\.4028234663852886e\+38, the "
        rf"least in float32, or null; got {re.escape(str(value))}\.",
    ):
        attention(mask_bias=value)


def test_decoding_blocks_for_good_and_says_so() -> None:
    """A number added leaves later keys a share that decoding cannot give; a memory is complete."""
    engine, given = NumpyEngine("float64"), attention()
    decoding = decode(engine, given)
    assert decoding.experiment.layers[0].mask_bias is None
    assert any("−∞" in str(notice) for notice in decoding.notices)
    assert max(parity(decoding, run(engine, decoding.experiment)).values()) < 1e-12
    memory = Memory(tuple("uvw"), SeededVectors(3, D, 9))
    crossed = decode(engine, attention(memory=memory, masks=(Padding((1,)),), mask_bias=-2.0))
    assert crossed.experiment.layers[0].mask_bias == -2.0 and crossed.notices == (CHANGES["readout"],)
    assert max(parity(crossed, run(engine, crossed.experiment)).values()) < 1e-12
