"""Below the maps, or beside them in a low panel: what differs, the greatest changes, the next tokens."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.compare.changes import ChangeRows
from attnviz.gui.panels.compare.differs import Differs
from attnviz.gui.panels.compare.next_bars import NextBars
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.study.contrast.contrast import Change

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

    def set_changes(self, changes: Sequence[Change]) -> None:
        """Show the greatest changes; without any, their section is hidden."""
        self.changes.set_changes(changes)
        self._has_changes = bool(changes)
        self._show_sections()

    def show_own(self, has_next: bool) -> None:
        """Show the sections of a comparison of one's own."""
        self.sentence.hide()
        self._buttons_row.hide()
        self.differs.show()
        self._has_next = has_next
        self._show_sections()

    def show_prepared(self) -> None:
        """Show the sections of a prepared comparison."""
        self.sentence.show()
        self._buttons_row.show()
        self.differs.hide()
        self._has_next = False
        self._show_sections()

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
