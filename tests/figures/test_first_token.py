"""A map whose colours leave the first token out says so, and the column of that token looks not masked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.figures.figure import reported
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject
from attnviz.model.spec.view import View

SAID = "share of the first token, left out of the colours"


def drawn(style: Style, *, is_off: bool) -> tuple[Any, str]:
    """The map of a causal head, with its caption."""
    view = View().ranged("without_first" if is_off else "head")
    trace = attnviz.run(load_preset("causal-order"))
    figure, report = reported("stage", Subject(trace, view, "weights", 0), style)
    return figure, report.caption


def colors_of(figure: Any, row: int) -> NDArray[np.float64]:
    """The painted pixels of the cell of the first key in a row, (pixel, channel)."""
    (axes,) = figure.axes
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255
    frames = [one for one in axes.patches if isinstance(one, Rectangle) and not one.get_fill()]
    box = max(frames, key=lambda one: one.get_width() * one.get_height()).get_window_extent()
    side = box.height / 3
    top = pixels.shape[0] - box.y1 + row * side
    cell = pixels[round(top + 3) : round(top + side - 3), round(box.x0 + 3) : round(box.x0 + side - 3)]
    return cell.reshape(-1, 3)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [None, length("85mm")])
def test_figure_and_caption_say_what_the_grey_bars_are(width: float | None, theme: str) -> None:
    figure, caption = drawn(Style(width=width, theme=theme), is_off=True)
    assert SAID in [text.get_text() for text in figure.axes[0].texts]
    assert caption.endswith(f"Hatched: masked. Grey bars: {SAID}.")
    figure, caption = drawn(Style(width=width, theme=theme), is_off=False)
    assert SAID not in [text.get_text() for text in figure.axes[0].texts]
    assert caption.endswith("Hatched: masked.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_cells_of_a_first_token_have_a_bar_and_no_hatching(theme: str) -> None:
    style = Style(width=length("85mm"), theme=theme)
    shades = style.shades
    figure, _caption = drawn(style, is_off=True)
    found = colors_of(figure, 2)
    is_panel = (np.abs(found - to_rgb(shades.panel)) < 0.01).all(axis=1)
    assert 0.6 < is_panel.mean() < 1.0
