"""Sites in words and in pairs: the counts are those of the text, counted cell by cell."""

from __future__ import annotations

import pytest

import attnviz
from attnviz.model.presets import load_preset
from attnviz.model.site_titles import Pairs, pairs_of, site_title, sum_of_pairs
from attnviz.model.sites import site_names


def test_the_three_attentions_have_n_squared_m_squared_and_n_times_m_pairs() -> None:
    experiment = load_preset("encoder-decoder").experiment
    trace = attnviz.run(experiment)
    counted = [pairs_of(trace.site(name).experiment) for name in trace.sites]
    assert [pairs.product for pairs in counted] == [
        "6 × 6 = 36 pairs",
        "4 × 4 = 16 pairs",
        "4 × 6 = 24 pairs",
    ]
    assert [pairs.visible_of_total for pairs in counted] == ["", "10 of 16 visible", ""]
    assert sum_of_pairs(counted) == "36 + 16 + 24 = 76 pairs, 70 visible"
    for name, pairs in zip(trace.sites, counted, strict=True):
        weights = trace.site(name)["weights"][0]
        assert (weights.size, int((weights > 0).sum())) == (pairs.total, pairs.visible)


def test_sites_are_named_by_layer_and_attention() -> None:
    titles = {
        preset: [
            site_title(load_preset(preset).experiment, name)
            for name in site_names(load_preset(preset).experiment)
        ]
        for preset in ("encoder-decoder", "decoder-only", "encoder-only", "cross-attention")
    }
    assert titles == {
        "encoder-decoder": [
            "Encoder layer 1 · self-attention",
            "Decoder layer 1 · masked self-attention",
            "Decoder layer 1 · cross-attention",
        ],
        "decoder-only": ["Layer 1 · masked self-attention", "Layer 2 · masked self-attention"],
        "encoder-only": ["Layer 1 · self-attention", "Layer 2 · self-attention"],
        "cross-attention": ["Layer 1 · cross-attention"],
    }
    with pytest.raises(KeyError, match="this experiment has layers.0.self, layers.1.self"):
        site_title(load_preset("encoder-only").experiment, "layers.2.self")


def test_equal_layers_are_counted_once_and_multiplied() -> None:
    assert sum_of_pairs([Pairs(6, 6, 36)] * 12) == "12 × 36 = 432 pairs"
    assert (
        sum_of_pairs([Pairs(6, 6, 21), Pairs(6, 6, 21), Pairs(4, 6, 24)])
        == "2 × 36 + 24 = 96 pairs, 66 visible"
    )
