"""The heads as small multiples: the shown stage for every head, clicked to choose."""

from __future__ import annotations

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.panels.panel import Panel
from attnviz.gui.stage_heat import highlight
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.ranges import overview_ends, range_ends
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

SIDE, SMALLEST_SIDE = 60, 34
"""Pixels of a thumbnail: normally, and in a low window."""
MOST_HEADS = 128
"""Thumbnails in the strip; models have fewer heads than this."""


class HeadsPanel(Panel):
    """One thumbnail per head. Stages without heads are shown by their weights."""

    follows = ("stage", "head", "ranges", "orientation", "locked")
    follows_player = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._thumbnails: list[Thumbnail] = []
        strip = QWidget()
        self._row = QHBoxLayout(strip)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GRID)
        self._row.addStretch(1)
        self._scroll = clear_scroll(strip, sideways=True)
        self._scroll.setObjectName("heads_scroll")
        self._scroll.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._scroll)
        self._side = SIDE
        self._ensure(1)
        self._full = strip.sizeHint().height() + 8
        self._scroll.setMaximumHeight(self._full)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._full)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._full - SIDE + SMALLEST_SIDE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Thumbnails as large as the height allows, with their captions."""
        super().resizeEvent(event)
        side = max(SMALLEST_SIDE, min(SIDE, SIDE - self._full + self.height()))
        if side != self._side:
            self._side = side
            for thumbnail in self._thumbnails:
                thumbnail.set_side(side)
            if self.store.trace is not None:
                self._paint(self.store.shown_site)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or self.store.trace is None:
            return
        before, after = old.view, new.view
        if any(getattr(before, name) != getattr(after, name) for name in ("stage", "orientation", "ranges")):
            self._paint(self.store.shown_site)
        elif before.head != after.head:
            self._select(self.store.shown_site)
        if before.locked != after.locked:
            self._light(self.store.shown_site)

    def on_trace(self, trace: Trace) -> None:
        self._paint(self.store.shown_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.shown_site)

    def retranslate(self) -> None:
        self.setAccessibleName(_("Heads"))
        if self.store.trace is not None:
            self._paint(self.store.shown_site)

    def _stage(self, site: SiteTrace) -> str:
        stage = self.store.document.view.stage
        per_head = stage in site.stages and STAGE_BY_ID[stage].axes[0] in ("head", "kv_head")
        return stage if per_head else "weights"

    def _paint(self, site: SiteTrace) -> None:
        stage = self._stage(site)
        view, row = self.store.document.view, STAGE_BY_ID[stage]
        count = self._count(site)
        self._ensure(count)
        range_id = view.range_of(stage)
        of_all = range_ends(site, stage, range_id, ()) if range_id == "global" else None
        for head, thumbnail in enumerate(self._thumbnails):
            thumbnail.setVisible(head < count)
            if head < count:
                transposed = view.orientation == "queries_as_columns"
                values, hidden = site.overview(stage, head)
                ends = of_all or overview_ends(site, stage, range_id, head)
                shape = site.shape(stage)[-2:]
                thumbnail.set_values(values, row.signed, hidden, range_id, ends, transposed, shape)
                thumbnail.set_caption(self._caption(site, row.axes[0], head))
        self._select(site)
        self._light(site)

    def _count(self, site: SiteTrace) -> int:
        return min(site.shape(self._stage(site))[0], MOST_HEADS)

    def _caption(self, site: SiteTrace, axis: str, head: int) -> str:
        heads = site.experiment.heads
        if axis == "kv_head":
            return _("KV head {head}").format(head=head + 1)
        if heads.n_kv_heads == heads.n_heads:
            return _("head {head}").format(head=head + 1)
        shared = head // heads.group_size + 1
        return _("head {head} · KV {shared}").format(head=head + 1, shared=shared)

    def _select(self, site: SiteTrace) -> None:
        stage = self._stage(site)
        chosen = min(self.store.document.view.head, site.experiment.heads.n_heads - 1)
        if STAGE_BY_ID[stage].axes[0] == "kv_head":
            chosen //= site.experiment.heads.group_size
        off = site.experiment.heads.off if STAGE_BY_ID[stage].axes[0] == "head" else ()
        for head, thumbnail in enumerate(self._thumbnails):
            thumbnail.set_selected(head == chosen)
            thumbnail.set_struck(head in off)
        rove(self._thumbnails, chosen)

    def _light(self, site: SiteTrace) -> None:
        stage, view, focus = self._stage(site), self.store.document.view, self.store.focus
        for head in range(self._count(site)):
            self._thumbnails[head].set_lit(highlight(site, view, stage, focus, head))

    def _ensure(self, count: int) -> None:
        while len(self._thumbnails) < count:
            head = len(self._thumbnails)
            thumbnail = Thumbnail(self._side)
            thumbnail.setObjectName(f"head_{head}")
            thumbnail.setProperty("head", head)
            thumbnail.apply_theme(self.theme)
            thumbnail.set_caption(_("head {head}").format(head=head + 1))
            thumbnail.clicked.connect(self._on_clicked)
            thumbnail.walked.connect(self._on_walked)
            self._row.insertWidget(head, thumbnail)
            self._thumbnails.append(thumbnail)

    @Slot(int)
    def _on_walked(self, step: int) -> None:
        """An arrow key: choose the next head, as the command of that name does."""
        head = self.sender().property("head") + step
        if self.store.trace is not None and 0 <= head < self._count(self.store.shown_site):
            self._choose(head)

    @Slot()
    def _on_clicked(self) -> None:
        self._choose(self.sender().property("head"))

    def _choose(self, head: int) -> None:
        """Choose the head, or the first head of the key/value head, that a thumbnail shows."""
        if (
            self.store.trace is not None
            and STAGE_BY_ID[self._stage(self.store.shown_site)].axes[0] == "kv_head"
        ):
            head *= self.store.shown_site.experiment.heads.group_size
        self.store.look(head=head)
