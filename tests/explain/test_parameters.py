"""One number of a parameter: its source in words, its gradient against the backward pass."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, STACKS, small
from msgspec.structs import replace

import attnviz
from attnviz.explain.parameters import explain_parameter
from attnviz.model.gradient import GradientSite
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.parts import Explicit, Heads, Identity, Projections, Seeded, Tied
from attnviz.model.stages import result_of
from attnviz.model.weights import weights_of
from attnviz.operations.terms import flat, plain

ALL = SPREAD | STACKS


@pytest.mark.parametrize("name", ALL)
def test_the_digits_shown_give_the_gradient_of_the_backward_pass(name: str) -> None:
    """Of every parameter of every attention, at two opposite cells and at one between them."""
    experiment = replace(ALL[name], dtype="float64")
    names = site_names(experiment)
    stages = attnviz.run(experiment).site(names[-1]).stages
    last = "logits" if "logits" in stages and experiment.readout == "vocabulary" else result_of(stages)
    gradient = attnviz.backward(experiment, f"{names[-1]}.{last}[1, 1]")
    for where in names:
        site = gradient.site(where)
        assert isinstance(site, GradientSite)
        for weight in weights_of(site.experiment):
            stored = gradient.parameters.get(f"{where}.{weight.path}")
            if stored is None and weight.origin(site.experiment) == "identity":
                continue  # it has a derivative, but no number of the document
            array = np.zeros_like(weight.array(site.experiment)) if stored is None else np.atleast_2d(stored)
            n_rows, n_columns = array.shape
            for row, column in ((0, 0), (n_rows // 2, n_columns // 3), (n_rows - 1, n_columns - 1)):
                _value, line = explain_parameter(site, weight, row, column).lines
                expected = pytest.approx(float(array[row, column]), rel=1e-10, abs=1e-12, nan_ok=True)
                assert line.value == expected, (where, weight.path)
                shown = [piece for step in line.steps for piece in flat(step)]
                assert line.notes or any(getattr(piece, "source", None) for piece in shown)


def test_a_number_says_where_it_comes_from() -> None:
    written = Explicit(Matrix(np.full((6, 6), 0.5)))
    given = small(
        projections=Projections(Seeded(7), Tied("query"), Identity(), written), heads=Heads(2, 2, 3)
    )
    site = attnviz.run(given).site("layers.0.self")
    says = {}
    for weight in weights_of(site.experiment)[:4]:
        (line,) = explain_parameter(site, weight, 1, 2).lines
        assert line.value == weight.array(site.experiment)[1, 2]
        says[weight.symbol] = plain(line.notes[0])
    assert says == {
        "W_Q": "drawn at random, seed 7",
        "W_K": "tied: the number of W_Q",
        "W_V": "the identity: 1 on the diagonal, else 0",
        "W_O": "written in the document",
    }
