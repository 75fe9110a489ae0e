"""The first glance in the window: the first start, folding, writing a word, and the inspector beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.text import number
from attnviz.explain.value_sum import plane_note
from attnviz.gui.app import FirstFrame, fill, first_document
from attnviz.gui.look import look
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import MOTION_PROPERTY
from attnviz.gui.panels.glance.glance import STRIP_PX, GlancePanel
from attnviz.gui.panels.glance.opening import keep, opens, remember
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.pictures.value_sum import NOTE_PX, SumPlane
from attnviz.gui.window.window import Window
from attnviz.i18n import set_language
from attnviz.model.spec.view import Cell

WAIT_MS = 20_000
PANELS_OF_BEFORE = {"text", "stage", "next", "caches"}


def glance(desk: Desk) -> GlancePanel:
    panel = desk.window.panels["glance"]
    assert isinstance(panel, GlancePanel)
    return panel


def in_sight(desk: Desk) -> set[str]:
    docks = desk.window.docks
    return {id_ for id_, dock in docks.items() if not dock.visibleRegion().isEmpty() and not dock.isHidden()}


@pytest.fixture
def open_desk(make_desk: MakeDesk, settings: Settings) -> Desk:
    """A window whose user has not folded the first glance, in Generate."""
    remember(settings, is_folded=False)
    settings.set_workspace("generate")
    settings.is_first_run()
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(1280, 800)
    desk.settle()
    return desk


@pytest.fixture
def in_motion(qapp: QApplication) -> Iterator[None]:
    before = qapp.property(MOTION_PROPERTY)
    yield
    qapp.setProperty(MOTION_PROPERTY, before)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_first_start_of_all_shows_one_sentence_and_plays_once(
    qtbot: QtBot, qapp: QApplication, first_settings: Settings, language: str, in_motion: None
) -> None:
    first_settings["language"] = language
    look.apply(qapp, first_settings)
    window = Window(first_document(None), first_settings)
    desk = Desk(qtbot, window)
    try:
        window.resize(1280, 800)
        window.show()
        FirstFrame(window, lambda: fill(window, None))
        qtbot.waitUntil(lambda: "glance" in window.panels and glance(desk).motion.is_playing, timeout=WAIT_MS)
        assert window.workspaces.present.id == "generate" and in_sight(desk) == {"glance"}
        assert not window.start_page.is_shown
        assert window.store.document == load_preset("stories-name" if language == "en" else "stories-name-zh")
        assert not first_settings.is_first_run(), "a later start does not play"
        qtbot.waitUntil(lambda: not window.handlers.may_free, timeout=WAIT_MS)  # a job that Esc would cancel
        QTest.keyClick(window, Qt.Key.Key_Escape)
        assert window.start_page.is_shown
    finally:
        desk.leave()
        set_language("en")


@pytest.mark.parametrize("is_open", [True, False])
def test_a_document_that_shows_a_generated_token_is_found_as_it_was_left(
    make_desk: MakeDesk, settings: Settings, is_open: bool
) -> None:
    remember(settings, is_folded=False)
    settings.set_workspace("generate")
    settings.set_document("stories-name")
    keep(settings, is_open=is_open)
    document = load_preset("stories-name")
    n = document.experiment.n_queries
    desk = make_desk(replace(document, view=replace(document.view, step=n + 1)))
    assert desk.window.workspaces.is_opening == is_open
    other = load_preset("stories-en")
    desk.store.open(replace(other, view=replace(other.view, step=other.experiment.n_queries + 1)))
    assert not desk.window.workspaces.is_opening, "another one shows its panels"


def test_a_later_start_stands_at_the_end_of_the_way(open_desk: Desk) -> None:
    assert in_sight(open_desk) == {"glance"}
    assert not glance(open_desk).motion.is_playing and glance(open_desk).way.scrubber.part == 1.0


def test_the_sum_and_the_sentence_are_enlarged_alone(open_desk: Desk) -> None:
    desk, panel = open_desk, glance(open_desk)
    usual = panel.values.plane.height(), panel.sentence.arcs.height()
    desk.window.commands["enlarge"].trigger()
    desk.qtbot.waitUntil(lambda: panel.values.plane.height() > 2 * usual[0])
    assert panel.values.isVisible() and panel.way.isVisible() and not panel.sentence.isVisible()
    desk.press_key(Qt.Key.Key_Escape)
    desk.qtbot.waitUntil(lambda: (panel.values.plane.height(), panel.sentence.arcs.height()) == usual)
    desk.click(panel.sentence.enlarge)
    assert desk.window.workspaces.enlarged == "glance"
    desk.qtbot.waitUntil(lambda: panel.sentence.arcs.height() > 2 * usual[1])
    assert not panel.values.isVisible() and not panel.sentence.fold.isVisible()
    assert panel.sentence.enlarge.accessibleName() == "Restore the panel"
    desk.click(panel.sentence.enlarge)
    desk.qtbot.waitUntil(lambda: (panel.values.plane.height(), panel.sentence.arcs.height()) == usual)
    assert panel.sentence.fold.isVisible() and desk.window.workspaces.enlarged == ""


def test_it_folds_to_a_line_and_opens_again_by_one_click(open_desk: Desk, settings: Settings) -> None:
    desk = open_desk
    desk.find(Button, "glance_fold").click()
    desk.settle()
    desk.qtbot.waitUntil(lambda: PANELS_OF_BEFORE < in_sight(desk))
    assert glance(desk).height() <= STRIP_PX and not glance(desk).is_open
    assert not opens(settings, desk.store.document)
    desk.store.open(load_preset("toy-attention"))
    desk.settle()
    assert not desk.window.workspaces.is_opening, "as it was left"
    desk.find(Button, "glance_open").click()
    desk.settle()
    desk.qtbot.waitUntil(lambda: in_sight(desk) == {"glance"})
    assert opens(settings, desk.store.document) and glance(desk).is_open


def test_the_player_folds_it_and_the_next_document_opens_it(open_desk: Desk, settings: Settings) -> None:
    desk = open_desk
    desk.window.commands["step_forward"].trigger()
    desk.settle()
    desk.qtbot.waitUntil(lambda: "text" in in_sight(desk))
    assert not desk.window.workspaces.is_opening and not glance(desk).is_open
    desk.store.open(load_preset("toy-attention"))
    desk.settle()
    assert desk.window.workspaces.is_opening
    document = load_preset("stories-name")
    generated = document.looking(step=22)
    assert not opens(settings, generated) and opens(settings, document)


def test_write_it_generates_one_token_and_plays_its_sum(
    open_desk: Desk, qapp: QApplication, in_motion: None
) -> None:
    desk, panel = open_desk, glance(open_desk)
    write = desk.find(Button, "glance_write")
    desk.qtbot.waitUntil(write.isEnabled, timeout=WAIT_MS)
    qapp.setProperty(MOTION_PROPERTY, True)
    write.click()
    desk.qtbot.waitUntil(lambda: desk.store.followed is not None, timeout=WAIT_MS)
    content = panel.sentence.arcs.content
    assert content is not None and content.lines.keys[-1].strip() == "Lily" and content.query == 21
    assert panel.motion.is_playing
    desk.qtbot.waitUntil(lambda: panel.way.scrubber.part == 1.0, timeout=WAIT_MS)
    assert in_sight(desk) == {"glance"}, "a word that is written here folds nothing"
    followed = desk.store.followed
    assert followed is not None
    site = attnviz.run(followed.experiment).site("layers.2.self")
    result = np.linalg.norm(site["mixed"][2, 21].astype(float))
    assert panel.values.rows.texts()[-1][2] == number(float(result), 2)
    assert desk.store.experiment == load_preset("stories-name").experiment, "the document stays"


def test_a_number_opens_in_the_inspector_beside_the_picture(open_desk: Desk) -> None:
    desk = open_desk
    desk.click(glance(desk).values.plane)
    desk.settle()
    desk.qtbot.waitUntil(lambda: in_sight(desk) == {"glance", "inspector"})
    assert desk.store.document.view.locked == Cell("mixed", 20, 0, 2)
    assert glance(desk).width() > 800 and glance(desk).is_open


@pytest.mark.parametrize("place", ["scrubber", "arcs", "window"])
def test_space_plays_the_sum_and_not_the_generation(
    open_desk: Desk, qapp: QApplication, in_motion: None, place: str
) -> None:
    desk, panel = open_desk, glance(open_desk)
    desk.window.leave()
    assert panel.way.scrubber.hasFocus()
    if place != "scrubber":
        (panel.sentence.arcs if place == "arcs" else desk.window).setFocus()
    qapp.setProperty(MOTION_PROPERTY, True)
    desk.press_key(Qt.Key.Key_Space)
    assert panel.motion.is_playing and in_sight(desk) == {"glance"}
    assert not desk.store.player.is_playing and not desk.store.player.is_awaited
    desk.press_key(Qt.Key.Key_Space)
    assert not panel.motion.is_playing


def test_the_first_token_key_works_here(open_desk: Desk) -> None:
    before = glance(open_desk).sentence.first.value()
    open_desk.press_key(Qt.Key.Key_F)
    assert glance(open_desk).sentence.first.value() is not before


def test_the_inspector_shows_the_sum_before_a_click(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.store.look(locked=None)
    desk.settle()
    empty = desk.window.panels["inspector"]
    (plane,) = empty.findChildren(SumPlane)
    desk.qtbot.waitUntil(plane.isVisible)
    assert "99.98 %" in plane.accessibleDescription()
    drawing = plane.drawing
    assert drawing is not None and drawing.places.lens is None, "too narrow for a second picture inside"
    lines = QFontMetricsF(ui_font(NOTE_PX)).boundingRect(
        QRectF(0, 0, plane.width() - 20, 200), int(Qt.TextFlag.TextWordWrap), plane_note(drawing.sum)
    )
    assert lines.height() > 20 and drawing.top >= lines.height() + 5, "no arrow lies under its sentence"
    title = desk.find(QLabel, "tries_title")
    assert plane.mapTo(empty, plane.rect().bottomLeft()).y() < title.mapTo(empty, title.rect().topLeft()).y()
    desk.click(plane)
    assert desk.store.document.view.locked == Cell("mixed", 20, 0, 2)
