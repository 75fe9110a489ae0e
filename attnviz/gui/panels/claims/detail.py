"""The open claim: its question, then its verdict, the numbers that decide it, and its documents."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.claims.own import SIGN_WIDTH, color_of
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.holds_chip import HoldsChip
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.study.claims.verdict import VERDICT_BY_ID
from attnviz.study.lessons.judging import Card, Judged


class Ask(QWidget):
    """The buttons of an answer; `answered` carries it."""

    answered = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        self.buttons: dict[bool, Button] = {}
        for answer, label in _ANSWERS.items():
            button = says(Button(), label, id=f"claim_say_{str(answer).lower()}", tip=_ANSWER_TIP)
            button.clicked.connect(partial(self.answered.emit, answer))
            row.addWidget(button)
            self.buttons[answer] = button
        row.addStretch(1)


_ANSWERS = {True: N_("True"), False: N_("False")}
_ANSWER_TIP = N_("Answer, then read the verdict and its numbers")


class Detail(QWidget):
    """Stands below the line of the open claim: the question, and after an answer its verdict."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._judged: Judged | None = None
        self._theme: Theme | None = None
        self.ask = Ask()
        self._verdict, self._said = QLabel(), QLabel()
        self._verdict.setObjectName("claim_verdict")
        self._said.setObjectName("claim_said")
        for label in (self._said, self._verdict):
            label.setFont(ui_font(TEXT_PX))
            label.setWordWrap(True)
        self.text = LinkedText("claim_text", TEXT_PX)
        self.now = HoldsChip("claim_now")
        self.now.hide()
        tip = N_("Open the document of this claim, at its stage")
        self.show_it = says(Button(), N_("Show"), id="claim_show", tip=tip)
        tip = N_("Open the document with the setting under which the claim holds")
        self.mend = says(Button(), N_("Make it true"), id="claim_mend", tip=tip)
        tip = N_("Return to the document that was open before")
        self.back = says(Button(), N_("Return"), id="claim_back", tip=tip)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID // 2)
        buttons.addWidget(self.show_it)
        buttons.addWidget(self.mend)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIGN_WIDTH + GRID, 0, 0, GRID)
        column.setSpacing(GRID // 2)
        for part in (self.ask, self._said, self._verdict, self.text):
            column.addWidget(part)
        column.addWidget(self.now, 0, Qt.AlignmentFlag.AlignLeft)
        column.addLayout(buttons)
        column.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def judged(self) -> Judged | None:
        """The open claim."""
        return self._judged

    @property
    def is_asking(self) -> bool:
        """True while the verdict is hidden."""
        return not self.ask.isHidden()

    def show_claim(self, judged: Judged, card: Card, said: bool | None, *, is_asked: bool) -> None:
        """Show another claim in a language, with the reader's answer; one that is asked hides its verdict."""
        self._judged = judged
        row = VERDICT_BY_ID[judged.verdict]
        self.ask.setVisible(is_asked)
        self._said.setVisible(said is not None)
        if said is not None:
            is_right = said == (judged.verdict == "right")
            sentence = (
                _("Your answer “{answer}” is right.") if is_right else _("Your answer “{answer}” is wrong.")
            )
            self._said.setText(sentence.format(answer=_(_ANSWERS[said])))
            set_tone("right" if is_right else "error", self._said)
        self._verdict.setText(f"{row.sign}  {_(row.title)}")
        self.text.set_body(paragraphs([*card.says, *([card.cure] if card.cure else [])]))
        for part in (self._verdict, self.text, self.show_it):
            part.setVisible(not is_asked)
        self.mend.setVisible(bool(judged.step.cures) and not is_asked)
        self._paint()

    def set_left(self, has_left: bool) -> None:
        """Offer the way back, if a claim was shown in the program."""
        self.back.setVisible(has_left)

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._paint()

    def _paint(self) -> None:
        if self._theme is not None and self._judged is not None:
            color = color_of(self._judged.verdict, self._theme)
            self._verdict.setStyleSheet(f"color: {color}; font-weight: 600")
