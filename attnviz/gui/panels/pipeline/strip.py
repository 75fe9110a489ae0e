"""The strip: pictures in a row, arrows between them; captions may stand below the arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import enumerated, named
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.heat.kept_picture import KeptPicture
from attnviz.i18n import N_, _, ngettext
from attnviz.model.stages import STAGE_BY_ID

NARROWEST = 18


class Step(QWidget):
    """Takes its share of the room that the strip has left."""

    def __init__(self, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._text, self._side, self._theme = "", side, LIGHT
        self._font = ui_font(9)
        self._kept = KeptPicture()
        self.setFont(self._font)

    @property
    def text(self) -> str:
        """The operation's label."""
        return self._text

    def set_text(self, text: str) -> None:
        """Write another label."""
        if text != self._text:
            self._text = text
            self.updateGeometry()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(max(NARROWEST, self.fontMetrics().horizontalAdvance(self._text) + 2), self._side + 8)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._kept.draw(painter, self.size(), (self._text, self._theme), self._paint)
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(self._font)
        middle = self._side / 2 + 2
        text_rect = self.rect()
        text_rect.setBottom(int(middle - 2))
        painter.drawText(text_rect, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, self._text)
        left, right = self.width() / 2 - 7, self.width() / 2 + 7
        painter.drawLine(QPointF(left, middle + 3), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle + 6), QPointF(right, middle + 3))


WIDTH = 32


class FoldTile(PaintedButton):
    """Says how many stages are folded here; `stages` are their ids."""

    def __init__(self, side: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._side = side
        self._is_pointed = False
        self.stages: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_stages(self, stages: tuple[str, ...]) -> None:
        """Stand for these stages."""
        self.stages = stages
        self.setObjectName(f"folded_{stages[0]}")
        self.setText(f"+{len(stages)}")
        self.retranslate()
        self.update()

    def clear(self) -> None:
        """Stand for nothing: the strip has no use for the tile now."""
        self.stages = ()
        for say in (self.setObjectName, self.setText, self.setAccessibleName, self.setToolTip):
            say("")

    def set_pointed(self, is_pointed: bool) -> None:
        """Mark the tile: the mouse is on one of its stages in another panel."""
        if is_pointed != self._is_pointed:
            self._is_pointed = is_pointed
            self.update()

    def retranslate(self) -> None:
        n = len(self.stages)
        if not n:
            return
        sentence = ngettext("Show {n} more stage", "Show {n} more stages", n).format(n=n)
        self.setAccessibleName(sentence)
        names = enumerated(_(STAGE_BY_ID[stage].title) for stage in self.stages)
        self.setToolTip(plain_tooltip(named(sentence, names)))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, self._side + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, is_hot = self._theme, self.underMouse() or self._is_pointed
        painter.setPen(QColor(theme.accent if is_hot else theme.line))
        painter.setBrush(QColor(theme.hover if is_hot else theme.field))
        frame = QRectF(2.5, 4.5, self.width() - 5, self._side - 1)
        painter.drawRoundedRect(frame, RADIUS - 2, RADIUS - 2)
        painter.setFont(ui_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.ink if is_hot else theme.muted))
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, self.text())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)


class Gap(QWidget):
    """Keeps the place of the masks, so that one that is switched on moves nothing."""

    def __init__(self, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._side, self._theme = side, LIGHT
        says(self, tip=N_("No mask"))

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._side + 8, self._side + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._theme.line), 1, Qt.PenStyle.DashLine))
        level = self._side / 2 + 5
        middle = self.width() / 2
        painter.drawLine(QPointF(middle - self._side / 2, level), QPointF(middle + self._side / 2, level))
        painter.end()


MOST_SPARE = 44
"""Pixels that an arrow may be longer than it must be."""
_BETWEEN = 4


@dataclass(frozen=True)
class Place:
    """A picture and the arrow that leads to it, measured once: folding compares many strips of them.

    `body` is the width of the picture without its caption.
    """

    picture: QWidget
    step: Step
    body: int
    whole: int
    """Width of the picture with its whole caption."""
    width: int
    """Width of the picture and its caption."""
    arrow: int
    """Least width of the arrow."""

    @staticmethod
    def of(picture: QWidget, step: Step, body: int, whole: int) -> Place:
        """The place with its present widths."""
        width = max(body, picture.sizeHint().width())
        return Place(picture, step, body, whole, width, step.sizeHint().width())


def distances(places: Sequence[Place]) -> list[float]:
    """The least distance between the middles of neighbours: neither arrows nor captions touch."""
    return [
        max(
            (one.body + other.body) / 2 + other.arrow,
            (one.width + other.width) / 2 + _BETWEEN,
        )
        for one, other in zip(places, places[1:], strict=False)
    ]


def captioned(places: Sequence[Place]) -> tuple[Place, ...]:
    """The places with room for their whole captions."""
    return tuple(replace(place, width=max(place.width, place.whole)) for place in places)


def least_width(places: Sequence[Place]) -> int:
    """Width of the shortest strip of these places."""
    return math.ceil(sum(distances(places)) + (places[0].width + places[-1].width) / 2) if places else 0


class Strip(QWidget):
    """Lays its places out over its whole width, so that another stage moves the others little.

    Pictures and arrows are its children.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._places: tuple[Place, ...] = ()

    def set_places(self, places: Sequence[Place]) -> None:
        """Show these, in this order, and hide all others."""
        kept = {place.picture for place in places} | {place.step for place in places}
        for place in self._places:  # one that stays keeps the focus
            for widget in (place.picture, place.step):
                widget.setVisible(widget in kept)
        self._places = tuple(places)
        for index, place in enumerate(self._places):
            place.step.setVisible(index > 0)
            place.picture.show()
            place.picture.raise_()
        self.setMinimumWidth(least_width(self._places))
        self._lay_out()

    def sizeHint(self) -> QSize:
        heights = [place.picture.sizeHint().height() for place in self._places]
        return QSize(least_width(self._places), max(heights, default=0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        if not self._places:
            return
        whole = captioned(self._places)
        places = whole if least_width(whole) <= self.width() else self._places
        gaps = distances(places)
        spare = float(max(self.width() - least_width(places), 0))
        ends = (places[0].whole - places[0].width) / 2, (places[-1].whole - places[-1].width) / 2
        at_ends = spare >= sum(ends)
        spare -= sum(ends) if at_ends else 0.0
        extra = min(spare / len(gaps), MOST_SPARE) if gaps else 0.0
        middles = [places[0].width / 2 + (ends[0] if at_ends else 0)]
        for gap in gaps:
            middles.append(middles[-1] + gap + extra)
        for index, place in enumerate(places):
            self._put(place, middles[index], self._caption_room(places, index, middles))
            if index:
                left, right = middles[index - 1] + places[index - 1].body / 2, middles[index] - place.body / 2
                place.step.setGeometry(round(left), 0, round(right - left), place.step.sizeHint().height())

    def _caption_room(self, places: Sequence[Place], index: int, middles: Sequence[float]) -> float:
        """Pixels for a caption: half of the room to either neighbour, and all of that to an end."""
        middle, own = middles[index], places[index].width
        rooms = [2 * middle, 2 * (self.width() - middle)]
        for other in (index - 1, index + 1):
            if 0 <= other < len(middles):
                between = abs(middles[other] - middle) - (own + places[other].width) / 2 - _BETWEEN
                rooms.append(own + between)
        return min(rooms)

    @staticmethod
    def _put(place: Place, middle: float, room: float) -> None:
        width = max(place.width, min(place.whole, int(room)))
        place.picture.setGeometry(int(middle - width / 2), 0, width, place.picture.sizeHint().height())
