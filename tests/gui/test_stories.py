"""First sight of a new user: the shipped model, which generates when space is pressed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from player_hands import player
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.app import FirstFrame, fill, first_document
from attnviz.gui.services import documents
from attnviz.gui.services.documents import FIRST_PRESET, FIRST_SENTENCES, last_document, title_of
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.window.window import ESC_APART_S, Window
from attnviz.i18n import _, set_language
from attnviz.model.io.files import DocumentError, save
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.text import join_text

STORY = load_preset("stories-en")


@pytest.fixture(scope="module")
def expected() -> tuple[str, ...]:
    """The text that the model generates with the preset's seed."""
    return tuple(step.token for step in attnviz.decode(STORY).steps)


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(STORY)
    wait_for_decoding(made)
    return made


def wait_for_decoding(desk: Desk) -> None:
    desk.go("generate")
    desk.qtbot.waitUntil(lambda: desk.store.player.decoded is not None, timeout=WAIT_MS)
    desk.go("explore")


def test_space_makes_it_write(desk: Desk, expected: tuple[str, ...]) -> None:
    desk.press_key(Qt.Key.Key_Space)
    while player(desk).is_playing:  # as if watched for a minute
        player(desk).playback.tick()
    last = len(expected) - 1
    desk.qtbot.waitUntil(lambda: desk.store.document.view.step == last, timeout=WAIT_MS)
    decoded = desk.store.player.decoded
    assert decoded is not None and tuple(step.token for step in decoded.decoding.steps) == expected
    assert not desk.store.is_modified and not desk.store.can_undo  # looking changes nothing


@pytest.mark.parametrize(("language", "preset"), [("en", "stories-en"), ("zh_CN", "stories-zh")])
def test_new_begins_with_the_story_of_the_language(
    make_desk: MakeDesk, settings: Settings, language: str, preset: str
) -> None:
    settings["language"] = language
    desk = make_desk("toy-attention")
    try:
        desk.window.commands["new"].trigger()
        desk.settle()
        assert desk.store.document == load_preset(preset)
        assert not desk.store.is_modified and desk.said() == ""
    finally:
        set_language("en")


def opened(qtbot: QtBot, settings: Settings, first: Path | str | None = None) -> Window:
    """A window as the program opens it, with its worker."""
    window = Window(first_document(first), settings)
    window.show()
    FirstFrame(window, lambda: fill(window, first))
    qtbot.waitUntil(lambda: window.store.trace is not None, timeout=WAIT_MS)
    return window


@pytest.mark.parametrize(("language", "story"), list(FIRST_SENTENCES.items()))
def test_the_first_frame_names_what_is_opened_and_no_other_preset(
    make_desk: MakeDesk, settings: Settings, tmp_path: Path, language: str, story: str
) -> None:
    set_language(language)
    try:
        desk = Desk(None, Window(first_document(None), settings))  # type: ignore[arg-type]
        title = _(title_of(story))
        assert desk.window.windowTitle().startswith(title)
        desk.leave()
        desk = Desk(None, Window(first_document(tmp_path / "mine.json"), settings))  # type: ignore[arg-type]
        assert desk.window.windowTitle() == "attnviz"
        desk.leave()
    finally:
        set_language("en")


@pytest.mark.parametrize("preset", ["stories-name", "toy-attention"])
def test_a_window_begins_with_the_preset_that_is_named(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings, preset: str
) -> None:
    desk = Desk(qtbot, opened(qtbot, settings, preset))
    try:
        desk.settle()
        assert desk.store.document == load_preset(preset) and not desk.store.can_undo
        assert not desk.window.start_page.is_shown
        assert desk.window.windowTitle().startswith(title_of(preset))
    finally:
        desk.leave()


def test_a_fresh_start_shows_one_sentence(make_desk: MakeDesk, qtbot: QtBot, settings: Settings) -> None:
    window = opened(qtbot, settings)
    desk = Desk(qtbot, window)
    try:
        desk.settle()
        assert desk.store.document == load_preset("stories-name") and not desk.store.can_undo
        assert window.windowTitle() == "Who is she? — layer 3 of 4 — attnviz"
    finally:
        desk.leave()


@pytest.mark.parametrize("kind", ["preset", "file"])
@pytest.mark.parametrize("has_page", [False, True])
def test_the_next_start_shows_the_document_of_the_last_one_and_the_page_only_where_it_is_set(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings, tmp_path: Path, kind: str, has_page: bool
) -> None:
    settings.is_first_run()
    settings["start"] = has_page
    assert last_document(settings) is None
    first = make_desk("toy-attention")
    if kind == "file":
        save(first.store.document, tmp_path / "mine.json")
        first.window.documents.open(tmp_path / "mine.json")
        first.qtbot.waitUntil(lambda: first.store.path is not None, timeout=WAIT_MS)
    wanted = first.store.document
    first.close()
    shown = last_document(settings)
    assert shown == ("toy-attention" if kind == "preset" else tmp_path / "mine.json")
    window = Window(first_document(shown), settings)
    desk = Desk(qtbot, window)
    try:
        window.show()
        FirstFrame(window, lambda: fill(window, shown, is_reopened=True))
        qtbot.waitUntil(lambda: desk.store.document.experiment == wanted.experiment, timeout=WAIT_MS)
        assert desk.store.path == (None if kind == "preset" else shown)
        qtbot.waitUntil(lambda: window.start_page.is_shown == has_page, timeout=WAIT_MS)
    finally:
        desk.leave()


