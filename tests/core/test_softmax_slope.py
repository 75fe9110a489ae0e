"""The norm of the softmax's Jacobian against the matrix itself, and its course against d."""

from __future__ import annotations

import numpy as np

from attnviz.core.softmax_slope import (
    TEMPERATURES,
    WIDTHS,
    jacobian_norm,
    slopes_by_temperature,
    slopes_by_width,
)


def test_the_norm_is_that_of_the_matrix() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(5), size=4)
    wanted = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in rows]
    np.testing.assert_allclose(jacobian_norm(rows), wanted, rtol=1e-12)
    assert jacobian_norm(np.array([1.0, 0.0])) == 0


def test_the_division_keeps_the_gradient_and_without_it_it_vanishes() -> None:
    scaled, plain = slopes_by_width(True), slopes_by_width(False)
    assert len(scaled.median) == len(WIDTHS)
    np.testing.assert_allclose(scaled.median[0], plain.median[0])
    assert plain.median[-1] < 0.01 < 0.15 < scaled.median[-1]
    for found in (scaled, plain):
        assert (found.low <= found.median).all() and (found.median <= found.high).all()


def test_a_cold_softmax_saturates_and_a_hot_one_is_flat() -> None:
    own, by_scores = slopes_by_temperature(False), slopes_by_temperature(True)
    np.testing.assert_allclose(own.median, by_scores.median * np.array(TEMPERATURES))
    assert own.median[0] < 1e-6 < 0.24 < own.median[-1]
    assert np.argmax(by_scores.median) == TEMPERATURES.index(0.25)
    uniform = jacobian_norm(np.full(16, 1 / 16))
    np.testing.assert_allclose(own.median[-1], uniform, rtol=1e-3)
