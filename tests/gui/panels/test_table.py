"""A row of `PANELS` is complete, or the program does not start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.gui.panels import table
from attnviz.gui.panels.table import GROUPS, PANELS, PANELS_OF_GROUP, PanelRow, grouped
from attnviz.gui.workspaces.arrangement import Stack
from attnviz.gui.workspaces.table import WorkspaceRow

LACKING = {
    "title": "",
    "source": "",
    "group": " ",
    "help": " ",
    "words": "",
    "workspaces": (),
    "lesson": "",
    "asks": None,
}


@pytest.mark.parametrize("part", LACKING)
def test_a_row_that_lacks_a_part_is_refused_by_name(part: str) -> None:
    for row in PANELS:
        with pytest.raises(ValueError, match=rf"'{row.id}' lacks {part}"):
            replace(row, **{part: LACKING[part]})


def test_a_row_of_an_id_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="'entropy' lacks title"):
        PanelRow("entropy")


def test_an_arrangement_places_only_panels_whose_rows_name_the_workspace() -> None:
    with pytest.raises(ValueError, match=r"'grid' lacks the workspace 'explore'"):
        WorkspaceRow("explore", "Explore", "", "", "grid", ((0, Stack(("grid",))),))


def test_a_panel_without_a_place_belongs_to_the_workspace_all_the_same() -> None:
    row = WorkspaceRow("model", "Model", "", "", "lens", ((0, Stack(("lens",))),))
    assert row.arrangements == ((0, Stack(("lens",))),)
    assert row.panels == {panel.id for panel in PANELS if "model" in panel.workspaces}


def test_a_place_has_six_tabs_at_most_with_that_of_more() -> None:
    six = ("lens", "circuits", "survey", "block", "cost", "grid")
    with pytest.raises(ValueError, match="more than 6 tabs"):
        WorkspaceRow("model", "Model", "", "", "lens", ((0, Stack(six)),))
    assert WorkspaceRow("model", "Model", "", "", "stage", ((0, Stack(six)),)).panels


def test_every_panel_is_in_a_group_of_at_most_eight_lines_once() -> None:
    lines = [row.id for group, _title in GROUPS for row in PANELS_OF_GROUP[group]]
    assert sorted(lines) == sorted(row.id for row in PANELS if not row.within)
    assert max(len(rows) for rows in PANELS_OF_GROUP.values()) <= 8
    many = tuple(replace(row, id=f"{row.id}{n}") for n in range(9) for row in PANELS if row.id == "lens")
    with pytest.raises(ValueError, match="'study' has 9 panels"):
        grouped(many)
    with pytest.raises(ValueError, match="'lens' names the group 'charts'"):
        grouped((replace(many[0], id="lens", group="charts"),))


def test_a_panel_stands_within_one_of_its_own_workspaces_and_group() -> None:
    lens = next(row for row in PANELS if row.id == "lens")
    inside = replace(lens, id="inside", within="lens")
    assert grouped((lens, inside))["study"] == (lens,)
    for wrong in (replace(inside, within="stage"), replace(inside, workspaces=("learn",))):
        with pytest.raises(ValueError, match="'inside' cannot stand within"):
            grouped((lens, wrong))


def test_no_panel_gives_a_worker_its_job_but_by_an_answer() -> None:
    files = Path(table.__file__).parent.rglob("*.py")
    assert [path.name for path in files if ".submit(" in path.read_text(encoding="utf-8")] == []
