"""Planes through the origin against numpy's singular vectors, and dot products that stay exact."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.planes import feature_plane, kept_share, pair_plane, principal_plane

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(5, 2), (7, 3), (40, 16), (3, 64), (2, 9)])
def test_the_principal_plane_is_that_of_the_first_two_singular_vectors(shape: tuple[int, int]) -> None:
    vectors = RNG.normal(size=shape) * RNG.uniform(0.1, 5.0, shape[1])
    basis = principal_plane(vectors)
    _u, values, axes = np.linalg.svd(vectors, full_matrices=False)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(basis @ basis.T, axes[:2].T @ axes[:2], atol=1e-7)
    assert kept_share(vectors, basis) == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())
    assert (basis[np.abs(basis).argmax(axis=0), [0, 1]] > 0).all()


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_no_plane_keeps_more(factor: float) -> None:
    vectors = RNG.normal(size=(30, 6)) * factor
    best = kept_share(vectors, principal_plane(vectors))
    for _try in range(50):
        other, _r = np.linalg.qr(RNG.normal(size=(6, 2)))
        assert kept_share(vectors, other) <= best + 1e-12


@pytest.mark.parametrize("width", [2, 3, 8, 128])
def test_the_plane_of_a_pair_keeps_their_product_lengths_and_angle(width: int) -> None:
    for _try in range(20):
        q, k = RNG.normal(size=(2, width))
        basis = pair_plane(q, k)
        np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
        flat = np.stack([q, k]) @ basis
        assert flat[0] @ flat[1] == pytest.approx(q @ k, abs=1e-10)
        np.testing.assert_allclose(np.linalg.norm(flat, axis=1), np.linalg.norm([q, k], axis=1))
        assert flat[0, 0] > 0 and abs(flat[0, 1]) < 1e-10 and flat[1, 1] > -1e-10
        assert kept_share(np.stack([q, k]), basis) == pytest.approx(1.0)


def test_parallel_and_zero_pairs_have_a_plane() -> None:
    q = np.array([1.0, 2.0, -2.0])
    for k in (2 * q, -q, q * (1 + 1e-15), np.zeros(3), q + 1e-12):
        basis = pair_plane(q, k)
        np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-9)
        assert (q @ basis) @ (k @ basis) == pytest.approx(q @ k, abs=1e-9)
    basis = pair_plane(np.zeros(3), q)
    assert np.linalg.norm(q @ basis) == pytest.approx(3.0)
    assert pair_plane(np.array([2.0]), np.array([3.0])).tolist() == [[1.0, 0.0]]


def test_two_features_keep_their_own_squares() -> None:
    vectors = np.array([[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]])
    assert kept_share(vectors, feature_plane(3, 1, 2)) == pytest.approx(33 / 34)
    assert kept_share(vectors, feature_plane(3, 0, 0)) == pytest.approx(1 / 34)
    assert (vectors @ feature_plane(3, 2, 0)).tolist() == [[2.0, 1.0], [4.0, 0.0]]


def test_numbers_that_are_not_finite_do_not_count() -> None:
    vectors = np.array([[1.0, 0.0, 0.0], [np.nan, 1.0, 0.0], [0.0, 2.0, 0.0]])
    basis = principal_plane(vectors)
    assert kept_share(vectors, basis) == pytest.approx(1.0)
    assert np.isnan(kept_share(np.zeros((2, 3)), basis))
