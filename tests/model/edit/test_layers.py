"""Edits of the stack: copies with seeds of their own, positions added once, encoders, edits of all alike."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import MEMORY, SPREAD, block, small
from first_layer import with_fields
from msgspec.structs import replace

import attnviz
from attnviz.model.edit import block as block_edits
from attnviz.model.edit import edits
from attnviz.model.edit import layers as layer_edits
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Alibi,
    Causal,
    Dropout,
    Explicit,
    NoPosition,
    Projections,
    Seeded,
    Sinusoidal,
)
from attnviz.model.spec.site import Site

ONE = small(block=block("pre"), position=Sinusoidal(100.0), masks=(Causal(),))


def seeds(experiment: Experiment) -> list[int]:
    found = [at(experiment, name).projections.query for name in site_names(experiment)]
    return [source.seed for source in found if isinstance(source, Seeded)]


def test_a_copied_layer_has_seeds_of_its_own_and_no_added_position() -> None:
    two = layer_edits.set_n_layers(ONE, 2)
    first, second = (at(two, name) for name in site_names(two))
    assert site_names(two) == ("layers.0.self", "layers.1.self")
    assert first.projections == ONE.layers[0].projections and isinstance(first.position, Sinusoidal)
    assert second.projections == Projections(Seeded(101), Seeded(102), Seeded(103), Seeded(104))
    assert second.position == NoPosition() and second.masks == ONE.layers[0].masks
    assert second.block is not None and ONE.layers[0].block is not None
    assert second.block.feed_forward != ONE.layers[0].block.feed_forward
    assert second.block.dropout == replace(ONE.layers[0].block.dropout, seed=100)
    own = {"feed_forward": None, "norm_1": None, "norm_2": None, "dropout": Dropout()}
    assert replace(second.block, **own) == replace(ONE.layers[0].block, **own)
    assert "x" in attnviz.run(two).site("layers.0.self").stages
    assert "x" not in attnviz.run(two).site("layers.1.self").stages


def test_written_weights_and_relative_positions_are_copied() -> None:
    written = Explicit(Matrix(np.ones((6, 4))))
    one = small(projections=Projections(written, Seeded(1), Seeded(2), Seeded(3)), position=Alibi((0.5,)))
    second = at(layer_edits.set_n_layers(one, 2), "layers.1.self")
    assert second.projections.query == written and second.position == Alibi((0.5,))


def test_the_stack_shrinks_to_what_it_was() -> None:
    assert layer_edits.set_n_layers(layer_edits.set_n_layers(ONE, 5), 1) == ONE


def test_no_two_layers_have_the_same_seeds() -> None:
    doubled = layer_edits.set_n_layers(ONE, 3)
    for _ in range(3):
        doubled = layer_edits.duplicate_layer(doubled, "layers.0.self")
    assert len(set(seeds(doubled))) == len(seeds(doubled)) == 6


def test_a_layer_is_doubled_behind_itself_and_removed_where_it_stands() -> None:
    three = layer_edits.set_n_layers(ONE, 3)
    four = layer_edits.duplicate_layer(three, "layers.1.self")
    assert seeds(four)[:2] == seeds(three)[:2] and seeds(four)[3] == seeds(three)[2]
    assert layer_edits.remove_layer(four, "layers.2.self") == three


def test_the_first_layers_position_goes_over_to_the_next() -> None:
    two = layer_edits.set_n_layers(ONE, 2)
    one = layer_edits.remove_layer(two, "layers.0.self")
    assert one.layers[0].position == ONE.layers[0].position and seeds(one) == [101]


def test_the_last_layer_stays() -> None:
    with pytest.raises(ValueError, match=r"layers must keep at least one layer; got length 0\."):
        layer_edits.remove_layer(ONE, "layers.0.self")


def test_an_encoder_reads_the_memory_without_masks() -> None:
    made = layer_edits.set_n_encoder_layers(with_fields(ONE, memory=MEMORY, position=NoPosition()), 2)
    assert site_names(made) == ("encoder.0.self", "encoder.1.self", "decoder.0.cross")
    first, second = at(made, "encoder.0.self"), at(made, "encoder.1.self")
    assert first.masks == () and first.d_model == 5 and first.heads == ONE.layers[0].heads
    assert first.projections != second.projections
    run = attnviz.run(made)
    np.testing.assert_array_equal(
        run.site("decoder.0.cross")["memory"], run.site("encoder.1.self")["residual_2"]
    )
    assert layer_edits.set_n_encoder_layers(made, 0).encoder == ()
    assert layer_edits.remove_layer(layer_edits.set_n_encoder_layers(made, 1), "encoder.0.self").encoder == ()


def test_an_encoder_needs_a_memory() -> None:
    with pytest.raises(ValueError, match=r"encoder needs a memory sequence; got null\."):
        layer_edits.set_n_encoder_layers(ONE, 1)


def test_self_and_cross_in_every_layer_and_back() -> None:
    alone = layer_edits.set_n_layers(with_fields(ONE, memory=MEMORY, position=Sinusoidal(100.0)), 2)
    both = layer_edits.set_cross(alone, True)
    assert site_names(both) == tuple(f"decoder.{i}.{kind}" for i in (0, 1) for kind in ("self", "cross"))
    own, cross = at(both, "decoder.0.self"), at(both, "decoder.0.cross")
    assert own.masks == (Causal(),) and own.memory is None and own.position == Sinusoidal(100.0)
    assert cross.projections == alone.layers[0].projections and cross.position == NoPosition()
    assert own.block is not None and own.block.feed_forward is None and cross.block == alone.layers[0].block
    assert layer_edits.set_cross(both, False) == alone
    edited = put(both, replace(at(both, "decoder.1.self"), temperature=3.0))
    back = layer_edits.set_cross(layer_edits.set_cross(edited, False), True, edited.layers)
    assert back == edited


def test_all_layers_are_edited_alike_and_seeds_stay_apart() -> None:
    three = layer_edits.set_n_layers(ONE, 3)
    hot = layer_edits.edit_alike(three, "layers.1.self", lambda e: replace(e, temperature=2.0))
    assert [at(hot, name).temperature for name in site_names(hot)] == [2.0] * 3
    assert seeds(hot) == seeds(three)
    thrown = layer_edits.edit_alike(
        three,
        "layers.1.self",
        lambda e: replace(e, projections=replace(e.projections, query=Seeded(1000))),
    )
    assert seeds(thrown) == [900, 1000, 1100]
    keys = [at(thrown, name).projections.key for name in site_names(thrown)]
    assert keys == [at(three, name).projections.key for name in site_names(three)]


def test_a_block_for_all_has_other_weights_in_every_layer() -> None:
    three = layer_edits.set_n_layers(small(), 3)
    given = Block(feed_forward=FeedForward(4), norm_2=Norm())
    made = layer_edits.edit_alike(three, "layers.0.self", lambda e: e.changed(block=given))
    blocks = [at(made, name).block for name in site_names(made)]
    assert blocks[0] == given and len({b.feed_forward for b in blocks if b is not None}) == 3


def test_an_added_position_is_for_the_first_layer() -> None:
    three = layer_edits.set_n_layers(small(position=Alibi()), 3)
    made = layer_edits.edit_alike(three, "layers.0.self", lambda e: replace(e, position=Sinusoidal()))
    assert [at(made, name).position for name in site_names(made)] == [
        Sinusoidal(),
        NoPosition(),
        NoPosition(),
    ]


def test_only_attentions_of_the_same_kind_are_alike() -> None:
    both = layer_edits.set_cross(layer_edits.set_n_layers(replace(ONE, memory=MEMORY), 2), True)
    both = layer_edits.set_n_encoder_layers(both, 1)
    made = layer_edits.edit_alike(both, "decoder.1.cross", lambda e: replace(e, cap=3.0, dtype="float32"))
    capped = [name for name in site_names(made) if at(made, name).cap == 3.0]
    assert capped == ["decoder.0.cross", "decoder.1.cross"] and made.dtype == "float32"


def test_a_refusal_of_another_layer_names_it() -> None:
    two = layer_edits.set_n_layers(ONE, 2)
    bare = put(two, at(two, "layers.1.self").changed(block=None))
    with pytest.raises(
        ValueError, match=r"layers\[1\]\.block must be a block, so that its parts can be set; got null\."
    ):
        layer_edits.edit_alike(bare, "layers.0.self", lambda e: block_edits.set_residual(e, False))


@pytest.mark.parametrize("both", [True, False])
def test_a_memory_leaves_with_all_that_read_it(both: bool) -> None:
    """Written-out keys of the memory's five features are made to fit the tokens' six."""
    written = Projections(Seeded(1), Explicit(Matrix(np.ones((5, 4)))), Seeded(2), Seeded(3))
    two = layer_edits.set_n_layers(small(memory=MEMORY, projections=written), 2)
    two = layer_edits.set_n_encoder_layers(layer_edits.set_cross(two, both), 1)
    alone = edits.set_memory(two, None)
    assert site_names(alone) == ("layers.0.self", "layers.1.self") and alone.encoder == ()
    for name in site_names(alone):
        key = at(alone, name).projections.key
        assert isinstance(key, Explicit) and key.values.shape == (6, 4)
        assert key.values.array[5].tolist() == [0.0] * 4


@pytest.mark.parametrize("name", SPREAD)
def test_one_attention_is_edited_as_ever_while_all_are_edited_alike(name: str) -> None:
    experiment = SPREAD[name]
    (site,) = site_names(experiment)

    def edit(one: Site) -> Site:
        return edits.set_heads(replace(one, temperature=3.0), n_heads=4)

    edited = put(experiment, edit(at(experiment, site)))
    assert layer_edits.edit_alike(experiment, site, edit) == edited
    assert edited.layers[0].temperature == 3.0 and edited.layers[0].heads.n_heads == 4
