"""Every failure loses its property in every preset that has it, and mending brings the document back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from msgspec.structs import replace

from attnviz.checkpoints.presets import load_preset, preset_ids
from attnviz.compute.decoding import decode_and_compare
from attnviz.compute.execute import execute
from attnviz.core.progress import never_cancelled
from attnviz.model.sites.sites import at, shown_site
from attnviz.model.spec.experiment import Experiment
from attnviz.study.failures.checks import CHECK_BY_ID, CHECKS, first_finding, moved
from attnviz.study.failures.running import mended
from attnviz.study.failures.table import FAILURE_BY_ID, FAILURES, MOVED, Failure

KEPT = {
    # Two or three tokens, of which one would have to get more than 0.9 of most rows.
    ("softmax-scores", "no-scale"),
    # Every query reads the same memory, so that their scores are compared nowhere.
    ("cross-attention", "no-positions"),
    # Vectors or scores of zero.
    ("t5-buckets", "overflow"),
    ("t5-buckets", "post-norm"),
    # No query leaves weight on the first key, or none sees it.
    ("added-mask", "no-sink"),
    ("fully-masked-row", "no-sink"),
    ("no-scale-512", "no-sink"),
    # A window mask hides what the cache has evicted.
    ("alibi-window", "evicted-sink"),
    # Numbers that four bits hold exactly.
    ("answer-in-sight", "quantised-cache"),
    ("position-temperature", "quantised-cache"),
    ("t5-buckets", "quantised-cache"),
    # Sublayers that add little, so that a norm divides by little more than 1.
    ("attention-sinks", "post-norm"),
    ("causal-order", "post-norm"),
    ("experts", "post-norm"),
}
"""Documents too small or too regular for a failure."""


def sound() -> dict[str, tuple[Experiment, str]]:
    found = {}
    for id_ in preset_ids():
        experiment = load_preset(id_).experiment
        if experiment.n_queries <= 32:
            found[id_] = experiment, shown_site(experiment, "")
    return found


SOUND = sound()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda row: row.id)
@pytest.mark.parametrize("preset", SOUND)
def test_it_loses_its_property_and_gets_it_back(preset: str, failure: Failure) -> None:
    experiment, site = SOUND[preset]
    broken = failure.breaks(experiment, site)
    if broken is None:
        assert failure.needs
        return
    assert mended(broken, experiment, broken) == experiment
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = execute(broken)
        if failure.check == MOVED:
            found = [moved(execute(experiment), trace)]
            found = [one for one in found if one is not None]
        elif failure.check:
            found = [
                f for name in trace.sites for f in CHECK_BY_ID[failure.check].find(trace, trace.site(name))
            ]
        else:
            decoded = decode_and_compare(broken, "numpy", "cpu", never_cancelled, 0)
            found = [] if decoded.first_beyond is None else [decoded.first_beyond]
    assert bool(found) == ((preset, failure.id) not in KEPT), first_finding(trace)


def test_what_was_edited_meanwhile_stays() -> None:
    experiment, site = SOUND["toy-attention"]
    broken = FAILURES[0].breaks(experiment, site)
    assert broken is not None
    edited = replace(broken, dtype="float64")
    assert mended(edited, experiment, broken) == replace(experiment, dtype="float64")


def test_every_check_is_the_one_of_a_failure() -> None:
    assert {row.check for row in FAILURES if row.check not in ("", MOVED)} == {row.id for row in CHECKS}


def test_a_state_without_a_place_for_a_failure_stays_as_it_is() -> None:
    """Undo may lead behind the state that was broken, to one with other stacks of layers."""
    stacked = load_preset("encoder-decoder").experiment
    states = [stacked]
    for failure in FAILURES:
        for state in (stacked, states[-1]):
            broken = failure.breaks(state, shown_site(state, "decoder.0.self"))
            states += [] if broken is None else [broken]
    kept = 0
    for before, broken in zip(states, states[1:], strict=False):
        for present in states:
            kept += mended(present, before, broken) is present and present != before
    assert kept


@pytest.mark.parametrize("preset", ["toy-attention", "tied-query-key", "causal-decode", "multi-head-latent"])
def test_the_scores_overflow_in_float16_and_no_stage_before_them(preset: str) -> None:
    """With the usual scale, on NumPy: the product of queries and keys in the hundreds is past 65,504."""
    experiment, site = SOUND[preset]
    broken = FAILURE_BY_ID["overflow"].breaks(experiment, site)
    assert broken is not None and broken.dtype == "float16"
    assert at(broken, site).scale == at(experiment, site).scale
    with np.errstate(all="ignore"):
        trace = execute(broken)
    assert trace.engine == "numpy"
    found = first_finding(trace)
    assert found is not None and (found.site, found.stage) == (site, "scores")
    largest = {one: float(np.abs(trace.site(site)[one]).max()) for one in ("q", "k")}
    assert 1 < max(largest.values()) < 65_504


def test_a_removed_sink_says_whose_keys_share_its_weight() -> None:
    """By the closed form: with the sink c, a key has exp(s) ÷ (exp(c) + Σ exp(s)), without it exp(s) ÷ Σ."""
    experiment, site = SOUND["attention-sinks"]
    broken = FAILURE_BY_ID["no-sink"].breaks(experiment, site)
    assert broken is not None and at(experiment, site).sinks is not None and at(broken, site).sinks is None
    before = execute(experiment)
    found = moved(before, execute(broken))
    taken = 1 - before.site(site)["weights"].sum(axis=-1)
    head, row = np.unravel_index(int(taken.argmax()), taken.shape)
    assert found is not None and found.stage == "weights"
    said = str(found.says)
    assert f"Head {head + 1}" in said and experiment.tokens[row] in said and f"{taken.max():.2f}" in said


def test_without_learned_sinks_the_first_token_is_hidden_from_the_later_ones() -> None:
    experiment, site = SOUND["causal-decode"]
    broken = FAILURE_BY_ID["no-sink"].breaks(experiment, site)
    assert broken is not None
    weights = execute(broken).site(site)["weights"]
    assert weights[:, 1:, 0].max() == 0 and weights[:, 0, 0].min() == 1
