"""A story is played, and the map, the heads, the plane, the inspector and the block grow with it."""

from __future__ import annotations

import csv

import pytest
from desk import WAIT_MS, Desk, MakeDesk, count_color, picture
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.progress import never_cancelled
from attnviz.core.text import visible
from attnviz.gui.export.source import Choice
from attnviz.gui.export.table import EXPORT_BY_ID
from attnviz.gui.panels.block import BlockPanel
from attnviz.gui.panels.decoding.story.text import StoryText
from attnviz.gui.panels.heads.picture import HeadPicture
from attnviz.gui.panels.inspector.inspector import InspectorPanel
from attnviz.gui.panels.plane import PlanePanel
from attnviz.gui.player import GoTo, Toggle
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.toggle import Toggle as Switch
from attnviz.model.edit import edits
from attnviz.model.spec.view import Cell

STORY = load_preset("stories-en")
SITE, HEAD = STORY.site, STORY.view.head
STEP = 40


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(STORY)
    made.window.workspaces.switch("generate")
    made.qtbot.waitUntil(lambda: made.store.player.decoded is not None, timeout=WAIT_MS)
    return made


def go_to(desk: Desk, step: int) -> tuple[str, ...]:
    """Show a step; the tokens up to it, as the decoding has them."""
    desk.store.play(GoTo(step))
    decoded = desk.store.player.decoded
    assert decoded is not None
    return tuple(one.token for one in decoded.decoding.steps[: step + 1])


def test_the_map_grows_with_the_story_and_frames_its_newest_row(desk: Desk) -> None:
    assert desk.map.content.values.shape == (13, 13) and desk.map.highlight.newest == 12
    for step in (13, STEP, 87):
        tokens = go_to(desk, step)
        expected = attnviz.run(edits.set_tokens(desk.store.experiment, tokens)).site(SITE)
        shown = desk.map.content
        assert shown.values.shape == (step + 1, step + 1)
        assert shown.row_labels == expected.labels("query")
        assert abs(shown.values - expected["weights"][HEAD]).max() < 1e-5
        assert desk.map.highlight.newest == step
    desk.store.play(GoTo(0))
    assert desk.map.content.values.shape == (13, 13) and desk.map.highlight.newest == 0
    desk.store.set_following(False)
    assert desk.map.highlight.newest == -1


def test_a_step_outside_the_part_in_sight_moves_a_zoomed_map_to_its_row(desk: Desk) -> None:
    desk.map.zoom_by(4, desk.map.layout_shown.plot.topLeft())
    assert desk.map.layout_shown.visible()[1] < 12
    desk.store.play(GoTo(0))
    assert desk.map.layout_shown.offset.isNull()
    desk.store.play(GoTo(12))
    shown = desk.map.layout_shown
    assert shown.visible()[1] == 13 and shown.offset.x() == 0
    kept = shown.offset
    desk.store.play(GoTo(11))  # in sight, too
    assert desk.map.layout_shown.offset == kept


@pytest.mark.parametrize("orientation", ["queries_as_rows", "queries_as_columns"])
def test_the_frame_of_the_newest_row_is_painted_around_it(desk: Desk, orientation: str) -> None:
    go_to(desk, 20)
    desk.store.look(orientation=orientation)
    geometry = desk.map.layout_shown
    is_turned = orientation == "queries_as_columns"
    row = geometry.block_rect(0, 20, 21, 1) if is_turned else geometry.block_rect(20, 0, 1, 21)
    before = geometry.block_rect(0, 15, 21, 1) if is_turned else geometry.block_rect(15, 0, 1, 21)
    image = picture(desk.map)
    around = row.width() + row.height()
    assert count_color(image, desk.theme.accent, row.adjusted(-2, -2, 2, 2)) > around
    assert count_color(image, desk.theme.accent, before) == 0


def test_a_token_of_the_prompt_becomes_the_query_of_the_map_and_the_heads(desk: Desk) -> None:
    desk.store.look(locked=Cell("weights", 11, 1, HEAD))
    text = desk.find(StoryText, "decode_text")
    desk.click(text, text.token_rect(7).center())
    view = desk.store.document.view
    assert (view.step, view.query, view.locked) == (7, 7, None)
    assert desk.map.highlight.newest == 7 and desk.map.content.values.shape == (13, 13)
    weights, names = desk.store.site["weights"][HEAD][7], desk.store.site.names("key")
    said = desk.find(HeadPicture, f"head_{HEAD}").accessibleDescription()
    assert visible(names[7]) in said and visible(names[int(weights.argmax())]) in said
    assert f"{weights.max():.3f}" in said
    desk.go("explore")
    assert desk.map.highlight.newest == -1


def test_the_heads_the_block_and_the_row_show_the_same_tokens(desk: Desk) -> None:
    tokens = go_to(desk, STEP)
    block = desk.window.panels["block"]
    assert isinstance(block, BlockPanel)
    block.set_seen(True)
    n = len(tokens)
    for thumbnail in (desk.find(Thumbnail, f"head_{HEAD}"), block.diagram.box("weights")):
        assert thumbnail._shape == (n, n)
    desk.find(Switch, "side_button").click()
    bars = desk.find(Bars, "row_bars")
    newest = desk.store.shown_site.window("weights", HEAD)[-1]
    assert bars._values == pytest.approx(newest.tolist())


