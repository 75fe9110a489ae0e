"""An image twice: the query's patch at the left, and at the right the weights that it gives to each patch."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.color_maps import color_table
from attnviz.core.phrases import named
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.canvas import Canvas
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.i18n import _
from attnviz.model.links import WordLines
from attnviz.model.spec.image import Image

QUERIES, KEYS = 0, 1
"""The sides; a place is (side, token)."""

VEIL = 0.62
"""Opacity of the colour of a weight over its patch."""
LINE = 22.0
"""Height of a line of text, in pixels."""
LEAST_SIDE = 96
NUMBERED = 34.0
"""Side of a patch from which it shows its weight as a number, in pixels."""


class PatchPictures:
    """The pixels of each token's patch, cut at their first use."""

    def __init__(self, image: Image) -> None:
        self.image, self._pixels = image, QImage.fromData(image.png)
        self._cut: dict[int, QImage] = {}

    def __call__(self, token: int) -> QImage | None:
        """The patch of a token; None for a token that is none."""
        place = self.image.patch(token)
        if place is None or self._pixels.isNull():
            return None
        if token not in self._cut:
            height = self._pixels.height() // self.image.rows
            width = self._pixels.width() // self.image.columns
            self._cut[token] = self._pixels.copy(place[1] * width, place[0] * height, width, height)
        return self._cut[token]


