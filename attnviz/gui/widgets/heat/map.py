"""The heat map: a matrix whose cells can be read, pointed at, reached by keys, and painted on.

Pointer, wheel and keys share the zoom, the cursor and the stroke; `paint` paints.

Over 500 lines because Qt delivers all events of a widget to one class.
"""

from __future__ import annotations

import html

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QInputDevice,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from attnviz.core.text import visible
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import RING_PX
from attnviz.gui.widgets.heat.color_bar import ColorBar
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, Cell, HeatContent, Highlight, same_numbers
from attnviz.gui.widgets.heat.hatch import device_scale, is_vector
from attnviz.gui.widgets.heat.kept_picture import KeptPicture
from attnviz.gui.widgets.heat.layout import Geometry, cells_between
from attnviz.gui.widgets.heat.minimap import Minimap
from attnviz.gui.widgets.heat.scene import HeatScene
from attnviz.gui.widgets.heat.words import exact_text, received_text, spoken_text, spread_text
from attnviz.i18n import _

__all__ = ["NO_HIGHLIGHT", "Cell", "HeatContent", "HeatMap", "Highlight"]

_ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}
_CHOOSE = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_ZOOM_STEP = 1.25
_HAND = Qt.CursorShape.PointingHandCursor


class HeatMap(QWidget):
    """One matrix with labels, sums, numbers and a colour bar.

    Every (row, column) of the interface refers to `content.values`, whatever the orientation on the screen.
    The wheel zooms about the pointer; a drag, Shift and wheel, or two fingers move a zoomed matrix; a double
    click shows all of it.
    """

    can_zoom = True

    cell_hovered = Signal(int, int)
    """(row, column) under the pointer or the keyboard cursor; (−1, −1) when it left."""

    cell_clicked = Signal(int, int)
    """(row, column) that was clicked, or chosen by Enter."""

    cell_stroked = Signal(int, int, bool)
    """(row, column, whether the stroke starts here) while dragging in paint mode; no cell is skipped."""

    label_clicked = Signal(bool, int, bool)
    """(whether it is of a row, row or column, whether Ctrl adds it); see `set_label_help`."""

    stroke_finished = Signal()
    """The button of the stroke was released; all cells since its start belong together."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("heat_map")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._scene = HeatScene()
        self._highlight = NO_HIGHLIGHT
        self._current: Cell | None = None
        self._paint_mode = False
        self._zoom = 1.0
        self._offset = QPointF()
        self._pressed: QPointF | None = None
        self._panned_from: QPointF | None = None
        self._stroke: Cell | None = None
        self._focus_shown = False
        self._label_help = ("", "")
        self._tooltip = ""
        self._base: QPixmap | None = None
        self._spare = QPixmap()
        self._frame = KeptPicture()
        self._bar, self._has_bar = ColorBar(self), True
        self._bar.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._minimap = Minimap(self)
        self._minimap.moved.connect(self._on_minimap)
        self._minimap.entered.connect(self._on_minimap_entered)
        self._arrange()
        self.retranslate()

    @property
    def content(self) -> HeatContent:
        """The shown content."""
        return self._scene.content

    @property
    def highlight(self) -> Highlight:
        """The highlighted cells."""
        return self._highlight

    @property
    def layout_shown(self) -> Geometry:
        """The layout, in (down, across) of the screen."""
        return self._scene.geometry

    @property
    def color_bar(self) -> ColorBar:
        """The colour bar beside the matrix."""
        return self._bar

    @property
    def current_cell(self) -> Cell | None:
        """The (row, column) under the pointer or the keyboard cursor."""
        return self._current

    def set_content(self, content: HeatContent) -> None:
        """Show another matrix; zoom, cursor and highlight stay where the shape does."""
        turned, was_current = content.transposed != self.content.transposed, self._current
        if turned or content.values.shape != self.content.values.shape:
            self._zoom, self._offset = 1.0, QPointF()
            self._current, self._highlight = None, NO_HIGHLIGHT
            self._show_bar()
            self._end_stroke()
        self._leave_tooltip(content)
        self._scene.set_content(content)
        self._arrange()
        self._describe()
        if was_current is not None and self._current is None:
            self.cell_hovered.emit(-1, -1)

    def set_highlight(self, highlight: Highlight) -> None:
        """Highlight other cells; the matrix below is not painted again."""
        if highlight != self._highlight:
            self._highlight = highlight
            self._show_bar()
            self._update_bar()
            self.update()

    def _show_bar(self) -> None:
        """The ends of the range may be covered numbers."""
        self._bar.setVisible(self._has_bar and not self._scene.is_compact and not self._highlight.covered)

    def take_bar(self) -> None:
        """Show no colour bar at all."""
        self._has_bar = False
        self._show_bar()

    def set_compact(self, is_compact: bool) -> None:
        """Small labels and no colour bar, where the range is written elsewhere."""
        if is_compact != self._scene.is_compact:
            self._scene.set_compact(is_compact)
            self._show_bar()
            self._arrange()

    def set_paint_mode(self, on: bool) -> None:
        """In paint mode a drag strokes cells instead of moving the matrix."""
        self._paint_mode = on
        self._end_stroke()
        self.setCursor(Qt.CursorShape.CrossCursor if on else Qt.CursorShape.ArrowCursor)

    def set_label_help(self, of_row: str, of_column: str) -> None:
        """Say the effect of a click on the label of a row, of a column; labels without help take no click."""
        self._label_help = of_row, of_column

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._scene.theme, self._frame = theme, KeptPicture()
        self._arrange()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        self._frame = KeptPicture()
        self._arrange()
        self._describe()

    def reset_zoom(self) -> None:
        """Show the whole matrix."""
        self._zoom, self._offset = 1.0, QPointF()
        self._arrange()

    def zoom_by(self, factor: float, about: QPointF) -> None:
        """Enlarge by `factor`; the cell under `about` keeps its place."""
        before = self.layout_shown
        if not self.can_zoom or not before.n_down or not before.n_across:
            return
        fraction_x = (about.x() - before.plot.left() + before.offset.x()) / (before.cell_w * before.n_across)
        fraction_y = (about.y() - before.plot.top() + before.offset.y()) / (before.cell_h * before.n_down)
        kept = self._zoom
        self._zoom = max(1.0, self._zoom * factor)
        self._arrange()
        after = self.layout_shown
        if factor > 1 and (after.cell_w, after.cell_h) == (before.cell_w, before.cell_h):
            self._zoom = kept  # as large as possible: the next step back must be visible
        self._offset = QPointF(
            fraction_x * after.cell_w * after.n_across - (about.x() - after.plot.left()),
            fraction_y * after.cell_h * after.n_down - (about.y() - after.plot.top()),
        )
        self._arrange()

    def bring_into_sight(self, row: int, column: int) -> None:
        """Move a zoomed matrix to a cell, or with one of both −1 to a row or column: to its middle where none
        of it is in sight.
        """
        geometry, shift = self.layout_shown, QPointF()
        place = self._scene.turned((row, column))
        away = geometry.cell_rect(*place).center() - geometry.plot.center()
        first_down, end_down, first_across, end_across = geometry.visible()
        if 0 <= place[0] < geometry.n_down and not first_down <= place[0] < end_down:
            shift.setY(away.y())
        if 0 <= place[1] < geometry.n_across and not first_across <= place[1] < end_across:
            shift.setX(away.x())
        if not shift.isNull():
            self._offset = self._offset + shift
            self._arrange()

    def cell_text(self, row: int, column: int) -> str:
        """One line about a cell: its labels and its exact value, or that it is masked."""
        return exact_text(self.content, (row, column))

    def cell_at(self, point: QPointF) -> Cell | None:
        """The (row, column) of the cell under a point of the widget."""
        return self._scene.cell_at(point)

    def cell_center(self, row: int, column: int) -> QPointF:
        """The middle of cell (row, column) on the widget."""
        return self.layout_shown.cell_rect(*self._scene.turned((row, column))).center()

    def sizeHint(self) -> QSize:
        """A comfortable size for a small matrix."""
        return QSize(520, 320)

    def minimumSizeHint(self) -> QSize:
        """Room for labels, bar and a few pixels a cell, in a window that fits a screen of 1024 × 700."""
        return QSize(220, 112)

    def _arrange(self) -> None:
        """Compute the layout, and schedule a full repaint."""
        self._scene.arrange(QSizeF(self.size()), self._zoom, self._offset)
        self._offset = self.layout_shown.offset
        self._bar.setGeometry(self.layout_shown.bar.toRect())
        self._update_bar()
        scene = self._scene
        self._minimap.show_part(scene.indices, scene.content.kind, scene.geometry, scene.theme)
        self._base = None
        self.update()

    def _update_bar(self) -> None:
        cell = self._highlight.cell or self._current
        row = None if cell is None or cell[0] >= self.content.values.shape[0] else cell[0]
        self._bar.set_scale(self._scene.color_scale(row))

    def _describe(self) -> None:
        """Describe the content and the cursor to a screen reader."""
        self.setAccessibleName(self.content.title or _("Heat map"))
        self.setAccessibleDescription(spoken_text(self.content, self._current))

    def _open_cell_at(self, point: QPointF) -> Cell | None:
        """The cell under `point`; a covered one tells nothing."""
        cell = self._scene.cell_at(point)
        return None if cell in self._highlight.covered else cell

    def _set_current(self, cell: Cell | None) -> None:
        if cell == self._current:
            return
        self._current = cell
        self._describe()
        self._update_bar()
        self.update()
        self.cell_hovered.emit(*((-1, -1) if cell is None else cell))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the cached picture of the matrix and the outlines over it; shapes only for SVG and PDF."""
        painter = QPainter(self)
        if is_vector(painter):
            self._scene.draw_base(painter)
        else:
            painter.drawPixmap(0, 0, self._picture(device_scale(painter)))
        self._scene.draw_overlay(painter, self._highlight, self._current)
        if self._focus_shown:
            painter.setPen(QPen(QColor(self._scene.theme.accent), RING_PX))
            painter.drawRect(self.layout_shown.plot.adjusted(-3, -3, 3, 3))
        painter.end()

    def _picture(self, ratio: float) -> QPixmap:
        """The base as pixels, `ratio` per point, painted when first needed.

        Its memory is reused.
        """
        wanted = (self.size() * ratio).expandedTo(QSize(1, 1))
        if self._base is not None and self._base.size() == wanted:
            return self._base
        base = self._spare if self._spare.size() == wanted else QPixmap(wanted)
        base.setDevicePixelRatio(ratio)
        base.fill(Qt.GlobalColor.transparent)
        painter = QPainter(base)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        self._frame.draw(painter, self.size(), self._scene.frame_key(), self._scene.draw_frame)
        self._scene.draw_numbers(painter)
        painter.end()
        self._base = self._spare = base
        return base

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the matrix into the new size."""
        self._arrange()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Hover, stroke, or move a zoomed matrix."""
        here = event.position()
        if self._stroke is not None:
            self._stroke_to(here)
        elif self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton and self._zoom > 1:
            self._pan_to(here)
        if self._panned_from is None:
            self._set_current(self._open_cell_at(here))
        if not self._paint_mode:
            shape = Qt.CursorShape.ArrowCursor if self._label_at(here) is None else _HAND
            self.setCursor(shape)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click, a stroke or a move."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._focus_shown = False
        cell = self._open_cell_at(event.position())
        self._set_current(cell)
        if self._paint_mode and cell is not None:
            self._stroke = cell
            self.cell_stroked.emit(*cell, True)
        else:
            self._pressed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the gesture of the press; a press that did not move is a click."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        cell = self._open_cell_at(event.position())
        if self._pressed is not None and self._panned_from is None and cell is not None:
            if self._open_cell_at(self._pressed) == cell:
                self.cell_clicked.emit(*cell)
        label = self._label_at(event.position())
        if self._pressed is not None and label is not None and self._label_at(self._pressed) == label:
            is_added = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            self.label_clicked.emit(*label, is_added)
        self._pressed = self._panned_from = None
        self._end_stroke()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole matrix again; if it is whole already, the second click counts as a click."""
        if self._zoom > 1 and not self._paint_mode:
            cell = self._open_cell_at(event.position())
            if cell is not None:
                self.cell_clicked.emit(*cell)  # takes back what the first click did
            self.reset_zoom()
        else:
            self.mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel zooms, Shift and wheel or two fingers move a zoomed matrix; the rest scrolls."""
        turned = event.angleDelta()
        if not self.can_zoom or (self._zoom == 1 and (turned.y() <= 0 or _moves(event))):
            event.ignore()
            return
        if _moves(event):
            exact = event.pixelDelta()  # of touch pads; a wheel has none
            moved = QPointF(turned.x() / 2, turned.y() / 2) if exact.isNull() else QPointF(exact)
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not moved.x():
                moved = moved.transposed()
            self._offset = self._offset - moved
            self._arrange()
        else:
            self.zoom_by(_ZOOM_STEP ** (turned.y() / 120), event.position())
        self._set_current(self._open_cell_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Clear the hovered cell."""
        self._set_current(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show a focus that came from the keyboard."""
        self._focus_shown = event.reason() in _BY_KEYS
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the focus."""
        self._focus_shown = False
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from cell to cell, Enter chooses (Space is the player's), plus, minus and 0 zoom."""
        key = Qt.Key(event.key())
        if key in _ARROWS and self.content.values.size:
            self._focus_shown = True
            self._walk(*_ARROWS[key])
        elif key in _CHOOSE and self._current is not None:
            if self._paint_mode:
                self.cell_stroked.emit(*self._current, True)
                self.stroke_finished.emit()
            else:
                self.cell_clicked.emit(*self._current)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            about = self.cell_center(*self._current) if self._current else self.layout_shown.plot.center()
            self.zoom_by(_ZOOM_STEP if key != Qt.Key.Key_Minus else 1 / _ZOOM_STEP, about)
        elif key == Qt.Key.Key_0:
            self.reset_zoom()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Show a tooltip when the system requests one; zoom by two fingers."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._show_tooltip(event)
            return True
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self.zoom_by(1 + event.value(), event.position())
                return True
        return super().event(event)

    def _label_at(self, at: QPointF) -> tuple[bool, int] | None:
        """(whether it is of a row, its index) of the label under `at` that takes clicks."""
        row, column = self._scene.row_label_at(at), self._scene.column_label_at(at)
        if row is not None and self._label_help[0]:
            return True, row
        return (False, column) if column is not None and self._label_help[1] else None

    def _show_tooltip(self, event: QHelpEvent) -> None:
        """A cell's exact value, or what the bar under the pointer stands for."""
        at = QPointF(event.pos())
        cell, row = self._open_cell_at(at), self._scene.spread_row_at(at)
        column, label = self._scene.received_column_at(at), self._label_at(at)
        if cell is not None:
            text, area = self.cell_text(*cell), self.layout_shown.cell_rect(*self._scene.turned(cell))
        elif row is not None and not any(row == covered for covered, _column in self._highlight.covered):
            text, area = spread_text(self.content, row), QRectF(at, QSizeF(2, 2))
        elif column is not None:
            text, area = received_text(self.content, column), QRectF(at, QSizeF(2, 2))
        elif label is not None:
            texts = self.content.row_labels if label[0] else self.content.column_labels
            sentence = self._label_help[0 if label[0] else 1]
            text, area = f"{visible(texts[label[1]])}\n{sentence}", QRectF(at, QSizeF(2, 2))
        elif heading := self._scene.heading_text_at(at):
            text, area = heading, QRectF(at, QSizeF(2, 2))
        else:
            QToolTip.hideText()
            return
        self._tooltip = f"<p style='white-space:pre'>{html.escape(text)}</p>"
        QToolTip.showText(event.globalPos(), self._tooltip, self, area.toAlignedRect())

    def _leave_tooltip(self, content: HeatContent) -> None:
        """Hide the exact value of a cell once the numbers are others."""
        if QToolTip.isVisible() and QToolTip.text() == self._tooltip:
            if not same_numbers(content.values, self.content.values):
                QToolTip.hideText()

    @Slot(QPointF)
    def _on_minimap(self, middle: QPointF) -> None:
        """Show the part around `middle`, in fractions of the whole."""
        geometry = self.layout_shown
        whole = geometry.block_rect(0, 0, geometry.n_down, geometry.n_across)
        self._offset = QPointF(
            middle.x() * whole.width() - geometry.plot.width() / 2,
            middle.y() * whole.height() - geometry.plot.height() / 2,
        )
        self._arrange()

    @Slot()
    def _on_minimap_entered(self) -> None:
        self._set_current(None)

    def _walk(self, down: int, across: int) -> None:
        """Move the cursor by one cell as seen on the screen, and bring it into view."""
        geometry = self.layout_shown
        if self._current is None:
            first_down, _a, first_across, _b = geometry.visible()
            target = (first_down, first_across)
        else:
            at_down, at_across = self._scene.turned(self._current)
            target = (at_down + down, at_across + across)
        target = (min(max(target[0], 0), geometry.n_down - 1), min(max(target[1], 0), geometry.n_across - 1))
        rect, plot = geometry.cell_rect(*target), geometry.plot
        shift = QPointF(
            min(0.0, rect.left() - plot.left()) + max(0.0, rect.right() - plot.right()),
            min(0.0, rect.top() - plot.top()) + max(0.0, rect.bottom() - plot.bottom()),
        )
        if self._zoom > 1 and not shift.isNull():
            self._offset = self._offset + shift
            self._arrange()
        self._set_current(self._scene.turned(target))

    def _pan_to(self, here: QPointF) -> None:
        start = self._pressed
        if start is None:
            return
        if self._panned_from is None:
            if (here - start).manhattanLength() < QApplication.startDragDistance():
                return
            self._panned_from = self._offset
        self._offset = self._panned_from - (here - start)
        self._arrange()

    def _stroke_to(self, here: QPointF) -> None:
        """Emit every cell from the last one to that under `here`: a fast drag leaves no gaps."""
        if self._stroke is None:
            return
        end = self._scene.turned(self.layout_shown.nearest_cell(here))
        for cell in cells_between(self._stroke, end):
            self.cell_stroked.emit(*cell, False)
        self._stroke = end

    def _end_stroke(self) -> None:
        if self._stroke is not None:
            self._stroke = None
            self.stroke_finished.emit()


def _moves(event: QWheelEvent) -> bool:
    """True if a turn of the wheel moves the matrix; two fingers on a touch pad do, unless Ctrl zooms."""
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        return False
    if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or not event.angleDelta().y():
        return True
    is_touch = event.device() is not None and event.device().type() == QInputDevice.DeviceType.TouchPad
    return is_touch or event.phase() != Qt.ScrollPhase.NoScrollPhase
