"""Below the maps, or beside them in a low panel: what differs, the greatest changes, the next tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.compare.changes import ChangeRows
from attnviz.gui.panels.compare.differs import Differs
from attnviz.gui.panels.compare.next_bars import NextBars
from attnviz.gui.panels.compare.shown import Comparison
from attnviz.gui.panels.compare.texts import differing
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

HEIGHT = 176
"""Pixels of the details below the maps."""
WIDTH = 248
"""Pixels of the details beside the maps."""
SIDES = ("left", "right")


class Details(QWidget):
    """Three sections side by side, or one below the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = QLabel()
        self.sentence.setObjectName("compare_sentence")
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setWordWrap(True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.sentence.setFont(ui_font(TEXT_PX))
        self.sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.open = {side: Button() for side in SIDES}
        for side, button in self.open.items():
            button.setObjectName(f"compare_open_{side}")
            button.setProperty("side", side)
        self.differs, self.changes, self.next = Differs(), ChangeRows(), NextBars()
        self.differs.setObjectName("compare_differs")
        self.changes.setObjectName("compare_changes")
        self.next.setObjectName("compare_next")
        self._titles = [QLabel(), QLabel(), QLabel()]
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(3 * GRID)
        self._sections = [
            self._section(0, self.sentence, self._buttons(), self.differs),
            self._section(1, self.changes),
            self._section(2, self.next),
        ]
        for section, stretch in zip(self._sections, (4, 6, 4), strict=True):
            box.addWidget(section, stretch)
        self._is_beside = self._has_changes = self._has_next = False
        set_tone("muted", *self._titles)

    def set_beside(self, is_beside: bool) -> None:
        """Stand beside the maps with the first section alone, or below them with all."""
        self._is_beside = is_beside
        self._show_sections()

    def show_comparison(self, shown: Comparison) -> None:
        """Show the changes, and what differs with the next tokens, or the sentence of a prepared row."""
        self.name_sections(shown.is_own)
        changes = () if shown.picture is None else shown.picture.changes
        self.changes.set_changes(changes)
        self._has_changes = bool(changes)
        self._has_next = shown.own is not None and bool(shown.own.next_tokens)
        self.differs.setVisible(shown.is_own)
        self.sentence.setHidden(shown.is_own)
        self._buttons_row.setHidden(shown.is_own)
        self._show_sections()
        if shown.own is not None:
            self.differs.set_lines(*differing(shown.own))
            self.next.set_tokens(shown.own.next_tokens)
        elif not shown.is_own:
            self._show_prepared(shown)

    def _show_prepared(self, shown: Comparison) -> None:
        text = shown.reason if shown.compared is None else shown.compared.sentence()
        self.sentence.setText(text)
        self.sentence.setToolTip(plain_tooltip(text))
        for index, button in enumerate(self.open.values()):
            button.setVisible(shown.compared is not None)
            if shown.compared is not None:
                _offer(button, shown.compared, index, shown.document.experiment)

    def _show_sections(self) -> None:
        self._sections[1].setVisible(self._has_changes and not self._is_beside)
        self._sections[2].setVisible(self._has_next and not self._is_beside)

    def name_sections(self, is_own: bool) -> None:
        """Update the texts to the active language."""
        first = _("Differences") if is_own else _("Consequences")
        for label, title in zip(self._titles, (first, _("Greatest change"), _("Next token")), strict=True):
            label.setText(title.upper())
        self.changes.setAccessibleName(_("Greatest change"))
        self.differs.setAccessibleName(_("Differences"))
        self.next.setAccessibleName(_("Next token"))
        self.open["left"].setText(_("Open left"))
        self.open["right"].setText(_("Open right"))

    def _buttons(self) -> QWidget:
        self._buttons_row = QWidget()
        row = QHBoxLayout(self._buttons_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        for button in self.open.values():
            row.addWidget(button)
        row.addStretch(1)
        return self._buttons_row

    def _section(self, index: int, *content: QWidget) -> QWidget:
        """A title over a part that scrolls where it is longer."""
        section, inner = QWidget(), QWidget()
        self._titles[index].setFont(section_title_font())
        filled = QVBoxLayout(inner)
        filled.setContentsMargins(0, 0, 0, 0)
        filled.setSpacing(GRID // 2)
        for widget in content:
            filled.addWidget(widget)
        filled.addStretch(1)
        column = QVBoxLayout(section)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self._titles[index])
        column.addWidget(clear_scroll(inner, sideways=False), 1)
        return section


def _offer(button: Button, compared: Compared, index: int, present: Experiment) -> None:
    """Offer to open this side as the document, if it is a different one."""
    if not compared.row.opens[index]:
        reason = _("No experiment computes this: it has no weights.")
    elif compared.documents[index] == present:
        reason = _("This side is the document.")
    else:
        reason = ""
    button.setEnabled(not reason)
    button.setToolTip(plain_tooltip(reason or _("Open this side as the document (undoable)")))
    caption = _((compared.row.left, compared.row.right)[index])
    button.setAccessibleName(_("Open {side} as the document").format(side=caption))
