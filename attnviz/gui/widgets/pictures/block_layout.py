"""Layout of a block's diagram: its boxes and its wires, as values without widgets.

Data flows from left to right. Queries run above, keys in the middle with everything that follows, values
below; of a parallel block the feed-forward layer runs below them all. Residual connections pass over the top.
`turned` exchanges the axes for a narrow place: data then flow downwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF

from attnviz.model.stages import STAGE_BY_ID, Lane, inputs

LANES: tuple[Lane, ...] = ("above", "middle", "below")
SUMS = ("residual_1", "residual_2")
MIDDLE, LAST = 1, 3

TOP = 12.0
"""Height of the strip above the lanes, for residual connections."""
COLUMN_GAP, LANE_GAP = 20.0, 5.0
WIRES_APART = 3.0
NODE_ROOM, NODE = 14.0, 5.5
"""Room before a sum for its ⊕, and the radius of that."""


@dataclass(frozen=True)
class Slot:
    """A box's place: lane from the top, column from the left."""

    lane: int
    column: int


@dataclass(frozen=True)
class Wire:
    """A line from one stage to another; `points` are its corners, the last one is where the arrow ends."""

    source: str
    target: str
    points: tuple[QPointF, ...]
    is_bypass: bool


def slots(stages: tuple[str, ...]) -> dict[str, Slot]:
    """A slot for each stage of a site, each to the right of its inputs, none used twice."""
    before = {stage for stage in stages[: stages.index("q")] if STAGE_BY_ID[stage].phase == "block"}
    beside = before - {"norm_1"} if "ffn_up" in before else set()
    last_in_lane: dict[int, int] = {}
    placed: dict[str, Slot] = {}
    for stage in stages:
        lane = LAST if stage in beside else LANES.index(STAGE_BY_ID[stage].lane)
        after = max((placed[source].column for source in inputs(stage, stages)), default=-1)
        column = max(after, last_in_lane.get(lane, -1)) + 1
        if stage == "memory":
            column = max(slot.column for slot in placed.values() if slot.lane == MIDDLE)
        placed[stage] = Slot(lane, column)
        last_in_lane[lane] = column
    return placed


def lane_count(placed: dict[str, Slot]) -> int:
    """Lanes from the first to the lowest that has a box."""
    return 1 + max(slot.lane for slot in placed.values())


def boxes(placed: dict[str, Slot], widths: dict[str, float], heights: dict[int, float]) -> dict[str, QRectF]:
    """The rectangle of each box, in pixels; each column is as wide as its widest box.

    `heights` are those of the boxes of each lane.
    """
    tops = {lane: TOP + sum(heights[above] + LANE_GAP for above in range(lane)) for lane in heights}
    lefts, x = {}, 0.0
    for column in range(1 + max(slot.column for slot in placed.values())):
        members = [stage for stage, slot in placed.items() if slot.column == column]
        x += NODE_ROOM if any(stage in SUMS for stage in members) else 0.0
        lefts[column] = x
        x += max((widths[stage] for stage in members), default=0.0) + COLUMN_GAP
    return {
        stage: QRectF(lefts[slot.column], tops[slot.lane], widths[stage], heights[slot.lane])
        for stage, slot in placed.items()
    }


def length(placed: dict[str, Slot], widths: dict[str, float]) -> float:
    """Pixels along the flow that boxes of these widths take."""
    rects = boxes(placed, widths, dict.fromkeys(range(lane_count(placed)), 1.0))
    return max(rect.right() for rect in rects.values())


def turned(rect: QRectF) -> QRectF:
    """`rect` with its axes exchanged."""
    return QRectF(rect.y(), rect.x(), rect.height(), rect.width())


def node(box: QRectF) -> QPointF:
    """The middle of the ⊕ before a sum's box."""
    return QPointF(box.left() - NODE_ROOM + NODE - 2, box.center().y())


def wires(stages: tuple[str, ...], placed: dict[str, Slot], rects: dict[str, QRectF]) -> tuple[Wire, ...]:
    """All wires of a site, in data-flow order."""
    routes = []
    for stage in stages:
        read = inputs(stage, stages)
        for index, source in enumerate(read):
            is_far = _is_obstructed(source, stage, placed)
            is_bypass = is_far and stage in SUMS and index == 0
            end = _end(stage, rects)
            if is_bypass:
                points = _over(rects[source], end)
            elif stage == "logits" and source == "tokens_embedded":
                continue  # the distinct tokens once more: a wire across all would say more than is meant
            else:
                apart = (placed[source].lane - MIDDLE) * WIRES_APART
                points = _along(rects[source], end, stage in SUMS, is_far, apart)
            routes.append(Wire(source, stage, points, is_bypass))
    return tuple(routes)


def turned_wire(wire: Wire) -> Wire:
    """`wire` with its axes exchanged."""
    return replace(wire, points=tuple(point.transposed() for point in wire.points))


def _end(stage: str, rects: dict[str, QRectF]) -> QPointF:
    box = rects[stage]
    return node(box) if stage in SUMS else QPointF(box.left(), box.center().y())


def _is_obstructed(source: str, target: str, placed: dict[str, Slot]) -> bool:
    """True if another box is in the source's lane before the target's column."""
    lane, first, last = placed[source].lane, placed[source].column, placed[target].column
    return any(slot.lane == lane and first < slot.column < last for slot in placed.values())


def _over(box: QRectF, end: QPointF) -> tuple[QPointF, ...]:
    """From the right of a box up, over all lanes, and down into a sum."""
    start = QPointF(box.right(), box.center().y())
    x, top = box.right() + 5.0, TOP / 2
    return (
        start,
        QPointF(x, start.y()),
        QPointF(x, top),
        QPointF(end.x(), top),
        QPointF(end.x(), end.y() - NODE),
    )


def _along(box: QRectF, end: QPointF, to_sum: bool, is_far: bool, apart: float) -> tuple[QPointF, ...]:
    """From the right of a box to the left of another, or into a sum from where it comes.

    `apart` moves the upright piece, so that wires of two lanes into two others are not one line.
    """
    start = QPointF(box.right(), box.center().y())
    level = start.y()
    points = [start]
    if is_far:  # through the gap below the lane, so as not to cross a box
        level = box.bottom() + LANE_GAP / 2
        points += [QPointF(start.x() + 5.0, start.y()), QPointF(start.x() + 5.0, level)]
    if to_sum and abs(level - end.y()) > 1.0:
        side = NODE if level > end.y() else -NODE
        return (*points, QPointF(end.x(), level), QPointF(end.x(), end.y() + side))
    if abs(level - end.y()) > 1.0:
        elbow = end.x() - COLUMN_GAP / 2 + apart
        points += [QPointF(elbow, level), QPointF(elbow, end.y())]
    return (*points, QPointF(end.x() - (NODE if to_sum else 0.0), end.y()))
