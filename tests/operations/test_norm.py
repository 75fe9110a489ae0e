"""QK-norms against plain Python, and against torch's own functions."""

from __future__ import annotations

from typing import get_args

import array_api_compat.numpy as xp
import numpy as np
import pytest

from attnviz.model.spec.block import NormKind
from attnviz.model.spec.parts import QKNormKind
from attnviz.operations.norm import NORM_KIND_BY_ID, NORM_KINDS

X = np.random.default_rng(4).standard_normal((2, 3, 5, 6)) + 0.4


@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_they_are_torchs_own(eps: float) -> None:
    functional = pytest.importorskip("torch.nn.functional")
    x = pytest.importorskip("torch").tensor(X)
    expected = {
        "rms": functional.rms_norm(x, (6,), eps=eps),
        "layer": functional.layer_norm(x, (6,), eps=eps),
        "l2": functional.normalize(x, dim=-1, eps=0.0),
    }
    for kind in ("rms", "layer", "l2"):
        found = NORM_KIND_BY_ID[kind].function(xp, X, 0.0 if kind == "l2" else eps)
        np.testing.assert_allclose(found, expected[kind].numpy(), rtol=1e-13)


def test_lengths_and_means_are_what_the_names_say() -> None:
    np.testing.assert_allclose(np.linalg.norm(NORM_KIND_BY_ID["l2"].function(xp, X, 0.0), axis=-1), 1.0)
    np.testing.assert_allclose((NORM_KIND_BY_ID["rms"].function(xp, X, 0.0) ** 2).mean(axis=-1), 1.0)
    layer = NORM_KIND_BY_ID["layer"].function(xp, X, 0.0)
    np.testing.assert_allclose(layer.mean(axis=-1), 0.0, atol=1e-15)
    np.testing.assert_allclose(layer.std(axis=-1), 1.0)


def test_a_vector_of_zeros_stays_one() -> None:
    for kind in ("rms", "layer", "l2"):
        np.testing.assert_array_equal(NORM_KIND_BY_ID[kind].function(xp, np.zeros((1, 4)), 1e-6), 0.0)


def test_the_table_has_every_kind_that_a_document_can_name() -> None:
    assert tuple(row.id for row in NORM_KINDS) == get_args(QKNormKind)
    assert set(get_args(NormKind)) < set(get_args(QKNormKind))
