"""All attentions in one figure: every cell equally large, one scale, the counts of the text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.figures import figure_bytes, render
from attnviz.figures.content import Map
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.sites import all_sites, measure
from attnviz.figures.palette import palette
from attnviz.figures.style import Style
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import View

LIGHT = palette("light")
SVG = "{http://www.w3.org/2000/svg}"


def texts(trace: attnviz.Trace, *args: object, **named: object) -> list[str]:
    data = figure_bytes(render(trace, View(), *args, **named), "svg")  # type: ignore[arg-type]
    return ["".join(text.itertext()) for text in ET.fromstring(data).iter(f"{SVG}text")]


def traced(preset: str) -> attnviz.Trace:
    return attnviz.run(load_preset(preset))


def test_the_maps_are_the_weights_of_the_sites_on_one_scale() -> None:
    trace = traced("encoder-decoder")
    shown = all_sites(trace, View(), "weights", 1, LIGHT)
    assert [one.content.maps[0].values.shape for one in shown.maps] == [(6, 6), (4, 4), (4, 6)]
    for one, name in zip(shown.maps, trace.sites, strict=True):
        np.testing.assert_array_equal(one.content.maps[0].values, trace.site(name)["weights"][1])
        assert one.content.scale is shown.scale
    assert shown.scale.high == max(trace.site(name)["weights"].max() for name in trace.sites)
    assert shown.formula == "36 + 16 + 24 = 76 pairs, 70 visible"
    assert shown.marks["masked"] == 6
    assert [(one.row, one.column) for one in shown.maps] == [(0, 0), (0, 1), (0, 2)]


def test_cells_are_equally_large_and_maps_do_not_touch() -> None:
    shown = all_sites(traced("encoder-decoder"), View(), "weights", 0, LIGHT)
    with drawing():
        layout = measure(shown, Style())
    sizes = {(slot.cells.cell_w, slot.cells.cell_h) for slot in layout.slots}
    assert len(sizes) == 1
    rights = [
        slot.x + slot.cells.plot_size(*_matrix(one.content.maps[0]))[0]
        for one, slot in zip(shown.maps, layout.slots, strict=True)
    ]
    for right, slot in zip(rights, layout.slots[1:], strict=False):
        assert right < slot.x - 20
    assert (
        layout.bar is not None and rights[-1] < layout.bar[0] and layout.bar[0] + layout.bar[2] < layout.width
    )


def _matrix(one: Map) -> tuple[int, int]:
    return one.values.shape[0], one.values.shape[1]


def test_layers_of_an_encoder_and_a_decoder_go_upwards_and_those_of_one_stack_sideways() -> None:
    document = load_preset("encoder-decoder")
    experiment = document.experiment
    two = replace(experiment, layers=experiment.layers * 2, encoder=experiment.encoder * 2)
    shown = all_sites(attnviz.run(two), View(), "weights", 0, LIGHT)
    with drawing():
        layout = measure(shown, Style())
    tops = {(one.row, one.column): slot.y for one, slot in zip(shown.maps, layout.slots, strict=True)}
    assert set(tops) == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)}
    assert tops[1, 0] < tops[0, 0]
    assert shown.formula == "2 × 36 + 2 × 16 + 2 × 24 = 152 pairs, 140 visible"
    sideways = all_sites(traced("decoder-only"), View(), "weights", 0, LIGHT)
    assert [(one.row, one.column) for one in sideways.maps] == [(0, 0), (0, 1)]


def test_the_file_has_the_counts_the_names_and_the_tokens_of_both_sequences() -> None:
    found = texts(traced("encoder-decoder"), site="all")
    for line in (
        "weights · head 1 · all attentions",
        "36 + 16 + 24 = 76 pairs, 70 visible",
        "Encoder layer 1",
        "6 × 6 = 36 pairs",
        "masked self-attention",
        "4 × 4 = 16 pairs",
        "10 of 16 visible",
        "cross-attention",
        "4 × 6 = 24 pairs",
    ):
        assert found.count(line) == 1, line
    # The source: both axes of the encoder and the keys of the cross-attention.
    assert found.count("cat") == 3 and found.count("坐在") == 3


def test_the_title_names_the_site_where_there_are_several() -> None:
    assert "Decoder layer 1 · cross-attention · weights · head 1 of 2" in texts(
        traced("encoder-decoder"), "weights", site="decoder.0.cross"
    )
    assert "weights · head 1 of 1" in texts(traced("toy-attention"), "weights")


def test_one_attention_alone_is_drawn_as_one_map() -> None:
    found = texts(traced("toy-attention"), site="all")
    assert "4 × 4 = 16 pairs" in found and "16 = 16 pairs" not in found


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"site": "layers.7.self"},
            "site must be one of 'encoder.0.self', 'decoder.0.self', 'decoder.0.cross'; got 'layers.7.self'.",
        ),
        (
            {"site": "all", "stage": "q"},
            "stage must be a stage of all attentions ('scores', 'scaled', 'weights'); got 'q'.",
        ),
        (
            {"site": "all", "stage": "masked"},
            "stage must be a stage of all attentions ('scores', 'scaled', 'weights'); got 'masked'.",
        ),
        ({"site": "all", "head": 2}, "head must be a head of all attentions, 0 to 1; got 2."),
        ({"site": "all", "head": "all"}, "head must be one head for all attentions; got 'all'."),
    ],
)
def test_what_not_all_attentions_have_is_refused(wanted: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        render(traced("encoder-decoder"), View(), **wanted)  # type: ignore[arg-type]
    assert str(refused.value).startswith(sentence)
