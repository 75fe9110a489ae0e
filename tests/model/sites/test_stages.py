"""The stages that a site is said to compute are those of its run, in their order and shapes."""

from __future__ import annotations

import pytest
from experiments import SPREAD, STACKS
from hypothesis import given, settings
from stacks import stacks

import attnviz
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.experiment import Experiment


def judge(experiment: Experiment) -> None:
    trace = attnviz.run(experiment)
    for name in trace.sites:
        site, made = at(experiment, name), trace.site(name)
        assert site_stages(site) == made.stages
        for stage in made.stages:
            assert stage_shape(site, stage) == made[stage].shape


@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_the_stages_of_every_kind_of_site(name: str) -> None:
    judge((SPREAD | STACKS)[name])


@given(stacks())
@settings(max_examples=30)
def test_the_stages_of_any_site(experiment: Experiment) -> None:
    judge(experiment)
