"""The large view of one stage, with the output and the row of the query in focus beside it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.levels import RANGES
from attnviz.core.text import isolated, visible
from attnviz.gui.live.pointer import Pointer
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.stage_heat import highlight, stage_content, stage_title
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.elided import WholeLabel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.edit import edits
from attnviz.model.explain.formulas.symbols import stage_parts
from attnviz.model.masks import mask_of
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Padding, Painted
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import MASKED_STAGES, SiteTrace, Trace

SIDE_WIDTH = 208
WIDE = 440
"""Width from which output and row fit beside the map."""
OUTPUT_SIDE = 84
MOST_BARS = 200
"""Bars of one row drawn; of a longer row, those around the query."""


class StageViewPanel(Panel):
    """The stage that the view names: hover lights, click locks, painting blocks cells by hand."""

    follows = ("stage", "head", "query", "ranges", "orientation", "locked")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.map = HeatMap()
        self.map.setObjectName("stage_map")
        self.map.cell_hovered.connect(self._on_hovered)
        self.map.cell_clicked.connect(self._on_clicked)
        self.map.cell_stroked.connect(self._on_stroked)
        self.map.stroke_finished.connect(store.end_gesture)
        self._title, self._formula = WholeLabel(), FormulaLine("stage_formula")
        self._title.setObjectName("stage_title")
        self._formula.stage_pointed.connect(store.set_stage_hover)
        self._formula.stage_clicked.connect(self._on_stage)
        self._flag = _label("stage_flag")
        self._range = DropDown()
        self._range.setObjectName("range_box")
        self._range.activated.connect(self._on_range)
        self._output_title, self._row_title = _label("output_title"), _label("row_title")
        self._output_side = OUTPUT_SIDE
        self._output = Thumbnail(OUTPUT_SIDE)
        self._output.setObjectName("output_thumbnail")
        self._output.clicked.connect(self._on_output)
        self._output.pointed.connect(self._on_output_pointed)
        self._bars = Bars()
        self._bars.setObjectName("row_bars")
        self._bars.clicked.connect(self._on_bar)
        self._first_bar = 0
        self._stroke_blocks = True
        self._lay_out()
        self.setFocusProxy(self.map)
        store.pointer_changed.connect(self._on_pointer)

    def header(self) -> QWidget:
        """Formula and colour range, at the right end of the card's title."""
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for widget in (self._title, self._formula, self._flag):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self._range)
        return holder

    def on_document(self, old: Document | None, new: Document) -> None:
        if self.store.trace is None or old is None or old.site != new.site:
            return  # another attention also sends its trace
        if old.view != new.view:
            self._show(self.store.site)

    def on_trace(self, trace: Trace) -> None:
        self._show(self.store.site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.site)

    def on_stage_hover(self, stage: str) -> None:
        self._formula.set_lit(stage)
        self._output.set_pointed(stage == "attention_output")

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._formula.apply_theme(theme)
        for label in (self._output_title, self._row_title):
            label.setStyleSheet(f"color: {theme.muted}")
        self._flag.setStyleSheet(f"color: {theme.warning}")
        if self.store.trace is not None:
            self._show(self.store.site)

    def retranslate(self) -> None:
        self.map.retranslate()
        self._range.clear()
        for row in RANGES:
            self._range.addItem(_(row.label), row.id)
        self._range.setAccessibleName(_("Colour range"))
        self._range.setToolTip(_("Colour range"))
        self._output_title.setText(_("OUTPUT"))
        self._bars.setAccessibleName(_("Row of the selected query"))
        if self.store.trace is not None:
            self._show(self.store.site)

    # --- showing

    def _show(self, site: SiteTrace) -> None:
        view = self.store.document.view
        stage = self._stage(site)
        content = stage_content(site, view, stage, self.theme)
        self.map.set_content(content)
        self._range.setCurrentIndex(self._range.findData(view.range_of(stage)))
        self._title.set_line(self._titled(stage_title(site, view, stage)))
        self._formula.set_parts(stage_parts(site.experiment, stage, site.stages))
        self._flag.setText(_flags(site, stage))
        output, _hidden = site.overview("attention_output")
        shape = site.shape("attention_output")
        self._output.set_values(output, True, transposed=content.transposed, shape=(shape[0], shape[1]))
        self._light(site)

    def _light(self, site: SiteTrace) -> None:
        view, focus = self.store.document.view, self.store.focus
        self.map.set_highlight(highlight(site, view, self._stage(site), focus))
        self._output.set_lit(highlight(site, view, "attention_output", focus))
        self._show_row(site, focus)

    def _show_row(self, site: SiteTrace, focus: Cell | None) -> None:
        """The weights of the query in focus, as bars."""
        query = self._query(site, focus)
        weights = "dropped" if "dropped" in site.stages else "weights"
        values = site.window(weights, shown_head(site.experiment, self.store.document.view, weights))[query]
        hidden = site.blocked(slice(query, query + 1))
        first = min(max(0, query - MOST_BARS // 2), max(0, len(values) - MOST_BARS))
        part = slice(first, first + MOST_BARS)
        if hidden is None or site.experiment.adds_to_blocked:
            blocked: tuple[int, ...] = ()
        else:
            blocked = tuple(hidden[0][part].nonzero()[0].tolist())
        self._first_bar = first
        self._bars.set_rows(
            site.labels("key")[part],
            values[part],
            self.theme.accent,
            blocked,
            limit=1.0,
            label_color=self.theme.key,
        )
        on_key = focus is not None and STAGE_BY_ID[focus.stage].score_shaped
        self._bars.set_highlight(focus.column - first if focus is not None and on_key else -1)
        token = isolated(visible(site.experiment.tokens[query]))
        is_turned = self.store.document.view.orientation == "queries_as_columns"
        title = _("COLUMN OF “{token}”") if is_turned else _("ROW OF “{token}”")
        self._row_title.setText(title.format(token=token))

    def _query(self, site: SiteTrace, focus: Cell | None) -> int:
        last = site.experiment.n_queries - 1
        if focus is not None and STAGE_BY_ID[focus.stage].axes[-2] in ("query", "token"):
            return min(focus.row, last)
        return min(self.store.document.view.query, last)

    def _stage(self, site: SiteTrace) -> str:
        wanted = self.store.document.view.stage
        return wanted if wanted in site.stages else "weights"

    def _titled(self, title: str) -> str:
        """The stage's title, prefixed with its site's if several exist."""
        where = label_among_several(self.store.experiment, self.store.document.site)
        return f"{where} · {title}" if where else title

    def _cell(self, row: int, column: int) -> Cell | None:
        if self.store.trace is None or row < 0:
            return None
        site = self.store.site
        stage = self._stage(site)
        return Cell(stage, row, column, shown_head(site.experiment, self.store.document.view, stage))

    # --- acting

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if old.paints != new.paints:
            self.map.set_paint_mode(new.paints)

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        self.store.set_hover(self._cell(row, column))

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        cell = self._cell(row, column)
        if cell is None:
            return
        locked = None if cell == self.store.document.view.locked else cell
        on_query = STAGE_BY_ID[cell.stage].axes[-2] in ("query", "token")
        self.store.look(locked=locked, query=row if on_query else self.store.document.view.query)

    @Slot(int, int, bool)
    def _on_stroked(self, row: int, column: int, start: bool) -> None:
        """The first cell of a stroke decides whether it blocks or frees; all of it is one entry."""
        experiment = self.store.attention
        if self.store.trace is None or not STAGE_BY_ID[self._stage(self.store.site)].score_shaped:
            return
        if start:
            painted = mask_of(experiment, Painted)
            self._stroke_blocks = painted is None or (row, column) not in painted.cells
            self.store.begin_gesture()
        self.store.edit_attention(edits.paint, row, column, self._stroke_blocks)

    @Slot(int)
    def _on_range(self, index: int) -> None:
        if self.store.trace is not None:
            stage, view = self._stage(self.store.site), self.store.document.view
            self.store.look(ranges=view.with_range(stage, self._range.itemData(index)))

    @Slot()
    def _on_output(self) -> None:
        self.store.look(stage="attention_output")

    @Slot(bool)
    def _on_output_pointed(self, is_pointed: bool) -> None:
        self.store.set_stage_hover("attention_output" if is_pointed else "")

    @Slot(str)
    def _on_stage(self, stage: str) -> None:
        self.store.look(stage=stage)

    @Slot(int)
    def _on_bar(self, bar: int) -> None:
        """A click on a key's bar marks it as padding, or no longer."""
        key = self._first_bar + bar
        padding = mask_of(self.store.attention, Padding)
        self.store.edit_attention(edits.set_padding, key, padding is None or key not in padding.tokens)

    def sizeHint(self) -> QSize:
        return QSize(640, 160)

    def minimumSizeHint(self) -> QSize:
        return self.map.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A tall window has room for a larger output, a narrow one has room for the map alone."""
        self._side.setVisible(self.width() >= WIDE)
        side = min(max(self.height() // 4, OUTPUT_SIDE), SIDE_WIDTH - 8)
        if side != self._output_side:
            self._output_side = side
            self._output.set_side(side)
            if self.store.trace is not None:
                self._show(self.store.site)

    def _lay_out(self) -> None:
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self._output_title)
        column.addWidget(self._output, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(GRID)
        column.addWidget(self._row_title)
        column.addWidget(clear_scroll(self._bars, sideways=False), 1)
        self._side = clear_scroll(side, sideways=False)
        self._side.setFixedWidth(SIDE_WIDTH)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * GRID)
        row.addWidget(self.map, 1)
        row.addWidget(self._side)


def _flags(site: SiteTrace, stage: str) -> str:
    """Warnings about this stage's rows."""
    if stage not in MASKED_STAGES:
        return ""
    experiment = site.experiment
    empty = site.fully_masked()
    if empty.any() and experiment.mask_placement == "before_softmax":
        first = empty.nonzero()[0][:3].tolist()
        tokens = ", ".join(isolated(visible(experiment.tokens[i])) for i in first)
        result = "NaN" if experiment.fully_masked_row == "nan" else "0"
        if experiment.mask_bias is not None:
            result = "softmax"  # all scores of the row are lowered alike
        return _("fully masked: {tokens} → {result}").format(tokens=tokens, result=result)
    return ""


def _label(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
