"""The first stage that goes wrong: in the run, or in a decoding that no longer equals it."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.compute.execute import execute
from attnviz.compute.failures import first_failure
from attnviz.model.caches import PagedCache, QuantisedCache, RingCache
from attnviz.model.edit.generation import set_cache
from attnviz.model.failures.table import FAILURE_BY_ID
from attnviz.model.io.presets import load_preset


def test_a_ring_that_drops_the_first_tokens_changes_the_scores_of_the_rest() -> None:
    """The first stage whose rows have other keys than those of the full pass."""
    experiment = load_preset("causal-decode").experiment
    found = first_failure(execute(set_cache(experiment, RingCache(5))))
    assert found is not None and (found.site, found.stage) == ("layers.0.self", "weights")
    whole = execute(experiment)["weights"]
    # What a row of the full pass gives to evicted keys is the least that its own weights differ by in sum.
    evicted = max(whole[:, row, : row - 4].sum(-1).max() for row in range(5, 11))
    assert evicted > 0.1
    difference = float(str(found.says).split("up to ")[1].split()[0])
    assert 0.01 < difference <= 1


@pytest.mark.parametrize(("cache", "stage"), [(QuantisedCache(4), "scores"), (PagedCache(4), None)])
def test_an_inexact_cache_is_named_by_its_first_stage(cache: QuantisedCache, stage: str | None) -> None:
    found = first_failure(execute(set_cache(load_preset("causal-decode").experiment, cache)))
    assert (None if found is None else found.stage) == stage


def test_a_fault_of_the_run_comes_before_one_of_the_decoding() -> None:
    experiment = set_cache(load_preset("causal-decode").experiment, RingCache(5))
    broken = FAILURE_BY_ID["overflow"].breaks(experiment, "layers.0.self")
    assert broken is not None
    with np.errstate(all="ignore"):
        found = first_failure(execute(broken))
    assert found is not None and "past the range" in str(found.says)
