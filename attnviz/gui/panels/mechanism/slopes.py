"""ALiBi's slopes, one number for each head, and a way back to the published ones."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.head_numbers import HeadNumbers
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.i18n import N_
from attnviz.model.edit.switching import set_slope
from attnviz.model.positions import slopes_of
from attnviz.model.spec.parts import Alibi
from attnviz.model.spec.site import Site


def _publish(site: Site) -> Site:
    return replace(site, position=Alibi(None))


class AlibiSlopes(QWidget):
    """Shown where the position is ALiBi."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setObjectName("alibi_slopes")
        self._store = store
        self._numbers = HeadNumbers(
            store,
            "alibi_slope",
            "position.slopes",
            N_("Slope of head {head}"),
            set_slope,
        )
        self._reset = says(Button(), N_("Published slopes"), id="alibi_reset_button")
        says(self._reset, name=N_("Reset to the published slopes"))
        self._reset.clicked.connect(self._on_reset)
        column = in_column(self, self._numbers, spacing=GRID - 2)
        column.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignRight)

    def refresh(self) -> None:
        """Show the document's slopes."""
        position: Any = self._store.attention.position
        is_shown = isinstance(position, Alibi)
        self.setVisible(is_shown)
        if is_shown:
            self._numbers.show_values(slopes_of(self._store.attention))
            self._reset.setVisible(position.slopes is not None)

    @Slot()
    def _on_reset(self) -> None:
        self._store.edit_attention(_publish)
