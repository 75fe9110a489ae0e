"""Edits of the block: a switch restores what it removed, and nothing that the form offers raises."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from experiments import SPREAD, block, sited, small
from msgspec.structs import replace
from refusals import refusal

import attnviz
from attnviz.model.edit import block as block_edits
from attnviz.model.edit import edits
from attnviz.model.edit.block import LastSeen
from attnviz.model.sites.sites import alone
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward, Norm, NormPlacement
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, Heads, QKNorm, Seeded
from attnviz.model.spec.rows import DrawnRow, WrittenRow
from attnviz.model.spec.site import Site

FULL = sited(
    small(block=block("sandwich", after_1=Norm("rms", 0.25), after_2=Norm("layer", bias=DrawnRow(6))))
)


def seen(experiment: Experiment | Site) -> LastSeen:
    last = LastSeen()
    last.note_block(sited(experiment))
    return last


def test_the_block_comes_back_as_it_was() -> None:
    bare = block_edits.set_block(FULL, None)
    assert bare.block is None
    assert block_edits.set_block(bare, seen(FULL).last("block", Block, Block())) == FULL


def test_a_block_of_other_vectors_is_made_to_fit() -> None:
    written = Block(
        norm_1=Norm(gain=WrittenRow(Matrix([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))),
        feed_forward=FeedForward(2, down=Explicit(Matrix(np.ones((2, 6))))),
    )
    wider = edits.set_d_model(small(), 8)
    changed = block_edits.set_block(sited(wider), written)
    assert changed.block is not None and changed.block.feed_forward is not None
    gain, down = changed.block.norm_1.gain, changed.block.feed_forward.down  # type: ignore[union-attr]
    assert isinstance(gain, WrittenRow) and gain.values.array.tolist() == [[1, 2, 3, 4, 5, 6, 0, 0]]
    assert isinstance(down, Explicit) and down.values.array.tolist() == [[1] * 6 + [0, 0]] * 2


@pytest.mark.parametrize("placement", ["pre", "post", "parallel"])
def test_norms_after_leave_with_the_sandwich_and_come_back_with_it(placement: str) -> None:
    last = seen(FULL)
    there = block_edits.set_placement(FULL, placement, last)  # type: ignore[arg-type]
    assert there.block is not None and FULL.block is not None
    assert (there.block.placement, there.block.after_1, there.block.after_2) == (placement, None, None)
    assert there.block.norm_1 == FULL.block.norm_1
    again = block_edits.set_placement(there, "sandwich", last).block
    assert again == FULL.block
    as_rms = there.changed(block=replace(there.block, norm_1=Norm("rms")))
    first = block_edits.set_placement(as_rms, "sandwich", LastSeen()).block
    assert first is not None and (first.after_1, first.after_2) == (Norm("rms"), Norm("rms"))


def test_a_sandwich_without_feed_forward_has_one_norm_after() -> None:
    changed = block_edits.set_placement(sited(small(block=Block())), "sandwich", LastSeen()).block
    assert changed is not None and (changed.after_1, changed.after_2) == (Norm(), None)


def test_parallel_and_no_residual_exclude_each_other_in_the_same_words() -> None:
    words = "block.residual must be true with the placement 'parallel'; got false."
    alone = small(block=Block(residual=False))
    to_parallel = refusal(lambda e, p: block_edits.set_placement(sited(e), p, LastSeen()), alone, "parallel")
    to_none = refusal(block_edits.set_residual, sited(small(block=Block("parallel"))), False)
    with pytest.raises(ValueError) as raised:
        Block("parallel", residual=False)
    assert to_parallel == to_none == str(raised.value)
    assert words == to_none


def test_a_norm_keeps_epsilon_and_gain_through_its_kinds() -> None:
    assert FULL.block is not None and FULL.block.norm_1 is not None
    last, first = seen(FULL), FULL.block.norm_1
    as_rms = block_edits.norm_of_kind("norm_1", "rms", last, first)
    assert as_rms == Norm("rms", first.eps, first.gain)
    assert block_edits.norm_of_kind("norm_1", "layer", last, as_rms) == first
    assert block_edits.norm_of_kind("norm_1", "layer", last) == first


def test_the_feed_forward_layer_leaves_with_its_norms_and_comes_back_with_them() -> None:
    last = seen(FULL)
    off = block_edits.set_feed_forward(FULL, False, last)
    assert off.block is not None
    assert (off.block.feed_forward, off.block.norm_2, off.block.after_2) == (None, None, None)
    on = block_edits.set_feed_forward(off, True, last).block
    assert on is not None and FULL.block is not None
    assert on == FULL.block


def test_a_first_feed_forward_layer_is_four_times_as_wide() -> None:
    made = block_edits.set_feed_forward(sited(small(block=Block(norm_1=Norm("rms")))), True, LastSeen()).block
    assert made is not None
    assert made.feed_forward == FeedForward(24) and made.norm_2 == Norm("rms")


def test_hidden_features_cut_what_is_written_out() -> None:
    written = FeedForward(
        3,
        up=Explicit(Matrix(np.arange(18.0).reshape(6, 3))),
        down=Explicit(Matrix(np.ones((3, 6)))),
        up_bias=WrittenRow(Matrix([[1.0, 2.0, 3.0]])),
    )
    smaller = block_edits.change_feed_forward(sited(small(block=Block(feed_forward=written))), d_hidden=2)
    ffn = block_edits.ffn_of(smaller)
    assert isinstance(ffn.up, Explicit) and ffn.up.values.array[5].tolist() == [15.0, 16.0]
    assert isinstance(ffn.down, Explicit) and ffn.down.values.shape == (2, 6)
    assert isinstance(ffn.up_bias, WrittenRow) and ffn.up_bias.values.array.tolist() == [[1.0, 2.0]]


def test_the_clamped_unit_is_refused_without_its_gate() -> None:
    plain = small(block=Block(feed_forward=FeedForward(4)))
    words = refusal(
        lambda e, a: block_edits.change_feed_forward(sited(e), activation=a), plain, "clamped_swish"
    )
    assert words == "feed_forward.gated must be true with the activation 'clamped_swish'; got false."


def test_biases_come_back_and_move_the_output_by_themselves() -> None:
    with_bias = small(
        projections=replace(small().layers[0].projections, output_bias=WrittenRow(Matrix([[1.0] * 6])))
    )
    last = seen(with_bias)
    off = block_edits.set_bias(sited(with_bias), "output", False, last)
    moved = attnviz.run(with_bias)["attention_output"] - attnviz.run(alone(off))["attention_output"]
    np.testing.assert_allclose(moved, np.ones((5, 6)), atol=1e-12)
    assert block_edits.set_bias(off, "output", True, last) == sited(with_bias)
    wider = sited(edits.set_d_model(alone(off), 7))
    row = block_edits.set_bias(wider, "output", True, last).projections.output_bias
    assert isinstance(row, WrittenRow) and row.values.array.tolist() == [[1.0] * 6 + [0.0]]


def test_gains_of_queries_and_keys_need_their_norm() -> None:
    with pytest.raises(ValueError, match=r"qk_norm must be a norm, so that its gains can be set; got null\."):
        block_edits.set_qk_gains(sited(small()), True, LastSeen())
    normed = small(qk_norm=QKNorm("rms", query_gain=DrawnRow(9)), heads=Heads(2, 1, 4))
    last = seen(normed)
    off = block_edits.set_qk_gains(sited(normed), False, last)
    assert not block_edits.has_qk_gains(off.qk_norm)
    on = block_edits.set_qk_gains(off, True, last).qk_norm
    assert on is not None and on.query_gain == DrawnRow(9) and on.key_gain is not None


def test_a_source_of_the_feed_forward_layer_comes_back() -> None:
    before = small(block=Block(feed_forward=FeedForward(4, up=Seeded(77))))
    last = seen(before)
    written = block_edits.ffn_source(sited(before), "up", "explicit", last)
    changed = block_edits.change_feed_forward(sited(before), up=written)
    np.testing.assert_array_equal(attnviz.run(alone(changed))["ffn_up"], attnviz.run(before)["ffn_up"])
    assert block_edits.ffn_source(changed, "up", "seeded", last) == Seeded(77)


@pytest.mark.parametrize("name", [name for name, e in SPREAD.items() if e.layers[0].block is not None])
def test_every_control_of_every_block_is_legal_or_refused_in_one_sentence(name: str) -> None:
    site, last = sited(SPREAD[name]), LastSeen()
    last.note_block(FULL)
    tried = [
        *(lambda e, p=p: block_edits.set_placement(e, p, last) for p in get_args(NormPlacement)),
        *(lambda e, r=r: block_edits.set_residual(e, r) for r in (True, False)),
        *(lambda e, f=f: block_edits.set_feed_forward(e, f, last) for f in (True, False)),
        *(
            lambda e, n=n, k=k: block_edits.set_norm(e, n, k and block_edits.norm_of_kind(n, k, last))
            for n in ("norm_1", "after_1", "norm_2", "after_2")
            for k in (None, "layer", "rms")
        ),
        lambda e: block_edits.change_feed_forward(e, gated=False),
        lambda e: block_edits.change_feed_forward(e, d_hidden=1),
    ]
    for edit in tried:
        try:
            changed = edit(site)
        except ValueError as error:
            assert "; got " in str(error) and "\n" not in str(error)
        else:
            assert np.isfinite(attnviz.run(alone(changed))["attention_output"]).all()
