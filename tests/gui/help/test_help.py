"""Every panel, stage and control has one sentence of help, in both languages; the card shows it."""

from __future__ import annotations

import re

import pytest
from desk import Answers, Desk, MakeDesk
from PySide6.QtCore import QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QCursor, QDesktopServices
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QMessageBox,
    QSlider,
    QTabBar,
    QToolButton,
    QWidget,
)

from attnviz.explain.formulas.stages import stage_formula
from attnviz.gui.context.target import Target
from attnviz.gui.help.help import SOURCES, HelpCard, help_at, help_of, stage_help
from attnviz.gui.help.texts import CONTROL_HELP, STAGE_HELP, Help
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.window.focus import CONTROLS
from attnviz.i18n import LANGUAGES, in_every_language
from attnviz.model.stages import STAGES

TEXTS = (
    *(Help(row.help, row.cites) for row in PANELS),
    *STAGE_HELP.values(),
    *CONTROL_HELP.values(),
    *(Help(row.made_by.help, row.made_by.cites) for row in STAGES if row.id not in STAGE_HELP),
)


def card(desk: Desk) -> HelpCard:
    return desk.find(HelpCard, "help_card")


def point_at(monkeypatch: pytest.MonkeyPatch, widget: QWidget, at: QPointF | QPoint) -> None:
    place = widget.mapToGlobal(QPointF(at).toPoint())
    monkeypatch.setattr(QCursor, "pos", staticmethod(lambda: place))


def test_every_stage_has_a_sentence() -> None:
    assert set(STAGE_HELP) <= {stage.id for stage in STAGES}
    for stage in STAGES:
        assert stage_help(stage.id).sentence


def test_every_sentence_is_one_and_has_a_translation_and_its_source() -> None:
    for help_ in TEXTS:
        assert help_.sentence.endswith(".") and len(help_.sentence) < 110
        english, chinese = in_every_language(help_.sentence)
        assert english != chinese and re.search(r"[\u4e00-\u9fff]", chinese)
        assert help_.source == "" or help_.source in SOURCES
    assert {help_.source for help_ in TEXTS} - {""} == set(SOURCES)
    assert all(source.url.startswith("https://") for source in SOURCES.values())


@pytest.mark.parametrize("language", [language.code for language in LANGUAGES])
def test_every_enabled_control_has_help(make_desk: MakeDesk, settings: Settings, language: str) -> None:
    settings["language"] = language
    desk = make_desk()
    without, n_seen = [], 0
    for dock in (None, *desk.window.findChildren(QDockWidget)):
        if dock is not None:
            dock.show()
            dock.raise_()
            QApplication.processEvents()
        for widget in desk.window.findChildren(QWidget):
            if not (widget.isVisible() and widget.isEnabled() and _is_control(widget)):
                continue
            n_seen += 1
            shown = help_at(desk.window.surface, widget, QPointF(widget.rect().center()))
            if not widget.toolTip() and (shown is None or not shown.sentence):
                without.append(f"{type(widget).__name__} {widget.objectName()}")
    assert not without and n_seen > 100


def _is_control(widget: QWidget) -> bool:
    is_of_tabs = isinstance(widget, QToolButton) and isinstance(widget.parent(), QTabBar)
    return isinstance(widget, (*CONTROLS, DragNumber, QSlider, QLineEdit, DocumentText)) and not is_of_tabs


@pytest.mark.reads
def test_the_key_explains_the_stage_under_the_pointer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    point_at(monkeypatch, desk.map, desk.map.cell_center(2, 1))
    desk.map.setFocus()
    desk.press_key(Qt.Key.Key_Question)
    shown = card(desk)
    assert shown.isVisible() and shown.title.text() == "weights"
    assert shown.sentence.text() == STAGE_HELP["weights"].sentence
    assert shown.formula.text() == stage_formula(desk.store.attention, "weights")
    assert desk.window.rect().contains(shown.geometry())
    desk.press_key(Qt.Key.Key_Escape)
    assert not shown.isVisible() and desk.map.hasFocus()


def test_a_click_elsewhere_closes_the_card(desk: Desk) -> None:
    desk.window.handlers.what_is_this.explain(Target(stage="scores"))
    assert card(desk).isVisible()
    desk.click(desk.map)
    assert not card(desk).isVisible()


@pytest.mark.reads
def test_a_control_explains_itself(desk: Desk) -> None:
    line = desk.find(DocumentText, "token_line")
    shown = help_at(desk.window.surface, line, QPointF(2, 2))
    assert shown is not None and shown.sentence == CONTROL_HELP["token_line"].sentence
    assert CONTROL_HELP["token_line"].sentence in line.toolTip()


def test_a_question_mark_is_typed_into_text(desk: Desk) -> None:
    line = desk.find(DocumentText, "token_line")
    line.setFocus()
    desk.type_text(line, "?")
    assert (
        "?" in "".join(desk.store.experiment.tokens) and not desk.window.findChildren(HelpCard)[0].isVisible()
    )


@pytest.mark.reads
def test_a_source_opens_only_after_a_question(
    desk: Desk, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", staticmethod(lambda url: opened.append(QUrl(url).toString()))
    )
    desk.window.handlers.what_is_this.explain(Target(stage="q_rotated"))
    card(desk).link.click()
    assert answers.boxes == ["source_box"] and opened == []
    assert SOURCES["rope"].url in answers.texts[0]
    answers.button = QMessageBox.StandardButton.Open
    card(desk).link.click()
    assert opened == [SOURCES["rope"].url]


@pytest.mark.reads
def test_every_target_of_a_menu_has_a_card(desk: Desk) -> None:
    targets = [Target(panel=row.id) for row in PANELS] + [Target(stage=s) for s in desk.store.site.stages]
    for target in (*targets, Target(head=1), Target(token=0)):
        shown = help_of(desk.window.surface, target)
        assert shown is not None and shown.title and shown.sentence


def test_a_card_does_not_stay_open_in_another_language(desk: Desk) -> None:
    desk.window.handlers.what_is_this.explain(Target(panel="tokens"))
    assert card(desk).isVisible()
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert card(desk).isVisible()
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert not card(desk).isVisible()
