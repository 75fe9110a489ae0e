"""The open claim: its verdict, its arithmetic, its cure, and buttons that set the program."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.claims.line import color_of
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.holds_chip import HoldsChip
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs
from attnviz.i18n import N_, _
from attnviz.study.claims.verdict import VERDICT_BY_ID
from attnviz.study.lessons.judging import Card, Judged


class Detail(QWidget):
    """Stands below the line of the open claim."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._judged: Judged | None = None
        self._theme: Theme | None = None
        self._verdict = QLabel()
        self._verdict.setObjectName("claim_verdict")
        self._verdict.setFont(ui_font(TEXT_PX))
        self._verdict.setWordWrap(True)
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
        column.setContentsMargins(2 * GRID, 0, 0, GRID)
        column.setSpacing(GRID // 2)
        column.addWidget(self._verdict)
        column.addWidget(self.text)
        column.addWidget(self.now, 0, Qt.AlignmentFlag.AlignLeft)
        column.addLayout(buttons)
        column.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def judged(self) -> Judged | None:
        """The open claim."""
        return self._judged

    def show_claim(self, judged: Judged, card: Card) -> None:
        """Show another claim in a language."""
        self._judged = judged
        row = VERDICT_BY_ID[judged.verdict]
        self._verdict.setText(f"{row.sign}  {_(row.title)}")
        self.text.set_body(paragraphs([*card.says, *([card.cure] if card.cure else [])]))
        self.mend.setVisible(bool(judged.step.cures))
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
