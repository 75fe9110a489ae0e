"""Tiles: every head of every attention, with the numbers of the trace; bright cells survive."""

from __future__ import annotations

import math

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

from attnviz.compute.execute import execute
from attnviz.core.head_scores import HEAD_SCORES, Head, Repeats
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.parts import Causal, Padding
from attnviz.study.heads.tiles import facts_of, grid_stage, groups, tiles


def test_a_tile_is_its_head() -> None:
    site = execute(load_preset("grouped-query").experiment).only
    assert tiles(site, "weights", 64)[0].facts is None
    found = tiles(site, "weights", 64, with_facts=True)
    assert [tile.head for tile in found] == list(range(8)) and found[0].shape == (8, 8)
    for tile in found:
        weights = site["weights"][tile.head]
        np.testing.assert_array_equal(tile.values, weights)
        hidden = site.hatched("weights")
        assert (hidden is None) == (tile.hidden is None)
        head = Head(weights, site.blocked(), Repeats(np.arange(8)))
        assert tile.facts is not None
        np.testing.assert_equal(tile.facts.scores, {row.id: row.of(head) for row in HEAD_SCORES})
        means = weights.mean(axis=0, dtype=np.float64)
        look = tile.facts.look
        assert look is not None and look.position == np.argmax(means)
        assert look.weight == means.max() and look.key == site.labels("key")[look.position]


def test_one_bright_cell_survives_the_reduction() -> None:
    site = execute(load_preset("long-sentence").experiment).only
    n = site.shape("weights")[-1]
    tile = tiles(site, "weights", 16)[0]
    assert max(tile.values.shape) <= 16 < n and tile.shape == (n, n)
    assert tile.values.max() == site["weights"][0].max()


def test_one_grid_for_each_kind_of_attention() -> None:
    experiment = load_preset("encoder-decoder").experiment
    found = groups(experiment)
    assert [(group.stack, group.kind, len(group.places)) for group in found] == [
        ("encoder", "self", len(experiment.encoder)),
        ("decoder", "self", len(experiment.layers)),
        ("decoder", "cross", len(experiment.layers)),
    ]
    trace = execute(experiment)
    cross = facts_of(trace.site("decoder.0.cross"), 0).scores
    assert math.isnan(cross["previous"]) and not math.isnan(cross["entropy"])
    assert not math.isnan(facts_of(trace.site("decoder.0.self"), 0).scores["previous"])


def test_references_belong_to_the_tokens_and_not_to_their_memory() -> None:
    plain = load_preset("encoder-decoder").experiment
    assert math.isnan(facts_of(execute(plain).site("decoder.0.self"), 0).scores["reference"])
    trace = execute(replace(plain, references=((2, 1), (3, 1), (3, 0))))
    for name in ("encoder.0.self", "decoder.0.cross"):
        assert math.isnan(facts_of(trace.site(name), 0).scores["reference"])
    weights = trace.site("decoder.0.self")["weights"][0]
    wanted = (weights[2, 1] + weights[3, 1] + weights[3, 0]) / 2
    assert facts_of(trace.site("decoder.0.self"), 0).scores["reference"] == pytest.approx(float(wanted))


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("scores", "scores"), ("masked", "weights"), ("q", "weights"), ("output", "weights")],
)
def test_a_stage_without_queries_and_keys_falls_back_to_the_weights(wanted: str, shown: str) -> None:
    site = execute(load_preset("toy-attention").experiment).only
    assert grid_stage(site, wanted) == shown


def test_a_head_with_nan_attends_to_nothing_in_particular() -> None:
    plain = small(masks=(Causal(), Padding((0,))))
    layer = replace(plain.layers[0], fully_masked_row="nan")
    site = execute(replace(plain, layers=(layer,))).shown("")
    assert np.isnan(tiles(site, "weights", 64)[0].values).any() and facts_of(site, 0).look is None
