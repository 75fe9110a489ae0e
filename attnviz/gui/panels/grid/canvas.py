"""The picture of the grid: all tiles in one image, with frames, titles and the chosen head over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.label_spacing import nice_step
from attnviz.core.text import number
from attnviz.gui.look.colors import Indices, indexed_image, pool
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.grid.layout import LABELS, NUMBERED, TITLE, Block, GridLayout, arrange
from attnviz.gui.widgets.canvas import Canvas
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.heat.hatch import device_scale
from attnviz.gui.widgets.upright_text import draw_beside
from attnviz.i18n import _

Place = tuple[int, int, int]
"""(group, layer, head)."""

Orders = Mapping[tuple[int, int], tuple[int, ...]]
"""The heads of a (group, layer) in the order in which they are shown."""

_TEXT_PX = 11
_NUMBER = QSizeF(18, 14)
"""Room of a head's number in the corner of its tile."""
_LEAST_FRAMED = 0.03
"""Smallest share of the largest score with a frame: a faint one around every tile is noise."""
_THINNEST, _THICKEST = 1.0, 4.5
"""Width of the frame of nothing, and of the largest score."""
_PALEST = 0.25
"""Opacity of the frame of nothing."""
_INK = 2.5
"""Width of the line around the chosen tile."""
_WIDEST_NUMBER = "\N{MINUS SIGN}0.00"


_FADED = 0.7
"""Share of the ground over the tile of a head that is switched off."""


class Drawn(Protocol):
    """The content of a tile. It fills `box`, which has `ratio` pixels per point."""

    def paint(self, painter: QPainter, box: QRectF, ratio: float, theme: Theme) -> None: ...


@dataclass(frozen=True, eq=False)
class Picture:
    """A matrix: colour bytes in their orientation, and the colour map."""

    indices: Indices
    kind: Kind

    def paint(self, painter: QPainter, box: QRectF, ratio: float, theme: Theme) -> None:
        """Paint the cells over the ground, which shows through where they are masked."""
        rows, columns = self.indices.shape
        pixels = box.width() * ratio
        factors = math.ceil(rows / pixels) or 1, math.ceil(columns / pixels) or 1
        image = indexed_image(pool(self.indices, factors, self.kind), self.kind, theme)
        painter.drawImage(box, image)


