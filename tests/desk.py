"""A window with a person in front of it: what is painted, and hands on widgets found by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from pointer import move
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, QRect, QRectF, QSettings, Qt
from PySide6.QtGui import QAction, QColor, QImage, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDockWidget,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from attnviz.engines.decode.decodable import causal_experiment
from attnviz.gui.look import look
from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.window.window import Window
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View

W = TypeVar("W", bound=QWidget)
WAIT_MS = 8000
"""A loaded machine is slow, not wrong."""


class Desk:
    """A window and the hands in front of it. Widgets are found by their object names."""

    def __init__(self, qtbot: QtBot, window: Window) -> None:
        self.qtbot, self.window, self.store = qtbot, window, window.store

    # --- looking

    def find(self, kind: type[W], name: str) -> W:
        found = self.window.findChildren(kind, name)
        if not found:  # in a panel or a section that nobody has seen yet
            any(self.window.findChildren(kind, name) for _part in self._unseen())
            QApplication.processEvents()  # their layout is done when events are
            found = self.window.findChildren(kind, name)
        assert len(found) == 1, f"{len(found)} widgets named {name!r}"
        return found[0]

    def _unseen(self) -> Iterator[None]:
        """Make one part after the other that nobody has seen yet: all at once take longer than the window.

        The sections of the mechanism come first, then the panels of the present workspace.
        """
        panels, here = self.window.panels, self.window.workspaces.present.panels
        panels["mechanism"].open_all()
        yield
        for row in sorted(PANELS, key=lambda row: row.id not in here):
            if row.id not in panels:
                self.window.panels[row.id]  # made at its first use
                yield

    @property
    def theme(self) -> Theme:
        return active_theme()

    @property
    def map(self) -> HeatMap:
        return self.find(HeatMap, "stage_map")

    @property
    def vectors(self) -> NumberGrid:
        """In front, where the workspace has a tab of it: a hand is only on what is in sight."""
        if "vectors" in self.window.workspaces.present.panels and not self.window.panels["vectors"].is_seen:
            self.bring("vectors")
        return self.find(NumberGrid, "vectors_grid")

    def activate(self) -> None:
        self.window.activateWindow()
        self.qtbot.waitUntil(self.window.isActiveWindow, timeout=WAIT_MS)

    def settle(self) -> None:
        """Until the numbers on the screen are those of the document."""
        self.qtbot.waitUntil(self._has_settled, timeout=WAIT_MS)
        QApplication.processEvents()

    def _has_settled(self) -> bool:
        trace = self.store.trace
        return (
            trace is not None
            and trace.experiment == self.store.experiment
            and self.window.services.schedulers.run.idle
        )

    def settle_decoding(self) -> None:
        """Until the decoding on the screen is the document's, too."""
        self.settle()
        wanted, here = causal_experiment(self.store.experiment), self.window.workspaces.present.id
        if self.window.docks["text"].isHidden():  # a player that nobody sees computes nothing
            self.go("generate")
        self.qtbot.waitUntil(lambda: self._decoded() == wanted, timeout=WAIT_MS)
        self.go(here)

    def _decoded(self) -> Experiment | None:
        decoded = self.store.player.decoded
        return None if decoded is None else decoded.decoding.experiment

    def export_entry(self, id_: str) -> QAction:
        """The entry of a kind in the menu of exports, as it opens now."""
        menu = self.window.commands.menu("export")
        menu.aboutToShow.emit()
        (entry,) = (action for action in menu.actions() if action.objectName() == f"export_{id_}")
        return entry

    def said(self) -> str:
        """The sentence in the status line."""
        return self.window.status.message()

    def bring(self, panel: str) -> None:
        """Show a panel in front of others, in the present workspace."""
        dock = self.window.docks[panel]
        dock.show()
        dock.bring(panel)
        dock.raise_()
        QApplication.processEvents()

    def go(self, workspace: str) -> None:
        """Show a workspace as its tab does."""
        self.window.workspaces.switch(workspace)
        QApplication.processEvents()
        QApplication.processEvents()

    # --- touching

    def type_text(self, widget: QWidget, text: str) -> None:
        """Key by key, in any script (QTest's own typing ends the process past Latin-1)."""
        for character in text:
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                event = QKeyEvent(kind, 0, Qt.KeyboardModifier.NoModifier, character)
                QApplication.sendEvent(widget, event)

    def click(self, widget: QWidget, at: QPoint | QPointF | None = None) -> None:
        if isinstance(widget, QPlainTextEdit):
            widget = widget.viewport()  # the mouse is on its text
        place = widget.rect().center() if at is None else QPointF(at).toPoint()
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place)

    def press_key(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """To whatever has the focus, through the window's shortcuts."""
        QTest.keyClick(self.window.focusWidget() or self.window, key, modifier)

    def choose(self, segmented: str, option: str) -> None:
        control = self.find(Segmented, segmented)
        segment = control.findChild(QAbstractButton, f"segment_{option}")
        assert isinstance(segment, QAbstractButton), option
        self.click(segment)

    def switch(self, name: str) -> None:
        toggle = self.find(Toggle, name)
        self.click(toggle, QPoint(14, toggle.height() // 2))

    def type_number(self, name: str, text: str) -> None:
        """Click a number, type, Enter."""
        number = self.find(DragNumber, name)
        self.click(number)
        editor = number.findChild(QLineEdit, "number_editor")
        assert isinstance(editor, QLineEdit)
        editor.selectAll()
        QTest.keyClicks(editor, text)
        QTest.keyClick(editor, Qt.Key.Key_Return)

    def open_side(self) -> None:
        """Unfold the output and the row of the query beside the map."""
        switch = self.find(Toggle, "side_button")  # in the card of the button Show
        if not switch.isChecked():
            switch.click()

    def hover(self, widget: QWidget, at: QPoint | QPointF) -> None:
        move(widget, QPointF(at).toPoint(), held=False)

    def close(self) -> None:
        """Close the window as its frame does, and answer what it asks."""
        self.window.close()
        QApplication.processEvents()

    def leave(self) -> None:
        """Close the window, delete it, and let the deferred deletions happen; then hold nothing of it."""
        self.window.ask_to_close()
        self.window.deleteLater()
        self.__dict__.clear()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]

    def vector_center(self, row: int, column: int) -> QPoint:
        return self.vectors.cell_rect(row, column).center()


def _place(dock: QDockWidget) -> tuple[bool, bool, tuple[int, ...]]:
    """State of a dock: open or not, floating or not, and its place while it is open.

    The saved state of a window holds more: the least size of a dock that is closed, which follows the theme.
    """
    is_open = not dock.isHidden()
    return is_open, dock.isFloating(), dock.geometry().getRect() if is_open else ()


class Shared:
    """A window that tests share, and what it was when it was opened."""

    def __init__(self, desk: Desk, stored: QSettings) -> None:
        self.desk, self._stored = desk, stored
        self._before = self._state()
        self.changed_by = ""
        """The test that was to change nothing."""

    def _state(self) -> dict[str, object]:
        window = self.desk.window
        document = window.store.document
        return {
            "document": replace(document, view=View()),
            "view": document.view,
            "history": [window.commands[id_].isEnabled() for id_ in ("undo", "redo")],
            "settings": {key: self._stored.value(key) for key in self._stored.allKeys()},
            "workspace": window.workspaces.present.id,
            "layout": (window.size().toTuple(), {key: _place(dock) for key, dock in window.docks.items()}),
            "what lies over it": [widget.objectName() for widget in self._over_it()],
        }

    def _over_it(self) -> list[QWidget]:
        """Cards and lists that lie over the window."""
        children = self.desk.window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return [widget for widget in children if widget.isVisible() and not widget.isWindow()]

    @contextmanager
    def look(self, qapp: QApplication) -> Iterator[None]:
        """Give the application its look after a test with a window of another: none would style it anew."""
        yield
        look.apply(qapp, self.desk.window.settings)

    def put_back(self) -> None:
        """Close what a test has opened over the window, as a person does."""
        for widget in self._over_it():
            if widget.objectName() not in self._before["what lies over it"]:
                QTest.keyClick(widget, Qt.Key.Key_Escape)

    def changes(self) -> list[str]:
        """The names of those that are no longer as they were."""
        now = self._state()
        return [name for name, value in self._before.items() if now[name] != value]


def picture(widget: QWidget) -> QImage:
    """The painted picture, with all that lies under it."""
    return widget.grab().toImage()


def color_in(image: QImage, point: QPoint | QPointF) -> QColor:
    """The colour of the picture at a point of the widget."""
    ratio = image.devicePixelRatio()
    return image.pixelColor((QPointF(point) * ratio).toPoint())


def pixels(image: QImage, area: QRect | QRectF | None = None) -> NDArray[np.int64]:
    """The (red, green, blue) of `area`, (height, width, 3)."""
    part = image if area is None else image.copy(QRectF(area).toAlignedRect())
    whole = part.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(whole.constBits(), dtype=np.uint8).reshape(whole.height(), whole.bytesPerLine())
    return rows[:, : 3 * whole.width()].reshape(whole.height(), whole.width(), 3).astype(np.int64)


def count_color(image: QImage, wanted: str, area: QRect | QRectF | None = None, tolerance: int = 3) -> int:
    """Number of pixels of `area` in the colour `wanted`, within `tolerance` in every channel."""
    distance = np.abs(pixels(image, area) - np.array(QColor(wanted).getRgb()[:3])).max(axis=2)
    return int((distance <= tolerance).sum())


MakeDesk = Callable[..., Desk]
"""Makes a window: a preset's id or a document, and whether its schedulers run `inline`."""


class Answers:
    """The person's answers in message boxes, and the boxes that were shown."""

    def __init__(self) -> None:
        self.button = QMessageBox.StandardButton.Cancel
        self.boxes: list[str] = []
        self.texts: list[str] = []
        self.offers: list[str] = []
        """Text of the button that saves."""

    def exec(self, box: QMessageBox) -> QMessageBox.StandardButton:
        self.boxes.append(box.objectName())
        self.texts.append(box.text())
        save = box.button(QMessageBox.StandardButton.Save)
        self.offers.append(save.text() if save is not None else "")
        assert box.textFormat() != Qt.TextFormat.RichText
        return self.button
