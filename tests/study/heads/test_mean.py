"""The mean of the heads against NumPy's own, its colours, and the head behind a cell."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

import attnviz
from attnviz.figures import figure_bytes, render
from attnviz.model.spec.parts import Causal, Heads
from attnviz.model.spec.view import View
from attnviz.study.heads import mean as heads_mean
from attnviz.study.heads.mean import has_mean, largest_head, mean_ends, shows_mean

TRACE = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),), dtype="float32"))
MEAN = View(picture="mean")


def test_the_mean_is_that_of_all_heads() -> None:
    wanted = TRACE["weights"].astype(np.float64).mean(axis=0)
    found = TRACE.only.mean("weights")
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
    assert not found.flags.writeable and TRACE.only.mean("weights") is found


def test_shares_of_several_heads_have_a_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    site = TRACE.only
    assert [stage for stage in site.stages if has_mean(site, stage)] == ["weights"]
    assert shows_mean(site, MEAN, "weights") and not shows_mean(site, MEAN, "scores")
    assert not shows_mean(site, View(), "weights")
    one = attnviz.run(small(heads=Heads(1, 1, 4))).only
    assert not has_mean(one, "weights")
    monkeypatch.setattr(heads_mean, "MOST_CELLS", 4)
    assert not has_mean(site, "weights")


def test_its_colours_are_its_own_or_those_of_all_heads() -> None:
    site = TRACE.only
    assert mean_ends(site, "weights", "head") == (0.0, float(site.mean("weights").max()))
    assert mean_ends(site, "weights", "global") == (0.0, float(TRACE["weights"].max()))


def test_the_head_behind_a_cell_has_the_largest_weight_there() -> None:
    weights = TRACE["weights"]
    for row in range(weights.shape[1]):
        for column in range(row + 1):
            assert largest_head(TRACE.only, "weights", row, column) == int(weights[:, row, column].argmax())


def test_a_figure_draws_it_where_the_view_or_an_option_says_so() -> None:
    of_view = figure_bytes(render(TRACE, MEAN), "svg")
    assert of_view == figure_bytes(render(TRACE, picture="mean"), "svg")
    assert b"weights \xc2\xb7 mean of 4 heads" in of_view
    turned = replace(MEAN, orientation="queries_as_columns")
    assert figure_bytes(render(TRACE, turned), "svg") != of_view
    assert figure_bytes(render(TRACE, MEAN, "scores"), "svg") == figure_bytes(
        render(TRACE, View(), "scores"), "svg"
    )
    with pytest.raises(ValueError, match="picture must be map for a stage other than"):
        render(TRACE, View(), "scores", picture="mean")