class GridCanvas(Canvas):
    """Tiles that are hovered and chosen, by mouse or arrow keys. Its places are `Place`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("grid_canvas")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._blocks: tuple[Block, ...] = ()
        self._titles: tuple[str, ...] = ()
        self._names = ("", "")
        self._pictures: dict[Place, Drawn] = {}
        self._scores: Mapping[Place, float] = {}
        self._struck: Mapping[Place, float] = {}
        self._has_numbers = False
        self._orders: Orders = {}
        self._off: frozenset[Place] = frozenset()
        self._layout: GridLayout = arrange(1, 1, (), has_titles=False)
        self._base: QPixmap | None = None
        self._drawn: set[Place] = set()

    # --- content

    @property
    def grid(self) -> GridLayout:
        """The places of all tiles."""
        return self._layout

    @property
    def pictures(self) -> Mapping[Place, Drawn]:
        """The tiles that arrived."""
        return self._pictures

    @property
    def scores(self) -> Mapping[Place, float]:
        """The scores of the framed tiles."""
        return self._scores

    @property
    def struck(self) -> Mapping[Place, float]:
        """The scores that are struck out, of heads that are off."""
        return self._struck

    def set_shape(self, blocks: Sequence[Block], titles: Sequence[str], names: tuple[str, str]) -> None:
        """Show other groups; `titles` name them, `names` the axes of layers and heads."""
        if (tuple(blocks), tuple(titles), names) == (self._blocks, self._titles, self._names):
            return
        if tuple(blocks) != self._blocks:
            self._pictures.clear()
            self._current, self._orders = None, {}
        self._blocks, self._titles, self._names = tuple(blocks), tuple(titles), names
        self._arrange()

    def set_pictures(self, pictures: Mapping[Place, Drawn]) -> None:
        """Add or replace tiles; the others stay as they are."""
        self._pictures.update(pictures)
        self._drawn -= set(pictures)
        self.update()

    def clear(self) -> None:
        """Remove all tiles."""
        self._pictures.clear()
        self._repaint()

    @property
    def largest_score(self) -> float:
        """The magnitude that has a full frame; 0 without scores."""
        return max(map(abs, self._scores.values()), default=0.0)

    def set_struck(self, scores: Mapping[Place, float]) -> None:
        """Show these scores of heads that are off struck out: they do not count."""
        if scores != self._struck:
            self._struck = scores
            self.update()

    def set_scores(self, scores: Mapping[Place, float], *, has_numbers: bool = False) -> None:
        """Frame the tiles by their scores, of which the sign is the colour; the largest has a full frame.

        With `has_numbers` each score stands beside its tile, where the tiles leave room.
        """
        if scores != self._scores:
            self._scores = scores
            self.update()
        if has_numbers != self._has_numbers:
            self._has_numbers = has_numbers
            self._arrange()

    def set_orders(self, orders: Orders) -> None:
        """Show the heads of layers in these orders, each with its number; the other layers by number."""
        if orders != self._orders:
            self._orders = orders
            self._repaint()

    def set_off(self, off: frozenset[Place]) -> None:
        """Fade and strike the tiles of these heads, which are switched off."""
        if off != self._off:
            self._off = off
            self.update()

    def tile_rect(self, place: Place) -> QRectF:
        """The tile of a head, at its place in the order of its layer."""
        return self._layout.rect(*place[:2], self._slot(place))

    def _slot(self, place: Place) -> int:
        """The place of a head in the order of its layer."""
        order, head = self._orders.get(place[:2], ()), place[2]
        return order.index(head) if head in order else head

    def _head_at(self, group: int, layer: int, slot: int) -> Place:
        """The head that stands at a place of its layer."""
        order = self._orders.get((group, layer), ())
        return group, layer, order[slot] if slot < len(order) else slot

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._repaint()

    def sizeHint(self) -> QSize:
        return QSize(720, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 64)

    def _arrange(self) -> None:
        has_titles = len(self._blocks) > 1
        wanted = QFontMetricsF(ui_font(_TEXT_PX)).horizontalAdvance(_WIDEST_NUMBER) + 4
        beside = wanted if self._has_numbers else 0.0
        size = self.width(), self.height()
        self._layout = arrange(*size, self._blocks, has_titles=has_titles, beside=beside)
        self._repaint()

    def _repaint(self) -> None:
        self._base = None
        self._drawn.clear()
        self.update()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture(device_scale(painter)))
        self._paint_off(painter)
        self._paint_titles(painter)
        self._paint_frames(painter)
        self._paint_scores(painter)
        if self._chosen is not None and self._has(self._chosen):
            self._outline(painter, self._chosen, self._theme.ink, _INK, _INK / 2)
        if self._current is not None and self._current != self._chosen and self._has(self._current):
            self._outline(painter, self._current, self._theme.accent, 1.5, 1.5)
        if self._is_focus_shown:
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)
        painter.end()

    def _picture(self, ratio: float) -> QPixmap:
        """All tiles as one picture of `ratio` pixels per point; only new ones are painted into it."""
        wanted = (self.size() * ratio).expandedTo(QSize(1, 1))
        if self._base is None or self._base.size() != wanted:
            self._base = QPixmap(wanted)
            self._base.setDevicePixelRatio(ratio)
            self._base.fill(Qt.GlobalColor.transparent)
            self._drawn.clear()
        missing = [place for place in self._pictures if place not in self._drawn and self._has(place)]
        if missing:
            painter = QPainter(self._base)
            for place in missing:
                self._paint_tile(painter, place, ratio)
            painter.end()
            self._drawn.update(missing)
        return self._base

    def _paint_tile(self, painter: QPainter, place: Place, ratio: float) -> None:
        """A tile over its ground."""
        box = self.tile_rect(place)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
        painter.fillRect(box, QColor(self._theme.ground))
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
        self._pictures[place].paint(painter, box, ratio, self._theme)
        if self._orders and box.width() >= NUMBERED:
            self._paint_number(painter, place[2], box)

    def _paint_number(self, painter: QPainter, head: int, box: QRectF) -> None:
        """The number of a head, in the upper right corner of its tile: where a causal map is empty."""
        room = QRectF(box.topRight() - QPointF(_NUMBER.width(), 0), _NUMBER)
        painter.fillRect(room, QColor(self._theme.panel))
        painter.setFont(ui_font(_TEXT_PX))
        painter.setPen(QColor(self._theme.ink))
        self._number(painter, head, room)

    def _paint_titles(self, painter: QPainter) -> None:
        """The groups by name; layers and heads by their numbers from 1, thinned out where they are dense."""
        font = ui_font(_TEXT_PX)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted))
        across, down = self._layout.steps
        every_head = nice_step((metrics.horizontalAdvance("00") + 6) / across)
        every_layer = nice_step(metrics.height() / down)
        for group, (corner, block) in enumerate(zip(self._layout.corners, self._blocks, strict=True)):
            if len(self._blocks) > 1:
                painter.drawText(QPointF(corner.x(), TITLE - 5), self._titles[group])
            for at in range(block.n_heads):
                if at == 0 or (at + 1) % every_head == 0:
                    box = self._layout.rect(group, 0, at)
                    self._number(
                        painter, at, QRectF(box.left() - 10, corner.y() - TITLE, box.width() + 20, TITLE - 3)
                    )
            for at in range(block.n_layers):
                if at == 0 or (at + 1) % every_layer == 0:
                    box = self._layout.rect(group, at, 0)
                    self._number(painter, at, QRectF(corner.x() - 26, box.top(), 18, box.height()))
        self._paint_axes(painter, metrics)

    def _number(self, painter: QPainter, at: int, box: QRectF) -> None:
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(at + 1))

    def _paint_axes(self, painter: QPainter, metrics: QFontMetricsF) -> None:
        """The names of the two axes, beside the first group: level, and along the side."""
        if not self._blocks:
            return
        corner = self._layout.corners[0]
        across, down = self._names
        painter.drawText(QPointF(corner.x() - LABELS + 4, corner.y() - 7), across)
        block = self._blocks[0]
        last = self._layout.rect(0, block.n_layers - 1, block.n_heads - 1)
        painter.save()
        painter.translate(corner.x() - LABELS + 2 + metrics.height() / 2, (corner.y() + last.bottom()) / 2)
        draw_beside(painter, down)
        painter.restore()

    def _paint_off(self, painter: QPainter) -> None:
        faded = QColor(self._theme.panel)
        faded.setAlphaF(_FADED)
        for place in self._off:
            if self._has(place):
                box = self.tile_rect(place)
                painter.fillRect(box, faded)
                painter.setPen(QPen(QColor(self._theme.muted), 1.5))
                painter.drawLine(box.bottomLeft(), box.topRight())

    def _paint_frames(self, painter: QPainter) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        most = self.largest_score or 1.0
        thickest = min(_THICKEST, self._layout.gap - 1)
        for place, score in self._scores.items():
            share = abs(score) / most
            if share >= _LEAST_FRAMED and self._has(place):
                color = QColor(self._theme.key_mark if score > 0 else self._theme.query)
                color.setAlphaF(_PALEST + (1 - _PALEST) * share)
                width = _THINNEST + (thickest - _THINNEST) * share
                pen = QPen(color, width)
                pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
                painter.setPen(pen)
                outset = width / 2 + (_INK if place == self._chosen else 0)
                painter.drawRect(self.tile_rect(place).adjusted(-outset, -outset, outset, outset))

    def _paint_scores(self, painter: QPainter) -> None:
        """The score of each head at the upper right of its tile; a head that is off says so above its own."""
        if not self._layout.beside:
            return
        painter.setFont(ui_font(_TEXT_PX))
        for place in {**self._scores, **dict.fromkeys(self._off)}:
            if not self._has(place):
                continue
            box, is_off = self.tile_rect(place), place in self._off
            score = 0.0 if is_off else self._scores[place]
            is_framed = abs(score) >= _LEAST_FRAMED * (self.largest_score or 1.0)
            painter.setPen(QColor(self._theme.ink if is_framed else self._theme.muted))
            left = box.right() + self._layout.gap / 2 + 1
            room = QRectF(left, box.top() - 1, self._layout.beside, 14)
            text = _("off") if is_off else number(score, 2)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
            if is_off and place in self._struck:
                struck = ui_font(_TEXT_PX)
                struck.setStrikeOut(True)
                painter.setFont(struck)
                below, text = room.translated(0, room.height()), number(self._struck[place], 2)
                painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
                painter.setFont(ui_font(_TEXT_PX))

    def _outline(self, painter: QPainter, place: Place, color: str, width: float, outset: float) -> None:
        pen = QPen(QColor(color), width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(self.tile_rect(place).adjusted(-outset, -outset, outset, outset))

    def _has(self, place: Place) -> bool:
        group, layer, head = place
        if group >= len(self._blocks):
            return False
        return layer < self._blocks[group].n_layers and head < self._blocks[group].n_heads

    # --- mouse and keys

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def place_at(self, point: QPointF) -> Place | None:
        cell = self._layout.at(point)
        return None if cell is None else self._head_at(*cell)

    def walked(self, across: int, down: int) -> Place | None:
        if not self._blocks:
            return None
        group, layer, head = self._current or self._chosen or (0, 0, 0)
        block = self._blocks[group]
        slot = self._slot((group, layer, head))
        there = min(max(layer + down, 0), block.n_layers - 1), min(max(slot + across, 0), block.n_heads - 1)
        return self._head_at(group, *there)
