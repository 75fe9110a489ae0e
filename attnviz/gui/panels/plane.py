"""The plane: x, q and k as arrows, in two features or in a plane through the origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.planes import kept_share
from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.pictures.arrow_plot import ArrowPlot, Arrows
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import N_, _
from attnviz.model.edit.tips import n_tips, why_fixed, with_tip, x_stage
from attnviz.model.projections import PROJECTION_BY_ID, PROJECTIONS, ProjectionRow
from attnviz.model.provenance import kv_head
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID, as_read
from attnviz.model.trace import SiteTrace, Trace

MOST_ARROWS = 64

DIM_WIDTH = 34
"""Room of the number of a feature, in pixels."""

SMALLEST = 60
"""Height in pixels, however many lines the numbers take."""

MANY = 32
"""Tokens from which on the arrows wait for the next frame: they take as long as all other panels together."""


Vectors = tuple[NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""All vectors (n, d), and the two in focus."""


class PlanePanel(Panel):
    """Dragging a tip edits a vector; below stand product, lengths, angle, cosine of the pair in focus."""

    follows = ("head", "query", "plane", "projection", "locked")
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._show_present)
        self.plot = says(ArrowPlot(), id="plane_plot", name=N_("Vectors in two dimensions"))
        self.plot.setMinimumHeight(11)
        self.plot.tip_moved.connect(self._on_moved)
        self.plot.tip_hovered.connect(self._on_hovered)
        self.plot.tip_clicked.connect(self._on_clicked)
        self.plot.gesture_started.connect(store.begin_gesture)
        self.plot.gesture_finished.connect(store.end_gesture)
        self._what = Segmented((("qk", "q k", ""), ("x", "x", "")), "qk")
        says(self._what, id="plane_what", name=N_("Shown vectors"))
        self._what.changed.connect(self._on_what)
        projections = [(row.id, row.title, row.hint) for row in PROJECTIONS]
        name = N_("Projection onto the plane")
        self._projection = says(Combo(()), id="plane_projection", name=name, options=projections)
        self._projection.changed.connect(self._on_projection)
        self._dims = (
            self._dim_field("plane_x", N_("Horizontal dimension")),
            self._dim_field("plane_y", N_("Vertical dimension")),
        )
        self._fitted: object = None
        """The document and attention that the plot was last fitted to, by title, name and shapes."""
        self._chosen: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        """The pair whose plane is drawn: hovered tips do not turn the plane under the mouse."""
        self._says = Note("plane_share")
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
            self._show(self.store.drawn_site)

    def on_trace(self, trace: Trace) -> None:
        if trace.experiment.n_queries > MANY:
            self._later.start()
        else:
            self._show(self.store.drawn_site)

    @Slot()
    def _show_present(self) -> None:
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    def retranslate(self) -> None:
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    # --- showing

    def _show(self, site: SiteTrace) -> None:
        is_x = self._what.value() == "x"
        query, key = self._pair(site)
        vectors, pair = self._x_vectors(site, query, key) if is_x else self._qk_vectors(site, query, key)
        if not self.plot.underMouse():
            self._chosen = pair
        row = PROJECTION_BY_ID[self.store.document.view.projection]
        dims = self._plane(vectors.shape[1])
        for field, dim in zip(self._dims, dims, strict=True):
            field.setVisible(row.id == "features")
            field.set_range(0, max(0, vectors.shape[1] - 1))
            field.set_value(dim)
        self._projection.set_value(row.id)
        basis = row.basis(vectors, dims, self._chosen or pair)
        families = self._x_arrows(site, basis, query) if is_x else self._qk_arrows(site, basis, query, key)
        self.plot.set_arrows(families)
        self._fit_anew(site)
        self._say_share(row, kept_share(vectors, basis), self._names(site, is_x, query, key))
        self._facts.setText(self._pair_facts(site, query, key))
        self._fit_facts()

    def _say_share(self, row: ProjectionRow, share: float, names: tuple[str, str]) -> None:
        """Say which projection is drawn, and what it keeps."""
        kept = "–" if np.isnan(share) else f"{100 * share:.3g} %"
        self._says.setText(_(row.says).format(share=kept, first=names[0], second=names[1]))

    def _names(self, site: SiteTrace, is_x: bool, query: int, key: int) -> tuple[str, str]:
        tokens = site.names("query")[query], site.names("key")[key]
        words = [isolated(elide(visible(token), 12)) for token in tokens]
        return (f"x {words[0]}", f"x {words[1]}") if is_x else (f"q {words[0]}", f"k {words[1]}")

    def _x_vectors(self, site: SiteTrace, query: int, key: int) -> Vectors:
        """All token vectors, and those of the query and of the key if both are of one sequence."""
        vectors = site.window(x_stage(site.stages)).astype(np.float64)
        return vectors, (vectors[query], vectors[key if site.experiment.memory is None else query])

    def _qk_vectors(self, site: SiteTrace, query: int, key: int) -> Vectors:
        """All queries and keys of the head, as the scores read them, and the two in focus."""
        q, k = self._matrix(site, "q"), self._matrix(site, "k")
        return np.concatenate([q, k]), (q[query], k[key])

    def _matrix(self, site: SiteTrace, name: str) -> NDArray[np.float64]:
        stage = as_read(name, site.stages)
        head = shown_head(site.experiment, self.store.document.view, stage)
        matrix: NDArray[np.float64] = site.window(stage, head).astype(np.float64)
        return matrix

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

    def _x_arrows(self, site: SiteTrace, basis: NDArray[np.float64], query: int) -> tuple[Arrows, ...]:
        stage, reason = x_stage(site.stages), self._why_fixed(site, "x")
        vectors, labels = site.window(stage), site.names(STAGE_BY_ID[stage].axes[0])
        return (_arrows("x", self.theme.ink, vectors, basis, labels, query, reason),)

    def _qk_arrows(
        self, site: SiteTrace, basis: NDArray[np.float64], query: int, key: int
    ) -> tuple[Arrows, ...]:
        """All keys, and the one query in focus, as the scores read them."""
        families = []
        rows = (("k", self.theme.key, key), ("q", self.theme.query, query))
        for name, color, strong in rows:
            labels = site.names(STAGE_BY_ID[as_read(name, site.stages)].axes[1])
            arrows = _arrows(
                name, color, self._matrix(site, name), basis, labels, strong, self._why_fixed(site, name)
            )
            families.append(replace(arrows, names_strong_only=name == "q"))
        return tuple(families)

    def _why_fixed(self, site: SiteTrace, name: str) -> str:
        assert self.store.trace is not None
        if site.quantity != "value":
            return _("The arrows are gradients: show the values to drag a tip.")
        if self.store.followed is not None:
            return _("These are the tokens up to the step of the player.")
        message = why_fixed(self.store.trace.experiment, site.name, name, site.stages)
        if message:
            return _(message)
        if self.store.document.view.projection != "features":
            return _("Select two features to drag a tip.")
        return ""

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
        q, k = self._matrix(site, "q")[query], self._matrix(site, "k")[key]
        lengths = float(np.linalg.norm(q)), float(np.linalg.norm(k))
        dot = float(q @ k)
        tokens = site.names("query")[query], site.names("key")[key]
        names = [isolated(elide(visible(token), 8)) for token in tokens]
        if site.quantity != "value":
            return f"|{site.called(as_read('q', site.stages))}| {names[0]} = {number(lengths[0], 4)}\n" + (
                f"|{site.called(as_read('k', site.stages))}| {names[1]} = {number(lengths[1], 4)}"
            )
        first = f"q {names[0]} · k {names[1]} = {number(dot, 4)}"
        second = f"= |q| {number(lengths[0])} · |k| {number(lengths[1])}"
        if not lengths[0] * lengths[1] > 0:
            return f"{first}\n{second}"
        cosine = dot / (lengths[0] * lengths[1])
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        return f"{first}  θ {number(angle, 1)}°\n{second} · cos {number(cosine)}"

    # --- acting

    @Slot(str, int, float, float)
    def _on_moved(self, name: str, index: int, x: float, y: float) -> None:
        place = self.store.document.site
        is_value = self.store.document.view.quantity == "value"
        if self.store.trace is None or not is_value or index >= n_tips(self.store.experiment, place, name):
            return
        self.store.edit(with_tip, place, name, index, self._head(name), self._dims_now(name), (x, y))

    def _dims_now(self, name: str) -> tuple[int, int]:
        attention = self.store.attention
        return self._plane(attention.d_embedding if name == "x" else attention.d_qk)

    def _head(self, name: str) -> int:
        attention = self.store.attention
        head = min(self.store.document.view.head, attention.heads.n_heads - 1)
        return kv_head(attention, head) if name == "k" else head

    @Slot(str, int)
    def _on_hovered(self, name: str, index: int) -> None:
        if not name or self.store.trace is None:
            self.store.set_hover(None)
            return
        stages = self.store.drawn_site.stages
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
            self._show(self.store.drawn_site)
            self.plot.fit()

    @Slot(str)
    def _on_projection(self, projection: str) -> None:
        self.store.look(projection=projection)
        self.plot.fit()

    @Slot(object)
    def _on_dim(self, value: object) -> None:
        self.store.look(plane=tuple(int(field.value()) for field in self._dims))
        self.plot.fit()

    def _dim_field(self, id_: str, name: str) -> DragNumber:
        field = says(DragNumber(0, minimum=0, maximum=1, integer=True), id=id_, name=name, tip=True)
        field.changed.connect(self._on_dim)
        field.rejected.connect(self.store.rejected)
        return field

    def _lay_out(self) -> None:
        self._controls = QWidget()
        row, line = QHBoxLayout(self._controls), QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        for layout in (row, line):
            layout.setSpacing(GRID // 2)
        row.addWidget(self._what)
        row.addWidget(self._projection, 1)
        for field in self._dims:
            field.setFixedWidth(DIM_WIDTH)
            line.addWidget(field)
        line.addWidget(self._says, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self.plot, 1)
        column.addLayout(line)
        column.addWidget(self._facts)


def _arrows(
    name: str,
    color: str,
    vectors: NDArray[np.floating],
    basis: NDArray[np.float64],
    labels: tuple[str, ...],
    strong: int,
    fixed: str,
) -> Arrows:
    """The arrows of the first vectors, or of those up to the one in focus."""
    start = max(0, strong + 1 - MOST_ARROWS)
    shown = slice(start, start + MOST_ARROWS)
    with np.errstate(all="ignore"):
        tips: NDArray[np.float64] = vectors[shown].astype(np.float64) @ basis
    return Arrows(name, color, tips, labels[shown], strong - start, fixed, start=start)
