"""The column beside the pictures of a run: the words that it writes, and run B."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.training.versus import VersusCard
from attnviz.gui.panels.training.writes import WritesCard
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_

RIGHT_PX, BOTH_PX = 268, 640
"""Width of the column, and the height that has room for both cards."""
CARDS = (
    (
        "writes",
        N_("What it writes"),
        N_("Words that kept states write; a click on a row goes to its step"),
    ),
    ("versus", N_("A and B"), N_("Two runs on the same texts, with one difference")),
)
"""The cards: id, title, hint."""


class Beside(QWidget):
    """Both cards with their titles, or in a low window the chosen one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("training_beside")
        self.setFixedWidth(RIGHT_PX)
        self.writes, self.versus = WritesCard(), VersusCard()
        self.choice = says(Segmented(()), id="training_card", name=N_("Beside the pictures"), options=CARDS)
        self.choice.set_value(CARDS[0][0])
        self.choice.changed.connect(self._on_choice)
        column = in_column(self, self.choice, spacing=GRID)
        self._titles, self._is_high = list[QLabel](), True
        for (_id, title, hint), card in zip(CARDS, (self.writes, self.versus), strict=True):
            self._titles.append(says(QLabel(), title, tip=hint))
            set_tone("title", self._titles[-1])
            column.addWidget(self._titles[-1])
            column.addWidget(card)
        column.addStretch(1)

    def fit(self, height: int) -> None:
        """Show what a height has room for."""
        self._is_high = height >= BOTH_PX
        self._show()

    @Slot(str)
    def _on_choice(self, card: str) -> None:
        self._show()

    def _show(self) -> None:
        self.choice.setVisible(not self._is_high)
        cards = zip(CARDS, self._titles, (self.writes, self.versus), strict=True)
        for (id_, _title, _hint), title, card in cards:
            title.setVisible(self._is_high)
            card.setVisible(self._is_high or id_ == self.choice.value())
