"""Scores that are known to be small need no maximum subtracted first; the numbers stay those of float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from first_layer import stacked

from attnviz.engines.constants import Constants
from attnviz.engines.engine import SAFE_EXPONENT
from attnviz.engines.numpy_engine import PLAIN_SUM, NumpyEngine
from attnviz.engines.run import run
from attnviz.model.spec import parts as p
from attnviz.model.spec.experiment import Experiment

N, HEADS, D_HEAD = 96, 2, 16


def experiment(gain: float, **fields: Any) -> Experiment:
    vectors = p.ExplicitVectors(gain * np.random.default_rng(3).standard_normal((N, HEADS * D_HEAD)))
    return stacked(
        tuple(map(str, range(N))),
        vectors,
        heads=p.Heads(HEADS, HEADS, D_HEAD),
        **{"dtype": "float32", **fields},
    )


def expected_weights(given: Experiment, factor: float) -> np.ndarray[Any, Any]:
    """Softmax in float64, the textbook's way."""
    x = given.vectors.values.array.astype(np.float32).astype(np.float64)  # type: ignore[union-attr]
    heads = x.reshape(N, HEADS, D_HEAD).transpose(1, 0, 2)
    scores = heads @ heads.transpose(0, 2, 1) * factor
    if given.layers[0].masks:
        scores = np.where(np.arange(N)[None, :] > np.arange(N)[:, None], -np.inf, scores)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    result: np.ndarray[Any, Any] = raised / raised.sum(-1, keepdims=True)
    return result


def paths(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    taken: list[bool] = []
    plain = NumpyEngine.softmax_

    def softmax_(self: NumpyEngine, scores: Any, is_bounded: bool = False) -> None:
        taken.append(is_bounded)
        plain(self, scores, is_bounded)

    monkeypatch.setattr(NumpyEngine, "softmax_", softmax_)
    return taken


@pytest.mark.parametrize("masks", [(), (p.Causal(),)])
@pytest.mark.parametrize(
    ("scale", "factor"), [(p.SqrtDHead(), 0.25), (p.ScaleValue(-0.3), -0.3), (p.NoScale(), 1.0)]
)
@pytest.mark.parametrize(("gain", "is_bounded"), [(0.5, True), (40.0, False)])
def test_both_ways_give_the_textbooks_weights(
    gain: float,
    is_bounded: bool,
    scale: p.Scale,
    factor: float,
    masks: tuple[p.Mask, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = paths(monkeypatch)
    given = experiment(gain, scale=scale, masks=masks)
    weights = run(NumpyEngine("float32"), given)["weights"]
    assert set(taken) == {is_bounded}
    # A score of size s is known to s·2⁻²⁴ in float32, so its exponential is known to that relatively.
    size = gain**2 * 60 * abs(factor)
    np.testing.assert_allclose(weights, expected_weights(given, factor), rtol=4e-7 * (size + 4), atol=1e-37)


def test_a_bias_is_no_part_of_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = paths(monkeypatch)
    steep = experiment(0.1, position=p.Alibi((-90.0, 90.0)))
    weights = run(NumpyEngine("float32"), steep)["weights"]
    assert taken == [False]
    np.testing.assert_allclose(weights.sum(-1), 1.0, rtol=1e-6)


def test_the_scale_moves_into_q_only_where_that_changes_nothing() -> None:
    given = experiment(0.5)
    halved = experiment(0.5, temperature=1.5)
    for one, factor in ((given, 0.25), (halved, 0.25 / 1.5)):
        trace = run(NumpyEngine("float32"), one)
        np.testing.assert_array_equal(trace["scaled"], trace["scores"] * np.float32(factor))
        raised = np.exp(trace["scaled"])
        np.testing.assert_allclose(trace["weights"], raised / raised.sum(-1, keepdims=True), rtol=2e-6)


def test_the_bound_holds_and_is_not_sought_for_few_rows() -> None:
    random = np.random.default_rng(0)
    q, k = random.standard_normal((2, 1, 70, 8)), random.standard_normal((2, 90, 8))
    bound = NumpyEngine("float64").score_bound(q, k)
    assert np.abs(q[:, 0] @ k.transpose(0, 2, 1)).max() <= bound <= 8 * 40
    assert NumpyEngine("float64").score_bound(q[:, :, :3], k) == math.inf


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e200])
def test_there_is_no_bound_where_numbers_are_not_finite(number: float) -> None:
    q = np.ones((1, 1, 80, 4))
    q[0, 0, 5, 2] = number
    with np.errstate(all="ignore"):
        assert not NumpyEngine("float64").score_bound(q, q[0]) <= SAFE_EXPONENT


def test_rows_too_long_for_a_plain_sum_still_sum_to_one() -> None:
    scores = np.random.default_rng(1).standard_normal((1, 1, 2, 50 * PLAIN_SUM)).astype(np.float32)
    NumpyEngine("float32").softmax_(scores, is_bounded=True)
    np.testing.assert_allclose(scores.astype(np.float64).sum(-1), 1.0, rtol=1e-6)


def test_constants_let_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.engines.constants.KEPT_BYTES", 3 * 800)
    converted: list[int] = []
    constants = Constants(lambda values: converted.append(int(values[0])) or values.copy())  # type: ignore[func-returns-value]
    arrays = [np.full(100, float(i)) for i in range(5)]
    for array in arrays:
        array.setflags(write=False)
        constants(array)
    for array in reversed(arrays[2:]):
        constants(array)
    assert converted == [0, 1, 2, 3, 4]
    constants(arrays[0])
    assert converted[-1] == 0
