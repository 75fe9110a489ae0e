"""Export from the window: figures, panels, numbers; to files and to the clipboard."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.compute.scheduler import Scheduler
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store


class Exporter(QObject):
    """Writes what is shown."""

    failed = Signal(str)
    said = Signal(str)

    def __init__(self, window: QWidget, store: Store, scheduler: Scheduler) -> None:
        super().__init__(window)
        self._window, self._store, self._scheduler = window, store, scheduler

    def export_figure(self) -> None: ...
    def export_panel(self, panels: dict[str, Panel]) -> None: ...
    def export_numbers(self) -> None: ...
    def copy_picture(self) -> None: ...
    def copy_table(self) -> None: ...
