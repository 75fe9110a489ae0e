"""A line of text that adapts to its width: longer text is elided, and complete in the tooltip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.look.words import plain_tooltip


class ElidedLabel(QLabel):
    """One line without a preferred width; `elide` says where a longer text loses its letters."""

    elide = Qt.TextElideMode.ElideRight

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def set_line(self, text: str) -> None:
        """Show `text` on one line; called after every edit, and a tooltip costs more than a comparison."""
        if text == self.text():
            return
        self.setText(text)
        self.setToolTip(plain_tooltip(text))

    def sizeHint(self) -> QSize:
        return QSize(0, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        text = self.fontMetrics().elidedText(self.text(), self.elide, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


class WholeLabel(ElidedLabel):
    """One line that prefers its full width, and may be elided."""

    def sizeHint(self) -> QSize:
        return QLabel.sizeHint(self)
