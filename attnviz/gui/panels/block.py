"""The block of the selected attention, as a diagram whose boxes are the stages."""

from __future__ import annotations

import math

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QScrollArea, QWidget

from attnviz.explain.formulas.stages import stage_axes, stage_formula
from attnviz.explain.formulas.symbols import site_lines
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.formula_line import NARROWEST, FormulaLine
from attnviz.gui.widgets.heat.stages import highlight
from attnviz.gui.widgets.pictures.block_diagram import BlockDiagram, shape_text
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

FORMULA_PX = 11
LINES = 3
"""Formulas of a site at most: projections, attention, feed-forward layer."""

SCROLL_BAR = 12
"""Pixels reserved for the scroll bars beside and below the diagram, visible or not."""


class BlockPanel(Panel):
    """Formulas above, the diagram below. A click selects a stage; the mouse highlights it everywhere."""

    follows = ("stage", "head", "orientation", "locked")
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.formulas = tuple(FormulaLine(f"site_formula_{line}") for line in range(LINES))
        row = QWidget()
        self._lines = line = in_row(row, spacing=2 * GRID)
        for formula in self.formulas:
            formula.setFont(number_font(FORMULA_PX))
            formula.stage_pointed.connect(store.set_stage_hover)
            formula.stage_clicked.connect(self._on_stage)
            line.addWidget(formula)
        line.addStretch(1)
        row.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._formula_scroll = clear_scroll(row, sideways=True)
        self._formula_scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._formula_scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._formula_scroll.setFixedHeight(line.sizeHint().height() + 2)
        says(self, name=N_("Block"))
        self.diagram = says(BlockDiagram(), name=N_("Block diagram"))
        self.diagram.clicked.connect(self._on_stage)
        self.diagram.pointed.connect(store.set_stage_hover)
        self._scroll = QScrollArea()
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setObjectName("block_scroll")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self.diagram)
        self._scroll.viewport().setAutoFillBackground(False)
        self.diagram.setAutoFillBackground(False)
        self._laid_out = QTimer(self)  # a box's place is known once the diagram has its size
        self._laid_out.setSingleShot(True)
        self._laid_out.setInterval(0)
        self._laid_out.timeout.connect(self._bring_into_sight)
        column = in_column(self, self._formula_scroll, spacing=GRID // 2)
        column.addWidget(self._scroll, 1)

    def sizeHint(self) -> QSize:
        return QSize(456, 140)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or self.store.trace is None:
            return
        if old.view.stage != new.view.stage:
            self._select()
        if old.view.locked != new.view.locked:
            self._light()
        if (old.view.head, old.view.orientation) != (new.view.head, new.view.orientation):
            self._show()

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light()

    def on_stage_hover(self, stage: str) -> None:
        self.diagram.set_lit(stage)
        for formula in self.formulas:
            formula.set_lit(stage)
        self._bring_symbol_into_sight(stage)

    def retranslate(self) -> None:
        if self.store.trace is not None:
            self._show()  # also under another tab

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange_formulas()
        above = self._formula_scroll.height() + GRID // 2
        self.diagram.set_room(event.size() - QSize(SCROLL_BAR, above + SCROLL_BAR))
        self._laid_out.start()

    def _show(self) -> None:
        """Fill the boxes with the site's numbers."""
        site = self.store.drawn_site
        if site.stages != self.diagram.stages:
            hues: dict[str, str] = {stage: STAGE_BY_ID[stage].hue for stage in site.stages}
            self.diagram.set_stages(site.stages, hues)
        self._fill(site)
        self._say(site)
        self.diagram.arrange()
        self._select()
        self._light()

    def _fill(self, site: SiteTrace) -> None:
        view = self.store.document.view
        transposed = view.orientation == "queries_as_columns"
        for stage in site.stages:
            box = self.diagram.box(stage)
            shape = site.shape(stage)
            values, hidden = site.overview(stage, shown_head(site.experiment, view, stage))
            box.set_values(values, site.is_signed(stage), hidden, transposed=transposed, shape=shape[-2:])
            box.set_shape(shape_text(shape))

    def _say(self, site: SiteTrace) -> None:
        """Name the existing boxes, and write the lines of formulas."""
        for stage in self.diagram.stages:
            if stage in site.stages:
                formula, shape = stage_formula(site.experiment, stage), shape_text(site.shape(stage))
                words = f"{formula}\n{stage_axes(stage)} = {shape}"
                self.diagram.box(stage).set_caption(_(STAGE_BY_ID[stage].title), words)
        lines = site_lines(site.experiment, site.stages)
        for index, formula_line in enumerate(self.formulas):
            formula_line.setVisible(index < len(lines))
            formula_line.set_parts(lines[index] if index < len(lines) else ())
        self._arrange_formulas()

    def _arrange_formulas(self) -> None:
        """Side by side over a wide diagram, one below another and wrapped over a tall one."""
        is_tall = self.height() > self.width()
        ways = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._lines.setDirection(ways[is_tall])
        self._lines.setSpacing(GRID // 4 if is_tall else 2 * GRID)
        for formula in self.formulas:
            # What does not fit in one line is scrolled to: a size hint is never under the last least width.
            whole = math.ceil(QFontMetricsF(formula.font()).horizontalAdvance(formula.text()))
            formula.setMinimumWidth(NARROWEST if is_tall else whole)
            formula.set_wrapped(self.width() if is_tall else None)
        self._formula_scroll.setFixedHeight(self._lines.sizeHint().height() + 2)

    def _light(self) -> None:
        site, view, focus = self.store.drawn_site, self.store.document.view, self.store.focus
        for stage in self.diagram.stages:
            if stage in site.stages:
                self.diagram.box(stage).set_lit(highlight(site, view, stage, focus))

    def _select(self) -> None:
        chosen = self.store.document.view.stage
        self.diagram.set_chosen(chosen)
        self._laid_out.start()

    @Slot()
    def _bring_into_sight(self) -> None:
        chosen = self.store.document.view.stage
        if chosen in self.diagram.stages:
            self._scroll.ensureWidgetVisible(self.diagram.box(chosen), 80, 40)

    def _bring_symbol_into_sight(self, stage: str) -> None:
        for formula in self.formulas:
            symbol = next(
                (rect for part, rect in formula.part_rects() if stage and part.stage == stage), None
            )
            if symbol is not None and formula.isVisible():
                middle = formula.geometry().topLeft() + symbol.center().toPoint()
                self._formula_scroll.ensureVisible(middle.x(), middle.y(), 40, 0)
                return

    @Slot(str)
    def _on_stage(self, stage: str) -> None:
        self.store.look(stage=stage)
