"""Places: every panel once, and pixels that add up for any size of the window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces.arrangement import GAP, Node, Split, Stack, extents, splits, stacks
from attnviz.gui.workspaces.table import WORKSPACES

ARRANGEMENTS = [(row, node) for row in WORKSPACES for _least, node in row.arrangements]


@pytest.mark.parametrize(("row", "node"), ARRANGEMENTS, ids=lambda value: getattr(value, "id", ""))
def test_every_panel_has_at_most_one_place_and_exists(row: object, node: Node) -> None:
    placed = [panel for stack in stacks(node) for panel in stack.panels]
    assert len(placed) == len(set(placed))
    assert set(placed) <= {panel.id for panel in PANELS}


@pytest.mark.parametrize("row", WORKSPACES, ids=lambda row: row.id)
def test_the_drawer_stands_in_every_arrangement_and_the_smallest_window_has_one(row: object) -> None:
    assert row.arrangements[-1][0] == 0  # type: ignore[attr-defined]
    for _least, node in row.arrangements:  # type: ignore[attr-defined]
        assert row.drawer in {stack.panels[0] for stack in stacks(node)}  # type: ignore[attr-defined]


def test_every_panel_can_be_reached_in_some_workspace() -> None:
    assert {panel.id for panel in PANELS} == set().union(*(row.panels for row in WORKSPACES))


@given(width=st.integers(1000, 4000), height=st.integers(600, 2200))
def test_parts_and_gaps_fill_the_place(width: int, height: int) -> None:
    for _row, node in ARRANGEMENTS:
        for split, lengths in splits(node, width, height):
            assert len(lengths) == len(split.parts) and min(lengths) > 0
        if isinstance(node, Split):
            whole = width if node.direction == "across" else height
            found = sum(extents(node, whole)) + GAP * (len(node.parts) - 1)
            assert abs(found - whole) <= len(node.parts)


def test_a_part_that_grows_takes_what_is_left() -> None:
    split = Split("across", (Stack(("a",), 100), Stack(("b",), 200, 1.0), Stack(("c",), 50, 3.0)))
    assert extents(split, 350 + 2 * GAP) == (100, 200, 50)
    assert extents(split, 450 + 2 * GAP) == (100, 225, 125)
