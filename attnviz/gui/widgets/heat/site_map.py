"""The map of one attention among several: a heat map at a fixed place, without a colour bar."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.widgets.heat.layout import Geometry
from attnviz.gui.widgets.heat.map import HeatMap

LABEL_PX = 10


class SiteMap(HeatMap):
    """A click or Enter anywhere on it chooses its attention, called `name`."""

    site_hovered = Signal(str, int, int)
    """(name, row, column) under the pointer or the keyboard cursor; (name, −1, −1) when it left."""
    chosen = Signal(str)
    """The name, when it was clicked or chosen by Enter."""

    can_zoom = False
    """All maps have cells of one size: none is enlarged alone."""

    _given: Geometry | None = None

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.setObjectName(f"site_map_{name}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._scene.label_px = LABEL_PX
        self.take_bar()
        self.cell_hovered.connect(self._on_hovered)
        self.cell_clicked.connect(self._on_clicked)

    def label_widths(self) -> tuple[float, float]:
        """Pixels of the widest label beside the map and of the widest above it."""
        return self._scene.label_widths()

    def place(self, geometry: Geometry, has_labels: bool) -> None:
        """Use the layout `geometry`, which counts in pixels of this widget."""
        self._given = geometry
        self._scene.shows_labels = has_labels
        self._arrange()

    def _arrange(self) -> None:
        if self._given is not None:
            self._scene.geometry = self._given
        self._base = None
        self.update()

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        self.site_hovered.emit(self.name, row, column)

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        self.chosen.emit(self.name)
