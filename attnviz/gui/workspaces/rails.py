"""Rails: a place of tabs that is folded to its tabs, until a tab is clicked."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QCursor, QFont, QPainter
from PySide6.QtWidgets import QApplication, QMainWindow, QTabBar, QToolButton

from attnviz.core.text import is_wide
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.fold_button import MOST
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.widgets.upright_text import draw_upright

GAP = 6
"""Pixels between two tabs, as in the style sheet."""
LINE = 2
"""Pixels of the line beside the tab in front, as in the style sheet."""


class UprightNames(QObject):
    """Paints the bars that it filters where they stand at the right and a name has wide characters, upright.

    Qt rotates the whole name of such a tab by 90°, and with a style sheet no other style can paint it.
    """

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Paint or not isinstance(watched, QTabBar):
            return False
        if watched.shape() != QTabBar.Shape.RoundedEast:
            return False
        names = [watched.tabText(index) for index in range(watched.count())]
        if not any(map(is_wide, "".join(names))):
            return False
        _paint(watched, names, active_theme())
        return True


def _paint(bar: QTabBar, names: list[str], theme: Theme) -> None:
    painter = QPainter(bar)
    hovered = bar.tabAt(bar.mapFromGlobal(QCursor.pos())) if bar.underMouse() else -1
    scrolling = [button.y() for button in bar.findChildren(QToolButton) if button.isVisible()]
    end = min(scrolling, default=bar.height())
    for index, name in enumerate(names):
        is_front = index == bar.currentIndex()
        frame = QRectF(bar.tabRect(index)).adjusted(0, GAP, 0, -GAP)
        if frame.bottom() > end:
            continue
        if is_front and bar.hasFocus():
            draw_focus_ring(painter, frame, theme)
        elif is_front:
            painter.fillRect(QRectF(frame.left(), frame.top(), LINE, frame.height()), QColor(theme.accent))
        painter.setPen(QColor(theme.ink if is_front or index == hovered else theme.muted))
        font = QFont(bar.font())
        font.setWeight(QFont.Weight.DemiBold if is_front else QFont.Weight.Normal)
        painter.setFont(font)
        painter.save()
        painter.translate(frame.center() + QPointF(LINE / 2, 0))
        draw_upright(painter, name)
        painter.restore()


class Rails(QObject):
    """Folds and unfolds places of tabs. A folded place has no width but that of its tabs, at its side.

    A click on the tab in front folds, a click on any tab of a rail unfolds.
    """

    changed = Signal(str, bool)
    """A panel of the place, and whether the user folded it."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, PanelDock]) -> None:
        super().__init__(window)
        self._window, self._docks = window, docks
        self._folded: set[PanelDock] = set()
        self._upright = UprightNames(self)

    def watch(self) -> None:
        """Listen to the tabs; Qt makes their bars anew in another arrangement."""
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setUsesScrollButtons(True)  # many tabs scroll: short names with dots say nothing
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.installEventFilter(self._upright)  # once, however often it is called
            bar.tabBarClicked.connect(self._on_clicked, Qt.ConnectionType.UniqueConnection)

    def is_folded(self, panel: str) -> bool:
        """True if the place of a panel is a rail."""
        return self._docks[panel] in self._folded

    def fold(self, panel: str) -> None:
        """Fold the place of a panel to its tabs; a panel without tabs stays as it is."""
        place = self._place(self._docks[panel])
        if len(place) == 1:
            return
        for dock in place:
            self._folded.add(dock)
            dock.setMaximumWidth(0)
            dock.visibilityChanged.emit(False)

    def unfold(self, panel: str) -> bool:
        """Give the place of a panel its width again; False if it had it."""
        place = [dock for dock in self._place(self._docks[panel]) if dock in self._folded]
        for dock in place:
            self._folded.discard(dock)
            dock.setMaximumWidth(MOST)
        if place:
            self._docks[panel].visibilityChanged.emit(True)
        return bool(place)

    def clear(self) -> None:
        """Unfold everything, before another arrangement."""
        for dock in self._folded:
            dock.setMaximumWidth(MOST)
        self._folded.clear()

    def _place(self, dock: PanelDock) -> list[PanelDock]:
        """The docks that share the place of a dock, and it."""
        others = self._window.tabifiedDockWidgets(dock)
        return [dock, *(other for other in others if isinstance(other, PanelDock))]

    @Slot(int)
    def _on_clicked(self, index: int) -> None:
        bar = self.sender()
        if not isinstance(bar, QTabBar) or index < 0 or bar.shape() != QTabBar.Shape.RoundedEast:
            return
        if QApplication.mouseButtons() & ~Qt.MouseButton.LeftButton:
            return
        panel = self._named(bar.tabText(index))
        if not panel:
            return
        if self.unfold(panel):
            self.changed.emit(panel, False)
        elif index == bar.currentIndex():
            self.fold(panel)
            self.changed.emit(panel, True)

    def _named(self, title: str) -> str:
        """The panel whose tab has this title."""
        return next((id_ for id_, dock in self._docks.items() if dock.windowTitle() == title), "")
