"""Planes through the origin of a vector space, and what vectors keep in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def feature_plane(width: int, first: int, second: int) -> Floats:
    """The plane of two features, (width, 2); its second axis is zero if both are the same feature."""
    basis = np.zeros((width, 2))
    basis[first, 0] = 1.0
    if second != first:
        basis[second, 1] = 1.0
    return basis


def principal_plane(vectors: Floats) -> Floats:
    """The plane that keeps most of the squared length of `vectors` (n, d), as an orthonormal basis (d, 2).

    The first two right singular vectors (Eckart and Young 1936), from the Gram matrix VᵀV. The vectors are
    not centred: arrows start at the origin. Each axis points where its largest entry is positive. Rows that
    are not finite do not count; with d = 1 the second axis is zero.
    """
    kept = vectors[np.isfinite(vectors).all(axis=1)]
    scale = float(np.abs(kept).max(initial=0.0)) or 1.0
    _values, axes = np.linalg.eigh((kept / scale).T @ (kept / scale))
    basis = np.zeros((vectors.shape[1], 2))
    plane = axes[:, ::-1][:, :2]
    signs = np.sign(np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None], axis=0))
    basis[:, : plane.shape[1]] = plane * np.where(signs == 0, 1.0, signs)
    return basis


def pair_plane(first: Floats, second: Floats) -> Floats:
    """The plane of two vectors (d,), as an orthonormal basis (d, 2): their dot product and lengths are exact.

    The first vector points to the right, the second has no part downwards. The second axis of two parallel
    vectors is any direction across them; it is zero with d = 1. A vector that is zero or not finite counts as
    the first feature.
    """
    width = len(first)
    basis = np.zeros((width, 2))
    basis[:, 0] = _direction(first, np.eye(width)[0])
    for candidate in (second, *np.eye(width)):
        across = _direction(candidate, np.zeros(width))
        for _twice in range(2):  # once is not enough for nearly parallel vectors
            across = across - basis[:, 0] * (basis[:, 0] @ across)
        if np.linalg.norm(across) > 1e-8:
            basis[:, 1] = _direction(across, across)
            break
    return basis


def kept_share(vectors: Floats, basis: Floats) -> float:
    """Share of the squared length of `vectors` (n, d) in a plane: ‖V B‖² ÷ ‖V‖², from 0 to 1.

    NaN for vectors without length.
    """
    kept = vectors[np.isfinite(vectors).all(axis=1)]
    scale = float(np.abs(kept).max(initial=0.0))
    if not scale:
        return float("nan")
    return float(np.sum((kept / scale @ basis) ** 2) / np.sum((kept / scale) ** 2))


def _direction(vector: Floats, otherwise: Floats) -> Floats:
    """The unit vector of a direction."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not largest or not np.isfinite(largest):
        return otherwise
    scaled = vector / largest
    return np.asarray(scaled / np.linalg.norm(scaled))
