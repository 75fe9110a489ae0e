"""The sum of weighted values against the arrays of a run."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SITES, SPREAD, STACKS, small

import attnviz
from attnviz.model.spec.parts import Causal, Heads, Memory, SeededVectors
from attnviz.model.trace import SiteTrace
from attnviz.model.value_sum import FEW, ValueSum, value_sum

CAUSAL = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),))).only
CROSS = attnviz.run(
    small(heads=Heads(2, 2, 4), memory=Memory(("un", "chat", "!"), SeededVectors(3, 5, 8)))
).only


def summed(site: SiteTrace, head: int, query: int) -> ValueSum:
    sum_ = value_sum(site, head, query)
    assert sum_ is not None
    return sum_


@pytest.mark.parametrize(("name", "site_name"), SITES)
def test_the_last_tip_is_the_row_of_the_mixture(name: str, site_name: str) -> None:
    site = attnviz.run((SPREAD | STACKS)[name]).site(site_name)
    n_heads, n_queries = site.shape("mixed")[:2]
    for head, query in ((0, 0), (n_heads - 1, n_queries - 1)):
        sum_ = summed(site, head, query)
        mixture = np.nan_to_num(site["mixed"][head, query].astype(np.float64))
        tip = np.zeros_like(mixture) if sum_.is_off else sum_.mixed(1.0) @ sum_.values
        np.testing.assert_allclose(tip, mixture, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(np.nan_to_num(sum_.result), mixture)


def test_the_sum_begins_with_the_query_alone_and_moves_evenly() -> None:
    sum_ = summed(CAUSAL, 3, 2)
    own = CAUSAL["v"][1, 2].astype(np.float64)  # head 3 reads the second key/value head
    np.testing.assert_allclose(sum_.path(0.0)[:2], [np.zeros(2), own @ sum_.plane])
    assert (sum_.path(0.0)[1:] == sum_.path(0.0)[1]).all()
    for part in (0.0, 0.25, 1.0):
        steps = sum_.mixed(part)[list(sum_.steps), None] * sum_.values[list(sum_.steps)]
        np.testing.assert_allclose(sum_.path(part)[1:], np.cumsum(steps, axis=0) @ sum_.plane, atol=1e-12)
    halfway = 0.5 * own + 0.5 * CAUSAL["mixed"][3, 2]
    np.testing.assert_allclose(sum_.vector(0.5), halfway, rtol=1e-5)
    weights = CAUSAL["weights"][3, 2]
    assert sum_.order == tuple(sorted(range(3), key=lambda key: -weights[key]))
    assert sum_.steps == (2, *(key for key in sum_.order if key != 2))
    others = {key: weight for key, weight in enumerate(weights) if key < 2}
    assert sum_.strongest == max(others, key=others.__getitem__)


def test_a_first_query_has_nobody_but_itself() -> None:
    sum_ = summed(CAUSAL, 0, 0)
    assert (sum_.own, sum_.strongest, sum_.order) == (0, -1, (0,))
    np.testing.assert_allclose(sum_.vector(0.3), CAUSAL["v"][0, 0], rtol=1e-6)


def test_a_query_that_is_no_key_begins_with_nothing() -> None:
    sum_ = summed(CROSS, 1, 0)
    assert sum_.own == -1 and not sum_.vector(0.0).any()
    np.testing.assert_allclose(sum_.mixed(1.0) @ sum_.values, CROSS["mixed"][1, 0], rtol=1e-5)


def test_the_plane_of_many_values_holds_the_strongest_and_the_own_one_exactly() -> None:
    site = attnviz.run(attnviz.Experiment(("a",) * 9, SeededVectors(9, 16, 3))).only
    sum_ = summed(site, 0, 8)
    assert len(sum_.weights) > FEW
    for key in (sum_.strongest, sum_.own):
        drawn = sum_.values[key] @ sum_.plane
        assert np.linalg.norm(drawn) == pytest.approx(np.linalg.norm(sum_.values[key]))
    drawn = sum_.result @ sum_.plane
    assert sum_.share == pytest.approx(drawn @ drawn / (sum_.result @ sum_.result))


def test_the_plane_of_few_values_keeps_the_two_largest_directions() -> None:
    sum_ = summed(CAUSAL, 0, 2)
    _left, _sizes, axes = np.linalg.svd(sum_.values)
    kept = np.linalg.norm(sum_.values @ sum_.plane)
    assert kept == pytest.approx(np.linalg.norm(sum_.values @ axes[:2].T))
