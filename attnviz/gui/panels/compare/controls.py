"""The row over the maps: the title, pin, swap, blink, the alignment, the place, and the comparison."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from attnviz.core.alignment import ALIGNMENTS
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.compare.shown import Comparison
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import transition_ms
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.segmented import Option
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import _
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

ONE_LINE_FROM = 1180
"""Width from which all controls stand in one line."""


_LETTERS = {"align": 7, "site": 11, "head": 4, "stage": 7, "row": 12}
"""Room of each drop-down list, in letters."""


class Controls(QWidget):
    """Widgets of the row; the panel connects them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.title.setObjectName("compare_title")
        self.title.setFont(ui_font(14, QFont.Weight.DemiBold))
        self.pin, self.unpin, self.swap = (_button(name) for name in ("pin", "unpin", "swap"))
        self.blink, self.export = _button("blink"), _button("export")
        self._icons = ((self.unpin, "close"), (self.export, "export"))
        self.blink.setCheckable(True)
        self.shuffle = _button("shuffle")
        self.follows = Toggle("")
        self.follows.setObjectName("compare_follows")
        self.align, self.site, self.head, self.stage, self.row = (
            _combo(name) for name in ("align", "site", "head", "stage", "row")
        )
        self._top, self._line, self._second = QVBoxLayout(self), QHBoxLayout(), QHBoxLayout()
        self._top.setContentsMargins(0, 0, 0, 0)
        self._top.setSpacing(GRID // 2)
        for line in (self._line, self._second):
            line.setSpacing(GRID)
            self._top.addLayout(line)
        self._line.addWidget(self.title, 1)
        for button in (self.pin, self.unpin, self.swap, self.blink, self.shuffle):
            self._line.addWidget(button)
        for choice in self._choices:
            self._line.addWidget(choice)
        self._line.addWidget(self.export)
        self._is_wide = True

    @property
    def _choices(self) -> tuple[QWidget, ...]:
        """The alignment, the place and the comparison: in a narrow panel a line of their own."""
        return (self.align, self.follows, self.site, self.head, self.stage, self.row)

    @property
    def of_own(self) -> tuple[QWidget, ...]:
        """Widgets that a comparison of one's own has, and a prepared one lacks."""
        return (self.unpin, self.swap, self.blink, self.align, self.follows)

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
        for choice in self._choices:
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
            choice.setVisible(choice.isVisibleTo(self) and has_a)
        compared = shown.compared
        self.shuffle.setVisible(compared is not None and compared.row.how == "permuted")
        self.export.setVisible(shown.own is not None)

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
        """Update the texts to the active language."""
        for button, text, tip in (
            (self.pin, _("Pin as A"), _("Keep the present state as A, and compare later changes with it")),
            (self.unpin, _("Unpin"), _("Discard A and free its memory")),
            (self.swap, _("Swap"), _("Open A as the document and pin the present state (undoable)")),
            (self.blink, _("Blink"), ""),
            (self.export, _("Export…"), _("Save the three maps as a figure, or their numbers")),
            (self.shuffle, _("Shuffle"), _("Shuffle the tokens")),
        ):
            button.setAccessibleName(text)
            button.setToolTip(plain_tooltip(tip))
            if button not in (self.unpin, self.export):
                button.setText(text)
        self.swap.setAccessibleName(_("Swap A and B"))
        self.blink.setAccessibleName(_("Blink between A and B"))
        self.follows.set_label(_("A follows B"))
        self.follows.set_tooltip(_("Show A at the layer and head of B instead of those where it was pinned"))
        for combo, name in (
            (self.align, _("Alignment of the tokens")),
            (self.site, _("Attention")),
            (self.head, _("Head")),
            (self.stage, _("Stage")),
            (self.row, _("Comparison")),
        ):
            combo.setAccessibleName(name)
            combo.set_tooltip(name)
        self.align.set_options([(row.id, _(row.title), _(row.hint)) for row in ALIGNMENTS])
        self.say_blink()


def _offer(combo: Combo, options: Sequence[Option], chosen: str) -> None:
    combo.set_options(options)
    combo.set_value(chosen)
    combo.setVisible(len(options) > 1)


def _button(name: str) -> Button:
    button = Button()
    button.setObjectName(f"compare_{name}")
    return button


def _combo(name: str) -> Combo:
    combo = Combo(())
    combo.setObjectName(f"compare_{name}")
    combo.setMinimumContentsLength(_LETTERS[name])
    return combo
