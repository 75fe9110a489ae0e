"""The button Show in the head of the map: colours, orientation and parts of the picture, in a card."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QFormLayout, QFrame, QLabel, QToolButton, QWidget

from attnviz.core.levels import RANGE_BY_ID, RANGES
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_, _
from attnviz.model.ranges import WITHOUT_FIRST, range_name
from attnviz.model.spec.view import View

OFFERED = tuple(row for row in RANGES if not row.skips_first)
"""The ranges of the list: the first token has a switch of its own."""

LINED_QUERIES = (
    ("one", N_("1 query"), N_("Lines of the selected query")),
    ("all", N_("All"), N_("Lines of all queries, up to 256 tokens")),
)
LINED_HEADS = (
    ("one", N_("1 head"), N_("Lines of the selected head")),
    ("all", N_("All"), N_("Lines of all heads, each in its hue; the numbers are their mean")),
)


@dataclass(frozen=True)
class Shown:
    """State of the card: the picture, the range of its colours, and the parts that are on.

    `no_first` is the reason why the first token cannot be left out, or None.
    """

    view: View
    stage: str
    picture: str
    range_id: str
    is_first_off: bool
    no_first: str | None
    has_entropy: bool


class ShowButton(QToolButton):
    """Opens the card. Every signal carries what was chosen in it."""

    range_chosen = Signal(str)
    first_chosen = Signal(bool)
    turn_chosen = Signal(bool)
    part_chosen = Signal(str, bool)
    lines_chosen = Signal(str, str)
    """(field of the view's `lines`, its value)."""
    side_wanted = Signal(bool)
    gradient_wanted = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        tip = N_("Colour range, orientation, first token, formula, entropy")
        says(self, N_("Show"), id="show_button", tip=tip)
        self.setProperty("framed", True)
        self.clicked.connect(self._on_clicked)
        self.card = QFrame(self, Qt.WindowType.Popup)
        self.card.setObjectName("show_card")
        self.range = says(DropDown(), id="range_box", name=N_("Colour range"), tip=True)
        self.range.activated.connect(self._on_range)
        self.first = says(Toggle(""), N_("Without the first token"), id="first_switch", tip=WITHOUT_FIRST)
        self.first.changed.connect(self.first_chosen)
        self.turn = says(Toggle(""), N_("Queries as columns"), id="turn_switch")
        self.turn.changed.connect(self.turn_chosen)
        self.formula = says(Toggle(""), N_("Formula"), id="formula_switch")
        self.entropy = says(Toggle(""), N_("Entropy of each row"), id="entropy_switch")
        self.formula.changed.connect(self._on_formula)
        self.entropy.changed.connect(self._on_entropy)
        self.queries = says(
            Segmented(()), id="lined_queries", name=N_("Lines of which queries"), options=LINED_QUERIES
        )
        self.heads = says(
            Segmented(()), id="lined_heads", name=N_("Lines of which heads"), options=LINED_HEADS
        )
        self.queries.changed.connect(self._on_queries)
        self.heads.changed.connect(self._on_heads)
        tip = N_("Show gradients: how a number or the loss depends on every other number")
        self.gradient = says(Toggle(""), N_("Gradients"), id="gradient_button", tip=tip)
        self.gradient.changed.connect(self.gradient_wanted)
        tip = N_("Show the output and the row of the query beside the map")
        self.side = says(Toggle(""), N_("Output and row"), id="side_button", tip=tip)
        self.side.changed.connect(self.side_wanted)
        self._labels: dict[QWidget, QLabel] = {}
        self._lay_out()
        self.retranslate()

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setSpacing(GRID)
        rows = (
            (N_("Colours"), self.range),
            (N_("Queries"), self.queries),
            (N_("Heads"), self.heads),
        )
        for title, control in rows:
            label = self._labels[control] = says(QLabel(), title)
            form.addRow(label, control)
        toggles = (self.first, self.turn, self.entropy, self.formula, self.side, self.gradient)
        column = in_column(self.card, spacing=GRID // 2)
        column.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        column.addLayout(form)
        for toggle in toggles:
            column.addWidget(toggle)

    def show_state(self, shown: Shown) -> None:
        """Show what is chosen; a picture has the controls that change it."""
        view, is_map = shown.view, shown.picture in ("map", "mean")
        own = range_name(shown.stage, "head") or _(RANGE_BY_ID["head"].label)
        self.range.setItemText(self.range.findData("head"), own)
        skips = RANGE_BY_ID[shown.range_id].skips_first
        self.range.setCurrentIndex(self.range.findData("head" if skips else shown.range_id))
        self.first.set_value(shown.is_first_off)
        self.first.set_unavailable(shown.no_first)
        self.turn.set_value(view.orientation == "queries_as_columns")
        self.formula.set_value("formula" in view.parts)
        self.entropy.set_value("entropy" in view.parts)
        self.queries.set_value(view.lines.queries)
        self.heads.set_value(view.lines.heads)
        for control, is_shown in (
            (self.range, is_map),
            (self.queries, shown.picture == "lines"),
            (self.heads, shown.picture in ("lines", "arcs", "patches")),
        ):
            control.setVisible(is_shown)
            self._labels[control].setVisible(is_shown)
        self.turn.setVisible(is_map)
        self.entropy.setVisible(is_map and shown.has_entropy)

    def retranslate(self) -> None:
        """Name the ranges."""
        chosen = self.range.currentData()
        self.range.clear()
        for row in OFFERED:
            self.range.addItem(_(row.label), row.id)
        self.range.setCurrentIndex(self.range.findData(chosen))

    @Slot()
    def _on_clicked(self) -> None:
        """Open the card with its right edge below that of the button."""
        self.card.adjustSize()
        place = self.mapToGlobal(QPoint(self.width() - self.card.width(), self.height() + 4))
        screen = self.screen().availableGeometry()
        place.setX(max(screen.left(), min(place.x(), screen.right() - self.card.width())))
        self.card.move(place)
        self.card.show()
        self.card.setFocus(Qt.FocusReason.PopupFocusReason)

    @Slot(int)
    def _on_range(self, index: int) -> None:
        self.range_chosen.emit(self.range.itemData(index))

    @Slot(bool)
    def _on_formula(self, is_wanted: bool) -> None:
        self.part_chosen.emit("formula", is_wanted)

    @Slot(bool)
    def _on_entropy(self, is_wanted: bool) -> None:
        self.part_chosen.emit("entropy", is_wanted)

    @Slot(str)
    def _on_queries(self, value: str) -> None:
        self.lines_chosen.emit("queries", value)

    @Slot(str)
    def _on_heads(self, value: str) -> None:
        self.lines_chosen.emit("heads", value)
