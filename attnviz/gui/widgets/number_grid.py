"""A table of numbers that are changed where they stand; vectors and weight matrices are edited in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from attnviz.gui.theme import Theme
from attnviz.gui.widgets.control import Availability, Gesture, active_theme
from attnviz.gui.widgets.drag_number import DRAG_THRESHOLD_PX, NumberRange, modifier_factor, wheel_notches
from attnviz.gui.widgets.grid_painting import (
    CELL_HEIGHT,
    NARROWEST_CELL,
    WIDEST_CELL,
    Cell,
    GridGeometry,
    GridScene,
    label_width,
    paint_grid,
)
from attnviz.gui.widgets.number_block import format_block, parse_block
from attnviz.gui.widgets.number_editor import NumberEditor
from attnviz.gui.widgets.number_text import full_precision
from attnviz.i18n import _

_SHOWN_ROWS = 10
_ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}
_STARTS_TYPING = set("0123456789.,-+\N{MINUS SIGN}")


class NumberGrid(Availability, QAbstractScrollArea):
    """Numbers in coloured cells, (rows, columns), with row and column labels.

    Drag a cell up or down (Shift fine, Ctrl coarse), turn the wheel over the current cell or with
    Ctrl, type, Delete for 0; arrows and Tab move, Alt+Up and Alt+Down change, Shift+arrows select, Esc
    deselects, Ctrl+C and Ctrl+V copy and paste. `edited` carries each live value and `gesture_started`/`gesture_finished` bracket them.
    `pasted` carries the block and where it begins; it is the receiver who takes or refuses it.
    `cell_hovered` carries (-1, -1) when the pointer leaves.
    """

    edited = Signal(int, int, float)
    pasted = Signal(int, int, object)
    rejected = Signal(str)
    cell_hovered = Signal(int, int)
    current_changed = Signal(int, int)
    gesture_started = Signal()
    gesture_finished = Signal()

    def __init__(
        self, name: str = "", *, decimals: int = 2, step: float = 0.01, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self._scene = GridScene(np.zeros((0, 0)), (), (), 1.0, decimals=decimals)
        self._range = NumberRange(step=step)
        self._fixed_limit: float | None = None
        self._read_only: str | None = None
        self._anchor: Cell | None = None
        self._drag: tuple[Cell, QPointF, float, float] | None = None
        self.gesture = Gesture(self)
        self.gesture.started.connect(self.gesture_started)
        self.gesture.finished.connect(self.gesture_finished)
        self._editor = NumberEditor(self._range.check, self.viewport())
        self._editor.committed.connect(self._on_committed)
        self._editor.refused.connect(self.rejected)
        self._editor.closed.connect(self._on_editor_closed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(name)

    def values(self) -> NDArray[np.float64]:
        """The shown numbers (rows, columns), a copy."""
        return self._scene.values.copy()

    def set_values(
        self,
        values: ArrayLike,
        row_labels: Sequence[str] | None = None,
        column_labels: Sequence[str] | None = None,
    ) -> None:
        """Show `values` (rows, columns) without emitting; labels left out stay as they are."""
        scene, array = self._scene, np.array(values, dtype=np.float64, ndmin=2)
        labels = (
            scene.row_labels if row_labels is None else tuple(row_labels),
            scene.column_labels if column_labels is None else tuple(column_labels),
        )
        is_same_layout = array.shape == scene.values.shape and labels == (
            scene.row_labels,
            scene.column_labels,
        )
        scene.values = array
        if not is_same_layout:
            scene.row_labels, scene.column_labels = labels
            self._editor.close_editor()
            self._keep_inside()
            self._lay_out()
            self.updateGeometry()
        self._set_limit()
        self.viewport().update()

    def set_limit(self, limit: float | None) -> None:
        """Colours span ±`limit`; None takes the largest finite magnitude of the shown numbers."""
        self._fixed_limit = limit
        self._set_limit()
        self.viewport().update()

    def set_highlight(
        self, rows: Collection[int] = (), columns: Collection[int] = (), cells: Collection[Cell] = ()
    ) -> None:
        """Outline whole rows, whole columns and single cells; nothing given clears them."""
        scene = self._scene
        shape = scene.values.shape
        marks = (
            frozenset(row for row in rows if 0 <= row < shape[0]),
            frozenset(column for column in columns if 0 <= column < shape[1]),
            frozenset((r, c) for r, c in cells if 0 <= r < shape[0] and 0 <= c < shape[1]),
        )
        if marks != (scene.rows, scene.columns, scene.cells):
            scene.rows, scene.columns, scene.cells = marks
            self.viewport().update()

    def set_dimension_colors(self, row: str = "", column: str = "") -> None:
        """Colours of the row and column labels, as `#rrggbb`; empty for the usual muted ink."""
        self._scene.row_color, self._scene.column_color = row, column
        self.viewport().update()

    def set_read_only(self, reason: str | None) -> None:
        """Refuse edits with `reason`, which the tooltip says; copying still works. None allows them."""
        self._read_only = reason
        self._editor.close_editor()
        self.set_tooltip(reason or "")

    def current_cell(self) -> Cell | None:
        return self._scene.current

    def set_current_cell(self, row: int, column: int, extend: bool = False) -> None:
        """Make a cell the current one and scroll to it; `extend` keeps the anchor of the selection."""
        rows, columns = self._scene.values.shape
        if not (rows and columns):
            return
        cell = (min(max(row, 0), rows - 1), min(max(column, 0), columns - 1))
        self._anchor = self._anchor if extend and self._anchor is not None else cell
        is_new = cell != self._scene.current
        self._scene.current = cell
        self._select(self._anchor, cell)
        self._scroll_to(cell)
        self.viewport().update()
        if is_new:
            self.current_changed.emit(*cell)

    def cell_rect(self, row: int, column: int) -> QRect:
        """Where a cell lies on the viewport."""
        return self._geometry().cell_rect(row, column)

    def copy(self) -> None:
        """Put the selection, or all where nothing is selected, on the clipboard with full precision."""
        selection = self._scene.selection
        values = self._scene.values
        if selection is not None:
            rows, columns = selection
            values = values[rows.start : rows.stop, columns.start : columns.stop]
        QGuiApplication.clipboard().setText(format_block(values))

    def paste(self) -> None:
        """Emit the clipboard's block as `pasted` at the current cell, or say what is wrong with it."""
        if self._refuses():
            return
        try:
            block = parse_block(QGuiApplication.clipboard().text())
        except ValueError as error:
            self.rejected.emit(str(error))
            return
        selection = self._scene.selection
        row, column = (selection[0].start, selection[1].start) if selection is not None else (0, 0)
        self.pasted.emit(row, column, block)

    def apply_theme(self, theme: Theme) -> None:
        """Paint with `theme` from now on."""
        self._theme = theme
        self.viewport().update()

    # Layout

    def sizeHint(self) -> QSize:
        geometry = self._geometry()
        rows = min(max(geometry.rows, 1), _SHOWN_ROWS)
        width = geometry.label_width + min(geometry.columns, 6) * NARROWEST_CELL
        return QSize(width, geometry.header_height + rows * CELL_HEIGHT + 2)

    def minimumSizeHint(self) -> QSize:
        geometry = self._geometry()
        rows = min(max(geometry.rows, 1), 4)
        return QSize(
            geometry.label_width + NARROWEST_CELL * 2, geometry.header_height + rows * CELL_HEIGHT + 2
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._editor.close_editor()
        self.viewport().update()

    def _geometry(self) -> GridGeometry:
        scene = self._scene
        rows, columns = scene.values.shape
        label = label_width(scene.row_labels, self.fontMetrics().horizontalAdvance)
        room = (self.viewport().width() - label) // max(columns, 1)
        width = min(max(room, NARROWEST_CELL), WIDEST_CELL)
        header = self.fontMetrics().height() + 4 if scene.column_labels else 0
        x, y = self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        return GridGeometry(rows, columns, label, header, width, x, y)

    def _lay_out(self) -> None:
        geometry, size = self._geometry(), self.viewport().size()
        for bar, count, step, room in (
            (
                self.horizontalScrollBar(),
                geometry.columns,
                geometry.cell_width,
                size.width() - geometry.label_width,
            ),
            (self.verticalScrollBar(), geometry.rows, CELL_HEIGHT, size.height() - geometry.header_height),
        ):
            bar.setRange(0, max(count * step - room, 0))
            bar.setPageStep(max(room, 1))
            bar.setSingleStep(step)

    def _scroll_to(self, cell: Cell) -> None:
        geometry, size = self._geometry(), self.viewport().size()
        rect = geometry.cell_rect(*cell)
        for bar, low, high, start, end in (
            (self.horizontalScrollBar(), rect.left(), rect.right(), geometry.label_width, size.width()),
            (self.verticalScrollBar(), rect.top(), rect.bottom(), geometry.header_height, size.height()),
        ):
            overshoot = min(low - start, 0) or max(high + 1 - end, 0)
            bar.setValue(bar.value() + overshoot)

    def _keep_inside(self) -> None:
        rows, columns = self._scene.values.shape
        scene = self._scene
        if scene.current is not None and (scene.current[0] >= rows or scene.current[1] >= columns):
            scene.current = scene.selection = self._anchor = None
        elif scene.current is not None:
            self._anchor = scene.current
            self._select(scene.current, scene.current)
        scene.hovered = None
        self.set_highlight()

    def _set_limit(self) -> None:
        """The colour limit; while a gesture lasts it only grows, so that colours do not flicker."""
        if self._fixed_limit is not None:
            self._scene.limit = self._fixed_limit
            return
        values = self._scene.values
        largest = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
        self._scene.limit = max(largest, self._scene.limit) if self.gesture.is_active else largest or 1.0

    def _select(self, first: Cell, last: Cell) -> None:
        rows, columns = sorted((first[0], last[0])), sorted((first[1], last[1]))
        self._scene.selection = (range(rows[0], rows[1] + 1), range(columns[0], columns[1] + 1))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        self._scene.has_focus = self.hasFocus() or self._editor.is_open
        paint_grid(painter, self._geometry(), self._scene, self._theme, self.viewport().rect())

    # Pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self._geometry().cell_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or cell is None:
            return
        is_extending = (
            bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self._anchor is not None
        )
        if is_extending and cell != self._scene.current:
            self.set_current_cell(*cell, extend=True)
            return
        self.set_current_cell(*cell)
        self._drag = (cell, event.globalPosition(), float(self._scene.values[cell]), 0.0)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_by(event)
            return
        cell = self._geometry().cell_at(event.position())
        self._hover(cell)
        is_editable = cell is not None and self._read_only is None
        self.viewport().setCursor(Qt.CursorShape.SizeVerCursor if is_editable else Qt.CursorShape.ArrowCursor)

    def _drag_by(self, event: QMouseEvent) -> None:
        assert self._drag is not None
        cell, last, start, travel = self._drag
        upward = last.y() - event.globalPosition().y()
        if not self.gesture.is_active:
            if abs(upward) < DRAG_THRESHOLD_PX or self._refuses():
                return
            self.gesture.begin()
        travel += upward * modifier_factor(event.modifiers())
        self._drag = (cell, event.globalPosition(), start, travel)
        self._enter(cell, self._range.moved(start, travel))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._drag is not None:
            self._drag = None
            self.gesture.end()
            self._set_limit()
            self.viewport().update()

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
        if not self._refuses():
            self.gesture.touch()
            factor = 10 * modifier_factor(event.modifiers() & ~Qt.KeyboardModifier.ControlModifier)
            value = float(self._scene.values[cell])
            self._enter(cell, self._range.moved(value, factor * wheel_notches(event)))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def _hover(self, cell: Cell | None) -> None:
        if cell != self._scene.hovered:
            self._scene.hovered = cell
            self.viewport().update()
            self.cell_hovered.emit(*(cell or (-1, -1)))

    # Keyboard

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
        elif event.text() and event.text() in _STARTS_TYPING:
            self.open_editor(event.text())
        else:
            super().keyPressEvent(event)

    def _move(self, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        """Arrows move the current cell; with Alt, up and down change its number."""
        row, column = self._scene.current or (0, 0)
        down, right = _ARROWS[key]
        if modifiers & Qt.KeyboardModifier.AltModifier and down and self._scene.current is not None:
            if not self._refuses():
                self.gesture.touch()
                factor = -down * modifier_factor(modifiers)
                self._enter((row, column), self._range.moved(float(self._scene.values[row, column]), factor))
            return
        if self._scene.current is None:
            down = right = 0
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self.set_current_cell(row + down, column + right, extend)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes through the cells and leaves after the last one."""
        rows, columns = self._scene.values.shape
        if self._scene.current is None or not (rows and columns):
            return super().focusNextPrevChild(forward)
        index = self._scene.current[0] * columns + self._scene.current[1] + (1 if forward else -1)
        if not 0 <= index < rows * columns:
            return super().focusNextPrevChild(forward)
        self.set_current_cell(*divmod(index, columns))
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        if self._scene.current is None:
            self.set_current_cell(0, 0)
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if self._drag is None:
            self.gesture.end()
        super().focusOutEvent(event)
        self.viewport().update()

    def hideEvent(self, event: QHideEvent) -> None:
        self.gesture.end()
        super().hideEvent(event)

    def _select_all(self) -> None:
        rows, columns = self._scene.values.shape
        if rows and columns:
            self._anchor = (0, 0)
            self._scene.current = (rows - 1, columns - 1)
            self._select(self._anchor, self._scene.current)
            self.viewport().update()

    def _deselect(self) -> None:
        """No current cell, so that Tab leaves the table and Ctrl+C takes all of it."""
        self._scene.current = self._scene.selection = self._anchor = None
        self.viewport().update()

    def _clear_selection(self) -> None:
        if self._scene.selection is None or self._refuses():
            return
        rows, columns = self._scene.selection
        self.gesture.begin()
        for row in rows:
            for column in columns:
                self._enter((row, column), 0.0)
        self.gesture.end()

    # Editing

    def open_editor(self, text: str | None = None) -> None:
        """Type into the current cell; `text` replaces its digits."""
        cell = self._scene.current
        if cell is None or self._refuses():
            return
        self._scroll_to(cell)
        shown = full_precision(self._scene.values[cell]) if text is None else text
        self._editor.setAccessibleName(
            _("Row {row}, column {column}").format(row=cell[0] + 1, column=cell[1] + 1)
        )
        rect = self._geometry().cell_rect(*cell)
        wide = rect.adjusted(0, 0, max(84 - rect.width(), 0), 0)
        wide.moveRight(min(wide.right(), max(self.viewport().width() - 1, wide.width() - 1)))
        self._editor.open(shown, wide, select=text is None)

    def _on_committed(self, value: float) -> None:
        if self._scene.current is not None:
            self.gesture.begin()
            self._enter(self._scene.current, value)
            self.gesture.end()

    def _on_editor_closed(self, move: int) -> None:
        if not self._editor.is_leaving:
            self.setFocus()
            if move:
                self.focusNextPrevChild(move > 0)
        self.viewport().update()

    def _refuses(self) -> bool:
        """True, with the reason said, where the table cannot be edited."""
        if self._read_only is not None:
            self.rejected.emit(self._read_only)
        return self._read_only is not None

    def _enter(self, cell: Cell, value: float) -> None:
        """A number from the user: show it and emit it where it is new."""
        if value == self._scene.values[cell]:
            return
        self._scene.values[cell] = value
        self._set_limit()
        self.viewport().update()
        self.edited.emit(*cell, value)
