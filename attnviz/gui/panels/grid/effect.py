"""The line that asks for the effect of every head: the token whose logit counts, and what replaces a head."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.text import isolated
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_

TOKEN_WIDTH = 160
WAYS = (
    ("zero", N_("zero"), N_("The head adds nothing")),
    ("mean", N_("mean"), N_("The head adds its mean over the positions")),
)


class EffectLine(QWidget):
    """Emits when another token or another replacement is wanted, or the same ones again."""

    changed = Signal()
    again = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._of = says(QLabel(), N_("effect on the logit of"))
        self._by = says(QLabel(), N_("replaced by"))
        for label in (self._of, self._by):
            label.setFont(ui_font(TEXT_PX))
        self._token = says(
            DocumentLine(is_live=False),
            id="effect_token",
            name=N_("Token of the logit"),
            tip=N_("A token of the vocabulary; empty is the most probable next one"),
        )
        self._token.setClearButtonEnabled(True)
        self._token.setMaximumWidth(TOKEN_WIDTH)
        self._token.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._token.editingFinished.connect(self.changed)
        self._way = Segmented((), WAYS[0][0])
        says(self._way, id="effect_way", name=N_("Replacement of the head"), options=WAYS)
        self._way.changed.connect(self.changed)
        self._again = says(Button(), N_("Compute"), id="effect_again")
        self._again.clicked.connect(self.again)
        self._again.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for part in (self._of, self._token, self._by, self._way, self._again):
            row.addWidget(part)
        row.addStretch(1)
        set_tone("muted", self._of, self._by)

    @property
    def token(self) -> str:
        """The wanted token; empty for the most probable next one."""
        return self._token.text()

    @property
    def way(self) -> str:
        """The id of the replacement."""
        return self._way.value()

    def take(self, token: str, way: str) -> None:
        """Show the token and the replacement of another view."""
        if token != self.token:
            self._token.show_text(token)
        self._way.set_value(way)

    def show_likeliest(self, token: str) -> None:
        """Name the token, as it is shown, that counts while none is written."""
        self._token.setPlaceholderText(isolated(token))

    def offer_again(self, is_offered: bool) -> None:
        """Show the button that computes the effects again, or hide it."""
        self._again.setVisible(is_offered)
