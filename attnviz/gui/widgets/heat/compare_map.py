"""One of several heat maps side by side: its badge and caption, the map, and its range below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.text import number
from attnviz.gui.look.colors import LEVELS, cell_colors, indexed_image
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.hatch import is_vector
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.i18n import _

_STRIP_HEIGHT, _MOST_STRIP, _GAP = 6.0, 168.0, 8.0
_TEXT_PX = 11
_MAP_BYTES = np.arange(LEVELS, dtype=np.uint8).reshape(1, -1)
"""All colours, the lowest first, as a picture of one row."""


def end_text(end: float) -> str:
    """The end of a range: whole numbers without decimals."""
    return str(int(end)).replace("-", "\N{MINUS SIGN}") if end == int(end) else number(end, 3)


class RangeBar(QWidget):
    """The range of a map, below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._kind: Kind = "sequential"
        self._ends = ("0", "1")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> tuple[str, str]:
        """The written ends."""
        return self._ends

    def set_range(self, kind: Kind, low: float, high: float, *, shows_sign: bool = False) -> None:
        """Show another range; `shows_sign` writes a plus before a positive end."""
        plus = "+" if shows_sign and high > 0 else ""
        self._kind, self._ends = kind, (end_text(low), f"{plus}{end_text(high)}")
        self.setAccessibleName(_("Colour bar"))
        self.setAccessibleDescription(_("From {low} to {high}").format(low=self._ends[0], high=self._ends[1]))
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 16)

    def strip_rect(self) -> QRectF:
        """Rectangle of the colours on the widget."""
        metrics = QFontMetricsF(number_font(_TEXT_PX))
        low, high = (metrics.horizontalAdvance(text) + _GAP for text in self._ends)
        width = max(0.0, min(_MOST_STRIP, self.width() - low - high))
        left = low + (self.width() - low - high - width) / 2
        return QRectF(left, (self.height() - _STRIP_HEIGHT) / 2, width, _STRIP_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        strip = self.strip_rect()
        if is_vector(painter):
            self._paint_steps(painter, strip)
        else:
            painter.drawImage(strip, indexed_image(_MAP_BYTES, self._kind, self._theme))
        font = number_font(_TEXT_PX)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted))
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        low, high = self._ends
        painter.drawText(QPointF(strip.left() - _GAP - metrics.horizontalAdvance(low), base), low)
        painter.drawText(QPointF(strip.right() + _GAP, base), high)
        painter.end()

    def _paint_steps(self, painter: QPainter, strip: QRectF) -> None:
        """Paint one rectangle per colour: an SVG would blur an enlarged image."""
        step = strip.width() / LEVELS
        for index, (red, green, blue) in enumerate(cell_colors(self._kind, self._theme)):
            # A little overlap hides the seams between neighbours.
            box = QRectF(strip.left() + index * step, strip.top(), step + 0.5, strip.height())
            painter.fillRect(box.intersected(strip), QColor(int(red), int(green), int(blue)))


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
