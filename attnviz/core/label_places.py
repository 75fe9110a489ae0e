"""Places of labels beside the tips of arrows, so that none lies on another: in any unit, y downwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and lower end."""
Shaft = tuple[Point, Point]
"""Both ends of an arrow."""

AWAY, ABOVE = 4.0, 3.0
"""Distances of a label from its tip: to the side, and above or below the height of the tip."""


@dataclass(frozen=True)
class Label:
    """The size of a text, and the arrow at whose tip it stands."""

    shaft: Shaft
    width: float
    height: float

    def boxes(self, far: float = 1.0) -> tuple[Box, ...]:
        """The places at the right, the left, above and below the tip, `far` times as far as usual."""
        (x, y), wide, high = self.shaft[1], self.width, self.height
        aside, above = far * AWAY, far * ABOVE
        return tuple(
            (x + dx, y + dy, x + dx + wide, y + dy + high)
            for dx, dy in (
                (aside, -high - above),
                (aside, above),
                (-wide - aside, -high - above),
                (-wide - aside, above),
                (-wide / 2, -high - aside),
                (-wide / 2, aside + 2.0),
            )
        )

    def is_outward(self, box: Box) -> bool:
        """True if a box lies on the side of the tip that is away from the arrow's start."""
        (from_x, from_y), (x, y) = self.shaft
        return ((box[0] + box[2]) / 2 - x) * (x - from_x) + ((box[1] + box[3]) / 2 - y) * (y - from_y) > 0


def overlaps(one: Box, other: Box) -> bool:
    """True if two boxes share more than an edge."""
    return one[0] < other[2] and one[2] > other[0] and one[1] < other[3] and one[3] > other[1]


def contains(outer: Box, inner: Box) -> bool:
    """True if a box lies within another."""
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def crossings(shafts: Points, boxes: Points | Sequence[Box]) -> NDArray[np.bool_]:
    """For arrows (arrows, both ends, xy) and boxes: which arrow passes through which box, (arrows, boxes).

    The part of an arrow between the two lines of each axis is an interval of its way from 0 to 1; the arrow
    passes through if both intervals share more than a moment (Liang and Barsky 1984).
    """
    edges = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    enters, leaves = np.zeros((len(shafts), len(edges))), np.ones((len(shafts), len(edges)))
    for axis in (0, 1):  # one after the other: a reduction over an axis of two takes several times as long
        start, way = shafts[:, 0, axis, None], (shafts[:, 1, axis] - shafts[:, 0, axis])[:, None]
        low, high = edges[:, axis] - start, edges[:, axis + 2] - start
        is_still, is_between = way == 0, (low < 0) & (high > 0)
        step = np.where(is_still, 1.0, way)
        one, other = low / step, high / step
        outside = np.where(is_between, 0.0, 2.0)
        np.maximum(enters, np.where(is_still, outside, np.minimum(one, other)), out=enters)
        np.minimum(leaves, np.where(is_still, 1.0, np.maximum(one, other)), out=leaves)
    return enters < leaves


def label_places(
    labels: Sequence[Label], room: Box, shafts: Points | Sequence[Shaft], taken: Iterable[Box] = ()
) -> tuple[Box | None, ...]:
    """The place of each label in `room`; the earlier ones choose first, and None is for one without a place.

    It is the side that crosses the fewest of `shafts` (arrows, both ends, xy), of these one away from the
    arrow's start; it overlaps neither another label nor one of the boxes that are `taken`.
    """
    full, found = list(taken), list[Box | None]()
    sides = [label.boxes() for label in labels]
    arrows = np.asarray(shafts, dtype=np.float64).reshape(-1, 2, 2)
    crossed = crossings(arrows, [box for boxes in sides for box in boxes]).sum(axis=0).tolist()
    for label, boxes in zip(labels, sides, strict=True):
        counts, crossed = crossed[: len(boxes)], crossed[len(boxes) :]
        free = [
            (counts[number], not label.is_outward(box), number, box)
            for number, box in enumerate(boxes)
            if contains(room, box) and not any(overlaps(box, other) for other in full)
        ]
        found.append(min(free)[-1] if free else None)
        full += [box for box in found[-1:] if box is not None]
    return tuple(found)
