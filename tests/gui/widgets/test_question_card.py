"""The card of questions: one after the other, answered once, withdrawn when they are settled."""

from __future__ import annotations

from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from attnviz.errors import Message, verbatim
from attnviz.gui.look.theme import DARK
from attnviz.gui.widgets.question_card import Answer, Question, QuestionCard


def make(qtbot: QtBot) -> tuple[QuestionCard, list[str], QWidget]:
    window = QWidget()
    window.resize(900, 500)
    qtbot.addWidget(window)
    card = QuestionCard()
    column = QVBoxLayout(window)
    column.addWidget(card)
    column.addStretch()
    window.show()
    return card, [], window


def question(about: str, heard: list[str], text: str = "") -> Question:
    def answer(name: str) -> Answer:
        return Answer(name, name, lambda: heard.append(f"{about} {name}"))

    return Question(about, verbatim(text or about), (answer("yes"), answer("no")))


def shown(card: QuestionCard) -> str:
    (label,) = card.findChildren(QLabel)
    return label.text() if card.isVisible() else ""


def press(card: QuestionCard, name: str) -> None:
    QApplication.processEvents()
    (button,) = (one for one in card.findChildren(QPushButton, f"answer_{name}") if one.isVisible())
    button.click()


def test_questions_wait_for_their_turn_and_are_answered_once(qtbot: QtBot) -> None:
    card, heard, window = make(qtbot)
    assert shown(card) == ""
    card.ask(question("a", heard))
    card.ask(question("b", heard))
    assert shown(card) == "a"
    press(card, "no")
    assert (heard, shown(card)) == (["a no"], "b")
    press(card, "yes")
    assert (heard, shown(card)) == (["a no", "b yes"], "")


def test_a_question_about_the_same_takes_its_place_and_a_settled_one_goes(qtbot: QtBot) -> None:
    card, heard, window = make(qtbot)
    for about, text in (("a", "first"), ("b", ""), ("a", "second")):
        card.ask(question(about, heard, text))
    assert shown(card) == "second"
    card.withdraw("a")
    assert shown(card) == "b"
    card.withdraw("c")
    assert shown(card) == "b"
    card.withdraw("b")
    assert shown(card) == "" and heard == []


def test_an_answer_may_ask_the_next_question(qtbot: QtBot) -> None:
    card, heard, window = make(qtbot)
    again = Answer("yes", "yes", lambda: card.ask(question("next", heard)))
    card.ask(Question("a", Message("a"), (again,)))
    press(card, "yes")
    assert shown(card) == "next"


def test_it_is_painted_in_the_theme_and_shows_the_whole_sentence(qtbot: QtBot) -> None:
    card, heard, window = make(qtbot)
    card.ask(question("a", heard, "A sentence of many words. " * 12))
    card.apply_theme(DARK)
    (label,) = card.findChildren(QLabel)
    heights = []
    for width in (400, 1400):
        window.resize(width, 500)
        QApplication.processEvents()
        assert window.rect().contains(card.geometry())
        assert label.height() >= label.heightForWidth(label.width())
        heights.append(card.height())
        image = window.grab().toImage()
        colors = [image.pixelColor(card.x() + 3, y) for y in (card.y() + 3, card.geometry().bottom())]
        assert colors == [QColor(DARK.panel), QColor(DARK.accent)]
    assert heights[0] > heights[1]
