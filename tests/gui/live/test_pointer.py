"""The mouse as values: every function returns another record and leaves the old one unchanged."""

from __future__ import annotations

import pytest

from attnviz.gui.pointer import (
    Gesture,
    Pointer,
    enter_history,
    hover,
    hover_in_decoding,
    leave_document,
    split_gesture,
)
from attnviz.model.spec.view import Cell

SITE = "layers.0.self"
HERE, NAMED, THERE = (
    Cell("weights", 1, 2),
    Cell("weights", 1, 2, 0, SITE),
    Cell("q", 0, 3, 1, "encoder.0.self"),
)
BUSY = Pointer(HERE, None, HERE, THERE, "scores", True, True, gesture="begun")

HOVERS: list[tuple[Pointer, Cell | None, Pointer]] = [
    (Pointer(), HERE, Pointer(cell=HERE)),
    (Pointer(), NAMED, Pointer(cell=NAMED)),
    (Pointer(), THERE, Pointer(elsewhere=THERE)),
    (Pointer(cell=HERE), THERE, Pointer(elsewhere=THERE)),
    (Pointer(elsewhere=THERE), HERE, Pointer(cell=HERE)),
    (Pointer(elsewhere=THERE), None, Pointer()),
    (Pointer(stage="q", paints=True), HERE, Pointer(cell=HERE, stage="q", paints=True)),
]


@pytest.mark.parametrize(("before", "cell", "after"), HOVERS)
def test_a_cell_is_hovered_here_or_elsewhere_and_never_both(
    before: Pointer, cell: Cell | None, after: Pointer
) -> None:
    assert hover(before, cell, SITE) == after


def test_a_number_of_the_decoding_is_hovered_in_the_document_where_it_has_it() -> None:
    in_both = hover_in_decoding(Pointer(), HERE, SITE, is_in_document=True)
    assert in_both == Pointer(cell=HERE, decoded=HERE)
    generated = hover_in_decoding(in_both, HERE, SITE, is_in_document=False)
    assert generated == Pointer(decoded=HERE)
    assert hover_in_decoding(generated, None, SITE, is_in_document=False) == Pointer()


def test_another_document_takes_the_cells_and_leaves_the_modes() -> None:
    expected = Pointer(stage="scores", paints=True, edits_alike=True, gesture="begun")
    assert leave_document(BUSY) == expected


GESTURES: list[tuple[Gesture, Gesture, Gesture]] = [
    ("none", "none", "none"),
    ("begun", "entered", "begun"),
    ("entered", "entered", "begun"),
]


@pytest.mark.parametrize(("before", "entered", "split"), GESTURES)
def test_a_gesture_has_one_entry_until_the_history_moves(
    before: Gesture, entered: Gesture, split: Gesture
) -> None:
    assert enter_history(Pointer(gesture=before)).gesture == entered
    assert split_gesture(Pointer(gesture=before)).gesture == split
