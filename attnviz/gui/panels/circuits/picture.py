"""The pairs of a circuit as a list, and below it or beside it the arithmetic of one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from attnviz.gui.live.answer import Answer
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.circuits.arithmetic import explained
from attnviz.gui.panels.circuits.question import Question
from attnviz.gui.panels.circuits.rows import PairRows
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import N_
from attnviz.model.text import shown_token

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

BESIDE = 560
"""Width from which the arithmetic stands beside the list."""


class CircuitPicture(QWidget):
    """A click on a pair opens its arithmetic; the first is open at first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pairs: tuple[Pair, ...] | None = None
        self._kind = ""
        self.rows = says(PairRows(), name=N_("Pairs of tokens"))
        self.rows.clicked.connect(self._on_clicked)
        self.page = says(ExplanationPage(), id="circuit_arithmetic", name=N_("Arithmetic of the pair"))
        self._box = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(2 * GRID)
        self._box.addWidget(clear_scroll(self.rows, sideways=False), 3)
        self._box.addWidget(self.page, 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= BESIDE
        way = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if way != self._box.direction():
            self._box.setDirection(way)

    def show_answer(self, answer: Answer[Question, tuple[Pair, ...]]) -> None:
        """List other pairs."""
        if answer.result is self._pairs:
            return
        self._pairs = answer.result
        if answer.result is None or answer.of is None:
            self.rows.set_pairs(())
            self.page.forget()
            return
        self._kind, vocabulary = answer.of.kind, answer.of.subject.experiment.vocabulary
        self.rows.set_pairs(
            [
                replace(
                    pair,
                    first=shown_token(vocabulary, pair.first),
                    second=shown_token(vocabulary, pair.second),
                )
                for pair in answer.result
            ]
        )
        self._on_clicked(0)

    def retranslate(self) -> None:
        """Write the arithmetic again; the first pair is open."""
        self._on_clicked(0)

    @Slot(int)
    def _on_clicked(self, row: int) -> None:
        if row < len(self.rows.pairs):
            self.rows.set_chosen(row)
            self.page.set_explanation(explained(self.rows.pairs[row], self._kind, row))
