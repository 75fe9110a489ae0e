"""The title of the stage card: document, place, formula, warning, range, and the fold of the side.

It is one line, or two in a narrow card.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from attnviz.core.levels import RANGE_BY_ID, RANGES
from attnviz.core.text import visible
from attnviz.explain.formulas.symbols import Parts
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.ranges import range_name
from attnviz.model.spec.view import View

FORMULA_FROM = 640
"""Width from which the formula fits beside the names."""
GRADIENT_FROM = 480
"""Width from which the button of the gradient has room; below it, the menu of a cell has the same."""
TWO_LINES_FROM = 400
"""Height of the card from which the controls stand below names that they would cut; in a lower one, below
names for which they leave no room.
"""
LEAST_PLACE = 40
LEAST_NAME = 6
"""Divisor of the line: the part of it that the name keeps beside the place."""
NARROW_RANGE = 92
"""Width of the range's box in a narrower line; the colour bar names the range in full."""
QWIDGETSIZE_MAX = 2**24 - 1
_NAME_PX = 15
_ICON = QSize(16, 16)


class StageHeader(QWidget):
    """Content of the map. `range_chosen` carries an id, `side_wanted` whether the side opens."""

    range_chosen = Signal(str)
    side_wanted = Signal(bool)
    gradient_wanted = Signal(bool)
    picture_chosen = Signal(str)
    lines_chosen = Signal(str, str)
    """(field of the view's `lines`, its value)."""

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
        self._lined_queries, self._lined_heads = Segmented(()), Segmented(())
        self._lined_queries.setObjectName("lined_queries")
        self._lined_heads.setObjectName("lined_heads")
        self._lined_queries.changed.connect(self._on_lined_queries)
        self._lined_heads.changed.connect(self._on_lined_heads)
        self._range = says(DropDown(), id="range_box", name=N_("Colour range"), tip=True)
        self._range.activated.connect(self._on_range)
        tip = N_("One token takes nearly all of each row; this range makes more of the map readable")
        self._proposal = says(QToolButton(), id="range_proposal", tip=tip)
        self._proposal.setAutoRaise(True)
        self._proposal.setCursor(Qt.CursorShape.PointingHandCursor)
        self._proposal.clicked.connect(self._on_proposal)
        self._proposed = ""
        self._is_map = True
        self._can_be: frozenset[str] = frozenset()
        self._titles = ("", "")
        self._is_tall = self._is_plain = False
        self._fitted: tuple[object, ...] = ()
        """State that the line was last fitted to."""
        name = N_("Show the output and the row of the query beside the map")
        self._side = says(QToolButton(), id="side_button", name=name, tip=True)
        self._side.setCheckable(True)
        self._side.setAutoRaise(True)
        self._side.setIconSize(_ICON)
        self._side.clicked.connect(self.side_wanted)
        name = N_("Show gradients: how a number or the loss depends on every other number")
        self._gradient = says(QToolButton(), id="gradient_button", name=name, tip=True)
        self._gradient.setText("∂")
        self._gradient.setCheckable(True)
        self._gradient.setAutoRaise(True)
        self._gradient.clicked.connect(self.gradient_wanted)
        self._controls = (
            self._proposal,
            self._lined_queries,
            self._lined_heads,
            self._range,
            self._picture,
        )
        names = in_row(None, self.name, self.place, self.formula, self.flag, spacing=GRID)
        names.addStretch(1)
        self._row = in_row(None, spacing=GRID)
        self._row.addStretch(1)
        for control in (*self._controls, self._gradient, self._side):
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
        """Leave out the colour range, the gradients and the side, or show them again."""
        self._is_plain = is_plain
        self._side.setVisible(not is_plain)
        self._range.setVisible(self._is_map and not is_plain)
        self._fit()

    def add_opener(self, button: QWidget) -> None:
        """Add the button that brings the caption back."""
        self._row.insertWidget(self._row.indexOf(self._range), button)

    def show_name(self, title: str) -> None:
        """The name of the document; one without a name has no place for it."""
        self.name.set_line(visible(title))
        self.name.setVisible(bool(title))

    def show_range(self, stage: str, range_id: str, proposed: str) -> None:
        """The colour range of the stage; and one in which more of the map can be read, or ""."""
        own = range_name(stage, "head") or _(RANGE_BY_ID["head"].label)
        self._range.setItemText(self._range.findData("head"), own)
        self._range.setCurrentIndex(self._range.findData(range_id))
        self._proposed = proposed
        if proposed:
            self._proposal.setText(_("Try: {range}").format(range=_(RANGE_BY_ID[proposed].label)))

    def show_picture(self, view: View, *, can_be_lines: bool, can_be: frozenset[str]) -> None:
        """The picture of the stage, and what belongs to it: the range of a map, the choice of lines.

        `can_be` are further pictures that this stage of this document has: "mean", "patches".
        """
        self._picture.setVisible(can_be_lines)
        if can_be != self._can_be:
            self._can_be = can_be
            self._name_pictures()
        known = can_be | ({"lines"} if can_be_lines else set())
        shown = view.picture if view.picture in known else "map"
        is_lines = shown == "lines"
        self._picture.set_value(shown)
        self._lined_queries.set_value(view.lines.queries)
        self._lined_heads.set_value(view.lines.heads)
        self._lined_queries.setVisible(is_lines)
        self._lined_heads.setVisible(shown in ("lines", "patches"))
        is_map = shown in ("map", "mean")
        self._is_map = is_map
        self._range.setVisible(is_map and not self._is_plain)
        self._proposal.setVisible(is_map and bool(self._proposed))
        self._fit()

    def show_gradient(self, is_shown: bool) -> None:
        """Say by the button whether the view has a target."""
        self._gradient.setChecked(is_shown)

    def show_side(self, is_open: bool) -> None:
        """Say by the button whether the side is open."""
        self._side.setChecked(is_open)

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._side.setIcon(icon("side", theme))
        link = "text-decoration: underline; border: none; background: none; padding: 0"
        self._proposal.setStyleSheet(f"color: {theme.accent}; {link}")

    def retranslate(self) -> None:
        """Name the ranges and the pictures, and fit the line to its texts again."""
        chosen = self._range.currentData()
        self._range.clear()
        for row in RANGES:
            self._range.addItem(_(row.label), row.id)
        self._range.setCurrentIndex(self._range.findData(chosen))
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
        name = self.name.sizeHint().width()
        free = self._free(NARROW_RANGE if is_narrow else QWIDGETSIZE_MAX)
        place = self._show_place(free - name)
        if free < name + place:
            free = self._free(NARROW_RANGE)
        if free < (name + place if self._is_tall else LEAST_PLACE):
            direction = QBoxLayout.Direction.TopToBottom
            self._range.setMaximumWidth(QWIDGETSIZE_MAX)
            free = self.width() - self._flag_width() - GRID
            place = self._show_place(free - name)
        self._lines.setDirection(direction)
        self._row.invalidate()  # a layout in a layout learns only from its next event what has been hidden
        wanted = self._gradient.sizeHint().width() + GRID
        has_room = self.width() >= GRADIENT_FROM and not free - wanted < name + place <= free
        has_room = has_room and not self._side.isHidden()  # hidden in a file
        self._gradient.setVisible(has_room)
        free -= wanted if has_room else 0
        needed = self.formula.sizeHint().width() + GRID
        self.formula.setVisible(not is_narrow and free - name - place >= needed)
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

    def _free(self, widest_range: int) -> int:
        """Width left for the names beside a range box of at most `widest_range` pixels."""
        self._range.setMaximumWidth(widest_range)
        fixed = [w for w in self._fixed() if not w.isHidden()]
        taken = sum(min(w.sizeHint().width(), w.maximumWidth()) + GRID for w in fixed)
        return self.width() - taken - 2 * GRID

    def _fixed(self) -> list[QWidget]:
        """All parts of one line but those that `_share_out` itself shows where they have room."""
        items = (self._row.itemAt(index) for index in range(self._row.count()))
        parts = (item.widget() for item in items if item is not None)
        return [self.flag, *(part for part in parts if part is not None and part is not self._gradient)]

    def minimumSizeHint(self) -> QSize:
        return QSize(200, super().minimumSizeHint().height())

    def _name_pictures(self) -> None:
        self._picture.setAccessibleName(_("Picture"))
        mean = (
            "mean",
            _("Mean"),
            _("Mean of all heads as a map; a click opens the head with the largest weight"),
        )
        patches = ("patches", _("Image"), _("Weights of the selected query on the patches of the image"))
        self._picture.set_options(
            [
                ("map", _("Map"), _("Weights as a map of queries and keys")),
                *([mean] if "mean" in self._can_be else []),
                ("lines", _("Lines"), _("Weights as lines from words to words")),
                *([patches] if "patches" in self._can_be else []),
            ]
        )
        self._lined_queries.setAccessibleName(_("Lines of which queries"))
        self._lined_queries.set_options(
            [
                ("one", _("1 query"), _("Lines of the selected query")),
                ("all", _("All"), _("Lines of all queries, up to 256 tokens")),
            ]
        )
        self._lined_heads.setAccessibleName(_("Lines of which heads"))
        self._lined_heads.set_options(
            [
                ("one", _("1 head"), _("Lines of the selected head")),
                ("all", _("All"), _("Lines of all heads, each in its hue; the numbers are their mean")),
            ]
        )

    @Slot(str)
    def _on_lined_queries(self, value: str) -> None:
        self.lines_chosen.emit("queries", value)

    @Slot(str)
    def _on_lined_heads(self, value: str) -> None:
        self.lines_chosen.emit("heads", value)

    @Slot(int)
    def _on_range(self, index: int) -> None:
        self.range_chosen.emit(self._range.itemData(index))

    @Slot()
    def _on_proposal(self) -> None:
        self.range_chosen.emit(self._proposed)
