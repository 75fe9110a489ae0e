"""The strip: pictures in a row, arrows between them; captions may stand below the arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from attnviz.gui.panels.pipeline.step import Step

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
