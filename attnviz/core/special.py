"""Elementwise functions that the array API lacks, or that libraries have in a faster form."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array


class Special(Protocol):
    """The functions for one kind of array: `NUMPY_SPECIAL`, and that of every engine."""

    def erf(self, x: Array, /) -> Array:
        """2 / √π · ∫₀ˣ exp(−t²) dt."""

    def sigmoid(self, z: Array, /) -> Array:
        """1 / (1 + exp(−z)), 0 and 1 at the infinities."""

    def at_least(self, x: Array, least: float, /) -> Array:
        """max(x, least); NaN stays NaN."""


class NumpySpecial:
    """The functions for NumPy, in the shape and dtype of the argument."""

    @staticmethod
    def erf(x: NDArray[Any]) -> NDArray[Any]:
        """The C library's float64 erf, rounded; a million numbers take a tenth of a second."""
        values = np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, count=x.size)
        return values.reshape(x.shape).astype(x.dtype)

    @staticmethod
    def sigmoid(z: NDArray[Any]) -> NDArray[Any]:
        """exp(min(z, 0)) / (1 + exp(−|z|)): exponentials of negative numbers only, so nothing overflows."""
        below = np.exp(-np.abs(z))
        below += 1
        values: NDArray[Any] = np.exp(np.minimum(z, 0))
        values /= below
        return values

    @staticmethod
    def at_least(x: NDArray[Any], least: float) -> NDArray[Any]:
        """`np.maximum`: `np.clip` takes twice as long."""
        larger: NDArray[Any] = np.maximum(x, least)
        return larger


NUMPY_SPECIAL = NumpySpecial()
