"""One number of a parameter: its source in words, its gradient against the backward pass."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, small
from msgspec.structs import replace

import attnviz
from attnviz.model.explain.arithmetic.terms import flat, plain
from attnviz.model.explain.parameters import LINEAR, explain_parameter
from attnviz.model.gradients.gradient import GradientSite
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.parts import Explicit, Heads, Identity, Projections, Seeded, Tied
from attnviz.model.stages import result_of
from attnviz.model.weights import weights_of

NAMES = ("biases", "gelu", "experts with biases", "transformer-xl, cross", "residual dropout")


@pytest.mark.parametrize("name", NAMES)
def test_the_digits_shown_give_the_gradient_of_the_backward_pass(name: str) -> None:
    experiment = replace(SPREAD[name], dtype="float64")
    (where,) = site_names(experiment)
    stages = attnviz.run(experiment).site(where).stages
    gradient = attnviz.backward(experiment, f"{result_of(stages)}[0, 1]")
    site, seen = gradient.site(where), 0
    assert isinstance(site, GradientSite)
    for weight in weights_of(site.experiment):
        stored = gradient.parameters.get(f"{where}.{weight.path}")
        if weight.path not in LINEAR or stored is None:
            continue
        array = np.atleast_2d(stored)
        for row, column in ((0, 0), (array.shape[0] - 1, array.shape[1] - 1)):
            _value, line = explain_parameter(site, weight, row, column).lines
            assert line.value == pytest.approx(float(array[row, column]), rel=1e-10, abs=1e-12)
            assert any(getattr(piece, "source", None) for piece in flat(line.steps[-1]))
            seen += 1
    assert seen >= 8


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
