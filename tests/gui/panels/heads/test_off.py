"""A head that is off is faint in the strip, and has no effect on what comes after."""

from __future__ import annotations

import numpy as np
from first_layer import stacked
from pytestqt.qtbot import QtBot

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.gui.panels.heads.heads import HeadsPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.model.edit.edits import toggle_head
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Heads, SeededVectors


def test_a_head_that_is_off_is_drawn_faintly(qtbot: QtBot) -> None:
    experiment = stacked(("a", "b", "c"), SeededVectors(3, 4), heads=Heads(2, 2, 2), dtype="float64")
    store = Store(Document(experiment))
    panel = HeadsPanel(store)
    qtbot.addWidget(panel)
    panel.start()
    panel.resize(400, 120)
    panel.show()
    store.set_trace(run(NumpyEngine("float64"), store.experiment))
    before = store.trace["attention_output"]  # type: ignore[index]
    thumbnail = panel.findChild(Thumbnail, "head_1")
    assert isinstance(thumbnail, Thumbnail)
    plain = thumbnail.grab().toImage()
    store.edit_attention(toggle_head, 1)
    store.set_trace(run(NumpyEngine("float64"), store.experiment))
    faint = thumbnail.grab().toImage()
    middle = thumbnail.picture_rect().center().toPoint()
    assert faint.pixelColor(middle).lightness() > plain.pixelColor(middle).lightness()
    after = store.trace["attention_output"]  # type: ignore[index]
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert (after[:, 2:] == 0).all() and (before[:, 2:] != 0).all()
    store.edit_attention(toggle_head, 1)
    store.set_trace(run(NumpyEngine("float64"), store.experiment))
    assert thumbnail.grab().toImage() == plain
