"""The caption under the name: its words light and lock cells; it is hidden, brought back, and edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

import attnviz
from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.gui.widgets.caption import LINE, CaptionEditor, CaptionText
from attnviz.i18n import _, set_language
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.view import Cell


def caption(desk: Desk) -> CaptionText:
    return desk.find(CaptionText, "caption_text")


def at_word(desk: Desk, word: str) -> QPoint:
    """The middle of a word of the caption."""
    text = caption(desk)
    link = next(i for i, piece in enumerate(pieces(desk.store.document.caption)) if piece.text == word)
    return text.link_rects(link)[0].center().toPoint()


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
