"""A label and its control beside each other, or below each other where the width does not suffice."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.widgets.boxes import in_row


class BreakingLine(QWidget):
    """Its widgets are added to `line`; below each other, the last ones stand at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = in_row(self, spacing=GRID)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def is_broken(self) -> bool:
        """True if the widgets stand below each other."""
        return self.line.direction() == QBoxLayout.Direction.TopToBottom

    def minimumSizeHint(self) -> QSize:
        widths = [
            widget.minimumSizeHint().expandedTo(widget.minimumSize()).width() for widget in self._widgets()
        ]
        return QSize(max(widths, default=0), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._break(event.size().width())

    def event(self, event: QEvent) -> bool:
        """A control may have become wider."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._break(self.width())
        return done

    def _widgets(self) -> list[QWidget]:
        children = (child for child in self.children() if isinstance(child, QWidget))
        return [child for child in children if self.line.indexOf(child) >= 0 and not child.isHidden()]

    def _break(self, width: int) -> None:
        """Choose the direction for a width."""
        widgets = self._widgets()
        needed = sum(map(_least, widgets)) + GRID * (len(widgets) - 1)
        is_broken = len(widgets) > 1 and needed > width
        if is_broken == self.is_broken():
            return
        directions = QBoxLayout.Direction
        self.line.setDirection(directions.TopToBottom if is_broken else directions.LeftToRight)
        self.line.setSpacing(GRID // 2 if is_broken else GRID)
        for widget in widgets[1:]:
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            self.line.setAlignment(widget, right if is_broken else Qt.AlignmentFlag(0))


def _least(widget: QWidget) -> int:
    """The least width of a widget."""
    return max(widget.minimumSizeHint().width(), widget.minimumWidth())
