"""The start page: shown over the document, searched, walked by keys; what it opens, and the way back."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk, color_in, count_color, picture
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QTabBar, QToolButton

import attnviz
from attnviz.checkpoints.presets import PRESETS, grouped_presets, load_preset
from attnviz.core.shades import head_color
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.palette.providers import all_entries
from attnviz.gui.start import start as start_module
from attnviz.gui.start.gallery import PresetCard
from attnviz.gui.start.page import EntryButton, StartPage
from attnviz.gui.start.pictures import ArcsPicture, Picture, Pictures, key_of, paint_arcs, picture_of
from attnviz.gui.start.recent import RecentRow, day_in_words
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.i18n import set_language
from attnviz.model.spec.view import Cell
from attnviz.study.lessons.table import LESSONS

TODAY = date(2026, 11, 23)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pictures."""
    monkeypatch.setattr(start_module, "picture_folder", lambda: tmp_path / "pictures")
    return tmp_path / "pictures"


@pytest.fixture
def begun(make_desk: MakeDesk) -> Desk:
    """A window under its start page, with a worker."""
    desk = make_desk("toy-attention", inline=False)
    desk.window.commands["start"].trigger()
    return desk


def page(desk: Desk) -> StartPage:
    found = desk.window.start_page.page
    assert found is not None
    return found


def card(desk: Desk, id_: str) -> PresetCard:
    return desk.find(PresetCard, f"card_{id_}")


def shown(desk: Desk) -> list[str]:
    return [one.preset.id for one in page(desk).gallery.shown]


def test_it_covers_the_panels_and_nothing_else(begun: Desk) -> None:
    window = begun.window
    assert page(begun).isVisible() and page(begun).hasFocus()
    assert page(begun).y() == window.top_bar.geometry().bottom() + 1
    assert page(begun).geometry().bottom() + 1 == window.statusBar().y()
    for width in (1500, 1300, 1100):  # each has another arrangement of the panels
        window.resize(width, 900)
        begun.qtbot.waitUntil(lambda: page(begun).width() == window.width(), timeout=WAIT_MS)
        begun.qtbot.wait(20)
        for x in range(40, width, 100):
            on_top = window.childAt(x, 450)
            assert on_top is page(begun) or page(begun).isAncestorOf(on_top), (width, x)


def test_every_group_is_named_and_a_chip_shows_all_of_it(begun: Desk) -> None:
    for group, presets in grouped_presets():
        chip = next(
            one for one in begun.window.findChildren(QToolButton, "group_chip") if one.text() == group
        )
        begun.click(chip)
        assert shown(begun) == [preset.id for preset in presets], group
    begun.click(begun.window.findChildren(QToolButton, "group_chip")[0])
    assert {preset.group for preset in PRESETS if preset.id in shown(begun)} == {
        g for g, _p in grouped_presets()
    }
    assert len(shown(begun)) < len(PRESETS), "the first rows of each"


def test_words_are_searched_in_names_sentences_and_both_languages(begun: Desk) -> None:
    set_language("zh_CN")
    try:
        for words, found in (
            ("RoPE dist", ["rope-pair"]),
            ("归纳", ["stories-induction", "induction-birth"]),
            ("nosuch", []),
        ):
            page(begun).search.setText(words)
            assert shown(begun) == found, words
    finally:
        set_language("en")
    QTest.keyClick(page(begun).search, Qt.Key.Key_Escape)
    assert not page(begun).search.text() and page(begun).isVisible()


def test_a_card_opens_its_preset_without_a_question_and_undo_returns(begun: Desk, answers: Answers) -> None:
    begun.store.describe("changed")
    before = begun.store.document
    begun.click(card(begun, "half-each"))
    assert begun.store.document == load_preset("half-each") and not page(begun).isVisible()
    assert answers.boxes == [] and begun.window.focusWidget().objectName() == "arcs"
    begun.store.undo()
    assert begun.store.document == before


