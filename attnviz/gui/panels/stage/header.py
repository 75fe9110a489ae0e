"""The title of the stage card: document, place, formula, warning, and the choice of the picture.

It is one line, or two in a narrow card.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.text import visible
from attnviz.explain.formulas.symbols import Parts
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.stage.show import ShowButton, Shown
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _

FORMULA_FROM = 640
"""Width from which the formula fits beside the names."""
TWO_LINES_FROM = 400
"""Height of the card from which the controls stand below names that they would cut; in a lower one, below
names for which they leave no room.
"""
LEAST_PLACE = 40
LEAST_NAME = 6
"""Divisor of the line: the part of it that the name keeps beside the place."""
_NAME_PX = 15


PICTURES: tuple[tuple[str, str, str], ...] = (
    ("arcs", N_("Arcs"), N_("The weights of one query as arcs over the sentence (1)")),
    ("map", N_("Map"), N_("Weights as a map of queries and keys (2)")),
    (
        "mean",
        N_("Mean"),
        N_("Mean of all heads as a map; a click opens the head with the largest weight (3)"),
    ),
    ("lines", N_("All rows"), N_("Weights as lines from words to words, of all queries (4)")),
    ("patches", N_("Image"), N_("Weights of the selected query on the patches of the image")),
)
"""The pictures of weights: the id in the view, its label and its hint. The first four have keys."""


class StageHeader(QWidget):
    """Content of the map: names, the choice of the picture, and `options`, the button that has the rest."""

    range_chosen = Signal(str)
    picture_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.name, self.place = WholeLabel(), WholeLabel()
        self.name.setObjectName("document_name")
        self.name.setFont(ui_font(_NAME_PX, QFont.Weight.DemiBold))
        self.place.setObjectName("stage_title")
        self.formula = FormulaLine("stage_formula")
        self.flag = QLabel()
        self.flag.setObjectName("stage_flag")
        self.flag.setTextFormat(Qt.TextFormat.PlainText)
        set_tone("warning", self.flag)
        self._picture = Segmented(())
        self._picture.setObjectName("picture_switch")
        self._picture.changed.connect(self.picture_chosen)
        tip = N_("One token takes nearly all of each row; this range makes more of the map readable")
        self._proposal = says(QToolButton(), id="range_proposal", tip=tip)
        self._proposal.setAutoRaise(True)
        self._proposal.setCursor(Qt.CursorShape.PointingHandCursor)
        self._proposal.clicked.connect(self._on_proposal)
        self._proposed = ""
        self._can_be: frozenset[str] = frozenset()
        self._titles = ("", "")
        self._shows_formula = False
        self._is_tall = False
        self._fitted: tuple[object, ...] = ()
        """State that the line was last fitted to."""
        self.options = ShowButton()
        names = in_row(None, self.name, self.place, self.formula, self.flag, spacing=GRID)
        names.addStretch(1)
        self._row = in_row(None, spacing=GRID)
        self._row.addStretch(1)
        for control in (self._proposal, self._picture, self.options):
            control.setProperty(MOUSE_ONLY, True)
            self._row.addWidget(control)
        self._lines = in_row(self, spacing=GRID)
        self._lines.addLayout(names, 1)
        self._lines.addLayout(self._row)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        set_tone("muted", self.place)

    def set_card(self, height: int) -> None:
        """The height of the card below this title."""
        self._is_tall = height + self.sizeHint().height() >= TWO_LINES_FROM  # whatever the title takes
        self._fit()

    def set_plain(self, is_plain: bool) -> None:
        """Leave out what a student does not need, or show it again."""
        self.options.setVisible(not is_plain)

    def add_opener(self, button: QWidget) -> None:
        """Add the button that brings the caption back."""
        self._row.insertWidget(self._row.indexOf(self._picture), button)

    def show_name(self, title: str) -> None:
        """The name of the document; one without a name has no place for it."""
        self.name.set_line(visible(title))
        self.name.setVisible(bool(title))

    def show_picture(self, shown: Shown, can_be: frozenset[str], proposed: str) -> None:
        """The picture of the stage, of those that it can be; a stage that can only be a map has no choice.

        `proposed` is a range in which more of the map can be read, or "".
        """
        if can_be != self._can_be:
            self._can_be = can_be
            self._name_pictures()
        self._picture.setVisible(len(can_be) > 1)
        self._picture.set_value(shown.picture)
        self.options.show_state(shown)
        self._shows_formula = "formula" in shown.view.parts
        self._proposed = proposed if shown.picture in ("map", "mean") else ""
        if self._proposed:
            self._proposal.setText(_("Try: {range}").format(range=_(RANGE_BY_ID[self._proposed].label)))
        self._proposal.setVisible(bool(self._proposed))
        self._fit()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        link = "text-decoration: underline; border: none; background: none; padding: 0"
        self._proposal.setStyleSheet(f"color: {theme.accent}; {link}")

    def retranslate(self) -> None:
        """Name the pictures, and fit the line to its texts again."""
        self._name_pictures()
        self._fitted = ()

    def show_place(self, titles: tuple[str, str], formula: Parts, warning: str) -> None:
        """Layer, stage and head, in full and in short; the formula; what is unusual about the rows."""
        self._titles = titles
        self.formula.set_parts(formula)
        self.flag.setText(warning)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """New segments have their widths only once they have been laid out."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        """Share the line among its parts, unless nothing has changed since the last time: an edit of numbers
        changes none of them.
        """
        parts = self.name.text(), self.formula.text(), self.flag.text(), self._proposal.text()
        shown = tuple(control.isHidden() for control in self._fixed())
        fitted = (
            self.width(),
            self._is_tall,
            self._picture.sizeHint().width(),
            self._shows_formula,
            self._titles,
            parts,
            shown,
            self.fontInfo().pixelSize(),
        )
        if fitted != self._fitted:
            self._fitted = fitted
            self._share_out()

    def _share_out(self) -> None:
        """The names come first, in short if they must, or in a line of their own; the formula if a wide line
        has room for all of it.
        """
        direction = QBoxLayout.Direction.LeftToRight
        for label in (self.name, self.place):
            label.setMinimumWidth(0)  # a label's preferred width is at least its minimum
        is_narrow = self.width() < FORMULA_FROM
        name, free = self.name.sizeHint().width(), self._free()
        place = self._show_place(free - name)
        if free < (name + place if self._is_tall else LEAST_PLACE):
            direction = QBoxLayout.Direction.TopToBottom
            free = self.width() - self._flag_width() - GRID
            place = self._show_place(free - name)
        self._lines.setDirection(direction)
        self._row.invalidate()  # a layout in a layout learns only from its next event what has been hidden
        needed = self.formula.sizeHint().width() + GRID
        has_room = not is_narrow and free - name - place >= needed
        self.formula.setVisible(self._shows_formula and has_room)
        self.name.setMinimumWidth(min(name, max(free - place, min(free, self.width() // LEAST_NAME), 0)))
        left = free - self.name.minimumWidth()
        self.place.setVisible(left >= min(LEAST_PLACE, place))
        self.place.setMinimumWidth(max(0, min(place, left)))

    def _show_place(self, room: int) -> int:
        """Show the place in full where it has room, else in short; return its width."""
        self.place.set_line(self._titles[0])
        if self.place.sizeHint().width() > room:
            self.place.set_line(self._titles[1])
            self.place.setToolTip(plain_tooltip(self._titles[0]))
        return self.place.sizeHint().width()

    def _flag_width(self) -> int:
        return 0 if self.flag.isHidden() else self.flag.sizeHint().width() + GRID

    def _free(self) -> int:
        """Width left for the names."""
        fixed = [w for w in self._fixed() if not w.isHidden()]
        return self.width() - sum(w.sizeHint().width() + GRID for w in fixed) - 2 * GRID

    def _fixed(self) -> list[QWidget]:
        """All parts of one line but those that `_share_out` itself shows where they have room."""
        items = (self._row.itemAt(index) for index in range(self._row.count()))
        parts = (item.widget() for item in items if item is not None)
        return [self.flag, *(part for part in parts if part is not None)]

    def minimumSizeHint(self) -> QSize:
        return QSize(200, super().minimumSizeHint().height())

    def _name_pictures(self) -> None:
        self._picture.setAccessibleName(_("Picture"))
        shown = [(id_, _(label), _(hint)) for id_, label, hint in PICTURES if id_ in self._can_be]
        self._picture.set_options(shown)

    @Slot()
    def _on_proposal(self) -> None:
        self.range_chosen.emit(self._proposed)
