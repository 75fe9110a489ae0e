"""The panels in the middle of the window, one below the other."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter

ENOUGH = 200
"""Height of the stretched pane from which on the last one gets what it would like to have."""


class CentreSplitter(QSplitter):
    """Where there is little height all panes give way; where there is more, the last is whole again."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self.setObjectName("centre")
        self.setChildrenCollapsible(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        sizes, last = self.sizes(), self.widget(self.count() - 1)
        if last is None or event.size().height() == event.oldSize().height():
            return
        given = min(last.sizeHint().height() - sizes[-1], sizes[-2] - ENOUGH)
        if given > 0:
            self.setSizes([*sizes[:-2], sizes[-2] - given, sizes[-1] + given])
