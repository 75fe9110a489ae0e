"""The operations of sampling as rows, each with its place in the order, its switch and its number."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from attnviz.errors import Message
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import composed, says
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.grip import Grip, gap_at, place_in
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_
from attnviz.model.edit.generation import operation_value, with_value
from attnviz.model.fields import field_at
from attnviz.model.spec.sampling import SAMPLING_OPERATIONS, Operation, SamplingOperation

ROW_PX = 21
"""Height of a row: five of them show where the window is small."""

_NAME_PX = 136
"""Room for the longest title, so that the sliders begin below each other."""


class OperationRow(QWidget):
    """Shows one row of `SAMPLING_OPERATIONS`.

    `changed` carries the operation with its number, or None if it is switched off; `moved` −1 for earlier and
    +1 for later, also by Alt+Up and Alt+Down anywhere in the row. While it is off it remembers its number.
    """

    changed = Signal(object)
    moved = Signal(int)

    def __init__(self, row: SamplingOperation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self._operation: Operation = row.fresh
        self._place, self._count = -1, 0
        self.setObjectName(f"operation_{row.id}")
        described = field_at(f"sampling.{row.id}.{row.field}")
        assert described is not None and described.field.usual is not None
        lowest, highest = described.bounds
        self.earlier, self.later = self._arrow(Qt.ArrowType.UpArrow), self._arrow(Qt.ArrowType.DownArrow)
        title = Message(row.title)
        self.grip = says(
            Grip(),
            id=f"grip_{row.id}",
            name=Message("Position of {operation} in the order", operation=title),
            tip=N_("Drag to reorder (Alt+↑ and Alt+↓)"),
        )
        name = Message("Apply earlier: {operation}", operation=title)
        says(self.earlier, id=f"earlier_{row.id}", name=name, tip=True)
        name = Message("Apply later: {operation}", operation=title)
        says(self.later, id=f"later_{row.id}", name=name, tip=True)
        hint = composed("{} · {} · {}".format, row.description, row.formula, row.source)
        self.toggle = says(Toggle(""), row.title, id=f"switch_{row.id}", tip=hint)
        self.toggle.setMinimumWidth(_NAME_PX)
        self.toggle.changed.connect(self._on_switched)
        self.slider = SliderField(
            "",
            operation_value(row.fresh),
            *described.field.usual,
            default=described.field.normal,
            decimals=described.field.digits,
            integer=described.kind is int,
            lowest=lowest,
            highest=highest,
        )
        says(self.slider, row.title, id=f"slider_{row.id}")
        says(self.slider.track, tip=hint)
        self.slider.number.setMinimumWidth(40)
        self.slider.changed.connect(self._on_slid)
        label = self.slider.findChild(QLabel, "slider_label")
        assert isinstance(label, QLabel)
        label.hide()
        line = in_row(self, spacing=GRID // 2)
        arrows = QHBoxLayout()
        arrows.setSpacing(0)
        arrows.addWidget(self.earlier)
        arrows.addWidget(self.later)
        line.addWidget(self.grip)
        line.addLayout(arrows)
        line.addWidget(self.toggle, 4)
        line.addWidget(self.slider, 5)
        self.setFixedHeight(ROW_PX)
        for part in (self.grip, self.earlier, self.later, self.toggle, self.slider.track, self.slider.number):
            part.installEventFilter(self)

    def _arrow(self, kind: Qt.ArrowType) -> QToolButton:
        button = QToolButton()
        button.setArrowType(kind)
        button.setFixedSize(16, 20)
        button.setAutoRaise(True)
        button.clicked.connect(self._on_arrow)
        return button

    def show_operation(self, operation: Operation | None, place: int, count: int) -> None:
        """Show the operation at `place` of `count`; None if it is not applied."""
        is_on = operation is not None
        self._place, self._count = place, count
        self._operation = operation or self._operation
        self.toggle.set_value(is_on)
        self.slider.set_value(operation_value(self._operation))
        self.slider.track.setEnabled(is_on)
        self.slider.number.setEnabled(is_on)
        self.earlier.setEnabled(is_on and place > 0)
        self.later.setEnabled(is_on and place < count - 1)
        self.grip.setEnabled(is_on and count > 1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Alt with Up or Down moves the operation, whichever of the row's controls has the focus."""
        kinds = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
        if isinstance(event, QKeyEvent) and event.type() in kinds:
            by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
            if by is not None and event.modifiers() & Qt.KeyboardModifier.AltModifier:
                event.accept()
                if event.type() == QEvent.Type.KeyPress and self._place >= 0:
                    self._move(by)
                return True
        return super().eventFilter(watched, event)

    def _move(self, by: int) -> None:
        if 0 <= self._place + by < self._count:
            self.moved.emit(by)

    @Slot(bool)
    def _on_switched(self, is_on: bool) -> None:
        self.changed.emit(self._operation if is_on else None)

    @Slot(object)
    def _on_slid(self, value: float) -> None:
        self._operation = with_value(self.row, value)
        self.changed.emit(self._operation)

    @Slot()
    def _on_arrow(self) -> None:
        self._move(-1 if self.sender() is self.earlier else 1)


