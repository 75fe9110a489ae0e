"""Showing to others: one panel as large as the window, and the scale of the interface."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, Slot
from PySide6.QtWidgets import QMainWindow

from attnviz.gui.commands.surface import Surface
from attnviz.gui.look.scale import largest_scale, next_scale, rescale
from attnviz.gui.player import Watch
from attnviz.gui.window.current import Current
from attnviz.gui.window.top_bar import TopBar
from attnviz.i18n import N_, _

ENLARGED = "enlarged"
"""Name under which an enlarged panel is a viewer of the player."""


class Presentation(QObject):
    """Enlarges panels and scales the window. While a panel is enlarged, the bar at the top is hidden."""

    def __init__(self, window: QMainWindow, surface: Surface, top_bar: TopBar, current: Current) -> None:
        super().__init__(window)
        self._window, self._surface, self._services = window, surface, surface.services
        self._top_bar, self._current = top_bar, current
        self._scale: int = self._services.settings["scale"]
        self._normal = (QRect(), 100, False)
        """Place of the window before the full screen, the scale then, and whether it was maximised."""
        surface.workspaces.enlarged_changed.connect(self._on_enlarged)
        for dock in surface.docks.values():
            dock.enlarge_wanted.connect(self.toggle)

    @property
    def current(self) -> str:
        """The panel that commands without a pointer mean."""
        return self._current.id

    @Slot(str)
    def toggle(self, panel: str = "") -> None:
        """Enlarge a panel, else the current one; or return from it."""
        self._surface.workspaces.toggle_enlarged(panel or self._current.id)

    def tear_off(self, panel: str = "") -> None:
        """Give a panel, else the current one, a window of its own; or return it."""
        self._surface.workspaces.tear_off(panel or self._current.id)

    @Slot(str)
    def _on_enlarged(self, panel: str) -> None:
        window = self._window
        # Without the bar the shortcuts of its menus need another widget that is visible.
        for action in self._surface.commands.all():
            (window.addAction if panel else window.removeAction)(action)
        self._top_bar.setVisible(not panel)
        for dock in self._surface.docks.values():
            dock.enlarge.set_back(panel in dock.panels)
        if not panel:
            self._services.store.play(Watch(ENLARGED, is_seen=False))
        keys = N_("Esc returns · PgUp, PgDn: words, then presets · Ctrl+plus: larger")
        self._services.status.hint(_(keys if panel else self._surface.workspaces.present.keys))
        if panel:
            self._surface.panels[panel].setFocus()

    def show_full_screen(self, is_full: bool) -> None:
        """Fill the screen, or return to the former size on the screen, also if the scale has changed."""
        window = self._window
        if is_full:
            self._normal = (window.geometry(), self._scale, window.isMaximized())
            window.showFullScreen()
            return
        place, scale, was_maximised = self._normal
        if was_maximised or not place.isValid():
            window.showMaximized()
            return
        window.showNormal()
        ratio = scale / self._scale
        window.setGeometry(QRect(place.topLeft() * ratio, place.size() * ratio))

    # --- scale

    def scale_by(self, step: int) -> None:
        """One step larger or smaller."""
        self.scale_to(next_scale(self._scale, step))

    def scale_to(self, percent: int) -> None:
        """Scale the interface, as far as the smallest window still fits the screen."""
        window = self._window
        most = max(100, largest_scale(window, self._scale))
        wanted = min(percent, most)
        if wanted < percent:
            self._services.status.say(_("This screen fits at most {percent} %").format(percent=most))
        if wanted != self._services.settings["scale"]:
            self._services.settings["scale"] = wanted
        if wanted == self._scale:
            return
        floating = [dock for dock in self._surface.docks.values() if dock.isFloating()]
        if rescale([window, *floating], self._scale, wanted):
            self._scale = wanted
        else:
            self._services.status.say(_("The new scale takes effect at the next start"))
