"""Labels at points: inside the picture, none on another, the sure ones always there."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF

from attnviz.gui.widgets.pictures.arrow_plot import ABOVE, BELOW, label_places

ROOM, SIZE = QRectF(0, 0, 400, 300), QSizeF(60, 16)


def test_a_label_stands_on_the_side_that_is_wanted() -> None:
    above, below = label_places([QPointF(200, 150)] * 2, [SIZE] * 2, [ABOVE, BELOW], ROOM)
    assert above is not None and above.bottom() < 150 and above.center().x() == 200
    assert below is not None and below.top() > 150


def test_at_an_edge_it_stands_on_another_side() -> None:
    (place,) = label_places([QPointF(200, 5)], [SIZE], [ABOVE], ROOM)
    assert place is not None and place.top() > 5 and ROOM.contains(place)
    (corner,) = label_places([QPointF(2, 298)], [SIZE], [BELOW], ROOM)
    assert corner is not None and ROOM.contains(corner)


def test_none_lies_on_another_and_none_is_cut() -> None:
    random = np.random.default_rng(0)
    points = [QPointF(x, y) for x, y in random.uniform((0, 0), (400, 300), (60, 2)).tolist()]
    places = label_places(points, [SIZE] * 60, [ABOVE] * 60, ROOM)
    shown = [place for place in places if place is not None]
    assert 20 < len(shown) < 60
    for index, place in enumerate(shown):
        assert ROOM.contains(place)
        assert not any(place.intersects(other) for other in shown[:index])


def test_the_sure_ones_take_the_nearest_free_place() -> None:
    places = label_places([QPointF(-50, -50)] * 4, [SIZE] * 4, [ABOVE] * 4, ROOM, n_sure=2)
    assert places[:2] == [QRectF(0, 0, 60, 16), QRectF(0, 16, 60, 16)] and places[2:] == [None, None]


def test_sure_ones_never_lie_on_another_and_never_leave_the_room() -> None:
    random = np.random.default_rng(1)
    for width, height in ((70, 40), (130, 60), (61, 17), (59, 100)):
        room = QRectF(0, 0, width, height)
        points = [QPointF(x, y) for x, y in random.uniform((-50, -50), (200, 150), (6, 2)).tolist()]
        shown = [place for place in label_places(points, [SIZE] * 6, [ABOVE] * 6, room, n_sure=6) if place]
        assert len(shown) >= (1 if width >= 60 and height >= 16 else 0)
        for index, place in enumerate(shown):
            assert room.contains(place)
            assert not any(place.intersects(other) for other in shown[:index])
