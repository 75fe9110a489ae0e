"""The panels in the middle of the window, one below the other."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter

ENOUGH = 200
"""Height of the stretched pane above which the last one gets its preferred height."""


class CentreSplitter(QSplitter):
    """With little height all panes shrink; with more, the last has its full height."""

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