def test_the_plane_shows_them_and_says_why_no_tip_moves(desk: Desk) -> None:
    plane = desk.window.panels["plane"]
    assert isinstance(plane, PlanePanel)
    desk.window.workspaces.show_panel("plane")
    before = desk.store.experiment
    tokens = go_to(desk, 30)
    desk.qtbot.waitUntil(lambda: len(plane.plot._families["k"].tips) == len(tokens), timeout=WAIT_MS)
    keys = plane.plot._families["k"]
    assert keys.labels == desk.store.shown_site.labels("key") and keys.strong == len(tokens) - 1
    assert keys.fixed == "These are the tokens up to the step of the player."
    desk.store.play(GoTo(12))
    desk.qtbot.waitUntil(lambda: len(plane.plot._families["k"].tips) == 13, timeout=WAIT_MS)
    fixed = plane.plot._families["k"].fixed
    assert fixed and "player" not in fixed and "Select" not in fixed, "two features would move no tip either"
    assert desk.store.experiment is before


def test_a_generated_cell_opens_down_to_its_arithmetic(desk: Desk) -> None:
    go_to(desk, STEP)
    cell = desk.map.cell_center(STEP, STEP - 1)
    desk.click(desk.map, cell)
    assert desk.store.document.view.locked == Cell("weights", STEP, STEP - 1, HEAD)
    inspector = desk.window.panels["inspector"]
    assert isinstance(inspector, InspectorPanel)
    inspector._show()
    value = float(desk.store.shown_site.window("weights", HEAD)[STEP, STEP - 1])
    explained = inspector.page.toPlainText()
    found = inspector.page._explanation
    assert explained.startswith("weights[“␣the”₄₀, “␣In”] = exp(") and found is not None
    assert found.lines[0].value == value == pytest.approx(found.lines[0].recomputed, rel=1e-4)
    desk.store.play(GoTo(12))  # the cell is locked, and the document does not have it
    inspector._show()
    assert not inspector.page.isVisible()
    desk.store.play(GoTo(STEP))
    inspector._show()
    assert inspector.page.isVisible() and inspector.page.toPlainText() == explained


def test_panels_of_the_document_keep_its_tokens(desk: Desk) -> None:
    given = desk.store.experiment.tokens
    go_to(desk, STEP)
    chips = desk.find(TokenChips, "token_chips")
    assert chips._tokens == given
    desk.hover(desk.map, desk.map.cell_center(STEP, 30))
    assert desk.store.pointer.cell == Cell("weights", STEP, 30, HEAD) and desk.store.hovered is None
    desk.hover(desk.map, desk.map.cell_center(STEP, 2))
    assert desk.store.hovered is None  # its query is generated
    desk.hover(desk.map, desk.map.cell_center(5, 2))
    assert desk.store.hovered == Cell("weights", 5, 2, HEAD)
    desk.bring("vectors")
    assert len(desk.vectors.values()) == len(given)


def test_the_bar_of_a_generated_key_changes_no_mask(desk: Desk) -> None:
    go_to(desk, STEP)
    desk.find(Switch, "side_button").click()
    bars = desk.find(Bars, "row_bars")
    bars.clicked.emit(STEP)
    assert desk.store.attention.masks == STORY.attention.masks and not desk.said()
    bars.clicked.emit(2)
    assert desk.store.followed is None
    assert desk.store.attention.masks != STORY.attention.masks


def test_exported_numbers_are_those_on_the_screen(desk: Desk) -> None:
    go_to(desk, STEP)
    source = desk.window.handlers._exporter.source({})
    made = EXPORT_BY_ID["table"].make(source, Choice("csv", ()), never_cancelled)
    rows = list(csv.reader(made.data.decode("utf-8-sig").splitlines()))
    assert len(rows) == STEP + 2 and len(rows[-1]) == STEP + 2
    assert float(rows[-1][-1]) == pytest.approx(float(desk.map.content.values[-1, -1]))


def test_the_switch_is_an_action_that_is_remembered(desk: Desk, settings: Settings) -> None:
    action = desk.window.commands["follow_player"]
    assert action.isCheckable() and action.isChecked() and settings["follow"] is True
    go_to(desk, STEP)
    action.trigger()
    assert settings["follow"] is False and desk.map.content.values.shape == (13, 13)
    desk.store.set_following(True)
    assert action.isChecked() and desk.map.content.values.shape == (STEP + 1, STEP + 1)


def test_a_window_that_does_not_follow_starts_so(make_desk: MakeDesk, settings: Settings) -> None:
    settings["follow"] = False
    made = make_desk(STORY)
    made.window.workspaces.switch("generate")
    made.qtbot.waitUntil(lambda: made.store.player.decoded is not None, timeout=WAIT_MS)
    assert not made.window.commands["follow_player"].isChecked()
    go_to(made, STEP)
    assert made.map.content.values.shape == (13, 13)


def test_space_makes_the_map_grow(desk: Desk) -> None:
    sizes: list[int] = []
    desk.store.followed_changed.connect(lambda: sizes.append(len(desk.map.content.row_labels)))
    QTest.keyClick(desk.window, Qt.Key.Key_Space)
    assert desk.store.player.is_playing
    desk.qtbot.waitUntil(lambda: sizes[:2] == [14, 15], timeout=WAIT_MS)
    desk.store.play(Toggle())


def test_a_step_of_the_player_is_pinned_as_a(desk: Desk) -> None:
    desk.store.play(GoTo(STEP))
    desk.qtbot.waitUntil(lambda: desk.store.followed is not None, timeout=WAIT_MS)
    desk.qtbot.waitUntil(lambda: desk.store.shown_view.query == STEP, timeout=WAIT_MS)
    desk.window.panels["compare"].pinning.pin()
    pinned = desk.window.panels["compare"].pinning.pinned
    assert pinned is not None and pinned.experiment.n_queries == STEP + 1
    assert desk.said() == f"Pinned step {STEP + 1} of the generation as A."
    decoded = desk.store.player.decoded
    assert decoded is not None
    assert pinned.experiment.tokens == tuple(step.token for step in decoded.decoding.steps[: STEP + 1])
