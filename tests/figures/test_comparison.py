"""The figure of a comparison: three maps of the two traces, on two scales, with their labels."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from msgspec.structs import replace

from attnviz.compute.execute import execute
from attnviz.core.shades import LIGHT
from attnviz.figures import figure_bytes
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.comparison import contents_of, contrast_drawing, draw_comparison
from attnviz.figures.sheet import sheet_of
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal
from attnviz.model.spec.view import View
from attnviz.study.contrast.contrast import Contrast, Shown, contrast, contrast_csv

TOY = load_preset("toy-attention").experiment
NAMES = ("A · before", "B · after", "B − A")


def causal(experiment: Experiment) -> Experiment:
    return replace(experiment, layers=(replace(experiment.layers[0], masks=(Causal(),)),))


def compared(first: Experiment, second: Experiment, alignment: str = "position") -> Contrast:
    shown = [Shown(execute(one).only, 0) for one in (first, second)]
    return contrast(shown[0], shown[1], "weights", alignment)


def drawn(contrast: Contrast, heading: tuple[str, str], style: Style) -> Figure:
    """The figure of a comparison."""
    with drawing():
        return sheet_of(contrast_drawing(contrast, heading, NAMES, View(), style), "", style)


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]  # type: ignore[attr-defined]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_three_maps_with_their_numbers_captions_and_labels(theme: str) -> None:
    found = compared(TOY, causal(TOY))
    said = texts(drawn(found, ("Toy · weights", "a note"), Style(theme=theme)))
    assert {"Toy · weights", "a note", *NAMES, "masked"} <= set(said)
    assert said.count("three") == 6  # a row and a column of each map
    change = found.difference[0, 0]
    assert f"{change:.3f}" in said and f"{found.first.values[0, 0]:.3f}" in said


def test_a_and_b_share_a_scale_and_the_difference_is_about_zero() -> None:
    found = compared(TOY, causal(TOY))
    first, second, third = contents_of(found, View(), LIGHT)
    assert first.scale is second.scale and (first.scale.low, first.scale.high) == (0.0, 1.0)
    assert third.scale.kind == "diverging" and third.scale.low == -third.scale.high
    assert third.scale.high == np.abs(found.difference).max()
    np.testing.assert_array_equal(third.maps[0].values, found.difference)
    turned = contents_of(found, View(orientation="queries_as_columns"), LIGHT)[2]
    np.testing.assert_array_equal(turned.maps[0].values, found.difference.T)


def test_absent_rows_are_hatched_and_named() -> None:
    fewer = load_preset("grouped-query").experiment
    figure = drawn(compared(TOY, fewer), ("t", ""), Style())
    assert "masked or absent" in texts(figure)
    assert figure_bytes(figure, "svg").startswith(b"<?xml")


def test_the_table_has_every_digit_and_no_number_where_a_cell_is_absent() -> None:
    found = compared(TOY, load_preset("grouped-query").experiment)
    lines = list(csv.reader(io.StringIO(contrast_csv(found))))
    assert lines[0] == ["query", "query label", "key", "key label", "A", "B", "B - A"]
    rows, columns = found.difference.shape
    assert len(lines) == 1 + rows * columns
    for line in lines[1:]:
        cell = int(line[0]) - 1, int(line[2]) - 1
        if found.first.absent[cell]:
            assert line[4] == line[6] == "" and float(line[5]) == found.second.values[cell]
        else:
            assert [float(text) for text in line[4:]] == [
                found.first.values[cell],
                found.second.values[cell],
                found.difference[cell],
            ]


def test_the_title_says_which_head_of_each_state_is_drawn() -> None:
    """A state with fewer heads shows its last one."""
    several = load_preset("grouped-query")
    toy = Subject(execute(TOY), View())
    both = Subject(execute(several.experiment), several.view, "weights", 3, other=toy)
    with drawing():
        figure = sheet_of(draw_comparison(both, Style()), "", Style())
    assert "weights · head 1 of A, head 4 of B" in texts(figure)
