"""The surroundings of a mixer in its layer: a part of its own, whose fields a path reads from the site."""

import pytest
from experiments import STACKS
from msgspec.structs import replace

import attnviz
from attnviz.errors import FieldError
from attnviz.model.edit.paths import part_at, put_at
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.spec.attention import Attention
from attnviz.model.spec.block import Norm
from attnviz.model.spec.site import NAMED, Site, Surroundings
from attnviz.model.stages import OF_LAYER, STAGES

AROUND = {
    "encoder and decoder": {
        "encoder.0.self": {"block", "embedding_norm"},
        "encoder.1.self": {"block", "final_norm"},
        "decoder.0.self": {"block"},
        "decoder.0.cross": {"block"},
        "decoder.1.self": {"block"},
        "decoder.1.cross": {"block", "final_norm", "readout"},
    },
    "two layers, post": {
        "layers.0.self": {"block", "embedding_norm"},
        "layers.1.self": {"block", "vocabulary", "readout"},
    },
}
"""The parts around each site that differ from those of a mixer alone."""


@pytest.mark.parametrize("name", AROUND)
def test_the_ends_of_a_stack_belong_to_its_first_and_last_layer(name: str) -> None:
    experiment = STACKS[name]
    found = {
        site: {
            field
            for field in Surroundings.__struct_fields__
            if getattr(at(experiment, site).layer, field) != getattr(Surroundings(), field)
        }
        for site in site_names(experiment)
    }
    assert found == AROUND[name]


def test_a_field_belongs_to_the_mixer_or_to_what_stands_around_it() -> None:
    assert not set(Site.__struct_fields__) & set(Surroundings.__struct_fields__)
    both = {*Site.__struct_fields__, *Surroundings.__struct_fields__}
    assert both - set(NAMED) == {"inputs", "layer"} and set(NAMED) < both
    assert set(NAMED) >= set(Attention.__struct_fields__)


def test_a_path_reads_and_replaces_a_part_of_the_layer() -> None:
    experiment = STACKS["two layers, post"]
    site = at(experiment, "layers.1.self")
    assert part_at(site, "block.norm_1") is site.layer.block.norm_1  # type: ignore[union-attr]
    changed = put_at(put_at(site, "block.norm_1", Norm("rms")), "temperature", 2.0)
    assert (changed.layer.block.norm_1, changed.temperature) == (Norm("rms"), 2.0)  # type: ignore[union-attr]
    layers = put(experiment, changed).layers
    assert layers == (experiment.layers[0], replace(layers[1], block=changed.layer.block, temperature=2.0))
    with pytest.raises(FieldError, match=r"^block must be "):
        put_at(site, "block", 3)


def test_a_script_reads_them_as_attributes_of_the_site() -> None:
    """As in version 0.2."""
    site: object = attnviz.run(STACKS["two layers, post"]).site("layers.1.self").experiment
    names = "block embedding_norm embedding_projection final_norm vocabulary readout writing transform"
    assert isinstance(site, Site)
    for name in names.split():
        assert getattr(site, name) == getattr(site.layer, name)
    assert not hasattr(site, "blocks")


def test_the_stages_of_the_phases_around_a_mixer_ask_its_layer_alone() -> None:
    for experiment in STACKS.values():
        for name in site_names(experiment):
            site = at(experiment, name)
            bare = site.changed(block=None, final_norm=None, readout="none")
            there = [row for row in STAGES if row.phase in OF_LAYER and row.is_in(bare)]
            assert there == []
