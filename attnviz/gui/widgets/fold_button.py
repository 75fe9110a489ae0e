"""A chevron in the title of a panel, which folds the panel to its title."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, QSignalBlocker, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolTip, QWidget

from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _

SIDE = 18
MOST = 16_777_215
"""Qt's largest size of a widget."""


class FoldButton(PaintedButton):
    """Checked while `panel` is folded: then it has no height, and its neighbours take the room."""

    def __init__(self, panel: QWidget) -> None:
        super().__init__()
        self._panel = panel
        self._heights: dict[QDockWidget, int] = {}
        self._unfolded = QTimer(self)
        self._unfolded.setSingleShot(True)
        self._unfolded.setInterval(0)
        self._unfolded.timeout.connect(self._give_height)
        self.setCheckable(True)
        self.setObjectName("fold_button")
        self.setFixedSize(SIDE, SIDE)
        self.toggled.connect(self._on_toggled)

    def retranslate(self) -> None:
        text = _("Unfold the panel") if self.isChecked() else _("Fold the panel to its title")
        self.setAccessibleName(text)
        self.setToolTip(plain_tooltip(text))

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(self._theme.ink if self.underMouse() else self._theme.muted), 1.5)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.translate(SIDE / 2, SIDE / 2)
        painter.rotate(0 if self.isChecked() else 90)
        painter.drawPolyline([QPointF(-2, -4), QPointF(2, 0), QPointF(-2, 4)])
        painter.resetTransform()
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, RADIUS - 2)

    @Slot(bool)
    def _on_toggled(self, is_folded: bool) -> None:
        dock = self._dock()
        if is_folded and (dock is None or _tabs_of(dock)):
            # Among tabs it would fold the others, too.
            with QSignalBlocker(self):
                self.setChecked(False)
            self._say_why()
            return
        self._panel.setVisible(not is_folded)
        if dock is not None and is_folded:
            self._heights = {one: one.height() for one in _column_of(dock)}
            dock.setMaximumHeight(dock.titleBarWidget().sizeHint().height() + GRID)
            dock.dockLocationChanged.connect(self._on_moved)
        elif dock is not None:
            dock.dockLocationChanged.disconnect(self._on_moved)
            dock.setMaximumHeight(MOST)
            self._unfolded.start()
        self.retranslate()

    def _say_why(self) -> None:
        text = plain_tooltip(_("A panel in tabs cannot fold; drag it out of the tabs first"))
        QToolTip.showText(self.mapToGlobal(QPoint(0, SIDE)), text, self)

    @Slot()
    def _give_height(self) -> None:
        """Give the column its heights again, once the docks know that the panel may grow."""
        dock = self._dock()
        window = None if dock is None else dock.parentWidget()
        if dock is not None and isinstance(window, QMainWindow) and not self.isChecked():
            docks = [one for one in _column_of(dock) if one in self._heights]
            window.resizeDocks(docks, [self._heights[one] for one in docks], Qt.Orientation.Vertical)

    @Slot(object)
    def _on_moved(self, area: object) -> None:
        """Another workspace, or another place: there the panel is whole."""
        self.setChecked(False)

    def _dock(self) -> QDockWidget | None:
        """The dock around the panel; None for a panel alone."""
        widget: QWidget | None = self
        while widget is not None and not isinstance(widget, QDockWidget):
            widget = widget.parentWidget()
        return widget


def _column_of(dock: QDockWidget) -> list[QDockWidget]:
    """The docks in sight above and below a dock, and it."""
    window = dock.parentWidget()
    docks = [] if window is None else window.findChildren(QDockWidget)
    return [one for one in docks if one.x() == dock.x() and not one.visibleRegion().isEmpty()]


def _tabs_of(dock: QDockWidget) -> bool:
    window = dock.parentWidget()
    return isinstance(window, QMainWindow) and bool(window.tabifiedDockWidgets(dock))
