"""A table of numbers that are changed in place; vectors and weight matrices are edited in it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from attnviz.errors import InputError
from attnviz.gui.widgets.control import Gesture
from attnviz.gui.widgets.numbers.block import format_block, parse_block
from attnviz.gui.widgets.numbers.drag import (
    DRAG_THRESHOLD_PX,
    STARTS_TYPING,
    NumberRange,
    modifier_factor,
    wheel_notches,
)
from attnviz.gui.widgets.numbers.editor import NumberEditor
from attnviz.gui.widgets.numbers.painting import Cell
from attnviz.gui.widgets.numbers.text import full_precision, parse_number
from attnviz.gui.widgets.numbers.view import GridView
from attnviz.gui.widgets.window_keys import typed

_ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


_SEQUENCES = (
    QKeySequence.StandardKey.Copy,
    QKeySequence.StandardKey.Paste,
    QKeySequence.StandardKey.SelectAll,
)
_KEYS = frozenset(
    (*_ARROWS, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2, Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
)


class NumberGrid(GridView):
    """A `GridView` that edits.

    Drag a cell up or down (Shift fine, Ctrl coarse), use the wheel over the current cell or with Ctrl,
    type, Delete for 0; arrows move, Alt+Up and Alt+Down change, Shift+arrows select, Esc deselects, Tab
    leaves the table, or goes to the next cell while one is typed,
    Ctrl+C and Ctrl+V copy and paste. With `takes_minus_infinity`, −∞ is a number too. `edited` carries each
    live value, and `gesture_started` and `gesture_finished` bracket them. `pasted` carries a block (pasted,
    or zeros for Delete on several cells) and its first cell; the receiver accepts or rejects it. `rejected`
    carries a sentence for the user, and None once it is over.
    """

    edited = Signal(int, int, float)
    pasted = Signal(int, int, object)
    rejected = Signal(object)
    gesture_started = Signal()
    gesture_finished = Signal()

    def __init__(
        self,
        name: str = "",
        *,
        decimals: int = 2,
        step: float = 0.01,
        takes_minus_infinity: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(name, decimals=decimals, parent=parent)
        self.takes_minus_infinity = takes_minus_infinity
        self._range = NumberRange(step=step)
        self._drag: tuple[Cell, QPointF, float, float] | None = None
        self.gesture = Gesture(self)
        self.gesture.started.connect(self._on_gesture_started)
        self.gesture.finished.connect(self._on_gesture_finished)
        self._editor = NumberEditor(self._range.check, self.viewport(), self._parse)
        self._name_editor(0, 0)
        self._editor.committed.connect(self._on_committed)
        self._editor.refused.connect(self.rejected)
        self._editor.closed.connect(self._on_editor_closed)

    def _parse(self, text: str) -> float:
        return parse_number(text, self.takes_minus_infinity)

    def copy(self) -> None:
        """Copy the selection, or everything without a selection, to the clipboard with full precision."""
        selection = self._scene.selection
        values = self.values() if selection is None else self._scene.block(*selection)
        QGuiApplication.clipboard().setText(format_block(values))

    def paste(self) -> None:
        """Emit the clipboard's block as `pasted` at the current cell, or its error."""
        try:
            block = parse_block(QGuiApplication.clipboard().text(), self.takes_minus_infinity)
        except InputError as error:
            self.rejected.emit(error)
            return
        selection = self._scene.selection
        row, column = (selection[0].start, selection[1].start) if selection is not None else (0, 0)
        self.pasted.emit(row, column, block)

    # Pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self._geometry().cell_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or cell is None:
            return
        if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.set_current_cell(*cell)
        self._drag = (cell, event.globalPosition(), self._scene.at(cell), 0.0)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_by(event)
            return
        cell = self._geometry().cell_at(event.position())
        self._hover(cell)
        self.viewport().setCursor(
            Qt.CursorShape.ArrowCursor if cell is None else Qt.CursorShape.SizeVerCursor
        )

    def _drag_by(self, event: QMouseEvent) -> None:
        assert self._drag is not None
        cell, last, start, travel = self._drag
        upward = last.y() - event.globalPosition().y()
        if not self.gesture.is_active:
            if abs(upward) < DRAG_THRESHOLD_PX:
                return
            self.set_current_cell(*cell)
            self.gesture.begin()
        travel += upward * modifier_factor(event.modifiers())
        self._drag = (cell, event.globalPosition(), start, travel)
        self._enter(cell, self._range.moved(start, travel))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._drag is not None:
            cell, *_start = self._drag
            self._drag = None
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not self.gesture.is_active:
                self.set_current_cell(*cell, extend=True)
            self.gesture.end()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        cell = self._geometry().cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self._drag = None
            self.set_current_cell(*cell)
            self.open_editor()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Over the current cell of a focused table, or with Ctrl, the wheel edits; else it scrolls."""
        cell = self._geometry().cell_at(event.position())
        is_current = self.hasFocus() and cell == self._scene.current
        has_ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if cell is None or not (is_current or has_ctrl):
            super().wheelEvent(event)
            return
        event.accept()
        self.gesture.touch()
        factor = 10 * modifier_factor(event.modifiers() & ~Qt.KeyboardModifier.ControlModifier)
        value = self._scene.at(cell)
        self._enter(cell, self._range.moved(value, factor * wheel_notches(event)))

    # Keyboard

    def takes_key(self, event: QKeyEvent) -> bool:
        is_clipboard = any(event.matches(key) for key in _SEQUENCES)
        return is_clipboard or typed(event) in STARTS_TYPING or Qt.Key(event.key()) in _KEYS

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self._select_all()
        elif Qt.Key(event.key()) in _ARROWS:
            self._move(Qt.Key(event.key()), event.modifiers())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.open_editor()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._clear_selection()
        elif event.key() == Qt.Key.Key_Escape:
            self._deselect()
            event.ignore()
        elif typed(event) in STARTS_TYPING:
            self.open_editor(typed(event))
        else:
            super().keyPressEvent(event)

    def _move(self, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        """Arrows move the current cell; with Alt, up and down change its number."""
        row, column = self._scene.current or (0, 0)
        down, right = _ARROWS[key]
        if modifiers & Qt.KeyboardModifier.AltModifier and down and self._scene.current is not None:
            self.gesture.touch()
            factor = -down * modifier_factor(modifiers)
            self._enter((row, column), self._range.moved(self._scene.at((row, column)), factor))
            return
        if self._scene.current is None:
            down = right = 0
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self.set_current_cell(row + down, column + right, extend)

    def _go_on(self, step: int) -> None:
        """Go to the next cell in reading order, or the previous one; the ends stop."""
        rows, columns = self._scene.values.shape
        row, column = self._scene.current or (0, 0)
        index = min(max(row * columns + column + step, 0), rows * columns - 1)
        self.set_current_cell(*divmod(index, columns))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if self._drag is None:
            self.gesture.end()
        super().focusOutEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self.gesture.end()
        super().hideEvent(event)

    def _clear_selection(self) -> None:
        if self._scene.selection is None:
            return
        rows, columns = self._scene.selection
        if len(rows) * len(columns) > 1:  # one block, so that a large selection is one edit
            self.pasted.emit(rows.start, columns.start, np.zeros((len(rows), len(columns))))
            return
        self.gesture.begin()
        self._enter((rows.start, columns.start), 0.0)
        self.gesture.end()

    # Editing

    def open_editor(self, text: str | None = None) -> None:
        """Type into the current cell; `text` replaces its digits."""
        cell = self._scene.current
        if cell is None:
            return
        self._scroll_to(cell)
        shown = full_precision(self._scene.at(cell)) if text is None else text
        self._name_editor(*cell)
        rect = self._geometry().cell_rect(*cell)
        wide = rect.adjusted(0, 0, max(84 - rect.width(), 0), 0)
        wide.moveRight(min(wide.right(), max(self.viewport().width() - 1, wide.width() - 1)))
        self._editor.open(shown, wide, select=text is None)

    def _name_editor(self, row: int, column: int) -> None:
        """Row and column, counted from one: the same in every language."""
        self._editor.setAccessibleName(f"{row + 1}, {column + 1}")

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._editor.close_editor()
        super().scrollContentsBy(dx, dy)

    def _layout_changed(self) -> None:
        self._editor.close_editor()
        self._drag = None
        super()._layout_changed()

    def _on_gesture_started(self) -> None:
        self._holds_limit = True
        self.gesture_started.emit()

    def _on_gesture_finished(self) -> None:
        self._holds_limit = False
        self._apply_limit()
        self.viewport().update()
        self.gesture_finished.emit()

    def _on_committed(self, value: float) -> None:
        if self._scene.current is not None:
            self.gesture.begin()
            self._enter(self._scene.current, value)
            self.gesture.end()

    def _on_editor_closed(self, move: int) -> None:
        if not self._editor.is_leaving:
            self.setFocus()
            if move:
                self._go_on(move)
        self.viewport().update()

    def _enter(self, cell: Cell, value: float) -> None:
        """A number from the user: show it and emit it if it is new."""
        old, old_limit = self._scene.at(cell), self._scene.limit
        if value == old:
            return
        self._scene.entered[cell] = value
        self._limit_by(old, value)
        if self._scene.limit != old_limit:
            self.viewport().update()
        else:
            self._update_cells([cell])
        self.edited.emit(*cell, value)
