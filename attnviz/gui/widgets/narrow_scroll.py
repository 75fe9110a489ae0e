"""A place that may be too narrow for its content: then it scrolls sideways and is never squeezed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


class NarrowScroll(QScrollArea):
    """`content` has the height of the place, and at least its own minimum width.

    A `QScrollArea` that resizes its widget would also give it its preferred height.
    """

    def __init__(self, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content = content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its content has the Tab stops
        self.setWidget(content)
        content.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        content.installEventFilter(self)

    def minimumSizeHint(self) -> QSize:
        return QSize(64, 64)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        found = super().eventFilter(watched, event)
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return found

    def _fit(self) -> None:
        room = self.viewport().size()
        self._content.resize(max(room.width(), self._content.minimumSizeHint().width()), room.height())
