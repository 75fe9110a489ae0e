"""The output and the row of the query in focus, beside the large view."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.core.text import isolated, visible
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.heat.stages import highlight
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.links import shares_of
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

WIDTH = 208
OUTPUT_SIDE = 84
MOST_BARS = 200
"""Bars of one row drawn; of a longer row, those around the query."""


class Side(QWidget):
    """`bar_clicked` carries a key; the output tells that it is clicked and whether the mouse is on it."""

    bar_clicked = Signal(int)
    output_clicked = Signal()
    output_pointed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(WIDTH)
        self._output_title = says(_label("output_title"), N_("OUTPUT"))
        self._row_title = _label("row_title")
        self._output = Thumbnail(OUTPUT_SIDE)
        self._output.setObjectName("output_thumbnail")
        self._output.clicked.connect(self.output_clicked)
        self._output.pointed.connect(self.output_pointed)
        self._bars = says(Bars(), id="row_bars", name=N_("Row of the selected query"))
        self._bars.clicked.connect(self._on_bar)
        self._first_bar = 0
        self._output_side = OUTPUT_SIDE
        self._shown: tuple[SiteTrace, View] | None = None
        column = in_column(self, self._output_title, spacing=GRID // 2)
        column.addWidget(self._output, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(GRID)
        column.addWidget(self._row_title)
        column.addWidget(clear_scroll(self._bars, sideways=False), 1)
        set_tone("muted", self._output_title, self._row_title)

    def show_output(self, site: SiteTrace, view: View) -> None:
        """The output of a run."""
        self._shown = site, view
        output, _hidden = site.overview("attention_output")
        rows, columns = site.shape("attention_output")
        is_turned = view.orientation == "queries_as_columns"
        self._output.set_values(output, True, transposed=is_turned, shape=(rows, columns))

    def light(self, site: SiteTrace, view: View, focus: Cell | None, theme: Theme) -> None:
        """Show the row of the query in focus, and light what belongs to the focus."""
        self._output.set_lit(highlight(site, view, "attention_output", focus))
        query = _query(site, view, focus)
        weights = shares_of(site.stages)
        head = shown_head(site.experiment, view, weights)
        values, hidden = site.matrix(weights, head)[query], site.hatched(weights, head)
        first = min(max(0, query - MOST_BARS // 2), max(0, len(values) - MOST_BARS))
        part = slice(first, first + MOST_BARS)
        blocked = () if hidden is None else tuple(hidden[query][part].nonzero()[0].tolist())
        self._first_bar = first
        self._bars.set_rows(
            site.names("key")[part], values[part], theme.accent, blocked, limit=1.0, label_color=theme.key
        )
        on_key = focus is not None and STAGE_BY_ID[focus.stage].score_shaped
        self._bars.set_highlight(focus.column - first if focus is not None and on_key else -1)
        token = isolated(visible(site.names("query")[query]))
        is_turned = view.orientation == "queries_as_columns"
        title = _("COLUMN OF “{token}”") if is_turned else _("ROW OF “{token}”")
        self._row_title.setText(title.format(token=token))

    def set_output_pointed(self, is_pointed: bool) -> None:
        """Mark the output: its symbol or picture is under the mouse in some panel."""
        self._output.set_pointed(is_pointed)

    def retranslate(self) -> None:
        self._row_title.clear()  # `light` names the row, which a closed side does not have
        self._output.set_caption("", _("Output of the attention; a click opens its stage"))
        self._output.setAccessibleName(_("attention output"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A tall card has room for a larger output."""
        side = min(max(self.height() // 4, OUTPUT_SIDE), WIDTH - 8)
        if side != self._output_side:
            self._output_side = side
            self._output.set_side(side)
            if self._shown is not None:
                self.show_output(*self._shown)

    @Slot(int)
    def _on_bar(self, bar: int) -> None:
        self.bar_clicked.emit(self._first_bar + bar)


def _query(site: SiteTrace, view: View, focus: Cell | None) -> int:
    last = site.experiment.n_queries - 1
    if focus is not None and STAGE_BY_ID[focus.stage].axes[-2] in ("query", "token"):
        return min(focus.row, last)
    return min(view.query, last)


def _label(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