class OperationList(QWidget):
    """All operations below each other: those that are applied first, in their order, then the others.

    `changed` carries the row of the table and the operation, None if it is switched off; `moved` the kind of
    an operation and its number of places. A line shows the target of a dragged row.
    """

    changed = Signal(object, object)
    moved = Signal(object, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self.rows = tuple(OperationRow(row) for row in SAMPLING_OPERATIONS)
        self._applied: tuple[OperationRow, ...] = ()
        self._dragged: OperationRow | None = None
        self._gap = 0
        self._order = in_column(self, spacing=0)
        for row in self.rows:
            row.changed.connect(self._on_changed)
            row.moved.connect(self._on_moved)
            row.grip.dragged.connect(self._on_dragged)
            row.grip.dropped.connect(self._on_dropped)
            row.grip.given_up.connect(self._on_given_up)
            self._order.addWidget(row)
        self._order.addStretch(1)

    def show_operations(self, operations: Sequence[Operation]) -> None:
        """Show these, in their order."""
        by_kind = {row.row.kind: row for row in self.rows}
        applied = tuple(by_kind[type(operation)] for operation in operations)
        if applied != self._applied:
            self._applied = applied
            self._drop()  # what was dragged may be somewhere else now
            self._put_in_order()
        by_row = dict(zip(applied, operations, strict=True))
        for row in self.rows:
            place = applied.index(row) if row in applied else -1
            row.show_operation(by_row.get(row), place, len(applied))

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._dragged is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.hover))
        painter.drawRoundedRect(QRectF(self._dragged.geometry()), 4, 4)
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        y = self.gap_y(self._gap)
        painter.drawLine(QPointF(1, y), QPointF(self.width() - 1, y))

    def gap_y(self, gap: int) -> float:
        """Position of the line that shows a gap, 0 before the first operation."""
        before = gap < len(self._applied)
        edge = self._applied[gap].geometry().top() if before else self._applied[-1].geometry().bottom() + 1
        return max(float(edge), 1.0)

    @Slot(object)
    def _on_changed(self, operation: Operation | None) -> None:
        self.changed.emit(self._sender().row, operation)

    @Slot(int)
    def _on_moved(self, by: int) -> None:
        self.moved.emit(self._sender().row.kind, by)

    @Slot(QPoint)
    def _on_dragged(self, at: QPoint) -> None:
        grip = self.sender()
        self._dragged = next(row for row in self._applied if row.grip is grip)
        middles = [QRectF(row.geometry()).center().y() for row in self._applied]
        self._gap = gap_at(middles, self.mapFromGlobal(at).y())
        self.update()

    @Slot()
    def _on_dropped(self) -> None:
        dragged, gap = self._dragged, self._gap
        self._drop()
        if dragged is not None:
            source = self._applied.index(dragged)
            by = place_in(gap, source) - source
            if by:
                self.moved.emit(dragged.row.kind, by)

    @Slot()
    def _on_given_up(self) -> None:
        self._drop()

    def _drop(self) -> None:
        self._dragged = None
        self.update()

    def _sender(self) -> OperationRow:
        row = self.sender()
        assert isinstance(row, OperationRow)
        return row

    def _put_in_order(self) -> None:
        wanted = [*self._applied, *(row for row in self.rows if row not in self._applied)]
        for place, row in enumerate(wanted):
            if self._order.indexOf(row) != place:
                self._order.removeWidget(row)
                self._order.insertWidget(place, row)
        for before, after in zip(wanted, wanted[1:], strict=False):
            QWidget.setTabOrder(before.slider.number, after.earlier)
