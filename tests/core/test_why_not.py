"""The arithmetic of ways that are wrong, against torch and numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attnviz.core.why_not import add_to_blocked, entropy_bits, shuffled, softmax_in, softmax_of_product

torch = pytest.importorskip("torch")

SCORES = np.random.default_rng(3).normal(size=(5, 6)) * 4
HIDDEN = np.random.default_rng(4).random((5, 6)) < 0.5
HIDDEN[2] = True


@pytest.mark.parametrize(("kind", "theirs"), [(np.float16, torch.float16), (np.float32, torch.float32)])
def test_what_is_added_and_rounded_is_what_torch_has(kind: type, theirs: Any) -> None:
    mine = add_to_blocked(SCORES, HIDDEN, -1e4, kind)
    mask = torch.where(
        torch.tensor(HIDDEN), torch.tensor(-1e4, dtype=theirs), torch.tensor(0.0, dtype=theirs)
    )
    expected = torch.tensor(SCORES, dtype=torch.float64).to(theirs) + mask
    assert mine.dtype == kind
    assert_array_equal(mine, expected.numpy())
    weights = torch.softmax(expected, -1).numpy().astype(np.float64)
    assert_allclose(softmax_in(mine), weights, atol=2 * float(np.finfo(kind).eps))


def test_float16_has_steps_of_eight_at_ten_thousand() -> None:
    scores = np.array([[3.0, -3.0, 4.5, 12.4]])
    rounded = add_to_blocked(scores, np.ones((1, 4), np.bool_), -1e4, np.float16)
    assert rounded.tolist() == [[-10000, -10000, -9992, -9984]]


def test_softmax_of_the_product_is_torchs_and_its_rows_sum_to_one_over_features() -> None:
    values = np.random.default_rng(5).normal(size=(6, 3)) * 100
    found = softmax_of_product(SCORES, values)
    assert_allclose(found, torch.softmax(torch.tensor(SCORES) @ torch.tensor(values), -1).numpy(), atol=1e-12)
    assert found.shape == (5, 3) and (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1)


def test_entropy_is_the_logarithm_of_the_keys_that_weigh_alike() -> None:
    weights = np.array([[0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0]])
    assert_allclose(entropy_bits(weights), [2, 1, 0])
    assert not np.signbit(entropy_bits(weights)[2])


def test_an_order_is_another_one_and_the_same_for_a_seed() -> None:
    for n in range(2, 7):
        for seed in range(30):
            order = shuffled(n, seed)
            assert sorted(order) == list(range(n)) != list(order)
            assert order == shuffled(n, seed)
    assert shuffled(1, 0) == (0,)