def test_keys_search_walk_open_and_leave(begun: Desk) -> None:
    begun.press_key(Qt.Key.Key_Slash)
    assert page(begun).search.hasFocus() and page(begun).search.text() == ""
    QTest.keyClick(page(begun).search, Qt.Key.Key_Down)
    cards = page(begun).gallery.shown
    assert cards[0].hasFocus()
    begun.press_key(Qt.Key.Key_Right)
    assert cards[1].hasFocus()
    begun.press_key(Qt.Key.Key_Down)
    below = page(begun).gallery.shown.index(begun.window.focusWidget())
    assert below > 1 and cards[below].x() == cards[1].x()
    begun.press_key(Qt.Key.Key_Up)
    assert cards[1].hasFocus()
    begun.press_key(Qt.Key.Key_Escape)
    assert not page(begun).isVisible() and begun.store.document == load_preset("toy-attention")
    begun.press_key(Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert page(begun).isVisible()
    page(begun).gallery.focus_first()
    begun.press_key(Qt.Key.Key_Return)
    begun.qtbot.waitUntil(lambda: begun.store.document.title == PRESETS[0].title, timeout=WAIT_MS)


def test_tab_stays_on_the_page_and_stops_once_at_the_gallery(begun: Desk) -> None:
    seen = []
    for _stop in range(40):
        QTest.keyClick(begun.window.focusWidget() or page(begun), Qt.Key.Key_Tab)
        focus = begun.window.focusWidget()
        assert focus is not None and page(begun).isAncestorOf(focus)
        if focus in seen:
            break
        seen.append(focus)
    assert sum(isinstance(one, PresetCard) for one in seen) == 1
    assert isinstance(seen[0], EntryButton)


def test_space_still_plays(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode", inline=False)
    desk.settle_decoding()
    desk.window.commands["start"].trigger()
    desk.press_key(Qt.Key.Key_Space)
    assert desk.store.player.is_playing and not page(desk).isVisible()


def test_a_click_on_the_present_workspace_returns(begun: Desk) -> None:
    tabs = begun.find(QTabBar, "workspace_tabs")
    begun.click(tabs, tabs.tabRect(tabs.currentIndex()).center())
    assert not page(begun).isVisible()


def test_an_empty_document_is_ready_for_ones_own_text(begun: Desk) -> None:
    begun.click(begun.find(EntryButton, "entry_empty"))
    assert begun.store.experiment.tokens == ("write", "your", "own", "text", "here")
    assert not begun.store.is_modified and not page(begun).isVisible()
    begun.settle()
    focused = begun.window.focusWidget()
    assert focused is begun.find(DocumentText, "token_line")
    begun.qtbot.keyClicks(focused, "one two")
    assert begun.store.experiment.tokens == ("one", "two"), "typing replaces the words of the example"
    begun.settle()


def test_recent_documents_are_listed_with_their_days(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk("toy-attention", inline=False)
    file = attnviz.save(load_preset("dog-bites-man"), tmp_path / "dog <b>.json")
    os.utime(file, (0, 0))
    desk.window.settings.add_recent(tmp_path / "gone.json")
    desk.window.settings.add_recent(file)
    desk.window.commands["start"].trigger()
    rows = page(desk).recent.rows
    assert [row.accessibleName() for row in rows] == ["dog <b>.json", "gone.json"]
    desk.qtbot.waitUntil(lambda: not rows[1].isEnabled(), timeout=WAIT_MS)
    assert rows[0].day is not None and rows[0].day.year in (1969, 1970)
    desk.click(rows[0])
    desk.qtbot.waitUntil(lambda: desk.store.path == file, timeout=WAIT_MS)
    assert not page(desk).isVisible() and desk.window.findChildren(RecentRow)


DAYS = {
    TODAY: ("today", "今天"),
    TODAY - timedelta(days=3): ("Fri", "周五"),
    date(2026, 11, 2): ("2 Nov", "11 月 2 日"),
    date(2025, 1, 31): ("31 Jan 2025", "2025 年 1 月 31 日"),
}


@pytest.mark.parametrize("day", DAYS)
def test_a_day_is_said_as_people_do(day: date) -> None:
    for language, says in zip(("en", "zh_CN"), DAYS[day], strict=True):
        set_language(language)
        try:
            assert day_in_words(day, TODAY) == says
        finally:
            set_language("en")


def test_the_pictures_come_from_the_runs_and_stay_on_the_disk(begun: Desk, folder: Path) -> None:
    cards = page(begun).gallery.cards
    begun.qtbot.waitUntil(lambda: all(one.has_picture for one in cards), timeout=4 * WAIT_MS)
    assert len(list(folder.iterdir())) == len(PRESETS)
    one = card(begun, "toy-attention")
    weights = attnviz.run(load_preset("toy-attention"))["weights"][0]
    brightest = np.unravel_index(weights.argmax(), weights.shape)
    image, place = picture(one), one.picture_rect()
    step = place.width() / 4
    found = {}
    for row in range(4):
        for column in range(4):
            x, y = place.left() + (column + 0.5) * step, place.top() + (row + 0.5) * step
            found[row, column] = color_in(image, place.topLeft().__class__(x, y)).lightness()
    assert max(found, key=lambda at: found[at]) == brightest


def test_a_stored_picture_is_that_of_its_preset_or_none(tmp_path: Path) -> None:
    preset = next(one for one in PRESETS if one.id == "softmax-scores")
    pictures = Pictures(tmp_path / "a" / "b")
    assert pictures.stored(preset) is None
    made = pictures.made(preset, lambda: None)
    again = pictures.stored(preset)
    assert isinstance(again, Picture) and again.kind == made.kind == "sequential"
    np.testing.assert_array_equal(again.indices, made.indices)
    assert made.indices.shape == (1, 4), "one query over four keys"
    (file,) = (tmp_path / "a" / "b").iterdir()
    assert key_of(preset) in file.name
    for damage in (b"", b"nonsense", file.read_bytes()[:-3]):
        file.write_bytes(damage)
        assert pictures.stored(preset) is None
    assert picture_of(load_preset("long-sentence"), lambda: None).indices.shape == (128, 128)


def test_a_preset_that_opens_with_arcs_has_them_as_its_picture(tmp_path: Path) -> None:
    preset = next(one for one in PRESETS if one.id == "cross-attention")
    pictures = Pictures(tmp_path)
    made = pictures.made(preset, lambda: None)
    document = load_preset(preset.id)
    weights = attnviz.run(document.experiment)["weights"][document.view.head, document.view.query]
    assert isinstance(made, ArcsPicture) and not made.is_one and made.query == document.view.query
    np.testing.assert_allclose(made.numbers[:4, 5], weights)
    assert np.isfinite(made.numbers[:, 0]).sum() == 6, "six queries"
    again = pictures.stored(preset)
    assert isinstance(again, ArcsPicture)
    np.testing.assert_array_equal(again.numbers, made.numbers)
    assert (again.query, again.head, again.is_one) == (made.query, made.head, made.is_one)
    image = QImage(80, 80, QImage.Format.Format_ARGB32)
    image.fill(QColor(LIGHT.panel))
    painter = QPainter(image)
    paint_arcs(painter, QRectF(image.rect()), again, LIGHT)
    painter.end()
    assert count_color(image, head_color(made.head)) > 60
    assert count_color(image, LIGHT.query) >= 4 and count_color(image, LIGHT.key_mark) >= 4
    (file,) = tmp_path.iterdir()
    for damage in (b"", b"nonsense", file.read_bytes()[:-3]):
        file.write_bytes(damage)
        assert pictures.stored(preset) is None


def test_a_folder_that_cannot_be_written_costs_only_the_storing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    preset = PRESETS[-1]
    assert Pictures(tmp_path / "file" / "x").made(preset, lambda: None).indices.size


def test_the_check_and_the_first_run_decide_whether_it_opens_at_the_start(begun: Desk) -> None:
    settings = begun.window.settings
    assert settings.is_first_run() and not settings.is_first_run() and not settings["start"]
    begun.click(begun.find(QCheckBox, "start_check"))
    assert settings["start"]


def test_one_esc_too_many_does_not_leave_the_document(begun: Desk) -> None:
    begun.press_key(Qt.Key.Key_Escape)
    begun.window.store.look(locked=Cell("weights", 1, 0, 0))
    begun.press_key(Qt.Key.Key_Escape)
    begun.press_key(Qt.Key.Key_Escape)
    assert begun.window.store.document.view.locked is None and not page(begun).isVisible()
    begun.window._freed_at -= 2.0
    begun.press_key(Qt.Key.Key_Escape)
    assert page(begun).isVisible()


def test_enter_takes_the_filled_way_to_begin(begun: Desk) -> None:
    assert page(begun).hasFocus()
    begun.press_key(Qt.Key.Key_Return)
    assert not page(begun).isVisible() and begun.window.workspaces.present.id == "learn"


def test_ctrl_home_in_a_text_is_the_texts(begun: Desk) -> None:
    begun.press_key(Qt.Key.Key_Escape)
    line = begun.find(DocumentText, "token_line")
    line.setFocus()
    QTest.keyClick(line, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert not page(begun).isVisible() and line.cursorPosition() == 0


def test_its_keys_and_notes_follow_the_language(begun: Desk) -> None:
    hint = begun.find(QLabel, "status_hint")
    learn = next(entry for entry in begun.window.findChildren(EntryButton) if entry.entry.is_filled)
    assert learn.accessibleDescription() == f"0 of {len(LESSONS)} lessons finished"
    assert hint.text() == "Enter opens · / searches · Esc returns to the document"
    begun.window.commands["language"].trigger()
    assert hint.text() == "Enter 打开 · / 搜索 · Esc 返回文档"
    assert learn.accessibleDescription() == f"已学完 0 / {len(LESSONS)} 课"
    QTest.keyClick(page(begun), Qt.Key.Key_Escape)
    assert hint.text() == "空格播放 · 单击锁定单元格 · Esc 解锁"


def test_a_panel_that_a_person_chooses_is_not_left_under_the_page(begun: Desk) -> None:
    start = begun.window.start_page
    begun.go("explore")
    start.show()
    lines = {entry.key: entry for entry in all_entries(begun.window.surface)}
    lines["panel:cost"].run()
    begun.settle()
    assert not start.is_shown and begun.window.panels["cost"].is_seen
    start.show()
    begun.window.commands["enlarge"].trigger()
    assert not start.is_shown and begun.window.workspaces.enlarged
