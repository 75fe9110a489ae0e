"""The first stage that goes wrong: in the run, or in a decoding that no longer equals it."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute, execute_decoding
from attnviz.model.caches import PagedCache, QuantisedCache, RingCache
from attnviz.model.edit.generation import set_cache
from attnviz.study.failures.running import first_failure
from attnviz.study.failures.table import FAILURE_BY_ID


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
    broken = FAILURE_BY_ID["late-mask"].breaks(experiment, "layers.0.self")
    assert broken is not None
    with np.errstate(all="ignore"):
        found = first_failure(execute(broken))
    assert found is not None and "not to 1" in str(found.says)


def test_a_cache_without_positions_is_named_by_the_first_rotation() -> None:
    """Each generated token rotates by 0, which changes nothing; the prompt stands where it should."""
    experiment = load_preset("grouped-query").experiment
    broken = FAILURE_BY_ID["no-offset"].breaks(experiment, "layers.0.self")
    assert broken is not None
    found = first_failure(execute(broken))
    assert found is not None and (found.site, found.stage) == ("layers.0.self", "q_rotated")
    decoded = execute_decoding(broken)
    full = execute(decoded.experiment)["k_rotated"]
    assert len(decoded.steps) > experiment.n_queries > 2
    for step in decoded.steps:
        expected = step["k"] if step.generated else full[:, step.index]
        np.testing.assert_allclose(step["k_rotated"], expected, rtol=1e-5, atol=1e-6)


def test_a_removed_sink_is_found_beside_the_document_before() -> None:
    experiment = load_preset("attention-sinks").experiment
    broken = FAILURE_BY_ID["no-sink"].breaks(experiment, "layers.0.self")
    assert broken is not None
    found = first_failure(execute(broken), FAILURE_BY_ID["no-sink"], experiment)
    assert found is not None and found.stage == "weights" and "on the sink" in str(found.says)


@pytest.mark.parametrize(
    ("id_", "says"),
    [("late-mask", "not to 1"), ("empty-row", "no visible key"), ("quantised-cache", "With the cache")],
)
def test_a_failure_of_a_trained_model_is_not_its_own_saturated_head(id_: str, says: str) -> None:
    experiment = load_preset("stories-en").experiment
    assert "saturated" in str(getattr(first_failure(execute(experiment)), "says", ""))
    broken = FAILURE_BY_ID[id_].breaks(experiment, "layers.1.self")
    assert broken is not None
    found = first_failure(execute(broken), FAILURE_BY_ID[id_], experiment)
    assert found is not None and says in str(found.says)
