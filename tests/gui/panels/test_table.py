"""A row of `PANELS` is complete, or the program does not start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.gui.panels import table
from attnviz.gui.panels.table import PANELS, PanelRow
from attnviz.gui.workspaces.arrangement import Stack
from attnviz.gui.workspaces.table import WorkspaceRow

LACKING = {
    "title": "",
    "source": "",
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


def test_a_panel_without_a_place_is_a_tab_of_the_drawer() -> None:
    row = WorkspaceRow("model", "Model", "", "", "lens", ((0, Stack(("lens",))),))
    here = tuple(panel.id for panel in PANELS if "model" in panel.workspaces)
    assert row.arrangements == ((0, Stack(("lens", *(id_ for id_ in here if id_ != "lens")))),)


def test_no_panel_gives_a_worker_its_job_but_by_an_answer() -> None:
    files = Path(table.__file__).parent.rglob("*.py")
    assert [path.name for path in files if ".submit(" in path.read_text(encoding="utf-8")] == []
