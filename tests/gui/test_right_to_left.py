"""A token that runs from right to left does not turn the numbers beside it around."""

from __future__ import annotations

from desk import MakeDesk
from PySide6.QtWidgets import QLabel

from attnviz.gui.widgets.heat.words import exact_text
from attnviz.model.edit import edits


def reading_order(text: str) -> str:
    """The characters that bidirectional reordering sees, each isolate as one neutral `□`."""
    shown, depth = "", 0
    for character in text:
        depth += (character == "\u2068") - (character == "\u2069")
        if character == "\u2069" and depth == 0:
            shown += "□"
        elif depth == 0:
            shown += character
    return shown


def test_in_the_plane_the_inspector_and_the_tooltip(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.store.edit(edits.set_tokens, ("שלום", "مرحبا", "three", "four"))
    desk.settle()
    desk.bring("plane")
    facts = next(label for label in desk.window.findChildren(QLabel) if label.text().startswith("q \u2068"))
    assert reading_order(facts.text()).startswith("q □ · k □ = ")
    assert reading_order(exact_text(desk.map.content, (0, 1))).startswith("□ × □: 0.")
