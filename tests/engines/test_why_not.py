"""Every comparison on presets: the texts' numbers, torch's, and what each sentence says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from experiments import SPREAD
from first_layer import stacked, with_fields
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.testing import assert_allclose, assert_array_equal
from stacks import stacks

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.engines.why_not import MOST_TOKENS, Compared, compare
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Alibi, Causal, ExplicitVectors, Heads, Padding, Sinusoidal
from attnviz.model.trace import Trace
from attnviz.model.why_not import WHY_NOT_BY_ID, WHY_NOTS, WhyNot, permuted


def on_numpy(experiment: Experiment) -> Trace:
    return run(NumpyEngine(experiment.dtype), experiment)


def compared(row: str, experiment: Experiment | str, head: int = 0, seed: int = 1) -> Compared:
    experiment = load_preset(experiment).experiment if isinstance(experiment, str) else experiment
    return compare(WHY_NOT_BY_ID[row], experiment, "", head, seed, on_numpy)


@pytest.mark.parametrize("row", WHY_NOTS, ids=[row.id for row in WHY_NOTS])
def test_no_experiment_is_without_an_answer(row: WhyNot) -> None:
    for name, experiment in SPREAD.items():
        found = compared(row.id, experiment)
        assert "{" not in found.sentence(), name
        assert len(found.row_labels) == len(found.left.values), name


@pytest.mark.parametrize("preset", ["toy-attention", "fluffy-blue-creature", "cross-attention", "half-each"])
@pytest.mark.parametrize("row", WHY_NOTS, ids=[row.id for row in WHY_NOTS])
def test_every_row_answers_with_a_sentence_and_two_matrices_of_one_shape(row: WhyNot, preset: str) -> None:
    found = compared(row.id, preset)
    shape = len(found.row_labels), len(found.column_labels)
    assert found.left.values.shape == found.right.values.shape == found.difference.shape == shape
    says = found.sentence()
    assert says.endswith(".") and "{" not in says
    for is_there, document in zip(row.opens, found.documents, strict=True):
        if is_there:
            assert on_numpy(document).only.stages


def test_softmax_of_all_three_mixes_features_and_not_tokens() -> None:
    found = compared("product", "toy-attention")
    x = np.random.RandomState(0).randn(4, 3)
    scores = torch.tensor(x @ x.T / np.sqrt(3))
    right = torch.softmax(scores @ torch.tensor(x), -1).numpy()
    assert_allclose(found.right.values, right, rtol=1e-12)
    assert_allclose(found.right.values.sum(axis=1), 1)
    expected = [  # attention end to end, recomputed in float64
        [1.662899, 0.801902, 0.294972],
        [2.201838, 1.785287, -0.889624],
        [1.588105, 0.793978, 0.097362],
        [1.163269, 0.366952, 0.857072],
    ]
    assert_allclose(found.left.values, expected, atol=5e-7)
    assert "4 × 4 weights" in found.sentence() and "4 × 3" in found.sentence()


def test_a_late_mask_loses_what_facts_says() -> None:
    experiment = with_fields(load_preset("toy-attention").experiment, masks=(Causal(),))
    found = compared("late-mask", experiment)
    assert_allclose(found.right.values.sum(axis=1), [0.439654, 0.984110, 0.863776, 1], atol=5e-7)
    assert_allclose(found.left.values[2], [0.333324, 0.427953, 0.238722, 0], atol=1e-6)
    assert "0.440 to 1.000" in found.sentence() and "“one” 0.560 of 1" in found.sentence()
    assert found.documents[0] == experiment and found.documents[1].layers[0].mask_placement == "after_softmax"


def test_without_a_mask_there_is_a_causal_one() -> None:
    assert compared("late-mask", "toy-attention").documents[0].layers[0].masks == (Causal(),)


def test_what_float16_leaves_of_a_row_without_keys_is_what_torch_leaves() -> None:
    experiment = with_fields(load_preset("xiaoshenyang").experiment, masks=(Causal(), Padding((0,))))
    found = compared("added-mask", experiment)
    assert_array_equal(found.left.values[0], 0)
    scores = torch.tensor(on_numpy(experiment)["scaled"][0, 0].copy()).to(torch.float16)
    expected = torch.softmax(scores + torch.tensor(-1e4, dtype=torch.float16), -1).numpy()
    assert_allclose(found.right.values[0], expected.astype(float), atol=2e-3)
    live = run(TorchEngine("float16", "cpu"), replace(found.documents[1], dtype="float16"))
    assert_allclose(found.right.values, live["weights"][0].astype(float), atol=4e-3)
    assert "leave 1 of 12" in found.sentence()


def test_a_row_without_keys_is_nan_and_makes_its_output_nan() -> None:
    found = compared("empty-row", "fully-masked-row")
    assert np.isnan(found.right.values[:2]).all() and not np.isnan(found.right.values[2:]).any()
    assert_array_equal(found.left.values[:2], 0)
    assert np.isnan(found.greatest) and "2 of 6 output rows" in found.sentence()


def test_the_spread_of_512_features_is_their_root() -> None:
    tokens = tuple(map(str, range(64)))
    vectors = load_preset("no-scale-512").experiment.vectors
    many = replace(load_preset("no-scale-512").experiment, tokens=tokens, vectors=replace(vectors, n=64))
    found = compared("scale", many)
    assert float(found.facts["wide"]) == pytest.approx(512**0.5, rel=0.1)
    assert float(found.facts["narrow"]) == pytest.approx(1, rel=0.1)
    assert float(found.facts["left_bits"]) > 4 > 1 > float(found.facts["right_bits"])
    assert found.facts["most_bits"] == "6.00"


@pytest.mark.parametrize("preset", ["dog-bites-man", "fluffy-blue-creature", "grouped-query"])
def test_without_position_and_mask_the_rows_only_move(preset: str) -> None:
    found = compared("order-lost", preset)
    assert found.is_equal and "the rows of the output move" in found.sentence()
    assert found.left.site.tokens != found.right.site.tokens == found.row_labels


@pytest.mark.parametrize(
    "changes",
    [{}, {"masks": (Causal(),)}, {"position": Sinusoidal()}, {"position": Alibi((1.0,))}],
    ids=["nothing, so causal", "causal", "sinusoidal", "alibi"],
)
def test_with_a_mask_or_a_position_they_do_not(changes) -> None:
    experiment = with_fields(load_preset("dog-bites-man").experiment, **changes)
    found = compared("order-told", experiment)
    assert not found.is_equal and found.greatest > 0.01
    told = "The position reveals" if "position" in changes else "The mask reveals"
    assert told in found.sentence()
    again = on_numpy(found.documents[1])["attention_output"]
    assert_array_equal(again, found.right.values)


def test_float32_rounding_counts_as_equal() -> None:
    experiment = replace(load_preset("grouped-query").experiment, dtype="float32")
    found = compared("order-lost", experiment)
    assert found.is_equal and found.greatest < 1e-4


def test_two_equal_best_keys_have_one_half_each_and_sigmoid_does_not_share() -> None:
    found = compared("both-near-one", "half-each")
    assert found.facts["first"] == found.facts["second"] == "0.492"
    assert float(found.facts["own_first"]) == float(found.facts["own_second"]) > 0.9
    assert found.left.values[3, 1] == found.left.values[3, 2]


def test_permuted_tokens_take_their_vectors_with_them() -> None:
    plain = load_preset("dog-bites-man").experiment
    moved = permuted(plain, (2, 0, 1))
    assert moved.tokens == ("man", "dog", "bites")
    assert_array_equal(on_numpy(moved)["tokens_embedded"], on_numpy(plain)["tokens_embedded"][[2, 0, 1]])


def test_a_long_sequence_is_refused_in_one_sentence() -> None:
    experiment = load_preset("toy-attention").experiment
    n = MOST_TOKENS + 1
    long = replace(experiment, tokens=("t",) * n, vectors=replace(experiment.vectors, n=n))
    with pytest.raises(ValueError, match=r"^A comparison must have at most 512 tokens; got 513\.$"):
        compared("product", long)


@settings(max_examples=25)
@given(stacks(), st.data())
def test_every_site_of_any_stack_has_an_answer(experiment: Experiment, data: st.DataObject) -> None:
    site = data.draw(st.sampled_from(site_names(experiment)))
    for row in WHY_NOTS:
        found = compare(row, experiment, site, 0, 1, on_numpy)
        assert found.left.values.shape == found.right.values.shape
        assert found.sentence()
        if row.id == "order-lost":
            assert found.is_equal, found.greatest
        if not row.is_alone and row.opens[0]:
            assert site_names(found.documents[0]) == site_names(experiment)


@pytest.mark.parametrize("row", WHY_NOTS, ids=[row.id for row in WHY_NOTS])
@pytest.mark.parametrize("size", [1e30, 1e160])
def test_numbers_that_are_not_finite_are_said_and_warn_nobody(row: WhyNot, size: float) -> None:
    """Scores of 1e60 are past float32, those of 1e320 past float64."""
    numbers = np.random.default_rng(3).standard_normal((5, 4)) * size
    dtype: Any = "float32" if size < 1e100 else "float64"
    given_ = stacked(tuple("abcde"), ExplicitVectors(numbers), heads=Heads(2, 2, 2), dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compared(row.id, given_)
        says, difference = found.sentence(), found.difference
    assert "NaN to NaN" not in says
    is_finite = bool(np.isfinite(found.left.values).all() and np.isfinite(found.right.values).all())
    if row.id in ("scale",):  # has vectors of its own
        assert is_finite
    assert says.startswith("Nothing can be concluded") == (not is_finite)
    assert difference.shape == found.left.values.shape
