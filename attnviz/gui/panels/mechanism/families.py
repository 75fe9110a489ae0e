"""The mask families as tiles: each a switch that carries a picture of what its mask would block alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import RADIUS
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.tile import Bools, paint_cells, sampled, seen_color
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.masks import find_mask
from attnviz.model.masks import MASKS, MaskFamily, blocked_by
from attnviz.model.spec.parts import OneMask, Painted
from attnviz.model.spec.site import Site

COLUMNS = 3
_PICTURE = 32
_MARGIN = 6
_LABEL_PX = 11
_MOST_CELLS = 32

FAMILIES: tuple[MaskFamily, ...] = tuple(family for family in MASKS if family.kind is not Painted)
"""The ones that are switched; cells are painted by hand on the large map."""


class FamilyTile(Toggle):
    """A switch with a picture of its mask. `blocked_cells` are the cells of the picture, (query, key)."""

    chosen = Signal(object, bool)
    """(the family, whether it is wanted), when the user switches."""

    def __init__(self, family: MaskFamily, parent: QWidget | None = None) -> None:
        super().__init__("", parent=parent)
        self.family = family
        self._shown: tuple[OneMask, int, int, int] | None = None
        self.blocked_cells: Bools = np.zeros((1, 1), dtype=np.bool_)
        says(self, family.title, id=f"{family.tag}_toggle", tip=family.description)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.changed.connect(self._on_changed)

    def set_mask(self, mask: OneMask, n_queries: int, n_keys: int, offset: int = 0) -> None:
        """Show what `mask` alone blocks of that many queries, behind `offset` positions, and keys."""
        if (mask, n_queries, n_keys, offset) == self._shown:
            return
        self._shown = mask, n_queries, n_keys, offset
        rows, columns = sampled(n_queries, _MOST_CELLS), sampled(n_keys, _MOST_CELLS)
        self.blocked_cells = np.array(blocked_by(mask, rows + offset, columns))
        self.update()

    def picture_rect(self) -> QRectF:
        """Rectangle of the picture."""
        return QRectF(math.floor((self.width() - _PICTURE) / 2), _MARGIN, _PICTURE, _PICTURE)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._label_font(True))
        width = max(_PICTURE, math.ceil(metrics.horizontalAdvance(self.text()))) + 2 * _MARGIN
        return QSize(width, _PICTURE + math.ceil(metrics.height()) + 2 * _MARGIN + 1)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, is_on = self._theme, self.isChecked()
        outline = theme.accent if is_on else theme.muted if self.underMouse() else theme.line
        painter.setPen(QPen(QColor(outline), 1.5 if is_on else 1.0))
        painter.setBrush(QColor(theme.hover if self.underMouse() else theme.panel))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75), RADIUS - 1, RADIUS - 1
        )
        paint_cells(painter, self.blocked_cells, self.picture_rect(), theme, seen_color(theme, is_on))
        font = self._label_font(is_on)
        painter.setFont(font)
        painter.setPen(QColor(theme.ink if is_on else theme.muted))
        below = QRectF(0, _MARGIN + _PICTURE, self.width(), self.height() - _MARGIN - _PICTURE - 2)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, self.text())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()).adjusted(1, 1, -1, -1), theme, RADIUS - 2)

    @Slot(bool)
    def _on_changed(self, is_wanted: bool) -> None:
        self.chosen.emit(self.family, is_wanted)

    def _label_font(self, is_bold: bool) -> QFont:
        return ui_font(_LABEL_PX, QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal)


class FamilyGrid(QWidget):
    """The tiles of all families in rows of `COLUMNS`."""

    chosen = Signal(object, bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mask_families")
        self.tiles = tuple(FamilyTile(family) for family in FAMILIES)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(_MARGIN)
        for index, tile in enumerate(self.tiles):
            grid.addWidget(tile, index // COLUMNS, index % COLUMNS)
            grid.setColumnStretch(index % COLUMNS, 1)
            tile.chosen.connect(self.chosen)

    def show_masks(self, site: Site, wanted: Callable[[MaskFamily], OneMask]) -> None:
        """Show which families are on, each with its mask; `wanted` is what one that is off would be."""
        for tile in self.tiles:
            mask = find_mask(site, tile.family.kind)
            tile.set_value(mask is not None)
            tile.set_mask(mask or wanted(tile.family), site.n_queries, site.n_keys, site.query_offset)
