"""A and B by their gradients: the numbers of both are those of a backward pass of each."""

from __future__ import annotations

from weakref import ref

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.progress import Progress
from attnviz.gui.panels.compare.picture import of_contrast
from attnviz.gui.panels.compare.requests import OwnAsked, Pinned, Where


@pytest.mark.parametrize("stage", ["weights", "masked", "q"])
def test_a_comparison_of_gradients_has_those_of_both_sides(stage: str) -> None:
    document = load_preset("decoder-only")
    document = replace(document, view=replace(document.view, quantity="gradient", target="loss", head=0))
    layers = tuple(replace(layer, temperature=2.0) for layer in document.experiment.layers)
    first = replace(document, experiment=replace(document.experiment, layers=layers))
    traces = [attnviz.run(first), attnviz.run(document)]
    drawn = [attnviz.backward(first, "loss"), attnviz.backward(document, "loss")]
    asked = OwnAsked(
        pinned=Pinned(first, "numpy", "auto"),
        drawn=ref(drawn[1]),
        stage=stage,
        alignment="position",
        follows=True,
        own=Where(document.site, document.view.head),
        claims=(),
        document=document,
        trace=ref(traces[1]),
        kept=traces[0],
    )
    found = asked.answer(Progress(lambda: None)).contrast
    wanted = [of.site(document.site)[stage] for of in drawn]
    wanted = [array[0] if array.ndim == 3 else array for array in wanted]
    np.testing.assert_array_equal(found.first.values, wanted[0])
    np.testing.assert_array_equal(found.second.values, wanted[1])
    np.testing.assert_array_equal(found.difference, wanted[1] - wanted[0])
    assert found.called.startswith("∂ loss / ∂ ") and found.is_signed
    sheets = of_contrast(found, ("pinned", "now"), document.view).sheets
    assert {sheet.kind for sheet in sheets} == {"diverging"}
