"""Tokens are text and nothing but text: markup, line feeds and marks that turn the reading direction."""

from __future__ import annotations

import html
import re
from typing import Any

from desk import Desk, MakeDesk, picture
from first_layer import stacked
from msgspec.structs import replace
from pointer import move
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QTextBrowser, QTextEdit, QToolTip, QWidget

from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Causal, ExplicitVectors, Heads, Memory, Padding, SeededVectors
from attnviz.model.spec.view import Cell, View

TOKENS = ("<s>", "<img src=x>", "&amp;", "a\nb", "\u202eabc", "%s{n}")


def hostile(tokens: tuple[str, ...] = TOKENS, **changes: Any) -> Document:
    n = len(tokens)
    fields: dict[str, Any] = {
        "tokens": tokens,
        "vectors": SeededVectors(n, 4, 1),
        "heads": Heads(2, 1, 2),
        "masks": (Padding((1,)),),
        "readout": "similarity",
    }
    view = View(query=1, locked=Cell("weights", 1, 1, 0))
    return Document(stacked(**{**fields, **changes}), view)


def plain(text: str) -> str:
    """The characters of a rich text that a person reads."""
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def visit(desk: Desk, look: Any) -> None:
    """Point at every token in every panel, and call `look` each time."""
    desk.settle_decoding()
    for dock in ("inspector", "matrices", "text", "next", "caches"):
        desk.bring(dock)
        QApplication.processEvents()
        look()
    for stage in ("weights", "x", "q", "attention_output", "probabilities"):
        if desk.store.trace is not None and stage in desk.store.trace.only.stages:
            desk.store.look(stage=stage)
            for row in range(desk.store.experiment.n_queries):
                desk.store.set_hover(Cell(stage, row, 0, 0))
                look()
    desk.store.set_hover(None)


def test_no_label_takes_a_token_for_markup(make_desk: MakeDesk) -> None:
    desk = make_desk(hostile())
    seen: set[str] = set()

    def look() -> None:
        for label in desk.window.findChildren(QLabel):
            text = label.text()
            if any(token in text for token in ("<s>", "<img", "&amp;", "%s{n}")):
                seen.add(label.objectName())
                assert label.textFormat() == Qt.TextFormat.PlainText, (label.objectName(), text)
            assert "\u202e" not in text and "a\nb" not in text, (label.objectName(), text)
        for widget in desk.window.findChildren(QWidget):
            for text in (widget.accessibleName(), widget.accessibleDescription()):
                assert "\u202e" not in text, (widget.objectName(), text)
            tip = widget.toolTip()
            assert "<img" not in tip and "<s>" not in tip, (widget.objectName(), tip)
            assert "\u202e" not in tip, (widget.objectName(), tip)
        for edit in (*desk.window.findChildren(QTextEdit), *desk.window.findChildren(QTextBrowser)):
            assert "<img" not in edit.toHtml() or "&lt;img" in edit.toHtml()

    desk.open_side()
    visit(desk, look)
    assert {"row_title", "plane_facts", "padded_tokens", "decode_where"} <= seen


def tool_tip(widget: QWidget, at: QPoint) -> str:
    """The tool tip at a point, as a person reads it."""
    move(widget, at, held=False)
    event = QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    text = QToolTip.text()
    QToolTip.hideText()
    return plain(text)


def test_tool_tips_show_the_token_itself(make_desk: MakeDesk) -> None:
    desk = make_desk(hostile())
    desk.settle_decoding()
    heat, chips = desk.find(HeatMap, "stage_map"), desk.find(TokenChips, "token_chips")
    assert "<img src=x>" in tool_tip(heat, heat.cell_center(1, 1).toPoint())
    assert "<s>" in tool_tip(heat, heat.cell_center(0, 0).toPoint())
    assert "a␊b" in tool_tip(heat, heat.cell_center(3, 0).toPoint())
    assert "⟨U+202E⟩abc" in tool_tip(heat, heat.cell_center(4, 0).toPoint())
    assert "<s>" in tool_tip(chips.viewport(), chips.chip_rect(0).center())
    desk.open_side()
    bars = desk.find(Bars, "row_bars")
    assert "<s>" in tool_tip(bars, bars.row_rect(0).center())


def test_an_unfinished_tag_is_painted_in_full_everywhere(make_desk: MakeDesk) -> None:
    """Had any panel taken the token for markup, it would be narrower than the same letters without it."""
    marked = make_desk(hostile(("<b>w</b>", "a", "b")))
    bare = make_desk(hostile(("w", "a", "b")))
    for desk in (marked, bare):
        desk.open_side()
        desk.bring("plane")
        desk.bring("vectors")
    for name in ("token_chips", "stage_map", "row_bars", "vectors_grid", "plane_plot"):
        one, other = (picture(desk.find(QWidget, name)) for desk in (marked, bare))
        assert one != other, name


def test_the_same_text_in_every_panel(make_desk: MakeDesk) -> None:
    desk = make_desk(hostile())
    desk.settle_decoding()
    desk.open_side()
    assert desk.find(QLabel, "row_title").text() == "ROW OF “<img src=x>”"
    assert "“⟨" not in desk.find(QLabel, "decode_where").text()
    desk.go("generate")
    desk.store.look(step=4)
    assert "⟨U+202E⟩abc" in desk.find(QLabel, "decode_where").text()
    desk.go("explore")
    assert "<img src=x>" in desk.find(QLabel, "padded_tokens").text()
    assert "q <img sr…" in desk.find(QLabel, "plane_facts").text()
    keys = desk.find(RowMatrix, "k_cache")
    assert "<s>" in tool_tip(keys, keys.cell_rect(0, 0).center().toPoint()) or keys.toolTip() == ""
    assert desk.map.content.row_labels == TOKENS


def test_a_title_is_text_too(make_desk: MakeDesk) -> None:
    document = hostile()
    desk = make_desk(replace(document, title="<b>bold</b> & %s"))
    assert desk.window.windowTitle() == "<b>bold</b> & %s — attnviz"
    turned = make_desk(replace(document, title="a\u202eb\x1b\nc"))
    assert turned.window.windowTitle() == "a⟨U+202E⟩b␛ c — attnviz"


def test_a_memory_of_markup(make_desk: MakeDesk) -> None:
    memory = Memory(("<table>", "<s>"), ExplicitVectors([[1, 0, 2, 0], [0, 1, 0, 2]]))
    desk = make_desk(hostile(memory=memory, masks=(), readout="none"))
    desk.settle_decoding()
    assert "<table>" in tool_tip(desk.map, desk.map.cell_center(0, 0).toPoint())
    for label in desk.window.findChildren(QLabel):
        assert "<table>" not in label.text() or label.textFormat() == Qt.TextFormat.PlainText


def test_nothing_of_a_token_is_lost_on_the_way_to_the_store(make_desk: MakeDesk) -> None:
    desk = make_desk(hostile(masks=(Causal(),)))
    chips = desk.find(TokenChips, "token_chips")
    QTest.mouseClick(chips.viewport(), Qt.MouseButton.LeftButton, pos=chips.chip_rect(0).center())
    QTest.keyClick(chips, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.experiment.tokens == ("<img src=x>", "<s>", "&amp;", "a\nb", "\u202eabc", "%s{n}")
