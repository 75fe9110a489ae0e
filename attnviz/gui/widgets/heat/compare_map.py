"""One of several heat maps side by side: its caption, its range if the bar does not fit, the map."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.map import HeatMap

BAR_FROM = 300
"""Width from which a colour bar fits; below it the range is written beside the caption."""

CAPTION_HEIGHT = 18
"""Equal for all scripts, so that the maps are aligned."""


def range_text(low: float, high: float) -> str:
    """The ends of a colour range, short."""
    return f"±{_short(high)}" if low == -high else f"{_short(low)} … {_short(high)}"


def _short(end: float) -> str:
    return str(int(end)) if end == int(end) else number(end, 2)


class CompareMap(QWidget):
    """A caption over a heat map. `name` begins the object names of its parts."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = HeatMap()
        self.map.setObjectName(f"{name}_map")
        self.map.setMinimumSize(72, 64)
        self._caption, self._range = QLabel(), QLabel()
        for label, part in ((self._caption, "caption"), (self._range, "range")):
            label.setObjectName(f"{name}_{part}")
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setFont(ui_font(11))
            label.setFixedHeight(CAPTION_HEIGHT)
        self._caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        top = QHBoxLayout()
        top.setSpacing(GRID // 2)
        top.addWidget(self._caption, 1)
        top.addWidget(self._range)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(top)
        column.addWidget(self.map, 1)

    def set_content(self, caption: str, content: HeatContent, *, says_range: bool = True) -> None:
        """Show another matrix; `says_range` is false if the caption contains the range."""
        self._caption.setText(caption)
        self._caption.setToolTip(plain_tooltip(caption))
        has_bar = self.width() >= BAR_FROM
        self.map.set_compact(not has_bar)
        self.map.set_content(content)
        self._range.setVisible(says_range and not has_bar)
        self._range.setText("" if content.levels is None else range_text(*content.levels))

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self.map.apply_theme(theme)
        self._range.setStyleSheet(f"color: {theme.muted}")

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        self.map.retranslate()

    def sizeHint(self) -> QSize:
        return QSize(180, 150)
