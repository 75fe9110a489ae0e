"""A site that is asked for again is the same object, and never that of another experiment."""

from __future__ import annotations

import pytest
from experiments import STACKS
from msgspec.structs import replace

from attnviz.model.sites import sites
from attnviz.model.sites.sites import at, site_names


def test_a_site_is_taken_out_once() -> None:
    given = STACKS["encoder and decoder"]
    for name in site_names(given):
        assert at(given, name) is at(given, name)
    with pytest.raises(
        KeyError,
        match=r"site must be one of 'encoder\.0\.self', 'encoder\.1\.self', 'decoder\.0\.self', "
        r"'decoder\.0\.cross', 'decoder\.1\.self', 'decoder\.1\.cross'; got 'layers\.0\.self'\.",
    ):
        at(given, "layers.0.self")


def test_a_later_experiment_never_gets_an_earlier_ones_site() -> None:
    given = STACKS["two layers, pre"]
    for step in range(1, 200):  # without a reference to the experiment, ids would come again
        changed = replace(given, layers=(replace(given.layers[0], temperature=float(step)),))
        assert at(changed, "layers.1.self").temperature == step
    assert len(sites._made) <= sites.KEPT_SITES
