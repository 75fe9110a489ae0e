"""The special functions of NumPy, and those of its engine, against the C library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnviz.core.special import NUMPY_SPECIAL
from attnviz.engines.numpy_engine import COMPILED_ERF, EngineSpecial

NUMBERS = np.concatenate(
    [np.linspace(-6, 6, 40_001), np.logspace(-38, 1, 4_001), -np.logspace(-38, 1, 4_001)]
)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("count", [COMPILED_ERF - 2, COMPILED_ERF])
def test_the_error_function_of_an_engine_is_that_of_c(count: int, dtype: type) -> None:
    limits = [math.nan, math.inf, -math.inf, 0.0]
    x = np.concatenate([limits, NUMBERS[: count - 4]]).astype(dtype).reshape(2, -1).T
    expected = np.array([math.erf(one) for one in x.ravel().tolist()]).reshape(x.shape).astype(dtype)
    for special in (EngineSpecial(), NUMPY_SPECIAL):
        found = special.erf(x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


def test_sigmoid_is_that_of_the_c_library() -> None:
    x = np.concatenate([NUMBERS * 100, [math.inf, -math.inf]])
    expected = [1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z)) for z in x.tolist()]
    np.testing.assert_allclose(NUMPY_SPECIAL.sigmoid(x), expected, rtol=1e-15)
    assert float(NUMPY_SPECIAL.sigmoid(np.asarray(0.0))) == 0.5
