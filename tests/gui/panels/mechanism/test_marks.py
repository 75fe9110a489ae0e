"""A rejected value marks the row of its field, in the window's language, until an edit is taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from first_layer import change
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot
from services import served

from attnviz.errors import FieldError, must_be
from attnviz.gui.forms.rows import Row
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.look.words import speak
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.store import Store
from attnviz.i18n import set_language
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[MechanismPanel]:
    made = served(MechanismPanel(Store(load_preset("rope-pair"))))
    qtbot.addWidget(made)
    made.open_all()
    made.start()
    made.resize(276, 1500)
    made.show()
    qtbot.waitExposed(made)
    yield made
    set_language("en")


def rows(panel: MechanismPanel) -> list[Row]:
    return panel.findChildren(Row)


def row_of(panel: MechanismPanel, path: str) -> Row:
    return next(row for row in rows(panel) if row.field.path == path)


def marked(panel: MechanismPanel) -> set[str]:
    return {row.field.path for row in rows(panel) if row.accessibleDescription()}


def reject(panel: MechanismPanel, path: str) -> None:
    panel.store.rejected.emit(FieldError(path, 0.0, must_be("a finite number above {least}", least=0)))


@pytest.mark.parametrize("path", ["temperature", "layers[1].temperature", "cross.temperature"])
def test_the_row_of_the_wrong_field_is_marked_and_unmarked(panel: MechanismPanel, path: str) -> None:
    reject(panel, path)
    assert marked(panel) == {"temperature"}
    row = row_of(panel, "temperature")
    assert row.toolTip() and row.accessibleDescription() == (
        f"{path} must be a finite number above 0; got 0.0."
    )
    assert change(panel.store, temperature=2.0)
    assert marked(panel) == set() and not row.toolTip()


def test_an_edit_that_the_document_refuses_marks_its_row(panel: MechanismPanel) -> None:
    assert not change(panel.store, temperature=-1.0)
    assert marked(panel) == {"temperature"}
    panel.store.rejected.emit(FieldError("dropout.p", 2.0, must_be("a number")))
    assert marked(panel) == {"dropout.p"}, "the last one alone"


def test_a_mark_is_painted(panel: MechanismPanel) -> None:
    row = row_of(panel, "temperature")

    def reds() -> int:
        image, error = row.grab().toImage(), QColor(LIGHT.error)
        edge = [image.pixelColor(x, 0) for x in range(image.width())]
        return sum(abs(c.red() - error.red()) + abs(c.green() - error.green()) < 60 for c in edge)

    before = reds()
    reject(panel, "temperature")
    assert before == 0 and reds() > row.width() // 2


def test_a_mark_speaks_the_new_language(panel: MechanismPanel) -> None:
    reject(panel, "temperature")
    set_language("zh_CN")
    speak()
    row = row_of(panel, "temperature")
    assert "必须是" in row.accessibleDescription() and "must" not in row.accessibleDescription()


def test_rows_name_fields_of_the_document(panel: MechanismPanel) -> None:
    def names(kind: Any, prefix: str) -> set[str]:
        return {prefix + name for name in kind.__struct_fields__}

    paths = {row.field.path for row in rows(panel)} - {""}
    roots = names(Experiment, "") | names(Layer, "")
    assert len(paths) > 30 and {path.split(".")[0] for path in paths} <= roots
