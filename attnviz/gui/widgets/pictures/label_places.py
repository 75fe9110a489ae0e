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

    A label takes the first free side of its point, the `wanted` one first. The first `n_sure` labels are
    always placed: without a free side moved into `room`, whatever they cover.
    """
    taken: list[QRectF] = []
    places: list[QRectF | None] = []
    for index, (point, size, first) in enumerate(zip(points, sizes, wanted, strict=True)):
        opposite = (-first[0], -first[1])
        sides = [_beside(point, size, side) for side in dict.fromkeys((first, opposite, *_OTHERS))]
        free = (r for r in sides if room.contains(r) and not any(r.intersects(other) for other in taken))
        place = next(free, None)
        if place is None and index < n_sure:
            place = _moved_into(sides[0], room)
        if place is not None:
            taken.append(place)
        places.append(place)
    return places


def _beside(point: QPointF, size: QSizeF, side: Side) -> QRectF:
    """The rectangle of `size` on one side of a point."""
    x = point.x() + side[0] * (GAP + size.width() / 2) - size.width() / 2
    y = point.y() + side[1] * (GAP + size.height() / 2) - size.height() / 2
    return QRectF(x, y, size.width(), size.height())


def _moved_into(rect: QRectF, room: QRectF) -> QRectF:
    """`rect` moved as little as brings it into `room`; the beginning of a larger one."""
    x = max(min(rect.x(), room.right() - rect.width()), room.x())
    y = max(min(rect.y(), room.bottom() - rect.height()), room.y())
    return QRectF(x, y, rect.width(), rect.height())
