"""A number that any panel refuses is complained of until its text, or another value, puts it right."""

from __future__ import annotations

from desk import MakeDesk
from first_layer import change
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.model.spec.parts import Alibi, SeededSinks

COMPLAINT = "The value must be a number such as 0.5, 1e-3 or 1/3; got “one”."


def refused(number: DragNumber) -> QLineEdit:
    """Type what is no number, and Enter; the editor, which stays open."""
    number.open_editor("one")
    editor = number.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    return editor


def test_a_complaint_ends_with_the_text_or_with_another_value(make_desk: MakeDesk) -> None:
    desk = make_desk()
    assert change(desk.store, position=Alibi(), sinks=SeededSinks())
    panels = {row.id: desk.window.panels[row.id] for row in PANELS}
    panels["mechanism"].open_all()
    headers = {id_: panel.header() for id_, panel in panels.items()}
    having = set[str]()
    for id_, panel in panels.items():
        parts = [panel] if headers[id_] is None else [panel, headers[id_]]
        for number in {number for part in parts for number in part.findChildren(DragNumber)}:
            having.add(id_)
            where, value = f"{id_}: {number.objectName()}", number.value()
            for widget in (number.parentWidget(), number):  # whatever the document makes of it
                widget.setEnabled(True)
            editor = refused(number)
            assert desk.said() == COMPLAINT, where
            QTest.keyClick(editor, Qt.Key.Key_Escape)
            assert desk.said() == "", where
            QApplication.sendEvent(refused(number), QFocusEvent(QEvent.Type.FocusOut))
            assert desk.said() == COMPLAINT, where
            number.set_value(value + 1)  # as undo, a slider or another document does
            assert desk.said() == "", where
            number.set_value(value)
    assert having >= set("cache cost draws inspector mechanism plane sampling text tokens vectors".split())
