"""The row over the maps: the title, pin, swap, blink, the alignment, the place, and the comparison."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from attnviz.core.alignment import ALIGNMENTS
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.compare.shown import Comparison
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import transition_ms
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.segmented import Option
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_, _
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

ONE_LINE_FROM = 940
"""Width from which all controls stand in one line."""


class Controls(QWidget):
    """Widgets of the row; the panel connects them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.title.setObjectName("compare_title")
        self.title.setFont(ui_font(14, QFont.Weight.DemiBold))
        self.pin = _button(
            "pin", N_("Pin as A"), N_("Keep the present state as A, and compare later changes with it")
        )
        self.unpin = _button("unpin", "", N_("Discard A and free its memory"), N_("Unpin"))
        tip = N_("Open A as the document and pin the present state (undoable)")
        self.swap = _button("swap", N_("Swap"), tip, N_("Swap A and B"))
        self.blink = _button("blink", N_("Blink"), "", N_("Blink between A and B"))
        tip = N_("Save the three maps as a figure, or their numbers")
        self.export = _button("export", "", tip, N_("Export…"))
        self._icons = ((self.unpin, "close"), (self.export, "export"))
        self.blink.setCheckable(True)
        self.shuffle = _button("shuffle", N_("Shuffle"), N_("Shuffle the tokens"))
        tip = N_("Show A at the layer and head of B instead of those where it was pinned")
        self.follows = says(Toggle(""), N_("A follows B"), id="compare_follows", tip=tip)
        self.align = _combo("align", 7, N_("Alignment of the tokens"))
        says(self.align, options=[(row.id, row.title, row.hint) for row in ALIGNMENTS])
        self.site = _combo("site", 11, N_("Attention"))
        self.head = _combo("head", 4, N_("Head"))
        self.stage = _combo("stage", 7, N_("Stage"))
        self.row = _combo("row", 12, N_("Comparison"))
        tip = N_("Show the alignment of the tokens, the layer and the stage")
        self.show_more = _button("show", N_("Show"), tip)
        self.show_more.setCheckable(True)
        self.show_more.toggled.connect(self._fold)
        self._folded = QWidget()
        row = in_row(self._folded, *self._choices, spacing=GRID)
        row.addStretch(1)
        self._folded.hide()
        self._top, self._line, self._second = QVBoxLayout(self), QHBoxLayout(), QHBoxLayout()
        self._top.setContentsMargins(0, 0, 0, 0)
        self._top.setSpacing(GRID // 2)
        for line in (self._line, self._second):
            line.setSpacing(GRID)
            self._top.addLayout(line)
        self._top.addWidget(self._folded)
        self._line.addWidget(self.title, 1)
        for button in (self.pin, self.unpin, self.swap, self.blink, self.shuffle):
            self._line.addWidget(button)
        for choice in self._open_choices:
            self._line.addWidget(choice)
        self._line.addWidget(self.export)
        self._is_wide = True

    @property
    def _choices(self) -> tuple[QWidget, ...]:
        """The alignment and the place, in a line that one button unfolds."""
        return (self.align, self.follows, self.site, self.stage)

    @property
    def _open_choices(self) -> tuple[QWidget, ...]:
        """The head, the comparison and what unfolds the rest: in a narrow panel a line of their own."""
        return (self.head, self.row, self.show_more)

    @Slot()
    def _fold(self) -> None:
        self._folded.setVisible(self.show_more.isChecked() and not self.show_more.isHidden())

    @property
    def of_own(self) -> tuple[QWidget, ...]:
        """Widgets that a comparison of one's own has, and a prepared one lacks."""
        return (self.unpin, self.swap, self.blink, self.align, self.follows, self.show_more)

    @property
    def places(self) -> tuple[QWidget, ...]:
        """Choices of a comparison of one's own, each shown if it has several options."""
        return (self.site, self.head, self.stage)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The choices go below the buttons in a narrow panel."""
        super().resizeEvent(event)
        is_wide = self.width() >= ONE_LINE_FROM
        if is_wide == self._is_wide:
            return
        self._is_wide = is_wide
        for choice in self._open_choices:
            (self._second if is_wide else self._line).removeWidget(choice)
            if is_wide:
                self._line.insertWidget(self._line.count() - 1, choice)
            else:
                self._second.addWidget(choice)

    def show_comparison(self, shown: Comparison) -> None:
        """Show the controls of the chosen kind of comparison."""
        has_a = shown.is_own and shown.is_pinned
        for widget in self.of_own:
            widget.setVisible(has_a)
        for choice in self.places:
            choice.setVisible(not choice.isHidden() and has_a)
        self._fold()
        compared = shown.compared
        self.shuffle.setVisible(compared is not None and compared.row.how == "permuted")
        self.export.setVisible(shown.own is not None)
        self.pin.setVisible(shown.has_body)  # the empty state has its own button

    def offer_places(self, trace: Trace, document: Document) -> None:
        """Offer the layers, heads and stages of B; a single one needs no control."""
        site = trace.shown(document.site)
        stage = site.shown_stage(document.view.stage)
        names = site_names(trace.experiment)
        _offer(self.site, [(name, site_label(trace.experiment, name), "") for name in names], document.site)
        _offer(self.stage, [(id_, _(STAGE_BY_ID[id_].title), "") for id_ in site.stages], stage)
        n_heads, title = site.experiment.heads.n_heads, _("Head {number}")
        heads = [(str(at), title.format(number=at + 1), "") for at in range(n_heads)]
        _offer(self.head, heads, str(min(document.view.head, n_heads - 1)))
        self.head.setVisible(n_heads > 1 and STAGE_BY_ID[stage].per_head)

    def say_blink(self) -> None:
        """Enable blinking, unless motion is reduced."""
        is_still = transition_ms(self) == 0
        self.blink.setEnabled(not is_still)
        self.blink.setChecked(self.blink.isChecked() and not is_still)
        still = _("Transitions are switched off in the preferences or by the system.")
        self.blink.setToolTip(plain_tooltip(still if is_still else _("Show A and B in turn in the map of B")))

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`, and blink only while transitions are on."""
        for button, name in self._icons:
            button.setIcon(icon(name, theme))
        self.say_blink()

    def retranslate(self) -> None:
        self.say_blink()


def _offer(combo: Combo, options: Sequence[Option], chosen: str) -> None:
    combo.set_options(options)
    combo.set_value(chosen)
    combo.setVisible(len(options) > 1)


def _button(id_: str, label: str, tip: str, name: str = "") -> Button:
    return says(Button(), label, id=f"compare_{id_}", name=name or label, tip=tip)


def _combo(id_: str, letters: int, name: str) -> Combo:
    """A list with room for some letters."""
    combo = says(Combo(()), id=f"compare_{id_}", name=name, tip=True)
    combo.setMinimumContentsLength(letters)
    return combo
