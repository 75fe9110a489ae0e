"""A site is derived once, never that of another experiment, and no longer kept than its experiment."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import numpy as np
import pytest
from experiments import SPREAD, STACKS
from msgspec.structs import replace

import attnviz
from attnviz.model.io.files import dumps, load
from attnviz.model.sites.sites import at, site_names, sites
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, Projections
from attnviz.model.spec.site import Site


def test_a_site_is_derived_once() -> None:
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
    first, second = given.layers
    for step in range(1, 200):  # without a reference to the experiment, ids would come again
        changed = replace(given, layers=(first, replace(second, temperature=float(step))))
        assert at(changed, "layers.1.self").temperature == step


@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_a_site_and_an_experiment_are_of_two_types(name: str) -> None:
    experiment = (SPREAD | STACKS)[name]
    for site in sites(experiment).values():
        assert type(site) is Site and not isinstance(site, Experiment)
    assert not issubclass(Experiment, Site)


def _fresh(experiment: Experiment) -> Experiment:
    """An equal experiment that nothing else holds, so that only what is kept for it keeps it."""
    return replace(experiment)


@pytest.fixture
def collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("name", ["encoder and decoder", "two layers, pre"])
def test_a_closed_experiment_is_freed_with_all_that_was_computed_of_it(name: str) -> None:
    experiment = _fresh(STACKS[name])
    trace, decoding = attnviz.run(experiment), attnviz.decode(experiment)
    alive = [ref(experiment), *(ref(site) for site in sites(experiment).values())]
    alive += [ref(site) for site in sites(decoding.experiment).values()]
    assert all(one() is not None for one in alive)
    del experiment, trace, decoding
    gc.collect()
    assert [one() for one in alive if one() is not None] == []


def test_an_illegal_first_encoder_layer_is_refused_everywhere(tmp_path: Path) -> None:
    """The first encoder layer is the first site, but not the experiment's own attention."""
    given = STACKS["encoder and decoder"]
    wrong = replace(given.encoder[0], projections=Projections(output=Explicit(Matrix(np.ones((7, 3))))))
    with pytest.raises(ValueError, match=r"^encoder\[0\]\.projections\.output\.values"):
        replace(given, encoder=(wrong, *given.encoder[1:]))
    document = json.loads(dumps(given))
    document["experiment"]["encoder"][0]["projections"]["output"] = {
        "kind": "explicit",
        "values": [[1.0] * 3] * 7,
    }
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ValueError, match=r"encoder\[0\]\.projections\.output\.values"):
        load(path)
