"""Placement of labels at points of a picture: inside it, and without overlaps."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSizeF

GAP = 4.0
"""Pixels between a point and its label."""

Side = tuple[float, float]
"""Direction of a label from its point: −1, 0 or 1 to the right, and down."""

ABOVE, BELOW = (0.0, -1.0), (0.0, 1.0)
_OTHERS: tuple[Side, ...] = ((1.0, 0.0), (-1.0, 0.0), (1.0, -1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def label_places(
    points: Sequence[QPointF], sizes: Sequence[QSizeF], wanted: Sequence[Side], room: QRectF, n_sure: int = 0
) -> list[QRectF | None]:
    """The rectangle of every label, all in pixels; None for one that has no free place.

    A label takes the first free side of its point, the `wanted` one first. The first `n_sure` labels take
    the nearest free place in `room` where no side is free. No label leaves `room` or covers another.
    """
    taken: list[QRectF] = []
    places: list[QRectF | None] = []
    for index, (point, size, first) in enumerate(zip(points, sizes, wanted, strict=True)):
        opposite = (-first[0], -first[1])
        sides = [_beside(point, size, side, room) for side in dict.fromkeys((first, opposite, *_OTHERS))]
        free = (r for r in sides if room.contains(r) and not any(r.intersects(other) for other in taken))
        place = next(free, None)
        if place is None and index < n_sure:
            place = _nearest(sides[0], room, taken)
        if place is not None:
            taken.append(place)
        places.append(place)
    return places


def _beside(point: QPointF, size: QSizeF, side: Side, room: QRectF) -> QRectF:
    """The rectangle of `size` on one side of a point; above or below, it moves aside from an edge."""
    x = point.x() + side[0] * (GAP + size.width() / 2) - size.width() / 2
    if not side[0]:
        inside = max(room.left(), min(x, room.right() - size.width()))
        x = inside if abs(inside - x) <= size.width() / 2 else x
    y = point.y() + side[1] * (GAP + size.height() / 2) - size.height() / 2
    return QRectF(x, y, size.width(), size.height())


def _nearest(rect: QRectF, room: QRectF, taken: Sequence[QRectF]) -> QRectF | None:
    """The place nearest to `rect` that is inside `room` and free; None if no place is.

    A nearest place touches an edge of the room or another label, or is at the wanted height or width.
    """
    width, height = rect.width(), rect.height()
    if width > room.width() or height > room.height():
        return None
    lefts = [room.left(), room.right() - width, rect.left()]
    tops = [room.top(), room.bottom() - height, rect.top()]
    for other in taken:
        lefts += [other.right(), other.left() - width]
        tops += [other.bottom(), other.top() - height]
    inside = [
        QRectF(x, y, width, height)
        for x in lefts
        if room.left() <= x <= room.right() - width
        for y in tops
        if room.top() <= y <= room.bottom() - height
    ]
    free = [place for place in inside if not any(place.intersects(other) for other in taken)]
    return min(free, key=lambda place: (place.center() - rect.center()).manhattanLength(), default=None)