def test_escape_shows_the_start_page_where_nothing_is_left_to_unlock(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.store.look(locked=Cell("weights", 1, 0, 0))
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.store.document.view.locked is None and not desk.window.start_page.is_shown
    desk.press_key(Qt.Key.Key_Escape)
    assert not desk.window.start_page.is_shown, "one too many, right after it unlocked a cell"
    desk.window._freed_at -= ESC_APART_S
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.window.start_page.is_shown
    desk.press_key(Qt.Key.Key_Escape)
    assert not desk.window.start_page.is_shown


def test_a_document_that_is_gone_is_not_shown_again(settings: Settings, tmp_path: Path) -> None:
    for origin in ("", "no such preset", str(tmp_path / "gone.json"), str(tmp_path)):
        settings.set_document(origin)
        assert last_document(settings) is None


def test_a_model_that_cannot_be_read_leaves_a_window_that_works(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(preset_id: str) -> Document:
        if preset_id == FIRST_PRESET:
            return load_preset(preset_id)
        raise DocumentError("model.safetensors: it is damaged")

    monkeypatch.setattr(documents, "load_preset", broken)
    desk = Desk(qtbot, opened(qtbot, settings))
    try:
        desk.settle()
        assert desk.store.document == load_preset(FIRST_PRESET)
        assert desk.said() == "model.safetensors: it is damaged"
    finally:
        desk.leave()


def test_a_file_that_is_given_comes_instead_of_the_story(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings, tmp_path: Path
) -> None:
    file = attnviz.save(load_preset("toy-attention"), tmp_path / "mine.json")
    desk = Desk(qtbot, opened(qtbot, settings, file))
    try:
        qtbot.waitUntil(lambda: desk.store.path == file, timeout=WAIT_MS)
        desk.settle()
        assert desk.store.experiment == load_preset("toy-attention").experiment
    finally:
        desk.leave()


def test_a_file_that_is_opened_before_the_story_is_there_stays(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings, tmp_path: Path
) -> None:
    file = attnviz.save(load_preset("toy-attention"), tmp_path / "mine.json")
    window = Window(load_preset(FIRST_PRESET), settings)
    desk = Desk(qtbot, window)
    try:
        window.show()
        window.documents.open_first("stories-en", window.start)
        window.documents.open(file)
        qtbot.waitUntil(lambda: bool(window.panels) and desk.store.path == file, timeout=WAIT_MS)
        desk.settle()
        assert desk.store.experiment == load_preset("toy-attention").experiment
        desk.store.open(load_preset("dog-bites-man"))  # and nothing comes later
        desk.settle()
        assert desk.store.document == load_preset("dog-bites-man")
    finally:
        desk.leave()


def test_other_text_is_read_by_the_model_and_undone(desk: Desk) -> None:
    line = desk.find(DocumentText, "token_line")
    desk.click(line)
    line.selectAll()
    QTest.keyClicks(line, "Tom saw a fox")
    desk.settle()
    assert desk.store.experiment.tokens == ("<|begin|>", "Tom", " saw", " a", " fox")
    assert desk.find(TokenChips, "token_chips").tokens() == desk.store.experiment.tokens
    expected = attnviz.run(desk.store.experiment).site(STORY.view.site)["weights"][STORY.view.head]
    np.testing.assert_array_equal(desk.map.content.values, expected)
    desk.store.undo()
    assert desk.store.experiment == STORY.experiment
    assert join_text(STORY.experiment, STORY.experiment.tokens, "model") == line.text()


def test_it_is_saved_where_its_numbers_fit_and_opened_again(
    desk: Desk, tmp_path: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[str] = []
    answer = [str(tmp_path / "story.json")]

    def ask(window: object, title: str, start: str, *_rest: str) -> tuple[str, str]:
        offered.append(start)
        return answer[0], ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    desk.window.commands["save_as"].trigger()
    assert offered[-1].endswith(".safetensors") and list(tmp_path.glob("*.json")) == []
    said = desk.said()
    assert said.startswith("story.json: A .json document must have at most 16,384 numbers")
    assert answers.boxes == ["not_saved_box"] and said in answers.texts[0]
    answer[0] = str(tmp_path / "story")  # without a suffix, the one that fits
    desk.window.commands["save_as"].trigger()
    assert desk.store.path == tmp_path / "story.safetensors"
    assert attnviz.load(tmp_path / "story.safetensors").experiment == STORY.experiment


def test_it_is_drawn_into_a_file(tmp_path: Path) -> None:
    written = attnviz.render(STORY, tmp_path / "story.svg")
    text = written.read_text(encoding="utf-8")
    assert "␣Lily" in text and "⟨" not in text
