"""The plane: x, q and k as arrows in two chosen dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.pictures.arrow_plot import ArrowPlot, Arrows
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import _
from attnviz.model.edit.tips import n_tips, why_fixed, with_tip, x_stage
from attnviz.model.provenance import kv_head
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID, as_read
from attnviz.model.trace import SiteTrace, Trace

MOST_ARROWS = 64

SMALLEST = 60
"""Height in pixels, however many lines the numbers take."""

MANY = 32
"""Tokens from which on the arrows wait for the next frame: they take as long as all other panels together."""


class PlanePanel(Panel):
    """Dragging a tip edits a vector; below stand product, lengths, angle, cosine of the pair in focus."""

    follows = ("head", "query", "plane", "locked")
    follows_player = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._show_present)
        self.plot = ArrowPlot()
        self.plot.setObjectName("plane_plot")
        self.plot.setMinimumHeight(11)
        self.plot.tip_moved.connect(self._on_moved)
        self.plot.tip_hovered.connect(self._on_hovered)
        self.plot.tip_clicked.connect(self._on_clicked)
        self.plot.gesture_started.connect(store.begin_gesture)
        self.plot.gesture_finished.connect(store.end_gesture)
        self._what = Segmented((("qk", "q k", ""), ("x", "x", "")), "qk")
        self._what.setObjectName("plane_what")
        self._what.changed.connect(self._on_what)
        self._dims = (self._dim_field("plane_x"), self._dim_field("plane_y"))
        self._fitted: object = None
        """The document and attention that the plot was last fitted to, by title, name and shapes."""
        self._dims_label = QLabel()
        self._facts = QLabel()
        self._facts.setObjectName("plane_facts")
        self._facts.setTextFormat(Qt.TextFormat.PlainText)
        self._facts.setFont(number_font(TEXT_PX - 1))
        self._facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._facts.setWordWrap(True)
        store.opened.connect(self._on_opened)
        self._lay_out()

    def header(self) -> QWidget:
        """The choice of vectors and of two dimensions."""
        return self._controls

    def on_document(self, old: Document | None, new: Document) -> None:
        is_here = old is not None and old.site == new.site  # another attention also sends its trace
        if old is not None and is_here and self.store.trace is not None and old.view != new.view:
            self._show(self.store.shown_site)

    def on_trace(self, trace: Trace) -> None:
        if trace.experiment.n_queries > MANY:
            self._later.start()
        else:
            self._show(self.store.shown_site)

    @Slot()
    def _show_present(self) -> None:
        if self.store.trace is not None:
            self._show(self.store.shown_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._show(self.store.shown_site)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._dims_label.setStyleSheet(f"color: {theme.muted}")
        if self.store.trace is not None:
            self._show(self.store.shown_site)

    def retranslate(self) -> None:
        self._dims_label.setText(_("dims"))
        self.plot.setAccessibleName(_("Vectors in two dimensions"))
        self._what.setAccessibleName(_("Shown vectors"))
        for field, name in zip(self._dims, (_("Horizontal dimension"), _("Vertical dimension")), strict=True):
            field.setAccessibleName(name)
            field.set_tooltip(name)
        if self.store.trace is not None:
            self._show(self.store.shown_site)

    # --- showing

    def _show(self, site: SiteTrace) -> None:
        width = site.experiment.d_model if self._what.value() == "x" else site.shape("q")[2]
        dims = self._plane(width)
        for field, dim in zip(self._dims, dims, strict=True):
            field.set_range(0, max(0, width - 1))
            field.set_value(dim)
        query, key = self._pair(site)
        families = self._x_arrows(site, dims, query) if self._what.value() == "x" else ()
        families = families or self._qk_arrows(site, dims, query, key)
        self.plot.set_arrows(families)
        self._fit_anew(site)
        self._facts.setText(self._pair_facts(site, query, key))
        self._fit_facts()

    def _fit_anew(self, site: SiteTrace) -> None:
        """Show all arrows of another document or attention, whatever was zoomed in the one before."""
        own = self.store.site  # what is generated fits itself while it grows
        shown = self.store.document.title, site.name, own.shape("q"), own.shape("k")
        if shown != self._fitted:
            self._fitted = shown
            self.plot.fit()

    @Slot()
    def _on_opened(self) -> None:
        """Another document is fitted, also where its title and its shapes are those of the last one."""
        self._fitted = None

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), SMALLEST)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_facts()

    def _fit_facts(self) -> None:
        """The numbers stay whole in however many lines; the arrows have the rest."""
        self._facts.setMinimumHeight(max(0, self._facts.heightForWidth(self.width())))

    def _plane(self, width: int) -> tuple[int, int]:
        first, second = self.store.document.view.plane
        return min(first, width - 1), min(second, width - 1)

    def _x_arrows(self, site: SiteTrace, dims: tuple[int, int], query: int) -> tuple[Arrows, ...]:
        tips = site.window(x_stage(site.stages))[:MOST_ARROWS, list(dims)].astype(np.float64)
        reason = self._why_fixed(site, "x")
        return (Arrows("x", self.theme.ink, tips, site.experiment.tokens, _within(query, tips), reason),)

    def _qk_arrows(self, site: SiteTrace, dims: tuple[int, int], query: int, key: int) -> tuple[Arrows, ...]:
        """All keys, and the one query in focus, as the scores read them."""
        found = []
        rows = (("k", self.theme.key, key), ("q", self.theme.query, query))
        for name, color, strong in rows:
            stage = as_read(name, site.stages)
            head = shown_head(site.experiment, self.store.document.view, stage)
            tips = site.window(stage, head)[:MOST_ARROWS, list(dims)].astype(np.float64)
            labels = site.labels(STAGE_BY_ID[stage].axes[1])
            reason = self._why_fixed(site, name)
            found.append(Arrows(name, color, tips, labels, _within(strong, tips), reason, name == "q"))
        return tuple(found)

    def _why_fixed(self, site: SiteTrace, name: str) -> str:
        assert self.store.trace is not None
        if self.store.followed is not None:
            return _("These are the tokens up to the step of the player.")
        message = why_fixed(self.store.trace.experiment, site.name, name, site.stages)
        return _(message) if message else ""

    def _pair(self, site: SiteTrace) -> tuple[int, int]:
        """(query, key) in focus."""
        experiment, focus = site.experiment, self.store.focus
        query = key = self.store.shown_view.query
        locked = self.store.document.locked_here
        if locked is not None and STAGE_BY_ID[locked.stage].score_shaped:
            key = locked.column
        if focus is not None:
            rows, columns = STAGE_BY_ID[focus.stage].axes[-2:]
            query = focus.row if rows in ("query", "token") else query
            key = focus.column if columns == "key" else focus.row if rows in ("key", "memory") else key
        return min(query, experiment.n_queries - 1), min(key, experiment.n_keys - 1)

    def _pair_facts(self, site: SiteTrace, query: int, key: int) -> str:
        experiment = site.experiment
        q, k = self._vector(site, "q", query), self._vector(site, "k", key)
        lengths = float(np.linalg.norm(q)), float(np.linalg.norm(k))
        dot = float(q @ k)
        tokens = experiment.tokens[query], experiment.key_tokens[key]
        names = [isolated(elide(visible(token), 8)) for token in tokens]
        first = f"q {names[0]} · k {names[1]} = {number(dot, 4)}"
        second = f"= |q| {number(lengths[0])} · |k| {number(lengths[1])}"
        if not lengths[0] * lengths[1] > 0:
            return f"{first}\n{second}"
        cosine = dot / (lengths[0] * lengths[1])
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        return f"{first}  θ {number(angle, 1)}°\n{second} · cos {number(cosine)}"

    def _vector(self, site: SiteTrace, name: str, row: int) -> NDArray[np.float64]:
        stage = as_read(name, site.stages)
        head = shown_head(site.experiment, self.store.document.view, stage)
        vector: NDArray[np.float64] = site.window(stage, head)[row].astype(np.float64)
        return vector

    # --- acting

    @Slot(str, int, float, float)
    def _on_moved(self, name: str, index: int, x: float, y: float) -> None:
        place = self.store.document.site
        if self.store.trace is None or index >= n_tips(self.store.experiment, place, name):
            return
        self.store.edit(with_tip, place, name, index, self._head(name), self._dims_now(name), (x, y))

    def _dims_now(self, name: str) -> tuple[int, int]:
        attention = self.store.attention
        return self._plane(attention.d_model if name == "x" else attention.d_qk)

    def _head(self, name: str) -> int:
        attention = self.store.attention
        head = min(self.store.document.view.head, attention.heads.n_heads - 1)
        return kv_head(attention, head) if name == "k" else head

    @Slot(str, int)
    def _on_hovered(self, name: str, index: int) -> None:
        if not name or self.store.trace is None:
            self.store.set_hover(None)
            return
        stages = self.store.shown_site.stages
        stage = x_stage(stages) if name == "x" else as_read(name, stages)
        head = 0 if name == "x" else self._head(name)
        self.store.set_hover(Cell(stage, index, self._dims_now(name)[0], head))

    @Slot(str, int)
    def _on_clicked(self, name: str, index: int) -> None:
        if name != "k":
            self.store.look(query=index)

    @Slot(str)
    def _on_what(self, what: str) -> None:
        if self.store.trace is not None:
            self._show(self.store.shown_site)
            self.plot.fit()

    @Slot(object)
    def _on_dim(self, value: object) -> None:
        self.store.look(plane=tuple(int(field.value()) for field in self._dims))
        self.plot.fit()

    def _dim_field(self, name: str) -> DragNumber:
        field = DragNumber(0, minimum=0, maximum=1, integer=True)
        field.setObjectName(name)
        field.changed.connect(self._on_dim)
        field.rejected.connect(self.store.rejected)
        return field

    def _lay_out(self) -> None:
        self._controls = QWidget()
        row = QHBoxLayout(self._controls)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        row.addWidget(self._what)
        row.addWidget(self._dims_label)
        for field in self._dims:
            row.addWidget(field)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self.plot, 1)
        column.addWidget(self._facts)


def _within(index: int, tips: NDArray[np.float64]) -> int:
    return index if index < len(tips) else -1
