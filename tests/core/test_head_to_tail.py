"""A sum head to tail in a box: one scale for all parts, a lens for small steps, labels that lie free."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.core.head_to_tail import PARTS, SAID, SHORT, HeadToTail, head_to_tail, rest_from
from attnviz.core.label_places import Label, contains, crossings, label_places, overlaps

VALUES = np.array([[2.0, 1.0], [-1.0, 2.0], [0.1, 0.1], [0.3, -0.2]])
SIZE, EDGE, LENS = (300.0, 150.0), (40.0, 16.0), (80.0, 60.0)


def path(weights: NDArray[np.float64], part: float) -> NDArray[np.float64]:
    """From the query of key 1 alone to the given weights: its own first, then the largest."""
    mixed = (1 - part) * np.eye(4)[1] + part * weights
    order = [1, *(key for key in np.argsort(-weights, kind="stable") if key != 1)]
    return np.concatenate([np.zeros((1, 2)), np.cumsum(mixed[order, None] * VALUES[order], axis=0)])


def placed(weights: NDArray[np.float64]) -> HeadToTail:
    return head_to_tail(VALUES, range(4), lambda part: path(weights, part), SIZE, EDGE, LENS)


SHARP = np.array([0.949, 0.0, 0.03, 0.021])
EVEN = np.array([0.25, 0.25, 0.25, 0.25])


@pytest.mark.parametrize("weights", [SHARP, EVEN])
def test_every_part_has_the_same_scale_and_lies_in_the_box(weights: NDArray[np.float64]) -> None:
    shown = placed(weights)
    for part, end in zip(PARTS, shown.ends, strict=True):
        tips = path(weights, part)
        places = shown.path(tips)
        assert np.allclose(places[:, 0], shown.origin[0] + shown.frame.scale * tips[:, 0])
        assert np.allclose(places[:, 1], shown.origin[1] - shown.frame.scale * tips[:, 1])
        assert np.allclose(places[-1], end)
        assert (places >= EDGE).all() and (places <= np.subtract(SIZE, EDGE)).all()
    assert np.allclose(shown.ends[2], (shown.ends[0] + shown.ends[-1]) / 2), "the way is a straight line"


def test_a_lens_enlarges_small_steps_and_covers_no_arrow() -> None:
    assert placed(np.array([0.5, 0.5, 0.0, 0.0])).lens is None
    shown, tips = placed(SHARP), path(SHARP, 1.0)
    assert shown.lens is not None
    small = shown.path(tips)[rest_from(shown.path(tips)) :]
    large = shown.lens.frame(tips).at(tips)[rest_from(shown.path(tips)) :]
    assert np.allclose(np.diff(large, axis=0), shown.lens.factor * np.diff(small, axis=0))
    assert len(small) == 3 and np.hypot(*(small - small[-1]).T).max() < SHORT
    left, top, right, end = shown.lens.box
    assert (large > (left, top + SAID)).all(), "the line of text is free"
    assert (large < (right, end)).all()
    assert contains(shown.room, shown.lens.box)
    assert not any(left < x < right and top < y < end for x, y in (*shown.values, *shown.ends))


def test_labels_lie_free_of_each_other_of_the_lens_and_of_the_edge() -> None:
    shown = placed(SHARP)
    labels = shown.labels(dict.fromkeys(range(4), (30.0, 10.0)))
    assert {0, 1} <= set(labels)
    assert shown.lens is not None
    boxes = [*labels.values(), shown.lens.box]
    for index, box in enumerate(boxes):
        assert contains(shown.room, box)
        assert not any(overlaps(box, other) for other in boxes[:index])
    for part in np.linspace(0, 1, 21):
        path_ = shown.path(path(SHARP, part))
        box = shown.result_label(path_, (30.0, 10.0), labels)
        assert contains(shown.room, box) and not any(overlaps(box, other) for other in boxes)
        arrows = np.concatenate([np.stack([path_[:-1], path_[1:]], axis=1), path_[None, [0, -1]]])
        assert not crossings(arrows, [box]).any(), part


def test_a_label_without_a_free_side_is_left_out() -> None:
    crowd = [Label(((0.0, 0.0), (50.0, 50.0)), 40.0, 12.0)] * 9
    found = label_places(crowd, (0.0, 0.0, 100.0, 100.0), [])
    assert 2 <= sum(box is not None for box in found) < 9
    assert found[-1] is None


def test_a_sum_of_nothing_has_a_place() -> None:
    nothing = head_to_tail(np.zeros((2, 2)), (0, 1), lambda part: np.zeros((1, 2)), SIZE, EDGE, LENS)
    assert nothing.origin == (150.0, 75.0) and nothing.lens is None and not nothing.is_moving


@pytest.mark.parametrize(("tip", "is_left"), [((60.0, 100.0), True), ((140.0, 100.0), False)])
def test_the_label_of_an_arrow_stands_beyond_its_tip(tip: tuple[float, float], is_left: bool) -> None:
    shaft = (100.0, 100.0), tip
    (box,) = label_places([Label(shaft, 30.0, 10.0)], (0.0, 0.0, 200.0, 200.0), [shaft])
    assert box is not None and (box[0] < tip[0] - 20) == is_left


def test_arrows_cross_the_boxes_that_their_points_enter() -> None:
    chance = np.random.default_rng(5)
    arrows = chance.uniform(-4, 4, (200, 2, 2))
    arrows[:20, 1] = arrows[:20, 0]  # of length zero
    arrows[20:40, 1, 0] = arrows[20:40, 0, 0]  # upright
    corners = np.sort(chance.uniform(-3, 3, (30, 2, 2)), axis=1)
    boxes = [(*low, *high) for low, high in corners.tolist()]
    shares = np.linspace(0, 1, 4001)[:, None, None]
    points = (1 - shares) * arrows[:, 0] + shares * arrows[:, 1]  # (points, arrows, xy)
    found = crossings(arrows, boxes)
    for number, (left, top, right, end) in enumerate(boxes):
        inside = (points > (left, top)).all(-1) & (points < (right, end)).all(-1)
        deep = (points > (left + 0.01, top + 0.01)).all(-1) & (points < (right - 0.01, end - 0.01)).all(-1)
        assert found[deep.any(0), number].all()
        assert inside.any(0)[found[:, number]].mean() > 0.98  # a corner may lie between two points
        near = (points > (left - 0.01, top - 0.01)).all(-1) & (points < (right + 0.01, end + 0.01)).all(-1)
        assert not found[~near.any(0), number].any()
