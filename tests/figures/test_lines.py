"""The figure of lines: its texts, its curves, and what it refuses."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

import attnviz
from attnviz.core.shades import HEAD_HUES
from attnviz.core.text import number
from attnviz.figures import figure_bytes, render
from attnviz.figures.kinds.lines import MOST_WORDS
from attnviz.model.links import LEAST
from attnviz.model.spec.parts import Causal, Heads, SeededVectors
from attnviz.model.spec.view import Lines, View

SVG = "{http://www.w3.org/2000/svg}"
TRACE = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),)))
LINED = View(picture="lines", query=3, head=1)


def texts(data: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(data).iter(f"{SVG}text")]


def curves(data: bytes, hue: str) -> int:
    """Cubic curves in a colour."""
    styled = re.findall(r'<path d="[^"]*?C[^"]*"[^>]*style="([^"]*)"', data.decode())
    return sum(f"stroke: {hue}" in style for style in styled)


def test_words_stand_on_both_sides_and_the_weights_of_the_query_beside_them() -> None:
    found = texts(figure_bytes(render(TRACE, LINED), "svg"))
    weights = TRACE["weights"][1, 3]
    for token in TRACE.experiment.tokens:
        assert found.count(token) == 2 * TRACE.experiment.tokens.count(token)
    for key in range(4):
        assert number(float(weights[key])) in found
    assert "weights · head 2 of 4" in found
    assert not any(text == number(0.0) for text in found), "masked keys have no number"


def test_each_line_is_a_curve_in_the_hue_of_its_head() -> None:
    everything = replace(LINED, lines=Lines("all", "all"))
    data = figure_bytes(render(TRACE, everything), "svg")
    weights = TRACE["weights"]
    for head in range(4):
        expected = int((weights[head] >= LEAST * weights.max()).sum())
        assert curves(data, HEAD_HUES[head]) == expected
    assert b"<image" not in data
    one = figure_bytes(render(TRACE, LINED), "svg")
    row = weights[1, 3]
    assert curves(one, HEAD_HUES[1]) == int((row >= LEAST * row.max()).sum())
    assert curves(one, HEAD_HUES[0]) == 0


def test_the_picture_is_that_of_the_view_where_the_stage_has_it() -> None:
    default = figure_bytes(render(TRACE, View()), "svg")
    assert figure_bytes(render(TRACE, LINED, picture="map"), "svg") == figure_bytes(
        render(TRACE, replace(LINED, picture="map")), "svg"
    )
    assert figure_bytes(render(TRACE, View(), picture="lines"), "svg") != default
    assert figure_bytes(render(TRACE, LINED, "scores"), "svg") == figure_bytes(
        render(TRACE, replace(LINED, picture="map"), "scores"), "svg"
    )


@pytest.mark.parametrize("format_id", ["pdf", "png"])
def test_other_formats_are_written(format_id: str) -> None:
    assert len(figure_bytes(render(TRACE, LINED, theme="dark"), format_id)) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"picture": "bars"}, "picture must be one of 'map', 'mean', 'lines', 'arcs'; got 'bars'."),
        ({"picture": "lines", "stage": "q"}, "map for a stage other than"),
        ({"picture": "lines", "site": "all"}, "map for all attentions"),
        ({"picture": "lines", "head": 9}, "head must be"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        render(TRACE, View(), **arguments)  # type: ignore[arg-type]


def test_a_text_that_is_too_long_is_refused() -> None:
    count = MOST_WORDS + 1
    trace = attnviz.run(attnviz.Experiment(("a",) * count, SeededVectors(count, 4)))
    with pytest.raises(ValueError, match=f"map for more than {MOST_WORDS} tokens"):
        render(trace, LINED)
    assert np.isfinite(trace["weights"]).all()
