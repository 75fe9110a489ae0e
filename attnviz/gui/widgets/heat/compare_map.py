"""One of several heat maps side by side: its badge and caption, the map, and its range below."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.color_maps import Kind
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.range_bar import RangeBar

CAPTION_HEIGHT = 22
"""Equal for all scripts, so that the maps are aligned."""

CellText = Callable[[int, int], str]


class PairMap(HeatMap):
    """A heat map whose cells are described by its owner: a hatched cell may be absent, not masked."""

    def __init__(self) -> None:
        super().__init__()
        self.says: CellText | None = None

    def label_widths(self) -> tuple[float, float]:
        """Pixels of the widest label beside the map and of the widest above it."""
        return self._scene.label_widths()

    def set_label_room(self, room: tuple[float, float]) -> None:
        """Leave this room for labels, so that maps side by side have cells of one size."""
        if room != self._scene.label_room:
            self._scene.label_room = room
            self._arrange()

    def cell_text(self, row: int, column: int) -> str:
        """The owner's line about a cell."""
        return super().cell_text(row, column) if self.says is None else self.says(row, column)


class CompareMap(QWidget):
    """A badge and a caption over a heat map. `name` begins the object names of its parts."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = PairMap()
        self.map.setObjectName(f"{name}_map")
        self.map.setMinimumSize(72, 64)
        self.map.set_compact(True)
        self._badge, self._caption, self.range_bar = QLabel(), ElidedLabel(), RangeBar()
        self._is_accented, self._theme = False, LIGHT
        for label, part in ((self._badge, "badge"), (self._caption, "caption")):
            label.setObjectName(f"{name}_{part}")
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._caption.setFont(ui_font(TEXT_PX))
        self._caption.setFixedHeight(CAPTION_HEIGHT)
        self._badge.setFixedHeight(CAPTION_HEIGHT)
        self.range_bar.setObjectName(f"{name}_range")
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self._badge)
        top.addWidget(self._caption, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(top)
        column.addWidget(self.map, 1)
        column.addWidget(self.range_bar)

    @property
    def caption(self) -> str:
        """The line over the map."""
        return self._caption.text()

    @property
    def badge(self) -> str:
        """The short name before the caption."""
        return self._badge.text()

    def set_content(
        self, badge: str, caption: str, content: HeatContent, kind: Kind, *, is_accented: bool = False
    ) -> None:
        """Show another matrix; `is_accented` marks the side that can be edited."""
        self._badge.setText(badge)
        self._badge.setVisible(bool(badge))
        self._caption.set_line(caption)
        self.map.set_content(content)
        low, high = (0.0, 1.0) if content.levels is None else content.levels
        self.range_bar.set_range(kind, low, high, shows_sign=low == -high)
        if is_accented != self._is_accented:
            self._is_accented = is_accented
            self._color_badge()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._color_badge()

    def sizeHint(self) -> QSize:
        return QSize(180, 150)

    def _color_badge(self) -> None:
        theme = self._theme
        ground, ink = (theme.filled, theme.on_filled) if self._is_accented else (theme.hover, theme.ink)
        self._badge.setStyleSheet(
            f"background: {ground}; color: {ink}; border-radius: 4px; padding: 0 7px; font-weight: 600"
        )
