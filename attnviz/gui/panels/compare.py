"""Compare: a wrong or surprising way beside the right one, from the live state, and their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.levels import levels
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.heat.compare_map import CompareMap
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, HeatContent, Highlight
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.model.why_not import WHY_NOT_BY_ID, WHY_NOTS, WhyNot

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared, Side

SIDES = ("left", "right", "difference")
TEXT_WIDTH = 248


@dataclass(frozen=True)
class Asked:
    """A requested comparison: a row of the table, the state, its place, and the order of tokens."""

    row: WhyNot
    experiment: Experiment
    site: str
    head: int
    seed: int


class ComparePanel(Panel):
    """Chooses a row of `WHY_NOTS`, asks for its numbers while it is seen, and draws the answer."""

    asked = Signal(object)
    """An Asked; the answer comes through `show_compared` or `show_reason`."""

    follows = ("head", "orientation")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._asked: Asked | None = None
        self._shown: Compared | None = None
        store.opened.connect(self._on_opened)
        self._reason, self._seed = "", 0
        self._row = Combo(_options())
        self._row.setObjectName("compare_row")
        self._row.changed.connect(self._on_row)
        self._row.set_value(WHY_NOTS[0].id)
        self._sentence, self._readout = QLabel(), QLabel()
        for label, name in ((self._sentence, "compare_sentence"), (self._readout, "compare_readout")):
            label.setObjectName(name)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._readout.setFont(number_font(11))
        self._shuffle = Button()
        self._shuffle.setObjectName("compare_shuffle")
        self._shuffle.clicked.connect(self._on_shuffle)
        self._open = {side: Button() for side in SIDES[:2]}
        for side, button in self._open.items():
            button.setObjectName(f"compare_open_{side}")
            button.setProperty("side", side)
            button.clicked.connect(self._on_open)
        self.maps = {side: CompareMap(f"compare_{side}") for side in SIDES}
        for one in self.maps.values():
            one.map.cell_hovered.connect(self._on_hovered)
        self._lay_out()

    def sizeHint(self) -> QSize:
        return QSize(800, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 110)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is not None and old.view != new.view:
            self._ask()
            self._draw()

    def on_trace(self, trace: Trace) -> None:
        self._ask()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A map that has grown has room for its colour bar."""
        super().resizeEvent(event)
        if self._shown is not None:
            self._draw()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for one in self.maps.values():
            one.apply_theme(theme)
        self._readout.setStyleSheet(f"color: {theme.muted}")
        self._draw()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Compare"))
        self._row.setAccessibleName(_("Comparison"))
        self._row.set_options(_options())
        self._shuffle.setText(_("Shuffle"))
        self._shuffle.setToolTip(_("Shuffle the tokens"))
        self._open["left"].setText(_("Open left"))
        self._open["right"].setText(_("Open right"))
        for one in self.maps.values():
            one.retranslate()
        self._draw()

    # --- asking and being answered

    def choose(self, row_id: str) -> None:
        """Compare by this row of the table."""
        self._row.set_value(row_id)
        self._on_row(row_id)

    def show_compared(self, compared: Compared) -> None:
        """Draw the answer, unless another row was chosen or another document opened meanwhile."""
        if self._asked is not None and compared.row.id == self._row.value():
            self._shown, self._reason = compared, ""
            self._draw()

    def show_reason(self, sentence: str) -> None:
        """Show why no comparison is possible."""
        self._asked, self._shown, self._reason = None, None, sentence
        self._draw()

    def _ask(self) -> None:
        """Request the chosen comparison, once."""
        trace = self.store.trace
        if trace is None:
            return
        if trace.experiment != self.store.experiment:
            return  # the next trace is on its way
        view = self.store.document.view
        wanted = Asked(WHY_NOT_BY_ID[self._row.value()], trace.experiment, view.site, view.head, self._seed)
        if wanted != self._asked:
            self._asked = wanted
            self.asked.emit(wanted)

    # --- drawing

    def _draw(self) -> None:
        compared = self._shown
        self._shuffle.setVisible(compared is not None and compared.row.how == "permuted")
        for part in (*self.maps.values(), *self._open.values()):
            part.setVisible(compared is not None)
        text = self._reason if compared is None else compared.sentence()
        self._sentence.setText(text)
        self._sentence.setToolTip(plain_tooltip(text))
        self._read(None)
        if compared is None:
            return
        ends = _common_levels(compared)
        row, difference = compared.row, compared.difference
        self._fill("left", _(row.left), compared.left.values, compared.left.blocked, ends)
        self._fill("right", _(row.right), compared.right.values, compared.right.blocked, ends)
        size = float(np.max(np.abs(difference), initial=0.0, where=np.isfinite(difference))) or 1.0
        if compared.is_equal:  # rounding is no picture
            size = max(abs(end) for end in ends)
        caption = _("difference, at most {greatest}").format(greatest=compared.greatest_text())
        if np.isnan(difference).any():
            caption = _("difference: NaN")
        self._fill("difference", caption, difference, None, (-size, size))
        for index, side in enumerate(("left", "right")):
            self._show_button(side, compared, index)

    def _fill(
        self,
        side: str,
        caption: str,
        values: NDArray[np.float64],
        blocked: NDArray[np.bool_] | None,
        ends: tuple[float, float],
    ) -> None:
        compared = self._shown
        assert compared is not None
        on_keys = STAGE_BY_ID[compared.row.stage].axes[-1] == "key"
        content = HeatContent(
            values=values,
            row_labels=compared.row_labels,
            column_labels=compared.column_labels,
            row_color=self.theme.query,
            column_color=self.theme.key if on_keys else self.theme.muted,
            blocked=blocked,
            signed=not on_keys or side == "difference",
            levels=ends,
            row_sums=_sums(values) if on_keys and side != "difference" else None,
            title=caption,
            transposed=self.store.document.view.orientation == "queries_as_columns",
        )
        self.maps[side].set_content(caption, content, says_range=side != "difference")

    def _show_button(self, side: str, compared: Compared, index: int) -> None:
        """Offer to open this side as the document, if it is a different one."""
        button = self._open[side]
        if not compared.row.opens[index]:
            reason = _("No experiment computes this: it has no weights.")
        elif compared.documents[index] == self.store.experiment:
            reason = _("This side is the document.")
        else:
            reason = ""
        button.setEnabled(not reason)
        says = reason or _("Open this side as the document (undoable)")
        button.setToolTip(plain_tooltip(says))
        button.setAccessibleName(_("Open {side} as the document").format(side=self._caption(side, compared)))

    def _caption(self, side: str, compared: Compared) -> str:
        return _(compared.row.left if side == "left" else compared.row.right)

    def _read(self, cell: tuple[int, int] | None) -> None:
        """The numbers of one cell: left, right, difference."""
        compared = self._shown
        if compared is None or cell is None:
            self._readout.setText("")
            return
        row, column = (
            isolated(visible(names[at]))
            for names, at in zip((compared.row_labels, compared.column_labels), cell, strict=True)
        )
        left, right = (_cell_text(side, cell) for side in (compared.left, compared.right))
        self._readout.setText(f"{row} × {column}: {left} | {right} | {number(compared.difference[cell], 4)}")

    # --- acting

    @Slot()
    def _on_opened(self) -> None:
        """A comparison holds both its experiments: of another document, none is kept."""
        self._asked, self._shown, self._reason = None, None, ""
        self._draw()

    @Slot(str)
    def _on_row(self, row_id: str) -> None:
        if self._shown is None or self._shown.row.id != row_id:
            self._asked, self._shown, self._reason = None, None, ""
            self._draw()
        self._ask()

    @Slot()
    def _on_shuffle(self) -> None:
        self._seed += 1
        self._ask()

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        """Highlight the same cell in all three."""
        lit = NO_HIGHLIGHT if row < 0 else Highlight((row, column), frozenset({row}), frozenset({column}))
        for one in self.maps.values():
            one.map.set_highlight(lit)
        self._read(None if row < 0 else (row, column))

    @Slot()
    def _on_open(self) -> None:
        if self._shown is not None:
            index = SIDES.index(self.sender().property("side"))
            self.store.edit(_become, self._shown.documents[index])

    def _lay_out(self) -> None:
        text = QWidget()
        text.setFixedWidth(TEXT_WIDTH)
        column = QVBoxLayout(text)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self._row)
        column.addWidget(self._sentence, 1)
        column.addWidget(self._readout)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID // 2)
        for button in (*self._open.values(), self._shuffle):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column.addLayout(buttons)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID + GRID // 2)
        row.addWidget(text)
        for one in self.maps.values():
            row.addWidget(one, 1)
        row.addStretch(0)


def _become(experiment: Experiment, other: Experiment) -> Experiment:
    """The edit that opens a side."""
    return other


def _options() -> tuple[tuple[str, str, str], ...]:
    return tuple((row.id, _(row.title), _(row.title)) for row in WHY_NOTS)


def _cell_text(side: Side, cell: tuple[int, int]) -> str:
    return _("masked") if side.blocked is not None and side.blocked[cell] else number(side.values[cell], 4)


def _common_levels(compared: Compared) -> tuple[float, float]:
    """One range for both sides, so that equal colours are equal numbers."""
    is_weights = STAGE_BY_ID[compared.row.stage].axes[-1] == "key"
    both = np.concatenate((compared.left.values, compared.right.values))
    low, high = levels(both, "head", not is_weights, None)
    return min(low, 0.0) if is_weights else low, high


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row sums; ∞ − ∞ is NaN, and is shown so."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values.sum(axis=1))
