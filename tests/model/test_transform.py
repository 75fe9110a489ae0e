"""The transform between a model's output and its vocabulary: its valid values, and its stored numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from first_layer import stacked
from msgspec.structs import replace
from safetensors.numpy import load_file

from attnviz.model.edit.edits import set_d_model
from attnviz.model.io.files import dumps, load, loads, save
from attnviz.model.operands.matrices import transform_numbers
from attnviz.model.sites.sites import main_site
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.latent import LATENT_ROLES, Latent
from attnviz.model.spec.parts import Explicit, ExplicitVectors, Heads, SeededVectors
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import Transform, Vocabulary

KNOWN = Vocabulary(("a", "b"), Matrix([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"activation": "clamped_swish"},
            "vocabulary.transform.activation must be an activation without a gate; got 'clamped_swish'.",
        ),
        (
            {"weights": Explicit(Matrix([[1.0, 2.0]]))},
            "vocabulary.transform.weights.values must be 3x3 (in x out); got 1x2.",
        ),
        (
            {"bias": WrittenRow(Matrix([[1.0]]))},
            "vocabulary.transform.bias.values must have length 3; got length 1.",
        ),
        (
            {"norm": Norm(gain=WrittenRow(Matrix([[1.0, 1.0]])))},
            "vocabulary.transform.norm.gain.values must have length 3; got length 2.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        known = replace(KNOWN, transform=Transform(**values))
        stacked(("a",), SeededVectors(1, 3), heads=Heads(1, 1, 4), vocabulary=known)
    assert str(caught.value) == message


def test_another_width_cuts_and_fills_it() -> None:
    transform = Transform(
        Explicit(Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])),
        WrittenRow(Matrix([[1.0, 2.0, 3.0]])),
        norm=Norm(gain=WrittenRow(Matrix([[1.0, 2.0, 3.0]]))),
    )
    before = stacked(
        ("a",), SeededVectors(1, 3), heads=Heads(1, 1, 4), vocabulary=replace(KNOWN, transform=transform)
    )
    after = set_d_model(before, 2).vocabulary
    assert after is not None
    assert after.transform == Transform(
        Explicit(Matrix([[1.0, 2.0], [4.0, 5.0]])),
        WrittenRow(Matrix([[1.0, 2.0]])),
        norm=Norm(gain=WrittenRow(Matrix([[1.0, 2.0]]))),
    )
    assert transform_numbers(main_site(set_d_model(before, 4)))()[3].tolist() == [0.0] * 4


def test_a_transform_and_a_latent_are_stored_as_tensors(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)

    def matrix(*shape: int) -> Explicit:
        return Explicit(Matrix(rng.standard_normal(shape)))

    def row(length: int) -> WrittenRow:
        return WrittenRow(Matrix(rng.standard_normal((1, length))))

    transform = Transform(matrix(3, 3), row(3), "relu", Norm("layer", 0.1, row(3), row(3)))
    latent = Latent(
        2, 5, 2, Norm("rms", 0.1, row(2)), Norm("rms", 0.1, row(5)),
        matrix(3, 2), matrix(2, 4), matrix(2, 4), matrix(3, 2), matrix(3, 5),
    )  # fmt: skip
    experiment = stacked(
        ("a",),
        ExplicitVectors(Matrix([[1.0, 2.0, 3.0]])),
        heads=Heads(1, 1, 4),
        latent=latent,
        vocabulary=replace(KNOWN, transform=transform),
        readout="vocabulary",
    )
    assert loads(dumps(experiment)).experiment == experiment
    path = save(experiment, tmp_path / "all.safetensors")
    assert load(path).experiment == experiment
    assert set(load_file(path)) == {
        "vectors",
        "vocabulary.embedding",
        "vocabulary.transform.weights",
        "vocabulary.transform.bias",
        "vocabulary.transform.norm.gain",
        "vocabulary.transform.norm.bias",
        *(f"layers[0].latent.{role}" for role in LATENT_ROLES),
        "layers[0].latent.norm.gain",
        "layers[0].latent.query_norm.gain",
    }
