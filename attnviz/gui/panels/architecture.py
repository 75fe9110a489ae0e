"""Architecture: the maps of all attentions at once, each with its number of pairs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from attnviz.core.phrases import phrased
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, LIGHT, RADIUS, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, HeatContent, Highlight
from attnviz.gui.widgets.heat.site_map import CAPTION_LINE, Arrangement, MapSizes, Placed, SiteMap, arrange
from attnviz.gui.widgets.heat.stages import highlight, stage_content
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.provenance import tokens_of
from attnviz.model.sites.links import same_tokens
from attnviz.model.sites.pairs import Pairs, pairs_of, sum_of_pairs
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import attention_title, layer_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import AdditiveMask, Mask
from attnviz.model.spec.site import Place, Site
from attnviz.model.spec.view import Cell, query_head
from attnviz.model.trace import SiteTrace, Trace

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
            (self.maps.get(entry.name) or self._new_map(entry.name)).set_content(entry.content)
        self._lay_out()

    def set_chosen(self, name: str) -> None:
        """Frame the selected attention."""
        if name != self._chosen:
            self._chosen = name
            self.update()

    def set_lit(self, lit: dict[str, Highlight]) -> None:
        """Light these cells, rows and columns."""
        for name, lights in lit.items():
            self.maps[name].set_highlight(lights)

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

    def _new_map(self, name: str) -> SiteMap:
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


MOST_POINTED = 256
"""Tokens up to which cells are pointed at one by one; a longer matrix is shown as its overview."""

PAINTED = ("head", "orientation", "ranges", "keys", "first_tokens")
"""Fields of the view that every map of the panel shows."""


class ArchitecturePanel(Panel):
    """Encoder on the left, decoder on the right, layers to the right; a click selects that attention.

    Pointing at a cell highlights the same tokens in all maps.
    """

    follows = (*PAINTED, "locked")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.canvas = ArchitectureCanvas()
        self.canvas.site_hovered.connect(self._on_site_hovered)
        self.canvas.chosen.connect(self._on_chosen)
        self._sum, self._pointed = _line("architecture_sum"), _line("architecture_pointed")
        self._pointed.setAlignment(Qt.AlignmentFlag.AlignRight)
        says(self, name=N_("Architecture"))
        sentence = N_(
            "This experiment has one attention. Add a layer or an encoder to compare the maps of "
            "several side by side."
        )
        self._empty = says(EmptyState(""), sentence)
        self._scroll = clear_scroll(self.canvas, sideways=True)
        self._scroll.setObjectName("architecture_scroll")
        self._scroll.viewport().installEventFilter(self)
        self._counted: dict[tuple[tuple[Mask, ...], AdditiveMask | None, int, int, int], Pairs] = {}
        # Where a map stands is known once the scroll area has been laid out, which Qt does later.
        self._laid_out = QTimer(self)
        self._laid_out.setSingleShot(True)
        self._laid_out.setInterval(0)
        self._laid_out.timeout.connect(self._bring_into_sight)
        store.pointer_changed.connect(self._on_pointer)
        self._lay_out()
        set_tone("muted", self._pointed)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or self.store.trace is None or old.view == new.view:
            return
        before, after = old.view, new.view
        if any(getattr(before, name) != getattr(after, name) for name in PAINTED):
            self._show()
            return
        self.canvas.set_chosen(new.site)
        self._laid_out.start()
        self._light()

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._light()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._show()

    def retranslate(self) -> None:
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(456, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, 100)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The maps fit into the height that the scroll area leaves them."""
        if event.type() == QEvent.Type.Resize:
            self.canvas.set_room(self._scroll.viewport().size())
        return False

    # --- showing

    @Slot()
    def _show(self) -> None:
        trace = self.store.trace
        if trace is None:
            return
        self._stack.setCurrentIndex(1 if len(trace.sites) > 1 else 0)
        if len(trace.sites) < 2:
            return
        sites = [trace.site(name) for name in trace.sites]
        counted = [self._pairs(site.experiment) for site in sites]
        was = tuple(self.canvas.maps)
        entries = tuple(self._entry(trace, *both) for both in zip(sites, counted, strict=True))
        self.canvas.set_entries(entries, self.store.site.name)
        self._sum.setText(sum_of_pairs(counted))
        if tuple(self.canvas.maps) != was:
            self._laid_out.start()
        self._light()

    @Slot()
    def _bring_into_sight(self) -> None:
        """Scroll to the selected attention."""
        area = self.canvas.area_of(self.store.document.site)
        if area is not None:
            self._scroll.ensureVisible(area.center().x(), 0, area.width() // 2 + 2, 0)

    def _entry(self, trace: Trace, site: SiteTrace, pairs: Pairs) -> SiteEntry:
        place = place_of(trace.experiment, site.name)
        title = (layer_title(place), attention_title(place, site.experiment))
        count = tuple(part for part in (pairs.product, pairs.visible_of_total) if part)
        below = (" · ".join(title), " · ".join(count))
        content = _content(site, self.store, self.theme, phrased(below))
        return SiteEntry(site.name, place, content, below, (*title, *count))

    def _pairs(self, site: Site) -> Pairs:
        """Counted once for all layers that have the same masks."""
        key = (site.masks, site.additive_mask, site.query_offset, site.n_queries, site.n_keys)
        if key not in self._counted:
            self._counted = {**dict(list(self._counted.items())[-63:]), key: pairs_of(site)}
        return self._counted[key]

    def _light(self) -> None:
        trace = self.store.trace
        if trace is None or len(trace.sites) < 2:
            return
        focus = self.store.pointer.elsewhere or self.store.pointer.cell or self.store.document.view.locked
        source = self.store.site.name if focus is None else focus.site or self.store.site.name
        lit = {name: _lit(trace, name, self.store, focus, source) for name in self.canvas.maps}
        self.canvas.set_lit(lit)
        self._say_pointed(trace, focus, source)

    def _say_pointed(self, trace: Trace, focus: Cell | None, source: str) -> None:
        """The number under the pointer; else which head of the attentions is shown."""
        site = trace.shown(source)
        if focus is not None and focus.stage == site.raw_map and source in trace.sites and _has(site, focus):
            value = site.window(site.raw_map, focus.head, slice(focus.row, focus.row + 1))[0, focus.column]
            query, key = site.names("query")[focus.row], site.names("key")[focus.column]
            self._pointed.setText(
                _("{query} × {key}: {value}").format(
                    query=isolated(visible(query)), key=isolated(visible(key)), value=number(float(value), 4)
                )
            )
        else:
            shown = query_head(self.store.site.experiment, self.store.document.view)
            self._pointed.setText(_("weights of head {head}").format(head=shown + 1))

    # --- acting

    @Slot(str, int, int)
    def _on_site_hovered(self, name: str, row: int, column: int) -> None:
        trace = self.store.trace
        if trace is None or name not in trace.sites or row < 0 or _is_overview(trace.site(name)):
            self.store.set_hover(None)
            return
        site = trace.site(name)
        head = query_head(site.experiment, self.store.document.view)
        cell = Cell(site.raw_map, row, column, head, name)
        self.store.set_hover(replace(cell, site="") if name == self.store.site.name else cell)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if self.is_seen and old.elsewhere != new.elsewhere:
            self._light()

    @Slot(str)
    def _on_chosen(self, name: str) -> None:
        self.store.set_hover(None)
        self.store.look(site=name)

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(GRID)
        line.addWidget(self._sum, 1)
        line.addWidget(self._pointed, 1)
        filled = QWidget()
        column = in_column(filled, spacing=2)
        column.addLayout(line)
        column.addWidget(self._scroll, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(filled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)


def _content(site: SiteTrace, store: Store, theme: Theme, title: str) -> HeatContent:
    """One head's weights, painted as everywhere; of a long sequence the overview, without labels."""
    view = store.document.view
    if not _is_overview(site):
        return dataclasses.replace(stage_content(site, view, site.raw_map, theme), title=title)
    values, hidden = site.overview(site.raw_map, query_head(site.experiment, view))
    return HeatContent(
        values=values,
        row_labels=("",) * values.shape[0],
        column_labels=("",) * values.shape[1],
        row_color=theme.query,
        column_color=theme.key,
        blocked=hidden,
        range_id=view.range_of(site.raw_map),
        title=title,
        transposed=view.orientation == "queries_as_columns",
    )


def _lit(trace: Trace, name: str, store: Store, focus: Cell | None, source: str) -> Highlight:
    """Highlight in the map of the site `name` for `focus`, a cell of the site `source`."""
    if focus is None or name not in trace.sites or source not in trace.sites:
        return NO_HIGHLIGHT
    site = trace.site(name)
    if _is_overview(site):
        return NO_HIGHLIGHT
    if name == source:
        return highlight(site, store.document.view, site.raw_map, replace(focus, site=name))
    places = (place_of(trace.experiment, source), place_of(trace.experiment, name))
    rows, columns = same_tokens(places[0], *tokens_of(focus), places[1])
    return Highlight(rows=rows, columns=columns)


def _is_overview(site: SiteTrace) -> bool:
    return max(site.experiment.n_queries, site.experiment.n_keys) > MOST_POINTED


def _has(site: SiteTrace, cell: Cell) -> bool:
    heads, rows, columns = site.shape(site.raw_map)
    return cell.head < heads and cell.row < rows and cell.column < columns


def _line(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setFont(ui_font(12))
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    return label
