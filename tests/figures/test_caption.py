"""The caption below a figure: whole, in lines as wide as the figure, without its links."""

from __future__ import annotations

import pytest

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.figures import render
from attnviz.figures.layout import MARGIN
from attnviz.model.captions import plain_caption

LONG = "一句很长的中文说明，[猫](key)与 cat。" * 8


@pytest.mark.parametrize("caption", [load_preset("cross-attention").caption, LONG])
@pytest.mark.parametrize("picture", ["map", "lines"])
def test_the_caption_stands_below_every_kind_of_picture(caption: str, picture: str) -> None:
    document = load_preset("cross-attention")
    trace = attnviz.run(document)
    plain = render(trace, document.view, "weights", picture=picture)
    figure = render(trace, document.view, "weights", picture=picture, caption=caption)
    (before,), (axes,) = plain.axes, figure.axes
    bottom = before.get_ylim()[0]
    lines = [text for text in axes.texts if text.get_position()[1] >= bottom]
    assert "".join(line.get_text() for line in lines).replace(" ", "") == plain_caption(caption).replace(
        " ", ""
    )
    assert axes.get_xlim() == before.get_xlim() and axes.get_ylim()[0] > bottom
    figure.canvas.draw()
    room = axes.transData.transform((axes.get_xlim()[1] - MARGIN, 0))[0]
    assert all(line.get_window_extent().x1 <= room + 1 for line in lines)


def test_without_a_caption_the_figure_is_as_it_was() -> None:
    document = load_preset("cross-attention")
    trace = attnviz.run(document)
    sizes = [render(trace, document.view, caption=text).get_size_inches().tolist() for text in ("", " \n ")]
    assert sizes[0] == sizes[1]
