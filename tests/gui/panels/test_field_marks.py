"""A field that is wrong is marked where it is edited: rows, grids, seeds, numbers, the token line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from first_layer import change
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from attnviz.errors import FieldError, must_be
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Row
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.table import PANELS
from attnviz.gui.store import Store
from attnviz.model.fields import FIELDS, field_at
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.parts import Alibi, SeededSinks

EDITED = ("mechanism", "tokens", "vectors", "matrices", "sampling", "cache", "next")
EDITORS = [row for row in PANELS if row.id in EDITED]
OF_A_MODEL = ("vocabulary.", "row.", "masks.painted", "masks.any_of")
"""Fields that come with a model, or are edited with the mouse on a map."""


@pytest.fixture
def store() -> Store:
    made = Store(load_preset("rope-pair"))
    change(made, position=Alibi(), sinks=SeededSinks())
    return made


@pytest.fixture
def panels(qtbot: QtBot, store: Store) -> Iterator[list[Panel]]:
    made = [row.make(store) for row in EDITORS]
    for panel in made:
        qtbot.addWidget(panel)
        if (header := panel.header()) is not None:
            qtbot.addWidget(header)
        panel.start()
        if isinstance(panel, MechanismPanel):
            panel.open_all()
        panel.resize(600, 900)
        panel.show()
    yield made


def marks(panels: list[Panel]) -> list[Mark]:
    return [mark for panel in panels for mark in panel.findChildren(Mark)]


def reject(store: Store, path: str) -> None:
    store.rejected.emit(FieldError(path, 0.0, must_be("a finite number above {least}", least=0)))


def shown(marks: list[Mark]) -> set[str]:
    return {mark.objectName() for mark in marks if not mark.isHidden()}


def test_every_marked_control_names_a_field(panels: list[Panel]) -> None:
    found = [path for mark in marks(panels) for path in mark.paths()]
    assert len(found) > 40
    stack = ("embedding_norm", "final_norm", "encoder_", "vectors", "tokens", "sampling.", "cache")
    assert [path for path in found if not field_at(path) and not path.startswith(stack)] == []


def test_the_control_of_a_wrong_field_is_marked_until_an_edit_is_taken(
    store: Store, panels: list[Panel]
) -> None:
    every = marks(panels)  # to search all widgets takes longer than the rest
    for mark in every:
        for path in mark.paths():
            for prefix in (
                ("", "layers[0].") if not path.startswith(("sampling", "cache")) else ("", "writing.")
            ):
                reject(store, prefix + path)
                assert mark.objectName() in shown(every), path
                assert "must be a finite number above 0" in mark.accessibleDescription()
            reject(store, "dropout.p")
            assert shown(every) == set()
    assert marks(panels) == every
    reject(store, "position.slopes[0]")
    assert shown(marks(panels)) == {"alibi_slope_0_mark"}
    assert change(store, temperature=2.0) and shown(marks(panels)) == set()


@pytest.mark.parametrize(
    "name", ["token_line", "vectors_grid", "vectors_seed_field", "sink_0", "matrix_grid"]
)
def test_a_mark_is_painted_and_says_why(store: Store, panels: list[Panel], name: str) -> None:
    control: Any = next(found for panel in panels if (found := panel.findChild(QWidget, name)) is not None)
    mark = next(mark for mark in marks(panels) if mark.objectName() == f"{name}_mark")

    def reds() -> int:
        image, error = control.grab().toImage(), QColor(LIGHT.error)
        edge = [image.pixelColor(x, 0) for x in range(image.width())]
        return sum(abs(c.red() - error.red()) + abs(c.green() - error.green()) < 60 for c in edge)

    before = reds()
    reject(store, mark.paths()[0])
    assert before == 0 and reds() > control.width() // 2
    at = QPoint(3, 3)
    asked = getattr(control, "viewport", lambda: control)()
    QApplication.sendEvent(asked, QHelpEvent(QHelpEvent.Type.ToolTip, at, asked.mapToGlobal(at)))
    assert "must be a finite number above 0" in QToolTip.text()
    QToolTip.hideText()


def test_every_field_has_a_place_where_it_is_marked(panels: list[Panel]) -> None:
    paths = [path for mark in marks(panels) for path in mark.paths()]
    paths += [row.field.path for panel in panels for row in panel.findChildren(Row) if row.field.path]
    own = {(row.owner, row.name) for path in paths if (row := field_at(path)) is not None}
    missing = [
        row.path
        for row in FIELDS
        if (row.owner, row.name) not in own
        and not any(
            path.startswith(f"{row.path}.") or field_at(f"{path}.{row.name}") is row for path in paths
        )
        and not row.path.startswith(OF_A_MODEL)
    ]
    assert missing == []
