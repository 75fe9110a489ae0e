"""The caption under the name: its words light and lock cells; it is hidden, brought back, and edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QToolButton, QWidget

import attnviz
from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.gui.forms.sentence import Pill, SentenceNumber
from attnviz.gui.widgets.caption import LINE, CaptionEditor, CaptionText
from attnviz.i18n import _, set_language
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.paths import putting
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.view import Cell
from attnviz.model.text import likely_splitting, split_text


def caption(desk: Desk) -> CaptionText:
    return desk.find(CaptionText, "caption_text")


def at_word(desk: Desk, word: str) -> QPoint:
    """The middle of a word of the caption."""
    text = caption(desk)
    link = next(i for i, piece in enumerate(pieces(desk.store.document.caption)) if piece.text == word)
    return text.link_rects(link)[0].center().toPoint()


def ink_of(text: CaptionText) -> QColor:
    """The colour of the first word, where it is painted most strongly."""
    image = text.grab(QRect(0, 0, 40, LINE)).toImage()
    colors = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    ground = image.pixelColor(image.width() - 1, 0)
    return max(colors, key=lambda color: abs(color.lightness() - ground.lightness()))


@pytest.fixture
def story(make_desk: MakeDesk) -> Desk:
    """`Who is she?`: she is token 20, Lily token 4."""
    return make_desk(load_preset("stories-name"))


def test_a_word_lights_its_row_and_another_its_column(story: Desk) -> None:
    assert caption(story).accessibleName() == plain_caption(story.store.document.caption)
    story.hover(caption(story), at_word(story, "she"))
    assert story.map.highlight.rows == {20} and not story.map.highlight.columns
    story.hover(caption(story), at_word(story, "Lily"))
    assert story.map.highlight.columns == {4} and not story.map.highlight.rows
    story.hover(caption(story), QPoint(2, LINE // 2))
    assert story.store.pointer.cell is None


def test_a_click_locks_the_query_with_its_greatest_weight_and_again_frees_it(story: Desk) -> None:
    story.click(caption(story), at_word(story, "she"))
    assert story.store.document.view.locked == Cell("weights", 20, 4, 2)
    story.click(caption(story), at_word(story, "Tom"))
    assert story.store.document.view.locked == Cell("weights", 20, 6, 2)
    story.click(caption(story), at_word(story, "Tom"))
    assert story.store.document.view.locked is None


def test_the_keys_go_from_word_to_word(story: Desk) -> None:
    text = caption(story)
    text.setFocus()
    QTest.keyClick(text, Qt.Key.Key_Right)
    QTest.keyClick(text, Qt.Key.Key_Right)
    assert story.map.highlight.columns == {4}
    QTest.keyClick(text, Qt.Key.Key_Return)
    assert story.store.document.view.locked == Cell("weights", 20, 4, 2)
    QTest.keyClick(text, Qt.Key.Key_Left)
    assert story.map.highlight.rows == {20}


def test_a_word_whose_token_is_gone_is_plain_until_it_comes_back(story: Desk) -> None:
    from attnviz.model.edit.edits import rename_token

    where = at_word(story, "she")
    story.store.edit(rename_token, 20, " it")
    assert caption(story).link_at(QPointF(where)) < 0
    story.store.undo()
    assert caption(story).link_at(QPointF(where)) >= 0


NOTE = "On the text before its edit · "


@pytest.mark.parametrize(
    ("preset", "word", "text"),
    [
        ("stories-name", "Lily", "Anna gave Ben a book and she"),
        ("stories-name-zh", "佳佳", "小红和小明去公园，她"),
    ],
)
def test_a_caption_of_another_text_says_so_and_its_links_come_back_with_undo(
    make_desk: MakeDesk, preset: str, word: str, text: str
) -> None:
    desk = make_desk(load_preset(preset))
    words, where = caption(desk).accessibleName(), QPointF(at_word(desk, word))
    desk.store.edit(lambda e: set_tokens(e, split_text(e, text, likely_splitting(e), keeps_ends=True)))
    assert caption(desk).accessibleName() == NOTE + words
    links = [i for i, piece in enumerate(pieces(desk.store.document.caption), 1) if piece.text == word]
    for rect in caption(desk).link_rects(links[0]):
        assert caption(desk).link_at(rect.center()) < 0
    locked = desk.store.document.view.locked
    desk.click(caption(desk), caption(desk).link_rects(links[0])[0].center().toPoint())
    assert desk.store.document.view.locked == locked
    assert ink_of(caption(desk)) == QColor(desk.theme.muted)
    desk.store.undo()
    assert caption(desk).accessibleName() == words and caption(desk).link_at(where) >= 0
    assert ink_of(caption(desk)) == QColor(desk.theme.ink)
    desk.store.redo()
    desk.store.describe(desk.store.document.caption + "!")  # written for the text that stands there now
    assert caption(desk).accessibleName() == words + "!"


def test_a_word_typed_by_the_captions_own_pill_is_no_other_text(story: Desk) -> None:
    words = caption(story).accessibleName()
    story.click(spoken(story, "he"))
    assert "she" not in story.store.experiment.tokens[-1]
    assert caption(story).accessibleName() == words


def test_it_is_dismissed_and_comes_back_and_stays_so(story: Desk, make_desk: MakeDesk) -> None:
    opener = story.find(QToolButton, "caption_button")
    assert caption(story).isVisible() and not opener.isVisible()
    story.click(story.find(QToolButton, "caption_close_button"))
    assert not caption(story).isVisible() and opener.isVisible()
    story.store.open(load_preset("sigmoid"))
    assert not caption(story).isVisible() and not story.window.settings["caption"]
    assert not make_desk("sigmoid").window.commands["caption"].isChecked()
    story.click(opener)
    assert caption(story).isVisible() and story.window.commands["caption"].isChecked()


def test_it_is_edited_saved_and_undone(story: Desk, tmp_path: Path) -> None:
    before = story.store.document
    story.click(story.find(QToolButton, "caption_edit_button"))
    editor = story.find(CaptionEditor, "caption_editor")
    assert editor.toPlainText() == before.caption
    editor.setPlainText("Look,\n[she] <b>and</b> [Lily](key)")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert story.store.document.caption == "Look, [she] <b>and</b> [Lily](key)"
    assert caption(story).accessibleName() == "Look, she <b>and</b> Lily" and story.store.is_modified
    path = attnviz.save(story.store.document, tmp_path / "a.safetensors")
    assert attnviz.load(path) == story.store.document
    story.store.undo()
    assert story.store.document == before and not story.store.is_modified
    QTest.mouseDClick(caption(story), Qt.MouseButton.LeftButton, pos=QPoint(4, LINE // 2))
    editor.setPlainText("nothing of this")
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert story.store.document == before and caption(story).isVisible()


def test_a_document_without_a_caption_offers_to_write_one(make_desk: MakeDesk) -> None:
    document = replace(load_preset("toy-attention"), caption="")
    desk = make_desk(document)
    assert not caption(desk).isVisible()
    opener = desk.find(QToolButton, "caption_button")
    assert opener.accessibleName() == "Write a caption"
    desk.click(opener)
    editor = desk.find(CaptionEditor, "caption_editor")
    assert editor.isVisible() and editor.hasFocus()
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert not editor.isVisible() and opener.isVisible() and desk.store.document == document
    desk.click(opener)
    desk.type_text(editor, "Four [one]s")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert desk.store.document.caption == "Four [one]s" and caption(desk).isVisible()


def test_a_long_caption_has_three_lines_and_the_rest_in_the_tooltip(make_desk: MakeDesk) -> None:
    words = "a caption without an end " * 40
    desk = make_desk(replace(load_preset("toy-attention"), caption=words))
    assert caption(desk).height() == 3 * LINE
    assert "without an end a caption" in caption(desk).toolTip()


def test_hidden_characters_and_markup_are_shown_as_they_are(make_desk: MakeDesk) -> None:
    desk = make_desk(replace(load_preset("toy-attention"), caption="<b>x</b> \u202e [one]"))
    assert caption(desk).accessibleName() == "<b>x</b> ⟨U+202E⟩ one"


def test_a_file_without_a_caption_has_none_and_one_with_it_keeps_it() -> None:
    document = load_preset("toy-attention")
    assert loads(dumps(document)) == document
    bare = dumps(replace(document, caption=""))
    assert "caption" not in bare and loads(bare).caption == ""


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_every_word_of_a_preset_that_is_a_link_finds_its_token(language: str) -> None:
    set_language(language)
    try:
        for preset in PRESETS:
            site = load_preset(preset.id).attention
            for piece in pieces(_(preset.description)):
                if piece.anchor is not None:
                    tokens = site.tokens if piece.anchor.axis == "query" else site.key_tokens
                    assert piece.anchor.position_in(tokens) is not None, (preset.id, piece)
    finally:
        set_language("en")


def test_a_new_document_shows_its_own_caption(story: Desk) -> None:
    story.window.documents.open_preset("dog-bites-man")
    story.qtbot.waitUntil(lambda: "order" in caption(story).accessibleName(), timeout=WAIT_MS)


CONTROLLED = (
    "At [she], it attends to [Lily](key); type [he](type he for she) instead, raise the "
    "[temperature](set temperature 1.0), drop the [causal](mask causal) mask, try [head 2](head 2) or "
    "[head 9](head 9)."
)


@pytest.fixture
def controlled(make_desk: MakeDesk) -> Desk:
    """`Who is she?`, with a control of each kind in its caption, and one that does not fit."""
    return make_desk(replace(load_preset("stories-name"), caption=CONTROLLED))


def spoken(desk: Desk, word: str) -> QWidget:
    """The control of a word."""
    index = next(i for i, piece in enumerate(pieces(CONTROLLED)) if piece.text == word)
    widget = caption(desk).control(index)
    assert widget is not None
    return widget


def test_the_words_of_controls_are_in_the_text_and_a_field_shows_its_number(controlled: Desk) -> None:
    assert caption(controlled).accessibleName() == plain_caption(CONTROLLED)
    field = spoken(controlled, "temperature")
    assert isinstance(field, SentenceNumber)
    assert (field.text(), field.accessibleName(), field.height()) == ("1.0", "temperature", 15 + 9)
    controlled.store.edit_attention(putting("temperature"), 2.25)
    assert field.text() == "2.25"


def test_a_pill_types_a_word_and_undo_takes_it_back_in_one_step(controlled: Desk) -> None:
    before, he = controlled.store.experiment, spoken(controlled, "he")
    assert isinstance(he, Pill) and not he.isChecked()
    controlled.click(he)
    assert controlled.store.experiment.tokens[-1] == " he" and he.isChecked()
    controlled.store.undo()
    assert controlled.store.experiment == before and not he.isChecked()


def test_a_control_at_the_end_of_a_line_is_there(story: Desk) -> None:
    text, ends = caption(story), set[int]()
    (he,) = (one for one in map(text.control, range(9)) if one is not None)
    for width in range(260, 700, 3):
        text.setFixedWidth(width)
        QApplication.processEvents()
        assert text.toolTip() == "", "nothing is cut"
        assert he.isVisible() and text.rect().contains(he.geometry()), width
        ends.add(he.y() // text.line)
    assert len(ends) > 1


def test_a_mask_and_a_head_are_pressed_and_one_that_does_not_fit_says_why(controlled: Desk) -> None:
    causal, second = spoken(controlled, "causal"), spoken(controlled, "head 2")
    assert isinstance(causal, Pill) and isinstance(second, Pill) and causal.isChecked()
    controlled.click(causal)
    assert not controlled.store.attention.masks and not causal.isChecked()
    controlled.click(second)
    assert controlled.store.document.view.head == 1 and second.isChecked()
    assert not spoken(controlled, "head 9").isEnabled()
    assert "from 1 to 4" in spoken(controlled, "head 9").toolTip()


@pytest.mark.parametrize("way", [QPoint(0, -1), QPoint(1, 0)], ids=["up", "right"])
def test_a_drag_of_a_number_is_one_entry_of_the_history(controlled: Desk, way: QPoint) -> None:
    field, store = spoken(controlled, "temperature"), controlled.store
    middle = field.rect().center()
    QTest.mousePress(field, Qt.MouseButton.LeftButton, pos=middle)
    for step in range(1, 30):
        QTest.mouseMove(field, middle + step * way)
        assert spoken(controlled, "temperature") is field
    QTest.mouseRelease(field, Qt.MouseButton.LeftButton, pos=middle + 29 * way)
    assert store.attention.temperature == pytest.approx(1.02**29, rel=1e-3)  # as in Mechanism
    store.undo()
    assert store.attention.temperature == 1.0 and not store.can_undo


def test_a_number_is_wheeled_and_typed_and_the_keys_change_it(controlled: Desk) -> None:
    field, store = spoken(controlled, "temperature"), controlled.store
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert store.attention.temperature == pytest.approx(1.02)
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert store.attention.temperature == pytest.approx(1.0)
    QTest.keyClick(field, Qt.Key.Key_Return)
    editor = field.findChild(QLineEdit)
    assert editor is not None
    controlled.type_text(editor, "3")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert store.attention.temperature == 3 and field.text() == "3.0"  # type: ignore[attr-defined]


def test_tab_walks_words_and_controls_as_they_are_read_and_enter_presses(controlled: Desk) -> None:
    text, walked = caption(controlled), []
    text.setFocus(Qt.FocusReason.TabFocusReason)
    for _step in range(6):
        focus = QApplication.focusWidget()
        assert focus is not None
        at = controlled.store.pointer.cell
        walked.append((at.stage, at.row) if at is not None and focus is text else focus.accessibleName())
        QTest.keyClick(focus, Qt.Key.Key_Tab)
    assert walked == [("q", 20), ("k", 4), "he", "temperature", "causal", "head 2"]
    left = QApplication.focusWidget()
    assert left is not None and left is not text and not text.isAncestorOf(left)
    spoken(controlled, "he").setFocus()
    QTest.keyClick(spoken(controlled, "he"), Qt.Key.Key_Return)
    assert controlled.store.experiment.tokens[-1] == " he"
    QTest.keyClick(spoken(controlled, "he"), Qt.Key.Key_Backtab)
    assert text.hasFocus() and controlled.store.pointer.cell == Cell("k", 4, 0, 1)  # of two key heads


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("[x](mask shadow)", "mask must be one of 'causal', 'prefix'"),
        (
            "[T = 4](temperature 4)",
            "The link of 'T = 4' must be query, key or one of the controls set, type, mask, head; "
            "got 'temperature 4'.",
        ),
    ],
)
def test_a_wrong_control_is_said_and_its_text_stays_to_be_mended(
    controlled: Desk, written: str, says: str
) -> None:
    before = controlled.store.document
    controlled.click(controlled.find(QToolButton, "caption_edit_button"))
    editor = controlled.find(CaptionEditor, "caption_editor")
    editor.setPlainText(written)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert controlled.store.document == before and says in controlled.said()
    assert editor.isVisible() and editor.toPlainText() == written
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert caption(controlled).isVisible() and not editor.isVisible()


def test_a_control_past_the_third_line_is_hidden(make_desk: MakeDesk) -> None:
    words = "a caption without an end " * 20
    desk = make_desk(
        replace(load_preset("toy-attention"), caption=f"[one](type) {words}[causal](mask causal)")
    )
    first, last = (caption(desk).control(index) for index in (0, 2))
    assert first is not None and first.isVisible()
    assert last is not None and not last.isVisible() and "causal" in caption(desk).toolTip()


@pytest.mark.parametrize("is_right", [True, False])
def test_a_document_is_saved_with_the_caption_that_is_being_written_or_not_at_all(
    make_desk: MakeDesk, tmp_path: Path, is_right: bool
) -> None:
    path = tmp_path / "toy.json"
    path.write_text(dumps(replace(load_preset("toy-attention"), caption="Nothing yet.")))
    story = make_desk("toy-attention")
    story.window.open_file(path)
    story.qtbot.waitUntil(lambda: story.store.path == path, timeout=WAIT_MS)
    story.settle()
    story.find(QToolButton, "caption_edit_button").click()
    editor = story.find(CaptionEditor, "caption_editor")
    words = "At [dog] it is new." if is_right else "[x](mask shadow)"
    editor.setPlainText(words)
    before = path.read_bytes()
    story.window.commands["save"].trigger()
    story.settle()
    if is_right:
        assert loads(path.read_bytes()).caption == words
    else:
        assert path.read_bytes() == before and editor.isVisible() and editor.toPlainText() == words
        assert "caption" in story.said()