class PatchesView(Canvas):
    """A click on a left patch selects its query, one on a right patch locks a cell; hovering previews it.

    Tokens that are no patches, such as the first one of ViT, are words above the image.
    """

    query_clicked = Signal(int)
    key_hovered = Signal(int, int)
    """(query, key), or (−1, −1) when the pointer left."""
    key_clicked = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("patches")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._theme = active_theme()
        self._lines: WordLines | None = None
        self._image: Image | None = None
        self._pixels = QImage()
        self._query, self._key = 0, -1
        self._weights = np.zeros(0)
        self.hovered.connect(self._on_hovered)
        self.chosen.connect(self._on_chosen)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def set_image(self, lines: WordLines, image: Image, title: str) -> None:
        """Show the weights of an attention between the patches of `image`; `title` is read aloud."""
        if image is not self._image:
            self._pixels, self._image = QImage.fromData(image.png), image
        self._lines = lines
        self.setAccessibleName(title)
        self._read()

    def set_chosen(self, query: int, key: int = -1) -> None:
        """Select a query, and mark the key under the pointer in another panel; −1: none."""
        if (query, key) != (self._query, self._key):
            self._query, self._key = query, key
            self._read()

    @property
    def weights(self) -> Any:
        """The weights that the query gives to each token, a mean if several heads are shown."""
        return self._weights

    def sizeHint(self) -> QSize:
        return QSize(560, 340)

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * LEAST_SIDE + 3 * GRID, LEAST_SIDE + int(3 * LINE))

    # --- places

    @property
    def side(self) -> float:
        """Width of each of the two images, in pixels."""
        least = min((self.width() - 3 * GRID) / 2, self.height() - 3 * LINE)
        return max(float(LEAST_SIDE), least)

    def image_rect(self, side: int) -> QRectF:
        """The place of the image of a side."""
        width = self.side
        left = max(0.0, (self.width() - 2 * width - 3 * GRID) / 2)
        return QRectF(left + side * (width + 3 * GRID), 2 * LINE, width, width)

    def token_rect(self, side: int, token: int) -> QRectF:
        """The place of a token: its patch, or its word above the image."""
        image, whole = self._image, self.image_rect(side)
        assert image is not None
        patch = image.patch(token)
        if patch is None:
            width = whole.width() / max(1, image.begin)
            return QRectF(whole.left() + token * width, LINE, min(width, 140.0), LINE - 2)
        height, width = whole.height() / image.rows, whole.width() / image.columns
        return QRectF(whole.left() + patch[1] * width, whole.top() + patch[0] * height, width, height)

    def place_at(self, point: QPointF) -> Any:
        """(side, token) at a point."""
        if self._image is None:
            return None
        for side in (QUERIES, KEYS):
            whole = self.image_rect(side)
            if whole.contains(point):
                row = int((point.y() - whole.top()) * self._image.rows / whole.height())
                column = int((point.x() - whole.left()) * self._image.columns / whole.width())
                row, column = min(row, self._image.rows - 1), min(column, self._image.columns - 1)
                return side, self._image.token(row, column)
            for token in range(self._image.begin):
                if self.token_rect(side, token).contains(point):
                    return side, token
        return None

    def walked(self, across: int, down: int) -> Any:
        """The patch one step away, on the same side; the first step begins at the query."""
        image = self._image
        if image is None:
            return None
        if self.current is None:
            return QUERIES, self._query
        side, token = self.current
        patch = image.patch(token)
        if patch is None:
            return side, image.token(0, 0) if down > 0 else token
        row, column = patch[0] + down, patch[1] + across
        if row < 0 and image.begin:
            return side, 0
        return side, image.token(min(max(row, 0), image.rows - 1), min(max(column, 0), image.columns - 1))

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint both images; the right one under the colours of its weights."""
        painter = QPainter(self)
        if self._lines is not None and self._image is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            for side, heading in ((QUERIES, _("query")), (KEYS, self._heading())):
                self._paint_heading(painter, side, heading)
                painter.drawImage(self.image_rect(side), self._pixels)
            self._paint_weights(painter)
            self._paint_words(painter)
            self._paint_marks(painter)
        if self._is_focus_shown:
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, 3)
        painter.end()

    def _heading(self) -> str:
        """The scale of the colours: from 0 to the largest weight of the query."""
        return _("weights, 0 to {largest}").format(largest=number(float(self._weights.max(initial=0.0))))

    def _paint_heading(self, painter: QPainter, side: int, text: str) -> None:
        whole = self.image_rect(side)
        painter.setPen(QColor(self._theme.query if side == QUERIES else self._theme.key))
        line = QRectF(whole.left(), 0, whole.width(), LINE)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _colors(self) -> Any:
        """RGB bytes of every token's weight."""
        table = color_table("sequential", self._theme.is_dark)
        largest = float(self._weights.max(initial=0.0)) or 1.0
        return table[np.round(255 * np.clip(self._weights / largest, 0, 1)).astype(int)]

    def _paint_weights(self, painter: QPainter) -> None:
        assert self._image is not None
        colors = self._colors()
        for token in range(self._image.begin, self._image.n_tokens):
            place, color = self.token_rect(KEYS, token), QColor(*map(int, colors[token]))
            color.setAlphaF(VEIL)
            painter.fillRect(place, color)
            if place.width() >= NUMBERED:
                painter.setPen(QColor("white"))
                text = f"{self._weights[token]:.2f}"
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_words(self, painter: QPainter) -> None:
        """The tokens that are no patches, at the right with their weights."""
        assert self._image is not None and self._lines is not None
        for token in range(self._image.begin):
            for side, words in ((QUERIES, self._lines.queries), (KEYS, self._lines.keys)):
                weight = "" if side == QUERIES else f"  {number(float(self._weights[token]))}"
                painter.setPen(QColor(self._theme.ink))
                place = self.token_rect(side, token).adjusted(4, 0, -4, 0)
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, visible(words[token]) + weight)

    def _paint_marks(self, painter: QPainter) -> None:
        """Frames around the query at both sides, and around the tokens under the pointer."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        marks = [(QUERIES, self._query, self._theme.query, 3.0), (KEYS, self._query, self._theme.query, 1.5)]
        if self._key >= 0:
            marks.append((KEYS, self._key, self._theme.key, 2.5))
        if self.current is not None:
            marks.append((*self.current, self._theme.accent, 2.0))
        for side, token, color, width in marks:
            painter.setPen(QPen(QColor(color), width))
            painter.drawRect(self.token_rect(side, token))

    # --- hands

    def _read(self) -> None:
        """The weights of the query, and what a screen reader says of them."""
        lines = self._lines
        if lines is None:
            return
        self._query = min(self._query, len(lines.queries) - 1)
        self._key = min(self._key, len(lines.keys) - 1)
        self._weights = lines.given(self._query).mean(axis=0)
        best = int(self._weights.argmax())
        names = f"{isolated(visible(lines.queries[self._query]))} → {isolated(visible(lines.keys[best]))}"
        self.setAccessibleDescription(named(names, number(float(self._weights[best]))))
        self.update()

    def _on_hovered(self, place: Any) -> None:
        is_key = place is not None and place[0] == KEYS
        self.key_hovered.emit(*((self._query, place[1]) if is_key else (-1, -1)))
        lines = self._lines
        text = ""
        if is_key and lines is not None:
            text = named(visible(lines.keys[place[1]]), number(float(self._weights[place[1]])))
        self.setToolTip(plain_tooltip(text))

    def _on_chosen(self, place: Any) -> None:
        side, token = place
        if side == QUERIES:
            self.query_clicked.emit(token)
        else:
            self.key_clicked.emit(self._query, token)
