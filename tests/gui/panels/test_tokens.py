"""The tokens' panel alone: how a text is guessed to be cut, what is lit, what is refused."""

from __future__ import annotations

from desk import count_color, picture
from first_layer import change
from panels import PanelBench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.tokens import MOST_TOKENS, TokensPanel
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import language
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.view import Cell


def make(qtbot: QtBot, preset: str) -> PanelBench[TokensPanel]:
    return PanelBench(qtbot, TokensPanel, preset, 300, 220)


def splitting(bench: PanelBench[TokensPanel]) -> str:
    return bench.find(Segmented, "splitting_segmented").value()


def line(bench: PanelBench[TokensPanel]) -> DocumentText:
    return bench.find(DocumentText, "token_line")


def test_the_cut_is_guessed_from_the_tokens(qtbot: QtBot) -> None:
    with language("zh_CN"):
        bench = make(qtbot, "xiaoshenyang")
    assert splitting(bench) == "character" and line(bench).text() == "小沈阳江西演唱会邀请了，"
    bench.store.edit(set_tokens, ("dog", "bites", "man"))
    assert splitting(bench) == "word" and line(bench).text() == "dog bites man"
    bench.store.edit(set_tokens, ("⟨E5⟩", "⟨B0⟩", "⟨8F⟩"))
    assert splitting(bench) == "byte" and line(bench).text() == "小"
    assert bench.find(DragNumber, "n_tokens_field").value() == 3


def type_text(bench: PanelBench[TokensPanel], text: str) -> tuple[str, ...]:
    line(bench).setText(text)
    line(bench).textEdited.emit(text)
    return bench.store.experiment.tokens


def test_chinese_without_spaces_is_cut_into_characters_until_the_user_chooses(qtbot: QtBot) -> None:
    bench = make(qtbot, "dog-bites-man")
    said: list[str] = []
    bench.panel.services.status.said.connect(said.append)
    assert type_text(bench, "猫坐在垫子上。") == tuple("猫坐在垫子上。") and splitting(bench) == "character"
    assert said == ["A text without spaces is split into characters; “split by” changes it."]
    assert type_text(bench, "猫 坐在 垫子 上") == ("猫", "坐在", "垫子", "上") and splitting(bench) == "word"
    assert type_text(bench, "attention 注意") == ("attention", "注意")
    assert type_text(bench, "狗咬人") == tuple("狗咬人")
    button = bench.find(Segmented, "splitting_segmented")
    button.changed.emit("word")
    button.set_value("word")
    assert type_text(bench, "狗咬了人") == ("狗咬了人",) and splitting(bench) == "word"
    bench.store.edit(set_tokens, ("a", "word"))
    assert type_text(bench, "人咬狗") == tuple("人咬狗") and len(said) == 3


def test_an_edit_elsewhere_does_not_touch_a_line_that_says_the_same(qtbot: QtBot) -> None:
    bench = make(qtbot, "dog-bites-man")
    line(bench).setText("dog   bites man ")
    change(bench.store, temperature=2.0)
    assert line(bench).text() == "dog   bites man "


def test_queries_and_keys_are_outlined_in_their_colours(qtbot: QtBot) -> None:
    bench = make(qtbot, "dog-bites-man")
    chips = bench.panel.chips

    def blue(color: str) -> list[bool]:
        image = picture(chips.viewport())
        return [count_color(image, color, chips.chip_rect(i)) > 30 for i in range(3)]

    bench.store.look(locked=None, query=0)
    bench.store.set_hover(Cell("q", 1, 0))
    assert blue(LIGHT.query)[1] and not blue(LIGHT.query)[2]
    bench.store.set_hover(Cell("k", 2, 0))
    assert blue(LIGHT.key) == [False, False, True]
    bench.store.set_hover(None)
    assert not any(blue(LIGHT.key))


def test_keys_of_a_memory_are_no_tokens_of_the_queries(qtbot: QtBot) -> None:
    bench = make(qtbot, "cross-attention")
    bench.store.set_hover(None)
    before = picture(bench.panel.chips.viewport())
    bench.store.set_hover(Cell("k", 1, 0))
    assert picture(bench.panel.chips.viewport()) == before


def test_a_click_chooses_the_query(qtbot: QtBot) -> None:
    bench = make(qtbot, "dog-bites-man")
    chips = bench.panel.chips
    QTest.mouseClick(chips.viewport(), Qt.MouseButton.LeftButton, pos=chips.chip_rect(2).center())
    assert bench.store.document.view.query == 2 and not bench.store.can_undo
    bench.store.look(query=0)
    assert chips.selected() == 0


def test_a_text_that_is_too_long_is_refused(qtbot: QtBot) -> None:
    bench = make(qtbot, "dog-bites-man")
    before = bench.store.document
    line(bench).setText("x " * (MOST_TOKENS + 1))
    line(bench).textEdited.emit(line(bench).text())
    assert bench.store.document == before
    too_many = f"tokens must have at most {MOST_TOKENS} tokens; got {MOST_TOKENS + 1:,} tokens."
    assert bench.refused == [too_many]
