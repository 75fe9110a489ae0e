"""Stages of a trace by name alone: those that exactly one site has."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import STACKS

import attnviz
from attnviz.checkpoints.presets import load_preset


@pytest.mark.parametrize("name", ["stories-en", "decoder-only", "encoder-decoder"])
def test_the_logits_of_a_stack_are_its_own(name: str) -> None:
    trace = attnviz.run(load_preset(name))
    last = trace.site(trace.sites[-1])
    for stage in ("logits", "probabilities"):
        np.testing.assert_array_equal(trace[stage], last[stage])
        np.testing.assert_array_equal(trace.window(stage), last.window(stage))


@pytest.mark.parametrize("name", STACKS)
def test_a_stage_of_one_site_needs_no_site_and_one_of_several_does(name: str) -> None:
    trace = attnviz.run(STACKS[name])
    owners: dict[str, list[str]] = {}
    for site in trace.sites:
        for stage in trace.site(site).stages:
            owners.setdefault(stage, []).append(site)
    for stage, sites in owners.items():
        if len(sites) == 1:
            np.testing.assert_array_equal(trace[stage], trace.site(sites[0])[stage])
            continue
        with pytest.raises(KeyError, match=f"site must be one of '{sites[0]}'"):
            trace[stage]


def test_a_stage_that_no_site_has_is_refused_with_those_that_exist() -> None:
    trace = attnviz.run(load_preset("decoder-only"))
    with pytest.raises(KeyError, match=r"stage must be one of 'tokens_embedded'.*got 'capped'"):
        trace["capped"]


def test_a_gradient_by_name_is_that_of_the_only_site() -> None:
    gradient = attnviz.backward(load_preset("decoder-only"), "loss")
    np.testing.assert_array_equal(gradient["logits"], gradient.site(gradient.sites[-1])["logits"])
