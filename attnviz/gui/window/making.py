"""Making the panels of a window: those in sight first, the others in pauses or when something needs them."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.style import color
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.table import PANEL_BY_ID, PANELS, PanelRow
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.panel_dock import PanelDock

REST_MS, PAUSE_MS = 300, 20
"""From the first numbers to the next panel, and from each to the one after: a person comes first."""


class Panels(dict[str, Panel]):
    """The panels that exist, by id; one that does not exist yet is made at its first use."""

    def __init__(self, make: Callable[[str], Panel]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, id_: str) -> Panel:
        return self._make(id_)


class Docks(dict[str, PanelDock]):
    """The docks by the panels that name them; a panel within another one is found by its own id, too."""

    def __missing__(self, id_: str) -> PanelDock:
        return self[PANEL_BY_ID[id_].within]


class Making(QObject):
    """Fills the docks of a window with panels, once `make_seen` has made the first."""

    made = Signal(str)
    """A panel exists that has not been started: whoever answers it connects to it now."""
    started = Signal(str)
    """A panel shows the document."""

    def __init__(self, window: QWidget, services: Services, docks: Mapping[str, PanelDock]) -> None:
        super().__init__(window)
        self._window, self._services, self._docks = window, services, docks
        self.panels = Panels(self.make)
        self._pause = QTimer(self)
        self._pause.timeout.connect(self._make_next)
        for dock in docks.values():
            dock.seen_changed.connect(self._on_seen)

    def make_seen(self) -> None:
        """Make the panels that a person sees now."""
        for row in PANELS:
            if row.id not in self.panels and self._is_seen(row.id):  # one may have come into sight meanwhile
                self._make(row)

    def make(self, id_: str) -> Panel:
        """The panel `id_`, made now if it does not exist.

        Errors: `KeyError` before the first panels are made, and for an unknown id.
        """
        if not self.panels:
            raise KeyError(id_)
        if id_ not in self.panels:
            self._make(PANEL_BY_ID[id_])
        return self.panels[id_]

    @Slot()
    def make_rest(self) -> bool:
        """Make all missing panels at once; False before the first are made."""
        self._pause.stop()
        for row in PANELS if self.panels else ():
            if row.id not in self.panels:
                self._make(row)
        return bool(self.panels)

    def make_in_pauses(self) -> None:
        """Make the missing panels one by one, each after its module: the window answers in between."""
        self._pause.start(REST_MS)

    def stop(self) -> None:
        """Make no more panels, and tell those that exist nothing more."""
        self._pause.stop()
        for dock in self._docks.values():
            dock.seen_changed.disconnect(self._on_seen)

    @Slot()
    def _make_next(self) -> None:
        self._pause.setInterval(PAUSE_MS)
        missing = [row for row in PANELS if row.id not in self.panels]
        if missing and missing[0].module not in sys.modules:
            import_module(missing[0].module)
            return
        if missing:
            self._make(missing[0])
        if len(missing) <= 1:
            self._pause.stop()

    def _is_seen(self, id_: str) -> bool:
        dock = self._docks[id_]
        is_painted = not self._window.isVisible() or not dock.visibleRegion().isEmpty()
        return is_painted and not dock.isHidden() and dock.front == id_

    @Slot(str, bool)
    def _on_seen(self, id_: str, is_seen: bool) -> None:
        """Tell a panel that exists; one that comes into sight is made, once the first are."""
        if is_seen and self.panels:
            self.make(id_)
        if id_ in self.panels:
            self.panels[id_].set_seen(is_seen)

    def _make(self, row: PanelRow) -> None:
        dock = self._docks[row.id]
        panel = row.make(self._services.store, dock.room(row.id))
        panel.setObjectName(f"{row.id}_panel")
        panel.serve(self._services)
        self.panels[row.id] = panel
        dock.put(row.id, panel, panel.header())
        color(dock.findChildren(QWidget), active_theme())
        self.made.emit(row.id)
        panel.set_seen(self._is_seen(row.id))
        panel.start()
        self.started.emit(row.id)
        # PySide6 reads the source of each module that is imported, and Python keeps the lines: 13 MB.
        linecache.clearcache()
