"""One sample: its seed as a button, and its text, shaded by the probability of each token."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QToolButton, QWidget

from attnviz.compute.draws import Draw
from attnviz.core.text import number
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.decoding.names import Names
from attnviz.gui.panels.decoding.story.text import Chip, StoryText
from attnviz.gui.widgets.boxes import in_row
from attnviz.i18n import _

SEED_WIDTH = 64


class DrawRow(QWidget):
    """`taken` carries the seed whose button or text was clicked."""

    taken = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._seed = 0
        self.button, self.text = QToolButton(), StoryText()
        self.button.setCheckable(True)
        self.button.setProperty("framed", "true")
        self.button.setFixedWidth(SEED_WIDTH)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.clicked.connect(self._on_taken)
        self.text.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the button is the Tab stop of the row
        self.text.set_shows_rest(True)
        self.text.set_text_px(TEXT_PX)
        self.text.chosen.connect(self._on_taken)
        row = in_row(self, spacing=GRID)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1, Qt.AlignmentFlag.AlignTop)

    def show_draw(self, draw: Draw, names: Names, *, is_present: bool) -> None:
        """Show a sample; `is_present` marks that of the document."""
        self._seed = draw.seed
        chips = [Chip(names.written(token), ends_line=token.endswith("\n")) for token in draw.tokens]
        self.text.set_chips(chips, are_joined=names.are_joined, describe=_describer(draw, names))
        self.text.set_current(len(chips))
        self.text.set_shades(_shade(draw), "accent")
        self.button.setText(_("seed {seed}").format(seed=draw.seed))
        self.button.setChecked(is_present)
        sentence = _("Continue with the sample of seed {seed}").format(seed=draw.seed)
        self.button.setAccessibleName(sentence)
        self.button.setAccessibleDescription("".join(chip.text for chip in chips))
        self.button.setToolTip(plain_tooltip(sentence))
        self.text.setAccessibleName(sentence)

    @Slot()
    def _on_taken(self) -> None:
        self.taken.emit(self._seed)


def _shade(draw: Draw) -> Callable[[int], float | None]:
    def shade(index: int) -> float | None:
        p = draw.probabilities[index]
        return p if math.isfinite(p) else None

    return shade


def _describer(draw: Draw, names: Names) -> Callable[[int], str]:
    def describe(index: int) -> str:
        if not 0 <= index < len(draw.tokens):
            return ""
        return f"{names.described(draw.tokens[index])} · p {number(draw.probabilities[index], 4)}"

    return describe
