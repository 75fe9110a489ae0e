"""A small button for each query head, which switches it off and on."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QWidget

from attnviz.errors import Message
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.model.edit.edits import toggle_head

MOST_SWITCHES = 32
"""Heads with a button of their own; the dots above switch the others by a double click."""

COLUMNS = 8


class HeadSwitches(QWidget):
    """Buttons numbered like the heads; a pressed one is a head that is on. Hidden for a single head."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._buttons: list[QPushButton] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)
        self.setObjectName("head_switches")

    def refresh(self) -> None:
        """Show which heads of the document are on."""
        heads = self._store.attention.heads
        self.setVisible(heads.n_heads > 1 or bool(heads.off))
        while len(self._buttons) < min(heads.n_heads, MOST_SWITCHES):
            self._add(len(self._buttons))
        for head, button in enumerate(self._buttons):
            button.setVisible(head < heads.n_heads)
            is_off = head in heads.off
            button.setChecked(not is_off)
            font = button.font()
            font.setStrikeOut(is_off)
            button.setFont(font)

    def _add(self, head: int) -> None:
        button = says(
            Button(str(head + 1)),
            id=f"head_off_{head}",
            name=Message("Head {head} is on", head=head + 1),
            tip=Message("Switch head {head} off or on", head=head + 1),
        )
        button.setCheckable(True)
        button.setProperty("head", head)
        button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        button.clicked.connect(self._on_clicked)
        self._grid.addWidget(button, *divmod(head, COLUMNS))
        self._buttons.append(button)

    @Slot()
    def _on_clicked(self) -> None:
        self._store.edit_attention(toggle_head, self.sender().property("head"))
        self.refresh()
