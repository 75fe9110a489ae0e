"""Widgets that were written to: Qt tells a widget of every tool tip, also of one that it had."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QWidget

WRITES = frozenset(
    {
        QEvent.Type.ToolTipChange,
        QEvent.Type.EnabledChange,
        QEvent.Type.FontChange,
        QEvent.Type.PaletteChange,
        QEvent.Type.StyleChange,
        QEvent.Type.LayoutRequest,
        QEvent.Type.UpdateRequest,
        QEvent.Type.Paint,
        QEvent.Type.Show,
        QEvent.Type.Hide,
    }
)


class Written(QObject):
    """Writes down what is written to some widgets and to what they hold, until `stop`."""

    def __init__(self, *roots: QWidget) -> None:
        super().__init__(roots[0])
        self._roots = roots
        self.log: list[tuple[QWidget, str]] = []
        app = QCoreApplication.instance()
        assert app is not None
        app.installEventFilter(self)

    @property
    def events(self) -> list[str]:
        """The kinds of what was written, in order."""
        return [kind for _widget, kind in self.log]

    def stop(self) -> None:
        app = QCoreApplication.instance()
        assert app is not None
        app.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in WRITES and isinstance(watched, QWidget):
            if any(root is watched or root.isAncestorOf(watched) for root in self._roots):
                self.log.append((watched, event.type().name))
        return False
