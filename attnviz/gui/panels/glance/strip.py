"""The folded first glance: one line, and the button that unfolds it."""

from __future__ import annotations

from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.explain.value_sum import word
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.glance.seen import GlanceSeen
from attnviz.gui.panels.glance.sheet import Sheet
from attnviz.gui.widgets.button import Button
from attnviz.i18n import N_


class Strip(Sheet):
    """The word that asks, its strongest key, and the length of the sum."""

    def __init__(self) -> None:
        super().__init__("glance_strip")
        self.column.setContentsMargins(2 * GRID, GRID // 2, GRID, GRID // 2)
        tip = N_("Show the sentence, the values and their sum")
        self.open = says(Button(), N_("Show the first glance"), id="glance_open", tip=tip)
        self.add_to_head(self.open)

    def show_state(self, seen: GlanceSeen) -> None:
        """Show the state in one line."""
        parts = []
        if seen.sum is not None and seen.sum.order:
            key = seen.sum.order[0]
            pair = f"{seen.asker} → {word(seen.sum.keys[key])}"
            parts = [f"{pair} {number(seen.sum.weights[key])}"]
        if seen.sum is not None:
            parts.append(named("|Σ w·v|", number(seen.sum.length(), 2)))
        self.set_texts("Σ w·v", " · ".join(parts))
