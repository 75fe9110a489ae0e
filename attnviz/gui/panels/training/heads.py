"""The maps of all heads, a row for each layer, each with its larger score."""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import head_title, layer_label
from attnviz.training.record import HeadPlace
from attnviz.training.turns import Picture

LEAST_SIDE, MOST_SIDE = 44, 320
CAPTION_PX, LABEL_PX = 30, 56
"""Pixels under a map, and at the left of a row."""
CAPTIONS = (("previous", N_("previous {value}")), ("induction", N_("induction {value}")))
"""The scores that stand under a map."""


class HeadMap(Thumbnail):
    """A map that a right click, or a key, switches off and on."""

    switched = Signal()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.switched.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete switches the head."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.switched.emit()
        else:
            super().keyPressEvent(event)


class TrainedHeads(QWidget):
    """`chosen` carries the site and the head of a map, `switched` those of a head to switch off or on."""

    chosen = Signal(str, int)
    switched = Signal(str, int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("training_heads")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self.maps: dict[HeadPlace, HeadMap] = {}
        self._labels: dict[str, QLabel] = {}
        self._picture: Picture | None = None
        self._head: HeadPlace | None = None
        self._room = (0, 0)

    def set_room(self, width: int, height: int) -> None:
        """Fit the maps into a room, as far as they stay legible."""
        if (width, height) != self._room:
            self._room = width, height
            self._show()

    def set_picture(self, picture: Picture | None, head: HeadPlace | None) -> None:
        """Show the heads of a picture, and mark one."""
        self._picture, self._head = picture, head
        self._show()

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        picture = self._picture
        places = () if picture is None else tuple(picture.heads)
        if places != tuple(self.maps):
            self._make(places)
        if picture is None:
            return
        side = self._side()
        for place, head in picture.heads.items():
            map_ = self.maps[place]
            map_.set_side(side)
            map_.set_values(np.asarray(head.weights), False, head.blocked, levels=(0.0, 1.0))
            map_.set_caption(self._caption(place), self._told(place))
            map_.set_selected(place == self._head)
            map_.set_struck(place in picture.off)
        for site, label in self._labels.items():
            label.setText(layer_label(picture.experiment, site))

    def _side(self) -> int:
        """The side of the maps in the room: all layers are in sight if they can be."""
        rows = max(len(self._labels), 1)
        columns = max(1 + max((head for _site, head in self.maps), default=0), 1)
        width, height = self._room
        across = (width - LABEL_PX) // columns - 2 * GRID
        down = (height - (rows - 1) * GRID // 2) // rows - CAPTION_PX
        return min(max(min(across, down), LEAST_SIDE), MOST_SIDE)

    def _caption(self, place: HeadPlace) -> str:
        """The larger one of the two scores; of a head that is off, that it is."""
        assert self._picture is not None
        if place in self._picture.off:
            return _("off")
        scores = {id_: self._picture.scores[id_, *place] for id_, _words in CAPTIONS}
        best = max(scores, key=lambda id_: np.nan_to_num(scores[id_]))
        return _(dict(CAPTIONS)[best]).format(value=number(scores[best], 2))

    def _told(self, place: HeadPlace) -> str:
        """The name of a head, with both scores."""
        assert self._picture is not None
        values = [
            _(words).format(value=number(self._picture.scores[id_, *place], 3)) for id_, words in CAPTIONS
        ]
        is_off = place in self._picture.off
        switch = _("right-click: switch it on") if is_off else _("right-click: switch it off")
        return " · ".join((head_title(self._picture.experiment, *place), *values)) + f"\n{switch}"

    def _make(self, places: tuple[HeadPlace, ...]) -> None:
        """Other maps: those of another model."""
        for widget in (*self.maps.values(), *self._labels.values()):
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self.maps, self._labels = {}, {}
        for site in dict.fromkeys(site for site, _head in places):
            label = QLabel()
            label.setFont(ui_font(TEXT_PX))
            set_tone("muted", label)
            self._grid.addWidget(label, len(self._labels), 0, Qt.AlignmentFlag.AlignVCenter)
            self._labels[site] = label
        for site, head in places:
            map_ = HeadMap(LEAST_SIDE)
            map_.setObjectName(f"training_head_{site}_{head}")
            map_.apply_theme(active_theme())
            map_.clicked.connect(partial(self.chosen.emit, site, head))
            map_.switched.connect(partial(self.switched.emit, site, head))
            self._grid.addWidget(map_, list(self._labels).index(site), head + 1)
            self.maps[site, head] = map_
        columns, rows = self._grid.columnCount(), self._grid.rowCount()
        for column in range(columns + 1):
            self._grid.setColumnStretch(column, int(column == columns))
        for row in range(rows + 1):
            self._grid.setRowStretch(row, int(row == rows))
