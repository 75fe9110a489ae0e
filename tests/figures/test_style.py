"""The style of a figure: files of the exact width, type of the exact size, the parts around the picture."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.color_maps import color_table
from attnviz.figures import figure_bytes, render
from attnviz.figures.figure import figure_of
from attnviz.figures.kinds.table import KINDS
from attnviz.figures.options import OPTIONS
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject

WIDTHS = {
    "85mm": 240.945,
    "column": 240.945,
    "page": 510.236,
    "3.5in": 252.0,
    "12cm": 340.157,
}


@pytest.mark.parametrize(("text", "points"), WIDTHS.items())
def test_lengths_have_units(text: str, points: float) -> None:
    assert length(text) == pytest.approx(points, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("wide", "width must be a length such as 85mm or 3.5in, or one of column, page, slide; got 'wide'."),
        ("-3mm", "width must be a length such as"),
        ("5mm", "width must be from 20 mm to 1000 mm; got 5 mm."),
    ],
)
def test_a_length_that_is_none_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        Style(width=length(text))
    assert str(refused.value).startswith(sentence)


def subject(preset: str) -> Subject:
    document = load_preset(preset)
    return Subject(attnviz.run(document), document.view, "weights", caption=document.caption)


SUBJECTS = {preset: subject(preset) for preset in ("encoder-decoder", "grouped-query")}


def drawn_kinds(preset: str) -> list[str]:
    return [row.id for row in KINDS if row.why_not(SUBJECTS[preset]) is None]


@pytest.mark.parametrize("preset", SUBJECTS)
@pytest.mark.parametrize("width", ["85mm", "174mm", "10in"])
def test_every_kind_has_exactly_the_width(preset: str, width: str) -> None:
    style = Style(width=length(width), font_size=7.0, caption=True)
    for kind in drawn_kinds(preset):
        figure = figure_of(kind, SUBJECTS[preset], style)
        assert figure.get_size_inches()[0] * 72 == pytest.approx(style.width), kind
        figure.canvas.draw()
        (axes,) = figure.axes
        edge = axes.transData.transform((axes.get_xlim()[1], 0))[0]
        for text in axes.texts:
            box = text.get_window_extent()
            assert box.x0 >= -1 and box.x1 <= edge + 1, (kind, text.get_text())


def test_files_have_the_width() -> None:
    figure = figure_of("stage", SUBJECTS["grouped-query"], Style(width=length("85mm")))
    pdf = figure_bytes(figure, "pdf")
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    assert box is not None and float(box[1]) == pytest.approx(240.945, abs=1e-3)
    svg = figure_bytes(figure, "svg")
    assert re.search(rb'width="240\.9449?\d*pt"', svg)
    png = figure_bytes(figure, "png", dpi=300)
    assert abs(struct.unpack(">I", png[16:20])[0] - 85 / 25.4 * 300) <= 1


@pytest.mark.parametrize("size", [6.0, 8.0, 14.0])
def test_labels_have_the_size_of_type_that_is_set(size: float) -> None:
    figure = figure_of("stage", SUBJECTS["grouped-query"], Style(width=length("174mm"), font_size=size))
    tokens = set(SUBJECTS["grouped-query"].trace.experiment.tokens)
    sizes = {text.get_fontsize() for text in figure.axes[0].texts if text.get_text() in tokens}
    assert len(sizes) == 1 and sizes.pop() == pytest.approx(size)


def test_a_width_that_is_too_small_is_refused_with_the_least_one() -> None:
    style = Style(width=length("20mm"), font_size=12.0)
    with pytest.raises(
        ValueError, match=r"width must be at least (\d+) mm for this picture; got 20 mm\."
    ) as e:
        figure_of("stage", SUBJECTS["grouped-query"], style)
    least = re.search(r"at least (\d+ mm)", str(e.value))
    assert least is not None
    figure_of("stage", SUBJECTS["grouped-query"], Style(width=length(least[1]), font_size=12.0))


def test_parts_can_be_left_out() -> None:
    def texts(**style: bool) -> set[str]:
        figure = figure_of("stage", SUBJECTS["grouped-query"], Style(**style))  # type: ignore[arg-type]
        return {text.get_text() for text in figure.axes[0].texts}

    whole = texts()
    assert {"weights · head 1 of 8", "weights", "w = exp(s) ÷ Σ exp(s)", "Σ 1.000"} <= whole
    assert whole - texts(title=False) == {"weights · head 1 of 8"}
    assert whole - texts(formula=False) == {"w = exp(s) ÷ Σ exp(s)"}
    assert whole - texts(sums=False) == {"Σ 1.000"}
    assert "weights" in whole - texts(bar=False)
    assert not whole & (texts(caption=True) - whole)


def test_square_cells_are_square() -> None:
    figure = figure_of("stage", SUBJECTS["encoder-decoder"], Style(square=True))
    quad = figure.axes[0].collections[-2].get_paths()[0].get_extents()
    assert quad.width == pytest.approx(quad.height)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_greys_grow_from_the_lowest_number_to_the_highest(theme: str) -> None:
    table = color_table("grey", theme == "dark").astype(int)
    assert (table == table[:, :1]).all()
    steps = np.diff(table[:, 0])
    assert (steps <= 0).all() if theme == "light" else (steps >= 0).all()
    figure = figure_of("stage", SUBJECTS["grouped-query"], Style(grey=True, theme=theme, bar=False))
    found = [np.asarray(collection.get_facecolor()) for collection in figure.axes[0].collections]
    faces = np.concatenate([colors for colors in found if len(colors)])
    assert np.allclose(faces[:, :1], faces[:, :3])


def test_options_are_the_fields_of_a_style() -> None:
    assert [row.field for row in OPTIONS] == list(Style.__dataclass_fields__)


def test_render_takes_a_style() -> None:
    trace = SUBJECTS["grouped-query"].trace
    assert render(trace, style=Style(width=288.0)).get_size_inches()[0] == pytest.approx(4.0)
