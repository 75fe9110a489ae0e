"""Presets of wrong ways, of the position kinds, of sinks and of sigmoid: each shows what it says."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from experiments import sited
from first_layer import with_fields
from numpy.testing import assert_allclose, assert_array_equal

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.why_not import compare
from attnviz.model.io.presets import load_preset
from attnviz.model.positions import pair_frequencies
from attnviz.model.spec.parts import NoPosition, Rope
from attnviz.model.trace import Trace
from attnviz.model.why_not import WHY_NOT_BY_ID, permuted


def traced(preset_id: str, **changes: object) -> Trace:
    experiment = with_fields(load_preset(preset_id).experiment, **changes)
    return run(NumpyEngine("float64"), experiment)


def test_one_softmax_around_all_three_is_another_thing() -> None:
    experiment = load_preset("softmax-of-all").experiment
    found = compare(WHY_NOT_BY_ID["product"], experiment, "", 0, 0, lambda e: run(NumpyEngine("float64"), e))
    assert found.greatest > 1
    assert found.left.values.min() < 0 < found.right.values.min()
    assert_allclose(found.right.values.sum(axis=1), 1)


def test_minus_ten_thousand_leaves_a_padded_query_its_softmax() -> None:
    torch = pytest.importorskip("torch")
    trace = run(NumpyEngine("float32"), load_preset("added-mask").experiment)
    assert trace.only.fully_masked().tolist() == [True, True, False, False, False, False]
    plain = torch.softmax(torch.tensor(traced("added-mask")["scaled"][:, :2].copy()), -1).numpy()
    assert_allclose(trace["weights"][:, :2], plain, atol=1e-3)
    assert (trace["weights"][:, 2:, :2] == 0).all()


def test_a_causal_mask_alone_tells_the_order() -> None:
    experiment = load_preset("causal-order").experiment
    assert isinstance(experiment.layers[0].position, NoPosition)
    order = (2, 1, 0)
    moved = run(NumpyEngine("float64"), permuted(experiment, order))["attention_output"]
    assert np.abs(moved - traced("causal-order")["attention_output"][list(order)]).max() > 0.5


def test_two_adjectives_come_near_one_by_sigmoid() -> None:
    weights = traced("sigmoid")["weights"][0, 3]
    expected = 1 / (1 + 4 * math.exp(-7.5 / math.sqrt(3)))  # half-each: both scores are 7.5
    assert_allclose(weights[1:3], [expected] * 2, rtol=1e-12)
    assert weights[1] > 0.94 and weights.sum() > 2


def test_a_sink_takes_most_of_one_head_and_nothing_of_the_other() -> None:
    sums = traced("attention-sinks")["weights"].sum(axis=-1)
    assert (sums[0] < 0.5).all() and (sums[1] > 0.99).all()


def test_a_table_is_all_that_is_left_and_has_an_end() -> None:
    document = load_preset("learned-table")
    assert (traced("learned-table")["tokens_embedded"] == 0).all()
    rows = traced("learned-table")["x"]
    assert np.linalg.matrix_rank(rows) == 6 and len(np.unique(rows, axis=0)) == 8
    vectors = msgspec.structs.replace(document.experiment.vectors, values=np.zeros((9, 6)).tolist())
    with pytest.raises(
        ValueError, match=r"position\.length must be at least 9 for a last token at position 8; got 8\."
    ):
        traced("learned-table", tokens=("word",) * 9, vectors=vectors)


def test_yarn_leaves_the_fast_pair_and_slows_the_slow_one_by_four() -> None:
    experiment = load_preset("yarn").experiment
    assert isinstance(experiment.layers[0].position, Rope)
    plain = with_fields(experiment, position=Rope(base=experiment.layers[0].position.base))
    ratio = pair_frequencies(sited(plain)) / pair_frequencies(sited(experiment))
    assert_allclose(ratio[[0, -1]], [1, 4])
    scores = traced("yarn")["scores"][0]
    assert_allclose(scores[10:, 10:], scores[:-10, :-10], atol=1e-12)  # the distance is all that counts


def test_t5_tells_near_keys_apart_and_puts_far_ones_together() -> None:
    bias = traced("t5-buckets")["biased"]
    assert_array_equal(traced("t5-buckets")["scores"], 0)
    first = bias[0, 0]
    assert len(set(first[:3].tolist())) == 3
    assert len(set(first[12:].tolist())) == 1
    assert bias[0, 0, 5] != bias[0, 5, 0]  # both directions have their own
    assert_array_equal(bias[:, 3:, 3:], bias[:, :-3, :-3])


@pytest.mark.parametrize("preset_id", ["transformer-xl", "deberta"])
def test_relative_terms_depend_on_content_and_distance(preset_id: str) -> None:
    trace = traced(preset_id)
    added = trace["relative"] - trace["scores"]
    assert np.abs(added).max() > 0.5
    assert np.abs(added[:, 1:, 1:] - added[:, :-1, :-1]).max() > 0.1  # the same distance, other words
    assert load_preset(preset_id).view.stage == "relative"
