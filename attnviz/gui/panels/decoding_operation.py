"""One operation of sampling as a row: its place in the order, its switch, its number."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from attnviz.gui.theme import GRID
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import _
from attnviz.model.sampling import Operation, SamplingOperation
from attnviz.model.writing_edits import operation_value, with_value

_NAME_PX = 150
"""Room for the longest title, so that the sliders begin below each other."""

_HIGHEST = 1e6
"""What typing reaches where any number is legal."""


class OperationRow(QWidget):
    """Shows one row of `SAMPLING_OPERATIONS`.

    `changed` carries the operation with its number, or None where it is switched off; `moved` −1 for earlier
    and +1 for later. While it is off it remembers its number.
    """

    changed = Signal(object)
    moved = Signal(int)

    def __init__(self, row: SamplingOperation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self._operation: Operation = row.fresh
        self.setObjectName(f"operation_{row.id}")
        whole = isinstance(getattr(row.fresh, row.field), int)
        smallest = 1.0 if whole else row.low if row.includes_low else 0.01
        self.earlier, self.later = self._arrow(Qt.ArrowType.UpArrow), self._arrow(Qt.ArrowType.DownArrow)
        self.earlier.setObjectName(f"earlier_{row.id}")
        self.later.setObjectName(f"later_{row.id}")
        self.toggle = Toggle("")
        self.toggle.setObjectName(f"switch_{row.id}")
        self.toggle.setMinimumWidth(_NAME_PX)
        self.toggle.changed.connect(self._on_switched)
        self.slider = SliderField(
            "",
            operation_value(row.fresh),
            *row.usual,
            default=row.neutral,
            decimals=0 if whole else 2,
            integer=whole,
            lowest=smallest,
            highest=row.high if math.isfinite(row.high) else _HIGHEST,
        )
        self.slider.setObjectName(f"slider_{row.id}")
        self.slider.number.setMinimumWidth(44)
        self.slider.changed.connect(self._on_slid)
        label = self.slider.findChild(QLabel, "slider_label")
        assert isinstance(label, QLabel)
        label.hide()
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(GRID // 2)
        arrows = QHBoxLayout()
        arrows.setSpacing(0)
        arrows.addWidget(self.earlier)
        arrows.addWidget(self.later)
        line.addLayout(arrows)
        line.addWidget(self.toggle, 4)
        line.addWidget(self.slider, 5)

    def _arrow(self, kind: Qt.ArrowType) -> QToolButton:
        button = QToolButton()
        button.setArrowType(kind)
        button.setFixedSize(18, 20)
        button.setAutoRaise(True)
        button.clicked.connect(self._on_arrow)
        return button

    def show_operation(self, operation: Operation | None, place: int, count: int) -> None:
        """Show the operation, which stands at `place` of `count`; None where it is not applied."""
        is_on = operation is not None
        self._operation = operation or self._operation
        self.toggle.set_value(is_on)
        self.slider.set_value(operation_value(self._operation))
        self.slider.track.setEnabled(is_on)
        self.slider.number.setEnabled(is_on)
        self.earlier.setEnabled(is_on and place > 0)
        self.later.setEnabled(is_on and place < count - 1)

    def retranslate(self) -> None:
        title = _(self.row.title)
        hint = f"{_(self.row.description)} · {_(self.row.formula)} · {_(self.row.source)}"
        self.toggle.set_label(title)
        self.toggle.set_tooltip(hint)
        self.slider.set_label(title)
        self.slider.track.setToolTip(plain_tooltip(hint))
        for button, text in (
            (self.earlier, _("Apply earlier: {operation}")),
            (self.later, _("Apply later: {operation}")),
        ):
            words = text.format(operation=title)
            button.setToolTip(plain_tooltip(words))
            button.setAccessibleName(words)

    @Slot(bool)
    def _on_switched(self, is_on: bool) -> None:
        self.changed.emit(self._operation if is_on else None)

    @Slot(object)
    def _on_slid(self, value: float) -> None:
        self._operation = with_value(self.row, value)
        self.changed.emit(self._operation)

    @Slot()
    def _on_arrow(self) -> None:
        self.moved.emit(-1 if self.sender() is self.earlier else 1)
