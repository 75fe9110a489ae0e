"""One panel as large as the window, the scale of the interface, presets by keys."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.gui.look import scale
from attnviz.gui.panels.table import PANEL_BY_ID, PANELS
from attnviz.gui.settings import SCALES, Settings
from attnviz.model.captions import pieces

CONTROL = Qt.KeyboardModifier.ControlModifier


def shown(desk: Desk) -> set[str]:
    """The panels that have a place in the window."""
    return {id_ for id_, dock in desk.window.docks.items() if not dock.isHidden()}


def test_a_panel_takes_the_whole_window_and_gives_it_back(desk: Desk) -> None:
    desk.window.workspaces.reset()  # the arrangement of this size: the window had another one while hidden
    desk.qtbot.wait(200)
    before = shown(desk)
    width = desk.map.width()
    desk.map.setFocus()
    desk.press_key(Qt.Key.Key_Return, CONTROL)
    QApplication.processEvents()
    assert shown(desk) == {"stage"} and not desk.window.top_bar.isVisible()
    assert desk.window.docks["stage"].width() > 0.95 * desk.window.width()
    assert desk.map.width() > width and desk.map.hasFocus()
    desk.press_key(Qt.Key.Key_Escape)
    QApplication.processEvents()
    assert shown(desk) == before and desk.window.top_bar.isVisible()
    desk.qtbot.waitUntil(lambda: abs(desk.map.width() - width) < 4)


def test_every_panel_can_be_enlarged(desk: Desk) -> None:
    for panel, place in ((row.id, row.place) for row in PANELS):
        desk.window.presentation.toggle(panel)
        QApplication.processEvents()
        assert shown(desk) == {place} and desk.window.panels[panel].is_seen, panel
        desk.window.workspaces.give_back()
        QApplication.processEvents()
        has_content = PANEL_BY_ID[place].has_content(desk.store.experiment)
        is_alone = desk.window.workspaces.present.panels == {place}
        assert desk.window.workspaces.enlarged == "" and (len(shown(desk)) > 1) != is_alone, panel
        assert (place in shown(desk)) == has_content, panel


def test_a_double_click_on_a_title_enlarges(desk: Desk) -> None:
    dock = desk.window.docks["tokens"]
    QTest.mouseDClick(dock.titleBarWidget(), Qt.MouseButton.LeftButton, pos=QPoint(40, 12))
    assert desk.window.workspaces.enlarged == "tokens" and not dock.isFloating()
    QTest.mouseDClick(dock.titleBarWidget(), Qt.MouseButton.LeftButton, pos=QPoint(40, 12))
    assert desk.window.workspaces.enlarged == ""


def test_shortcuts_work_while_a_panel_is_enlarged(desk: Desk) -> None:
    desk.settle_decoding()
    desk.map.setFocus()
    desk.press_key(Qt.Key.Key_Return, CONTROL)
    desk.press_key(Qt.Key.Key_Space)
    assert desk.store.player.is_playing and shown(desk) == {"stage"}
    desk.press_key(Qt.Key.Key_D, CONTROL)
    assert desk.theme.is_dark


def test_another_workspace_ends_the_enlargement_and_stores_nothing(desk: Desk) -> None:
    before = shown(desk)
    desk.map.setFocus()
    desk.press_key(Qt.Key.Key_Return, CONTROL)
    desk.press_key(Qt.Key.Key_3, CONTROL)
    assert desk.window.workspaces.enlarged == "" and desk.window.top_bar.isVisible()
    desk.press_key(Qt.Key.Key_2, CONTROL)
    assert shown(desk) == before


def test_keys_step_through_the_presets_and_a_remote_while_one_panel_is_enlarged(desk: Desk) -> None:
    titles = [preset.title for preset in PRESETS]
    place = titles.index(desk.store.document.title)
    desk.press_key(Qt.Key.Key_PageDown, CONTROL)
    desk.settle()
    assert desk.store.document.title == titles[place + 1]
    desk.press_key(Qt.Key.Key_PageUp, CONTROL)
    desk.settle()
    assert desk.store.document.title == titles[place]
    desk.map.setFocus()
    desk.press_key(Qt.Key.Key_Return, CONTROL)
    desk.store.look(locked=None)
    words = sum(piece.anchor is not None for piece in pieces(desk.store.document.caption))
    assert words > 0
    for _word in range(words):
        desk.press_key(Qt.Key.Key_PageDown)
        assert desk.store.document.title == titles[place], "each word of the caption is a step"
        assert desk.store.document.view.locked is not None
    desk.press_key(Qt.Key.Key_PageDown)
    desk.settle()
    assert desk.store.document.title == titles[place + 1] and shown(desk) == {"stage"}


@pytest.fixture
def scaled_back() -> Iterator[None]:
    """Other tests see the original scale."""
    yield
    change = scale._changer()
    assert change is not None
    with scale._without_warning():
        change(1.0)


@pytest.mark.usefixtures("scaled_back")
def test_the_interface_grows_and_shrinks_at_once(
    make_desk: MakeDesk, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.gui.window.presentation.largest_scale", lambda window, percent: 200)
    desk = make_desk()
    desk.window.setMinimumSize(QSize(100, 100))
    pixels = desk.window.width()
    for key, wanted in ((Qt.Key.Key_Plus, 110), (Qt.Key.Key_Plus, 125), (Qt.Key.Key_Minus, 110)):
        desk.press_key(key, CONTROL)
        QApplication.processEvents()
        assert settings["scale"] == wanted
        assert desk.window.devicePixelRatio() == pytest.approx(wanted / 100)
        assert abs(desk.window.width() * wanted / 100 - pixels) <= 2
        assert desk.window.isVisible()
    desk.press_key(Qt.Key.Key_0, CONTROL)
    assert settings["scale"] == 100 and desk.window.devicePixelRatio() == 1


@pytest.mark.usefixtures("scaled_back")
@pytest.mark.parametrize("scaled", [100, 125])
def test_the_window_returns_from_the_full_screen_to_its_pixels(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, scaled: int
) -> None:
    monkeypatch.setattr("attnviz.gui.window.presentation.rescale", lambda windows, before, percent: True)
    monkeypatch.setattr("attnviz.gui.window.presentation.largest_scale", lambda window, percent: 200)
    window = desk.window
    window.resize(1600, 1000)
    size, at = window.size(), window.pos()
    window.presentation.show_full_screen(True)
    assert window.isFullScreen()
    window.presentation.scale_to(scaled)
    window.presentation.show_full_screen(False)
    ratio = 100 / scaled
    assert not window.isFullScreen()
    assert window.size() == size * ratio and window.pos() == at * ratio


def test_the_scale_stops_where_the_window_would_leave_the_screen(desk: Desk, settings: Settings) -> None:
    room, least = desk.window.screen().availableSize(), desk.window.minimumSize()
    for _step in SCALES:
        desk.window.presentation.scale_by(1)
    largest = settings["scale"]
    most = min(room.width() / least.width(), room.height() / least.height())
    assert largest == max(100, *(scale for scale in SCALES if scale <= 100 * most))
    assert "%" in desk.said()


def test_the_stored_scale_is_that_of_the_next_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_SCALE_FACTOR", "1")
    settings["scale"] = 150
    scale.prepare(settings)
    assert float(os.environ["QT_SCALE_FACTOR"]) == 1.5


@pytest.mark.parametrize(
    ("width", "chosen", "wanted"),
    [(2559, None, 100), (2560, None, 125), (3840, None, 125), (2560, 100, 100), (2560, 175, 175)],
)
def test_a_wide_screen_begins_at_125_percent_unless_a_scale_was_chosen(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, width: int, chosen: int | None, wanted: int
) -> None:
    changed: list[float] = []
    monkeypatch.setattr(scale, "_changer", lambda: changed.append)
    if chosen is not None:
        settings["scale"] = chosen
    scale.adapt(settings, width)
    assert settings["scale"] == wanted
    assert changed == ([1.25] if wanted == 125 else [])
    assert settings.is_chosen("scale") == (chosen is not None), "the next screen may be another one"


def test_another_theme_chooses_no_scale(desk: Desk, settings: Settings) -> None:
    desk.window.commands["dark"].trigger()
    assert not settings.is_chosen("scale")


def test_space_plays_the_story_in_the_enlarged_map_which_grows(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-en"))
    n_given = desk.store.experiment.n_queries
    desk.window.presentation.toggle("stage")
    QApplication.processEvents()
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: desk.store.followed is not None, timeout=2 * WAIT_MS)
    assert len(desk.map.content.row_labels) > n_given
    desk.window.workspaces.give_back()
    QApplication.processEvents()
    assert not desk.store.player.viewers and desk.store.followed is None
