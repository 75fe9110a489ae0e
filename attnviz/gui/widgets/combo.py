"""A choice from a drop-down list, for choices too many or too long for joined buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Availability
from attnviz.gui.widgets.segmented import Option

_NARROWEST = 70
"""Room for some six letters and the arrow."""
_ASIDE = 2


class DropDown(QComboBox):
    """A combo box whose list is as wide as its longest option, however narrow the box is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A text that does not fit ends in an ellipsis; Qt would cut through a letter."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        edit = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, edit, self)
        option.currentText = self.fontMetrics().elidedText(
            option.currentText, Qt.TextElideMode.ElideRight, room.width() - _ASIDE
        )
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def sizeHint(self) -> QSize:
        """Qt leaves out the pixel that it keeps free at each side of the text."""
        return super().sizeHint() + QSize(_ASIDE, 0)

    def showPopup(self) -> None:
        view = self.view()
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        view.setMinimumWidth(max(self.width(), view.sizeHintForColumn(0) + bar + 2 * GRID))
        super().showPopup()


class Combo(Availability, DropDown):
    """One of several options; `changed` carries the id the user chose.

    The wheel changes it only while it has the focus, so that scrolling past it changes nothing.
    """

    changed = Signal(str)

    def __init__(self, options: Sequence[Option], name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options: tuple[Option, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(1)
        self.setMinimumWidth(_NARROWEST)
        self.setAccessibleName(name)
        self.set_options(options)
        self.activated.connect(self._on_activated)

    def value(self) -> str:
        return str(self.currentData() or "")

    def set_options(self, options: Sequence[Option]) -> None:
        """Replace the choices, if they are others; the chosen id stays chosen if it still exists."""
        if tuple(options) == self._options:
            return
        self._options = tuple(options)
        chosen = self.value()
        with QSignalBlocker(self):
            self.clear()
            for index, (id_, label, tooltip) in enumerate(options):
                self.addItem(label, id_)
                self.setItemData(index, plain_tooltip(tooltip or label), Qt.ItemDataRole.ToolTipRole)
        self.set_value(chosen)

    def set_value(self, value: str) -> None:
        """Show `value` as chosen without emitting; an id that is not an option chooses none."""
        with QSignalBlocker(self):
            self.setCurrentIndex(self.findData(value))

    def set_option_unavailable(self, id_: str, reason: str | None) -> None:
        """Disable one choice with the reason in its tooltip; `None` enables it."""
        index, model = self.findData(id_), self.model()
        assert isinstance(model, QStandardItemModel)
        item = model.item(index)
        tip = plain_tooltip(reason or item.text())
        if item.isEnabled() != (reason is None) or item.toolTip() != tip:  # called after every edit
            item.setEnabled(reason is None)
            item.setToolTip(tip)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _on_activated(self) -> None:
        self.changed.emit(self.value())
