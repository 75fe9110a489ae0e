"""A place that may be too narrow for its content: then it scrolls sideways and is never squeezed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


class NarrowScroll(QScrollArea):
    """The content has the height of the place, and at least its own minimum width.

    A `QScrollArea` that resizes its widget would also give it its preferred height.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its content has the Tab stops
        self.viewport().setAutoFillBackground(False)

    def put(self, content: QWidget) -> None:
        """Show `content`; cheapest if it was made inside the viewport."""
        self.setWidget(content)
        content.setAutoFillBackground(False)
        content.installEventFilter(self)

    def minimumSizeHint(self) -> QSize:
        return QSize(64, 64)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_taken = super().eventFilter(watched, event)
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return is_taken

    def _fit(self) -> None:
        content, room = self.widget(), self.viewport().size()
        if content is not None:
            content.resize(max(room.width(), content.minimumSizeHint().width()), room.height())
