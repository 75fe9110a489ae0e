"""A preset as a card: the map that it opens at, its name, and its sentence."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen

from attnviz.gui.look.colors import BLOCKED, indexed_image, pool
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.look.words import says
from attnviz.gui.start.pictures import SIDE, Picture
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.heat.hatch import device_scale, draw_blocked
from attnviz.gui.widgets.paragraph import Mark, broken, laid_out
from attnviz.i18n import _
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.io.presets import Preset

WIDTH, HEIGHT = 280, 112
_PADDING = 12
_NAME_PX, _NAME_LINE = 14, 18
_TEXT_PX, _TEXT_LINE = 12, 17
_TEXT_LEFT = 2 * _PADDING + SIDE
_HATCH = 5.0
_FLATTEST = 0.3
"""A matrix flatter or narrower than this is drawn with stretched cells, so that it stays a picture."""

ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
"""Step across and down of each arrow key."""


class PresetCard(PaintedButton):
    """Opens a preset. `walked` carries the step of an arrow key."""

    walked = Signal(int, int)

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.preset = preset
        says(self, id=f"card_{preset.id}", name=preset.title)
        self._picture: Picture | None = None
        self.retranslate()

    def retranslate(self) -> None:
        self.setAccessibleDescription(plain_caption(_(self.preset.description)))

    @property
    def has_picture(self) -> bool:
        """True if the card shows its map already."""
        return self._picture is not None

    def set_picture(self, picture: Picture) -> None:
        """Show the map."""
        self._picture = picture
        self.update()

    def matches(self, words: str) -> bool:
        """True if every one of `words` is in the name, the group or the sentence, in any language shown."""
        preset = self.preset
        english = (preset.title, preset.group, preset.description)
        text = " ".join((*english, *(_(part) for part in english), preset.id))
        return all(word in text.casefold() for word in words.casefold().split())

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk."""
        if event.key() in ARROWS:
            self.walked.emit(*ARROWS[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def picture_rect(self) -> QRectF:
        """Rectangle of the map on the card."""
        frame = QRectF(_PADDING, (self.height() - SIDE) / 2, SIDE, SIDE)
        if self._picture is None:
            return frame
        rows, columns = self._picture.indices.shape
        aspect = min(max(columns / rows, _FLATTEST), 1 / _FLATTEST)
        size = QSize(round(SIDE * min(1.0, aspect)), round(SIDE * min(1.0, 1 / aspect)))
        top = frame.top() + (SIDE - size.height()) // 2
        return QRectF(frame.left() + (SIDE - size.width()) // 2, top, size.width(), size.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_under = self.underMouse()
        painter.setPen(QPen(QColor(self._theme.accent if is_under else self._theme.line), 1))
        painter.setBrush(QColor(self._theme.hover if self.isDown() else self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        self._paint_picture(painter)
        self._paint_texts(painter)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _paint_picture(self, painter: QPainter) -> None:
        place, picture = self.picture_rect(), self._picture
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if picture is None:
            painter.fillRect(place, QColor(self._theme.field))
            return
        if (picture.indices == BLOCKED).any():
            draw_blocked(painter, place, self._theme, _HATCH)
        scale = device_scale(painter)
        rows, columns = picture.indices.shape
        factors = (math.ceil(rows / (place.height() * scale)), math.ceil(columns / (place.width() * scale)))
        small = pool(picture.indices, factors, picture.kind)
        painter.drawImage(place, indexed_image(small, picture.kind, self._theme))

    def _paint_texts(self, painter: QPainter) -> None:
        """Name and sentence from the top of the map; words that refer to tokens have the tokens' colours."""
        top, width = (self.height() - SIDE) / 2 - 3, self.width() - _TEXT_LEFT - _PADDING
        name_font, font = ui_font(_NAME_PX, QFont.Weight.DemiBold), ui_font(_TEXT_PX)
        painter.setPen(QColor(self._theme.ink))
        for line in broken(_(self.preset.title), name_font, width, 2):
            laid_out(line, name_font, ()).draw(painter, QPointF(_TEXT_LEFT, top))
            top += _NAME_LINE
        most = int((self.height() - GRID - top) // _TEXT_LINE)
        painter.setPen(QColor(self._theme.muted))
        text, marks = self._sentence()
        for line in broken(text, font, width, most):
            laid_out(line, font, marks).draw(painter, QPointF(_TEXT_LEFT, top))
            top += _TEXT_LINE

    def _sentence(self) -> tuple[str, list[Mark]]:
        text, marks = "", []
        for piece in pieces(_(self.preset.description)):
            if piece.anchor is not None:
                color = self._theme.query if piece.anchor.axis == "query" else self._theme.key
                marks.append(Mark(len(text), len(text) + len(piece.text), color, is_underlined=False))
            text += piece.text
        return text, marks
