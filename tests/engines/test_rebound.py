"""Weights that are bound anew by path give the numbers of a new document."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, block, sited, small
from msgspec.structs import replace

from attnviz.core.progress import never_cancelled
from attnviz.engines.engine import Workers
from attnviz.engines.resolution import rebound, resolve
from attnviz.engines.run import HeldStages, forward, run
from attnviz.engines.table import ENGINES
from attnviz.model.sites.sites import alone
from attnviz.model.spec.block import Norm
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Heads, Projections, Seeded
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.weights import WEIGHT_BY_PATH, weights_of

NORM = Norm("layer", gain=DrawnRow(1, 1.0, 0.3), bias=DrawnRow(2))
DOCUMENTS = {
    **SPREAD,
    "norms": small(block=block("sandwich", after_1=NORM, after_2=NORM), final_norm=NORM),
    "norms of latents": small(
        block=replace(block("post"), norm_2=NORM),
        heads=Heads(2, 2, 3),
        latent=Latent(6, 5, norm=NORM, query_norm=NORM),
        projections=Projections(Seeded(2)),
    ),
}
USED = {name: {row.path: row for row in weights_of(sited(one))} for name, one in DOCUMENTS.items()}
CASES = [(name, path) for path in WEIGHT_BY_PATH for name in [one for one in USED if path in USED[one]][::4]]
"""Each weight, in a quarter of the documents that have it."""

UNSEEN = ("block.feed_forward.experts.correction",)
"""Weights that may change no stage: a choice stays as it is."""


@pytest.mark.parametrize("engine", ENGINES, ids=lambda row: row.id)
@pytest.mark.parametrize(("name", "path"), CASES)
def test_a_weight_that_is_bound_anew_is_that_of_a_new_document(name: str, path: str, engine: object) -> None:
    made = engine.make("float64", "cpu", Workers())  # type: ignore[attr-defined]
    site, weight = sited(DOCUMENTS[name]), USED[name][path]
    old = weight.array(site)
    numbers = np.where(np.isfinite(old), 0.75 * old + 0.125, old)
    expected, before = run(made, alone(weight.put(site, numbers))).only, run(made, DOCUMENTS[name]).only
    with made.active():
        operands = rebound(made, resolve(made, site), site, {path: numbers})
        held = HeldStages(made, operands.scoring, forward(made, operands, None, None, never_cancelled))
    assert held.stages == expected.stages
    has_changed = False
    for stage in held.stages:
        found = held.window(stage, 0, slice(None), slice(None))
        np.testing.assert_array_equal(found, expected.window(stage), err_msg=stage)
        has_changed |= not np.array_equal(found, before.window(stage), equal_nan=True)
    assert has_changed or site.heads.off or path in UNSEEN


def test_every_path_of_the_table_is_bound_anew() -> None:
    assert {path for _name, path in CASES} == set(WEIGHT_BY_PATH)


def test_a_weight_that_the_site_does_not_use_is_refused() -> None:
    made, site = ENGINES[0].make("float64", "cpu", Workers()), sited(small())
    with made.active(), pytest.raises(KeyError, match="gate.weights"):
        rebound(made, resolve(made, site), site, {"gate.weights": np.ones((6, 6))})
