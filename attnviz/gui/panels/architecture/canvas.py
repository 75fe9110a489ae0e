"""The maps of all attentions side by side, with captions and the arrows between them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, RADIUS, Theme
from attnviz.gui.widgets.heat.content import HeatContent, Highlight
from attnviz.gui.widgets.heat.site_layout import CAPTION_LINE, Arrangement, MapSizes, Placed, arrange
from attnviz.gui.widgets.heat.site_map import SiteMap
from attnviz.model.spec.site import Place

CAPTION_PX = 11
BAND = 14
"""Pixels above the maps in which the encoder's arrow runs to the cross-attentions."""
HEAD = 3.5
"""Half the width of an arrow's head."""


@dataclass(frozen=True, eq=False)
class SiteEntry:
    """One attention: its place, its matrix, and its caption: two lines below, or more and shorter
    ones beside.
    """

    name: str
    place: Place
    content: HeatContent
    below: tuple[str, ...]
    beside: tuple[str, ...]


class ArchitectureCanvas(QWidget):
    """Fits all maps into its height and asks for the width that they then take."""

    site_hovered = Signal(str, int, int)
    """(name of the site, row, column), or (name, −1, −1)."""
    chosen = Signal(str)
    """The name of the site that was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("architecture_canvas")
        self.setSizePolicy(QSizePolicy.Policy.MinimumExpanding, QSizePolicy.Policy.Expanding)
        self.maps: dict[str, SiteMap] = {}
        self._entries: tuple[SiteEntry, ...] = ()
        self._arranged: Arrangement | None = None
        self._chosen = ""
        self._room = QSize(456, 140)
        self._theme = LIGHT
        self._font = ui_font(CAPTION_PX)
        self._bold = ui_font(CAPTION_PX, QFont.Weight.DemiBold)

    @property
    def arrangement(self) -> Arrangement | None:
        """Positions of all maps; None before the first entries."""
        return self._arranged

    def area_of(self, name: str) -> QRect | None:
        """Rectangle of an attention, with its caption; None if it is not shown."""
        names = [entry.name for entry in self._entries]
        return self._arranged.places[names.index(name)].area if self._arranged and name in names else None

    def set_entries(self, entries: tuple[SiteEntry, ...], chosen: str) -> None:
        """Show these attentions, of which one is selected; unused maps stay hidden."""
        self._entries, self._chosen = entries, chosen
        names = {entry.name for entry in entries}
        for name, site_map in self.maps.items():
            site_map.setVisible(name in names)
        for entry in entries:
            (self.maps.get(entry.name) or self._made(entry.name)).set_content(entry.content)
        self._lay_out()

    def set_chosen(self, name: str) -> None:
        """Frame the selected attention."""
        if name != self._chosen:
            self._chosen = name
            self.update()

    def set_lit(self, lit: dict[str, Highlight]) -> None:
        """Light these cells, rows and columns."""
        for name, highlight in lit.items():
            self.maps[name].set_highlight(highlight)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def set_room(self, room: QSize) -> None:
        """The visible size: all maps fit into the height, and if possible into the width."""
        if room != self._room:
            self._room = room
            self._lay_out()

    def _lay_out(self) -> None:
        if not self._entries:
            return
        sizes = tuple(self._sizes(entry) for entry in self._entries)
        band = BAND if self._crosses() else 2
        self._arranged = arrange(sizes, self._room.width(), self._room.height(), band)
        for entry, placed in zip(self._entries, self._arranged.places, strict=True):
            site_map = self.maps[entry.name]
            site_map.setGeometry(placed.map)
            site_map.place(placed.geometry, self._arranged.has_labels)
        self.setMinimumWidth(self._arranged.width)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.minimumWidth(), 160)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._arranged is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for entry, placed in zip(self._entries, self._arranged.places, strict=True):
            self._paint_caption(painter, entry, placed)
        self._paint_steps(painter, self._arranged.places)
        self._paint_memory(painter, self._arranged.places)
        painter.end()

    def _made(self, name: str) -> SiteMap:
        site_map = SiteMap(name, self)
        site_map.apply_theme(self._theme)
        site_map.site_hovered.connect(self.site_hovered)
        site_map.chosen.connect(self.chosen)
        site_map.show()
        self.maps[name] = site_map
        return site_map

    def _sizes(self, entry: SiteEntry) -> MapSizes:
        rows, columns = entry.content.values.shape
        down, across = (columns, rows) if entry.content.transposed else (rows, columns)
        widths = self.maps[entry.name].label_widths()
        return MapSizes(down, across, *widths, self._widest(entry.below), self._widest(entry.beside))

    def _widest(self, lines: tuple[str, ...]) -> float:
        bold, plain = QFontMetricsF(self._bold), QFontMetricsF(self._font)
        return max((plain if i else bold).horizontalAdvance(line) for i, line in enumerate(lines))

    def _crosses(self) -> tuple[int, ...]:
        """The attentions that read the encoder's output."""
        has_encoder = any(entry.place.stack == "encoder" for entry in self._entries)
        return tuple(i for i, e in enumerate(self._entries) if has_encoder and e.place.kind == "cross")

    def _paint_caption(self, painter: QPainter, entry: SiteEntry, placed: Placed) -> None:
        is_chosen = entry.name == self._chosen
        if is_chosen:
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(placed.area).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        assert self._arranged is not None
        lines = entry.beside if self._arranged.is_beside else entry.below
        first = self._theme.accent if is_chosen else self._theme.ink
        for index, text in enumerate(lines):
            painter.setFont(self._font if index else self._bold)
            painter.setPen(QColor(self._theme.muted if index else first))
            below = QPoint(0, index * CAPTION_LINE + CAPTION_PX)
            painter.drawText(placed.caption + below, text)

    def _paint_steps(self, painter: QPainter, places: tuple[Placed, ...]) -> None:
        """Paint arrows from an attention to the next one of its stack: its output is the next one's input."""
        for index in range(len(places) - 1):
            if self._entries[index].place.stack != self._entries[index + 1].place.stack:
                continue
            start, end = places[index].area.right() + 5.0, places[index + 1].area.left() - 5.0
            y = places[index].plot.top() + min(one.plot.height() for one in places) / 2
            color = self._theme.query if self._entries[index + 1].place.is_second else self._theme.muted
            self._line(painter, QColor(color), [QPointF(start, y), QPointF(end, y)])
            if self._entries[index + 1].place.is_second:
                self._say(painter, "q", QPointF((start + end) / 2, y - 5), self._theme.query)

    def _paint_memory(self, painter: QPainter, places: tuple[Placed, ...]) -> None:
        """From the last encoder layer over the others to every cross-attention: its keys and values."""
        crosses = self._crosses()
        if not crosses:
            return
        last = max(i for i, entry in enumerate(self._entries) if entry.place.stack == "encoder")
        start, y = places[last].plot.center().x(), 6.0
        color = QColor(self._theme.key_mark)
        for cross in crosses:
            x, top = places[cross].plot.center().x(), float(places[cross].map.top()) + 3
            path = [QPointF(start, places[last].map.top() + 2), QPointF(start, y), QPointF(x, y)]
            self._line(painter, color, [*path, QPointF(x, top)])
        self._say(painter, "k, v", QPointF(places[crosses[-1]].plot.center().x() + 16, 10), self._theme.key)

    def _line(self, painter: QPainter, color: QColor, points: list[QPointF]) -> None:
        """A line through `points` with a head at the last one."""
        painter.setPen(QPen(color, 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(points))
        end, before = points[-1], points[-2]
        ahead = QPointF(0.0, HEAD) if before.x() == end.x() else QPointF(HEAD, 0.0)
        aside = ahead.transposed()
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([end + ahead * 0.4, end - ahead + aside, end - ahead - aside]))

    def _say(self, painter: QPainter, text: str, middle: QPointF, color: str) -> None:
        painter.setFont(self._font)
        painter.setPen(QColor(color))
        half = QFontMetricsF(self._font).horizontalAdvance(text) / 2
        painter.drawText(QPointF(middle.x() - half, middle.y()), text)
