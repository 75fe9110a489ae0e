"""A sum of vectors head to tail in a box of the plane: places, in any unit, y downwards.

The window, the figures and the animation share them. The scale and the origin are those of all parts of the
way from the first sum to the last one, so that nothing jumps while the sum moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attnviz.core.label_places import AWAY, Box, Label, Point, Points, Shaft, crossings, label_places

SHORT = 6.0
"""Length in px or points below which the rest of the sum is shown in a lens."""
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of the way whose places determine the scale."""
LAST = 4
"""Weight of the last part against each other one, where the side of the result's label is chosen."""
FAR = (1.0, 4.0, 8.0)
"""Distances of the result's label from its tip that are tried, in those of other labels."""
_FACTORS = (2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
SAID = 12.0
"""Height of the line at the top of a lens that says its factor."""
_LEAST_IN_LENS = 3.0
"""Least size of the rest of the sum in a lens: what is smaller there has none."""


@dataclass(frozen=True)
class Frame:
    """A scale in units of the box for each unit of a vector, and the place of the origin."""

    scale: float
    x: float
    y: float

    def at(self, points: Points) -> Points:
        """The places of points (…, 2) of the plane."""
        return np.asarray(points, dtype=np.float64) * (self.scale, -self.scale) + (self.x, self.y)


@dataclass(frozen=True)
class Lens:
    """A box in which the end of the sum is `factor` times as large as around it, the same for all parts.

    Its uppermost `SAID` are free for a line of text.
    """

    box: Box
    factor: int
    around: Frame

    def frame(self, tips: Points) -> Frame:
        """The frame that has the middle of the small steps in the middle below the line of text."""
        rest = tips[rest_from(self.around.at(tips)) :]
        scale = self.around.scale * self.factor
        x, y = (rest.min(axis=0) + rest.max(axis=0)) / 2
        left, top, right, end = self.box
        return Frame(scale, (left + right) / 2 - x * scale, (top + SAID + end) / 2 + y * scale)

    def holds(self, tips: Points) -> bool:
        """True if the lens has room for all small steps of a part, and something to show: of an early part
        they may be too long, and of the first one they have no length.
        """
        places = self.frame(tips).at(tips[rest_from(self.around.at(tips)) :])
        left, top, right, end = self.box
        is_long = bool((places.max(axis=0) - places.min(axis=0)).max() >= _LEAST_IN_LENS)
        return is_long and bool(((places >= (left, top + SAID)) & (places <= (right, end))).all())

    def magnified(self, tips: Points) -> Box:
        """The box around the end of the sum that the lens magnifies; at least as large as a spot."""
        rest = tips[rest_from(self.around.at(tips)) :]
        x, y = self.around.at((rest.min(axis=0) + rest.max(axis=0)) / 2).tolist()
        left, top, right, end = self.box
        wide, high = (max(4.0, size / self.factor / 2) for size in (right - left, end - top - SAID))
        return x - wide, y - high, x + wide, y + high


@dataclass(frozen=True, eq=False)
class HeadToTail:
    """The places of a sum in a box of `width` × `height`.

    `values` (keys, 2) are the tips of all values; `ends` (parts, 2) those of the sum on its way, `PARTS`;
    `last` (1 + steps, 2) are the tips of the last one, and `large` (arrows, both ends, 2) the first two steps
    of each part. `lens` is None where every step is long enough to see.
    """

    width: float
    height: float
    frame: Frame
    values: Points
    ends: Points
    last: Points
    large: Points
    lens: Lens | None

    @property
    def origin(self) -> Point:
        """The place of zero, where all values start."""
        return self.frame.x, self.frame.y

    @property
    def room(self) -> Box:
        """The whole box."""
        return 0.0, 0.0, self.width, self.height

    @property
    def is_moving(self) -> bool:
        """True if the sum ends elsewhere than it starts: it has a way."""
        return bool(np.hypot(*(self.ends[-1] - self.ends[0])) > 1.0)

    def path(self, tips: Points) -> Points:
        """The places of the tips of one part, from zero on: the steps are the lines between them."""
        return self.frame.at(tips)

    def shaft(self, key: int) -> Shaft:
        """The arrow of a value."""
        return self.origin, _point(self.values[key])

    def labels(self, sizes: Mapping[int, tuple[float, float]]) -> dict[int, Box]:
        """The places of the labels of values, by key, from their width and height: the same for all parts.

        The first ones choose first; a label without a free place is left out.
        """
        ways = np.array(self._ways)
        shafts = np.concatenate([self._shafts(sizes), ways, self.large, _steps(self.last), self._lines])
        wanted = [Label(self.shaft(key), *size) for key, size in sizes.items()]
        found = label_places(wanted, self.room, shafts, self._boxes)
        return {key: box for key, box in zip(sizes, found, strict=True) if box is not None}

    def result_label(self, path: Points, size: tuple[float, float], labels: Mapping[int, Box]) -> Box:
        """The place of the result's label beside the tip of `path` (1 + steps, 2), the places of one part.

        It crosses as few arrows as it can; of equal places it takes the side that is free on most of the way,
        near the tip. `labels` are the boxes of `labels`.
        """
        end, taken = _point(path[-1]), (*labels.values(), *self._boxes)
        sides = [Label((self.origin, end), *size).boxes(far) for far in FAR]
        edges = np.array([box for boxes in sides for box in boxes])
        own = np.array([(self.origin, end)])
        arrows = np.concatenate([self._shafts(labels), _steps(path), own, self._lines])
        costs = crossings(arrows, edges).sum(axis=0).astype(np.float64)
        costs += self._misplaced(edges, taken)
        usual = self._usual(size, taken)
        costs += np.concatenate([usual + 0.2 * number for number in range(len(FAR))])
        box = edges[int(costs.argmin())].tolist()
        right, down = max(0.0, box[2] - self.width), max(0.0, box[3] - self.height)
        x, y = max(0.0, box[0] - right), max(0.0, box[1] - down)
        return x, y, x + size[0], y + size[1]

    def _usual(self, size: tuple[float, float], taken: Sequence[Box]) -> Points:
        """From 0 for the side of the tip that is free on most of the way to 0.5 for the worst one."""
        ways = np.array(self._ways)
        edges = np.array([Label(way, *size).boxes() for way in self._ways])  # (parts, sides, 4)
        parts, sides = edges.shape[:2]
        crossed = crossings(np.concatenate([ways, _steps(self.last)]), edges).reshape(-1, parts, sides)
        costs = crossed[parts:].sum(axis=0).astype(np.float64) + crossed[range(parts), range(parts)]
        costs += self._misplaced(edges.reshape(-1, 4), taken).reshape(parts, sides)
        middles, along = (edges[..., :2] + edges[..., 2:]) / 2, ways[:, 1] - ways[:, 0]
        is_outward = ((middles - ways[:, None, 1]) * along[:, None]).sum(axis=-1) > 0
        costs += 0.1 * ~is_outward
        total = costs.sum(axis=0) + LAST * costs[-1]
        return np.asarray(0.5 * total.argsort(kind="stable").argsort() / (sides - 1))

    def _misplaced(self, edges: Points, taken: Sequence[Box]) -> Points:
        """4 for each box (boxes, 4) that is not in the room, and for each one of `taken` that it overlaps."""
        low, high = edges[:, :2], edges[:, 2:]
        is_outside = ~((low >= 0) & (high <= (self.width, self.height))).all(axis=-1)
        hits = sum(((low < box[2:]) & (high > box[:2])).all(axis=-1).astype(np.int64) for box in taken)
        return np.asarray(4.0 * (is_outside + hits))

    @property
    def _lines(self) -> Points:
        """The way of the sum, and the line from the tip of the last one to the lens."""
        way = self.ends[None, [0, -1]]
        if self.lens is None:
            return way
        left, top, right, end = self.lens.box
        x, y = _point(self.last[-1])
        line = (x, y), (left if (left + right) / 2 > x else right, (top + end) / 2)
        return np.concatenate([way, np.array([line])])

    @cached_property
    def _ways(self) -> list[Shaft]:
        """The arrows of the sum on its way."""
        return [(self.origin, _point(end)) for end in self.ends]

    def _shafts(self, keys: Iterable[int]) -> Points:
        return np.array([self.shaft(key) for key in keys], dtype=np.float64).reshape(-1, 2, 2)

    @property
    def _boxes(self) -> tuple[Box, ...]:
        return () if self.lens is None else (self.lens.box,)


def head_to_tail(
    values: Points,
    shown: Sequence[int],
    path: Callable[[float], Points],
    size: tuple[float, float],
    edge: tuple[float, float],
    lens: tuple[float, float],
) -> HeadToTail:
    """Place a sum in a box of `size` (width, height), with `edge` (x, y) free around it for labels.

    `values` (keys, 2) are in the plane, `shown` the keys that are drawn; `path` gives the tips (1 + steps, 2)
    of a part from 0 to 1, from zero on. `lens` is the size of the lens: it stands in a corner where nothing
    is, else at the right, and the rest is placed beside it.
    """
    width, height = size
    ways = [path(part) for part in PARTS]
    every = np.concatenate([np.zeros((1, 2)), values[list(shown)], *ways])
    every = every[np.isfinite(every).all(axis=1)]
    frame = _frame(every, (0.0, 0.0, width, height), edge)
    found = None
    if rest_from(frame.at(ways[-1])) < len(ways[-1]) - 1:
        found = _lens(frame, every, ways, size, lens)
        if found is None:
            frame = _frame(every, (0.0, 0.0, width - lens[0], height), edge)
            box = width - lens[0] - AWAY, height - lens[1] - AWAY, width - AWAY, height - AWAY
            factor = _factor(frame, ways[-1], lens)
            found = Lens(box, factor, frame) if factor else None
    ends = np.stack([frame.at(way[-1]) for way in ways])
    large = np.concatenate([_steps(frame.at(way))[:2] for way in ways])
    return HeadToTail(width, height, frame, frame.at(values), ends, frame.at(ways[-1]), large, found)


def rest_from(places: Points) -> int:
    """The first of the tips from which on all are within `SHORT` of the last: the rest are small steps.

    The last one if no step is small, and if all of them are.
    """
    far = np.flatnonzero(np.hypot(*(places - places[-1]).T) >= SHORT)
    return int(far[-1]) + 1 if len(far) else len(places) - 1


def _frame(points: Points, room: Box, edge: tuple[float, float]) -> Frame:
    """The largest scale at which all points lie in a room, in its middle."""
    low, high = points.min(axis=0), points.max(axis=0)
    left, top, right, end = room
    reach = np.maximum(high - low, 1e-12)
    free = max(1.0, right - left - 2 * edge[0]), max(1.0, end - top - 2 * edge[1])
    scale = float(min(free[0] / reach[0], free[1] / reach[1])) if (high - low).max() > 0 else 1.0
    x, y = (low + high) / 2 * scale
    return Frame(scale, float((left + right) / 2 - x), float((top + end) / 2 + y))


def _factor(frame: Frame, tips: Points, size: tuple[float, float]) -> int:
    """Factor by which a lens enlarges the small steps; 0 if they stay too small even there."""
    places = frame.at(tips)
    rest = places[rest_from(places) :]
    reach = float((rest.max(axis=0) - rest.min(axis=0)).max())
    fitting = [one for one in _FACTORS if one * reach <= 0.6 * min(size[0], size[1] - SAID)]
    factor = fitting[-1] if fitting else 0
    return factor if factor * reach >= _LEAST_IN_LENS else 0


def _lens(
    frame: Frame, points: Points, ways: Sequence[Points], size: tuple[float, float], lens: tuple[float, float]
) -> Lens | None:
    """A lens in the first corner without a point and an arrow; None without such a corner."""
    factor = _factor(frame, ways[-1], lens)
    if not factor:
        return None
    (width, height), (wide, high) = size, lens
    tips = frame.at(points)
    shafts = np.stack([np.broadcast_to((frame.x, frame.y), tips.shape), tips], axis=1)
    corners = [(x, y) for x in (width - wide - AWAY, AWAY) for y in (height - high - AWAY, AWAY)]
    boxes: list[Box] = [(x, y, x + wide, y + high) for x, y in corners]
    crossed = crossings(shafts, boxes)
    return next((Lens(box, factor, frame) for at, box in enumerate(boxes) if not crossed[:, at].any()), None)


def _steps(path: Points) -> Points:
    """The arrows between the tips of a part, (steps, both ends, xy)."""
    return np.stack([path[:-1], path[1:]], axis=1)


def _point(place: Points) -> Point:
    return float(place[0]), float(place[1])
