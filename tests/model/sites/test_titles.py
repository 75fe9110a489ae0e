"""Sites in words, long and short."""

from __future__ import annotations

import pytest

from attnviz.model.io.presets import load_preset
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import label_among_several, row_title, site_label, site_title


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
    with pytest.raises(
        KeyError, match=r"site must be one of 'layers\.0\.self', 'layers\.1\.self'; got 'layers\.2\.self'\."
    ):
        site_title(load_preset("encoder-only").experiment, "layers.2.self")


def test_a_short_label_counts_the_layers_and_a_single_site_needs_none() -> None:
    both = load_preset("encoder-decoder").experiment
    assert [site_label(both, name) for name in site_names(both)] == [
        "encoder 1 of 1",
        "decoder 1 of 1 · self",
        "decoder 1 of 1 · cross",
    ]
    assert [row_title(both, name) for name in site_names(both)] == ["1", "1 · self", "1 · cross"]
    two = load_preset("decoder-only").experiment
    assert [row_title(two, name) for name in site_names(two)] == ["1", "2"]
    assert label_among_several(two, "layers.1.self") == "layer 2 of 2"
    one = load_preset("cross-attention").experiment
    assert site_label(one, "layers.0.cross") == "layer 1 of 1 · cross"
    assert label_among_several(one, "layers.0.cross") == ""
