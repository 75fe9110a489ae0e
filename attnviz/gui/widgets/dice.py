"""The button that chooses another seed."""

from __future__ import annotations

import random

from PySide6.QtWidgets import QToolButton, QWidget

from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_

HIGHEST_SEED = 2**32 - 1
_THROWN_BELOW = 10_000


class Dice(QToolButton):
    """The button that chooses another seed."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        says(self, id=name, name=N_("Another seed"), tip=True)
        self.setFixedSize(24, 22)
        self.apply_theme(active_theme())

    def apply_theme(self, theme: Theme) -> None:
        self.setIcon(icon("randomise", theme))

    @staticmethod
    def throw(present: int) -> int:
        """A small seed other than `present`. The choice is arbitrary; the document stores it."""
        thrown = random.randrange(_THROWN_BELOW - 1)
        return thrown + (thrown >= present)
