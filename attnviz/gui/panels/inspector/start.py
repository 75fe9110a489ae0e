"""The inspector while no cell is open: what a click opens, and what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QColor, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.core.text import isolated, visible
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.pictures.value_sum import SumPlane
from attnviz.gui.widgets.scroll import clear_scroll, is_cut
from attnviz.i18n import N_, _
from attnviz.model.edit.masks import find_mask, put_mask, take_mask
from attnviz.model.spec.parts import Causal, NoScale, Scale, SqrtDHead
from attnviz.model.spec.view import Cell, query_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.value_sum import value_sum

_SCALES: dict[type, tuple[str, Scale]] = {
    SqrtDHead: (N_("Leave out ÷√d: the scores grow, and the softmax sharpens"), NoScale()),
    NoScale: (N_("Divide the scores by √d again"), SqrtDHead()),
}


@dataclass(frozen=True)
class Try:
    """One suggestion: its sentence now (empty: not offered now), and what a click on it does."""

    id: str
    sentence: Callable[[Store], str]
    act: Callable[[Store], object]


def largest_weight(store: Store) -> tuple[Cell, float]:
    """The largest weight of the last query in the shown head."""
    site = store.shown_site
    head = query_head(site.experiment, store.document.view)  # the document may be ahead
    last = site.shape(site.raw_map)[1] - 1
    row = np.asarray(site.window(site.raw_map, head, slice(last, last + 1)))[0]
    key = int(np.nanargmax(row)) if np.isfinite(row).any() else 0
    return Cell(site.raw_map, last, key, head), float(row[key])


def _largest(store: Store) -> str:
    cell, value = largest_weight(store)
    queries, keys = (store.shown_site.names(axis) for axis in STAGE_BY_ID[cell.stage].axes[1:])
    return _("Open the largest weight of the last row: “{query}” → “{key}”, {value:.3f}").format(
        query=isolated(visible(queries[cell.row])), key=isolated(visible(keys[cell.column])), value=value
    )


def _open_largest(store: Store) -> None:
    cell, _value = largest_weight(store)
    store.look(stage=cell.stage, query=cell.row, locked=cell)


def _next_head(store: Store) -> str:
    heads = store.attention.heads.n_heads
    if heads < 2:
        return ""
    return _("Show the next of the {n} heads").format(n=heads)


def _show_next_head(store: Store) -> None:
    heads = store.attention.heads.n_heads
    store.look(head=(min(store.document.view.head, heads - 1) + 1) % heads)


def _mask(store: Store) -> str:
    if find_mask(store.attention, Causal) is not None:
        return _("Remove the causal mask: every token then attends to later ones")
    return _("Add a causal mask: no token then attends to a later one")


def _switch_mask(store: Store) -> None:
    if find_mask(store.attention, Causal) is not None:
        store.edit_attention(take_mask, Causal)
    else:
        store.edit_attention(put_mask, Causal())


def _scale(store: Store) -> str:
    sentence, _other = _SCALES.get(type(store.attention.scale), ("", None))
    return _(sentence) if sentence else ""


def _switch_scale(store: Store) -> None:
    _sentence, other = _SCALES[type(store.attention.scale)]
    store.edit_attention(lambda site: replace(site, scale=other))


TRIES: tuple[Try, ...] = (
    Try("largest", _largest, _open_largest),
    Try("head", _next_head, _show_next_head),
    Try("mask", _mask, _switch_mask),
    Try("scale", _scale, _switch_scale),
)
TITLE = N_("Try this")


SUM_PX, LOW_SUM_PX, LOW_PX = 148, 104, 260
"""Least height of the picture of the sum; that in a place lower than the last number, with lines below it."""


class TryLine(LinkLine):
    """The sentence of a suggestion: whole, or not there."""

    def paintEvent(self, event: QPaintEvent) -> None:
        if not is_cut(self, self.rect()):
            super().paintEvent(event)

    def hitButton(self, pos: QPoint) -> bool:
        return not is_cut(self, self.rect()) and super().hitButton(pos)


class InspectorStart(Control):
    """A sentence, the sum of the query's values, and a line for each row of `TRIES` that is possible."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._says, self._title = QLabel(), QLabel()
        self._says.setObjectName("inspector_says")
        self._title.setObjectName("tries_title")
        for label in (self._says, self._title):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self._lines = {row.id: TryLine() for row in TRIES}
        self._sum = SumPlane()
        self._sum.hide()
        self._sum.clicked.connect(self._open_sum)
        content = QWidget()
        column = in_column(content, self._says, spacing=GRID // 2)
        column.addSpacing(GRID)
        column.addWidget(self._sum)
        column.addWidget(self._title)
        for row in TRIES:
            line = self._lines[row.id]
            line.setObjectName(f"try_{row.id}")
            line.clicked.connect(partial(row.act, store))
            column.addWidget(line)
        column.addStretch(1)
        scroll = clear_scroll(content, sideways=False)
        scroll.setMinimumWidth(0)
        bar = scroll.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_scrolled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)
        self.apply_theme(self._theme)

    def set_text(self, text: str) -> None:
        """Show a sentence, and what can be tried with the present numbers."""
        self._says.setText(text)
        self.setAccessibleName(text)
        has_numbers = self._store.shown_trace is not None
        for row in TRIES:
            self._lines[row.id].set_text(row.sentence(self._store) if has_numbers else "")
        self._title.setText(_(TITLE))
        self._title.setVisible(has_numbers)
        self._show_sum()

    def forget(self) -> None:
        """Hold no sum of a document that was left."""
        self._sum.set_sum(None)
        self._sum.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        grown = max(SUM_PX, min(self.width() // 2, self.height() // 2))
        self._sum.setFixedHeight(LOW_SUM_PX if self.height() < LOW_PX else grown)

    @Slot()
    def _on_scrolled(self) -> None:
        """Paint other lines whole."""
        for line in self._lines.values():
            line.update()

    def _show_sum(self) -> None:
        """The sum of the query in the shown head, where the document has values."""
        store, found = self._store, None
        if store.shown_trace is not None:
            site, view, was = store.shown_site, store.shown_view, self._sum.sum
            head = query_head(site.experiment, view)
            query = min(view.query, site.shape(site.map)[-2] - 1)
            if was is not None and was.site is site and (was.head, was.query) == (head, query):
                return
            found = value_sum(site, head, query)
        self._sum.set_sum(found)
        self._sum.setVisible(found is not None)

    @Slot()
    def _open_sum(self) -> None:
        """Lock the first number of the result."""
        found = self._sum.sum
        if found is not None:
            cell = Cell("mixed", found.query, 0, found.head)
            self._store.look(stage=cell.stage, query=cell.row, locked=cell)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for label, color in ((self._says, theme.muted), (self._title, theme.ink)):
            palette = label.palette()
            palette.setColor(QPalette.ColorRole.WindowText, QColor(color))
            label.setPalette(palette)
