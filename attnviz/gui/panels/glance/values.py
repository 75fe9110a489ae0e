"""The middle part of the first glance: the plane with the sum, its list, and what the model writes."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QStackedWidget, QWidget

from attnviz.core.phrases import named
from attnviz.core.text import number, visible
from attnviz.gui.forms.sentence import SentenceControls
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.glance.next import NextBars
from attnviz.gui.panels.glance.rows import SumRows
from attnviz.gui.panels.glance.seen import GlanceSeen
from attnviz.gui.panels.glance.sheet import Sheet
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.pictures.value_sum import SumPlane
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.captions import pieces
from attnviz.model.io.titles import translated
from attnviz.model.spec.document import Document

NEXT_PX = 216
"""Width of the column of the next token."""
ROWS_PX = 330
_CONTROL_PX = 12


class NextColumn(QWidget):
    """The next tokens after the word, or the entropy of its weights; and the control of the caption."""

    write_wanted = Signal()
    last_wanted = Signal()

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._make_control = SentenceControls(store)
        self._caption = ""
        self._control: QWidget | None = None
        self._is_last = True
        self.setFixedWidth(NEXT_PX)
        self.heading, self.bars = ElidedLabel(), NextBars()
        self.heading.setObjectName("glance_next_heading")
        self.write = says(Button(), N_("Write it"), id="glance_write")
        self.write.setProperty("primary", True)
        self.write.clicked.connect(self._on_write)
        self.write.hide()
        self._named = QLabel()
        self._column = in_column(self, self.heading, self.bars, spacing=GRID // 2)
        self._column.setStretch(1, 4)
        self._column.addStretch(1)
        self._column.addWidget(self.write)
        self._row = in_row(None, self._named, spacing=GRID // 2)
        self._row.addStretch(1)
        self._column.addLayout(self._row)
        self.note = says(ElidedLabel(), id="glance_note")
        self._column.addWidget(self.note)
        for label in (self.heading, self._named, self.note):
            label.setFont(ui_font(TEXT_PX))
        set_tone("muted", self.heading, self._named, self.note)

    def show_state(self, seen: GlanceSeen, document: Document, part: float) -> None:
        """Show the tokens after the word that asks: those of the model, whatever part of the way is shown."""
        self._show_control(translated(document.caption))
        self._is_last = seen.is_last
        self.bars.set_rows(seen.next)
        self.bars.setVisible(bool(seen.next))
        self.write.setVisible(bool(seen.next))
        self.note.set_line(_("every number opens its arithmetic") if seen.sum is not None else "")
        if not seen.next:
            bits = named(_("entropy of the row, bits"), number(seen.sum.entropy)) if seen.sum else ""
            self.heading.set_line(bits)
            return
        asked = _("after “{word}” the model expects").format(word=seen.asker)
        writes = _("the model draws a word by chance") if seen.is_drawn else _("so the model writes")
        said = writes if seen.is_last else asked
        self.heading.set_line(said if part == 1.0 else _("at t = 1 the model expects"))
        says(self.write, N_("Write it") if seen.is_last else N_("Ask the last word"), tip=self._tip(seen))
        self.write.setEnabled(seen.can_write or not seen.is_last)

    def _tip(self, seen: GlanceSeen) -> str:
        if not seen.is_last:
            return N_("Select the last word, after which the model writes")
        return N_("Generate one token; the sentence grows")

    def _show_control(self, caption: str) -> None:
        """The first control of the caption, with its words."""
        if caption == self._caption:
            return
        self._caption = caption
        if self._control is not None:
            self._row.removeWidget(self._control)
            self._control.hide()
            self._control.setParent(None)
            self._control.deleteLater()
            self._control = None
        found = next((one for one in pieces(visible(caption)) if one.control is not None), None)
        self._named.hide()
        if found is None or found.control is None:
            return
        control = found.control
        if control.is_number:
            self._named.setText(found.text)
            self._named.show()
        words = found.text if control.is_number else control.said()
        self._control = self._make_control(control, words, _CONTROL_PX)
        self._row.insertWidget(1, self._control)
        self._control.show()

    def retranslate(self) -> None:
        """Words of the caption's control are those of the language."""
        self._caption = ""

    @Slot()
    def _on_write(self) -> None:
        (self.write_wanted if self._is_last else self.last_wanted).emit()


class ValuesSheet(Sheet):
    """The plane, or a sentence in its place if the document has weights only."""

    def __init__(self, store: Store) -> None:
        super().__init__("glance_values")
        self.plane, self.rows, self.next = SumPlane(), SumRows(), NextColumn(store)
        self._why = says(
            QLabel(), N_("This document has weights only: no values to add"), id="glance_no_values"
        )
        self._why.setWordWrap(True)
        set_tone("muted", self._why)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.plane)
        self._stack.addWidget(self._why)
        tip = N_("Show the numbers of the sum in the place of the picture")
        self.details = says(Button(), N_("Details"), id="glance_details", tip=tip)
        self.details.setCheckable(True)
        self.details.clicked.connect(self._arrange)
        self.add_to_head(self.details)
        self._rule = QFrame()
        self._rule.setObjectName("glance_rule")
        self._rule.setFrameShape(QFrame.Shape.VLine)
        row = in_row(None, self._stack, self.rows, self._rule, self.next, spacing=2 * GRID)
        row.setStretch(0, 1)
        self.column.addLayout(row, 1)
        self._is_wide, self._has_sum = True, True
        self._arrange()

    def show_state(self, seen: GlanceSeen, document: Document, part: float) -> None:
        """Show the sum at a part of the way."""
        title = _("What “{word}” takes over").format(word=seen.asker)
        self.set_texts(title, _("each word offers its value v; the weights add them up"))
        self.plane.set_sum(seen.sum, part)
        if seen.sum is not None:
            self.rows.set_sum(seen.sum, seen.rows, part)
        self.next.show_state(seen, document, part)
        self._has_sum = seen.sum is not None
        self._arrange()

    def set_wide(self, is_wide: bool) -> None:
        """Give the list room beside the plane, or put it behind the button."""
        if is_wide != self._is_wide:
            self._is_wide = is_wide
            self._arrange()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._rule.setStyleSheet(f"color: {theme.line}")

    @Slot()
    def _arrange(self) -> None:
        """The list beside the plane, or in its place on request."""
        shows_rows = self._has_sum and (self._is_wide or self.details.isChecked())
        self.rows.setVisible(shows_rows)
        self.rows.setMaximumWidth(ROWS_PX if self._is_wide else 16_777_215)
        self._stack.setVisible(self._is_wide or not shows_rows)
        self._stack.setCurrentIndex(0 if self._has_sum else 1)
        self.details.setVisible(not self._is_wide and self._has_sum)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 130)
