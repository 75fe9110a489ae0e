"""The figure of arcs: its words, its curves and their thickness, and what it refuses."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

import attnviz
from attnviz.core.arcs import LEAST_THICKNESS
from attnviz.core.shades import HEAD_HUES
from attnviz.core.text import number
from attnviz.figures import figure_bytes, render
from attnviz.figures.figure import figure_of
from attnviz.figures.kinds.arcs import LEAST, arcs_figure
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.links import word_lines
from attnviz.model.spec.parts import Causal, Heads, SeededVectors
from attnviz.model.spec.view import FirstToken, Lines, View

SVG = "{http://www.w3.org/2000/svg}"
TRACE = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),)))
ARCS = View(picture="arcs", query=3, head=1)


def texts(data: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(data).iter(f"{SVG}text")]


def strokes(data: bytes) -> list[tuple[str, float]]:
    """Colour and width of the cubic curves without a fill."""
    found = re.findall(r'<path d="[^"]*?C[^"]*"[^>]*style="([^"]*)"', data.decode())
    hue = (re.search(r"stroke: (#\w+)", style) for style in found if "fill: none" in style)
    size = (re.search(r"stroke-width: ([\d.]+)", style) for style in found if "fill: none" in style)
    return [(one[1], float(two[1]) if two else 1.0) for one, two in zip(hue, size, strict=True) if one]


def test_every_word_stands_once_and_the_largest_weight_is_written() -> None:
    found = texts(figure_bytes(render(TRACE, ARCS), "svg"))
    weights = TRACE["weights"][1, 3]
    for token in TRACE.experiment.tokens:
        assert found.count(token) == TRACE.experiment.tokens.count(token)
    assert found.count(number(float(weights.max()))) == 1
    assert "weights · head 2 of 4" in found


def test_an_arc_is_as_thick_as_its_weight() -> None:
    row = TRACE["weights"][1, 3]
    data = figure_bytes(render(TRACE, ARCS), "svg")
    shown = arcs_figure(word_lines(TRACE.only, ARCS, "weights").of_query(3), Style(), is_first_off=False)
    full = shown.places.measures.thick
    expected = sorted(full * max(LEAST_THICKNESS, float(weight)) for weight in row[:4])
    found = strokes(data)
    assert sorted(width for _hue, width in found) == pytest.approx(expected, rel=1e-4)
    in_hue = [width for hue, width in found if hue == HEAD_HUES[1]]
    assert len(in_hue) == int((row >= 0.1).sum())


def test_all_heads_have_their_hues() -> None:
    data = figure_bytes(render(TRACE, replace(ARCS, lines=Lines("all", "all"))), "svg")
    hues = {hue for hue, _width in strokes(data)}
    weights = TRACE["weights"][:, 3]
    assert hues & set(HEAD_HUES) == {HEAD_HUES[head] for head in range(4) if weights[head].max() >= 0.1}
    assert data == figure_bytes(render(TRACE, ARCS, head="all"), "svg")


def test_a_first_token_that_is_left_out_is_dashed_and_its_share_is_said() -> None:
    view = replace(ARCS, first_tokens=(FirstToken(1, True, TRACE.only.name),))
    data = figure_bytes(render(TRACE, view), "svg")
    share = number(float(TRACE["weights"][1, 3, 0]))
    assert f"without the first token, whose share is {share}" in texts(data)
    assert data.count(b"stroke-dasharray") == 1
    assert b"stroke-dasharray" not in figure_bytes(render(TRACE, ARCS), "svg")


def test_the_picture_of_the_view_is_the_kind_of_the_figure() -> None:
    of_kind = figure_bytes(figure_of("arcs", Subject(TRACE, replace(ARCS, picture="map")), Style()), "svg")
    assert figure_bytes(render(TRACE, ARCS), "svg") == of_kind
    assert figure_bytes(render(TRACE, ARCS, "scores"), "svg") == figure_bytes(
        render(TRACE, replace(ARCS, picture="map"), "scores"), "svg"
    )


def test_a_long_text_is_cut_around_the_query_and_counted() -> None:
    tokens = tuple(f"word{index}" for index in range(60))
    trace = attnviz.run(small(tokens=tokens, vectors=SeededVectors(60, 6), masks=(Causal(),)))
    found = texts(figure_bytes(render(trace, View(picture="arcs", query=30)), "svg"))
    left_out = [int(text[2:]) for text in found if text.startswith("… ")]
    assert len(left_out) == 2 and sum(left_out) < 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stage": "q"}, "map for a stage other than"),
        ({"site": "all"}, "map for all attentions"),
        ({"head": 9}, "head must be"),
        ({"style": Style(width=LEAST)}, "width must be at least"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        render(TRACE, View(), picture="arcs", **arguments)  # type: ignore[arg-type]
    assert np.isfinite(TRACE["weights"]).all()
