"""The chip of a condition: it holds in the present document, does not, or cannot be computed there."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from attnviz.errors import InputError
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.widgets.tone import Tone, set_tone
from attnviz.i18n import N_, _
from attnviz.study.claims.scope import Scope, holds

_VERDICTS: dict[bool | None, tuple[Tone, str]] = {
    True: ("right", N_("✓ holds here")),
    False: ("error", N_("✗ does not hold here")),
    None: ("muted", N_("? cannot be computed here")),
}


class HoldsChip(QLabel):
    """One of three short texts, in its tone."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setFont(ui_font(13))
        self.setProperty("chip", True)

    def set_verdict(self, verdict: bool | None) -> None:
        """Show a verdict in the active language; None: the document lacks what the condition names."""
        tone, sentence = _VERDICTS[verdict]
        set_tone(tone, self)
        self.setText(_(sentence))


def holds_in(condition: str, scope: Scope) -> bool | None:
    """True if a condition holds; None for a document that lacks what it names."""
    try:
        return holds(condition, scope)
    except InputError:
        return None
