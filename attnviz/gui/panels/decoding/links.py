"""Every number of a decoding step is a cell: pointed at, it opens in the inspector; clicked, it stays."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from attnviz.compute.decoding import Decoded
from attnviz.engines.decode.step import SiteStep
from attnviz.gui.panels.decoding.caches.strip import WeightStrip
from attnviz.gui.panels.decoding.next.rows import NextRows
from attnviz.gui.store import Store
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.links import shares_of
from attnviz.model.sites.sites import shown_site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import as_read

CellOf = Callable[[int, int], Cell | None]
"""(row, column) of a widget -> the cell of the number there; None without one."""


class Links(QObject):
    """The links of one widget. Rows have one column."""

    def __init__(self, store: Store, widget: RowMatrix | NextRows | WeightStrip, cell_of: CellOf) -> None:
        super().__init__(widget)
        self._store, self._cell_of = store, cell_of
        if isinstance(widget, RowMatrix):
            widget.cell_hovered.connect(self._on_hovered)
            widget.cell_clicked.connect(self._on_clicked)
        else:
            widget.hovered.connect(self._on_row_hovered)
            widget.clicked.connect(self._on_row_clicked)

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        self._store.point_in_decoding(self._cell_of(row, column) if row >= 0 else None)

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        cell = self._cell_of(row, column)
        if cell is not None:
            self._store.hold_in_decoding(cell)

    @Slot(int)
    def _on_row_hovered(self, row: int) -> None:
        self._on_hovered(row, 0)

    @Slot(int)
    def _on_row_clicked(self, row: int) -> None:
        self._on_clicked(row, 0)


class StepCells:
    """Cells of the numbers in the step view, which reports its content here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.decoded: Decoded | None = None
        self.index = 0
        self.order: list[int] = []
        """The vocabulary's ids, as the bars of the next token have them."""

    def kept(self, name: str, row: int, column: int) -> Cell | None:
        """A number of the cache is one of k, v or the latent."""
        site = self._site()
        if site is None:
            return None
        heads = site.experiment.heads
        if site.experiment.latent is None:
            return self.made(name, row, column)
        if name == "k":
            return self._cell("latent", row, column)
        # The RoPE key follows the content of every head's key.
        return self._cell(as_read("k", site.stages), row, heads.d_head + column, self._head(site, "k"))

    def made(self, name: str, row: int, column: int) -> Cell | None:
        """A number of K or V as in a pass without a cache: of every head, with a latent too."""
        site = self._site()
        if site is None:
            return None
        # Keys of a memory are in the cache before the first step: no step has stages of them.
        stages = site.stages if site.experiment.memory is None else self._trace_stages()
        return self._cell(as_read(name, stages), row, column, self._head(site, name))

    def own(self, name: str, _row: int, column: int) -> Cell | None:
        """A number of the new token's q, k, v or output."""
        site = self._site()
        if site is None:
            return None
        if name.startswith("output"):
            return self._cell("attention_output", self.index, column)
        return self._cell(as_read(name, site.stages), self.index, column, self._head(site, name))

    def weight(self, row: int, _column: int) -> Cell | None:
        """A number of the row of weights."""
        site = self._site()
        if site is None:
            return None
        key = int(site.key_positions[row])
        return self._cell(shares_of(site.stages), self.index, key, self._head(site, "q"))

    def next(self, row: int, _column: int) -> Cell | None:
        """The probability of a token: of the last attention, whose read-out it is."""
        if self._site() is None or self.decoded is None:
            return None
        last = next(reversed(self.decoded.decoding.steps[self.index].sites))
        return Cell("probabilities", self.index, self.order[row], 0, self._of(last))

    def _site(self) -> SiteStep | None:
        """The shown site; None while the next trace or the next decoding is pending."""
        trace, decoded = self._store.trace, self.decoded
        if trace is None or decoded is None:
            return None
        name = self._name(decoded)
        return decoded.decoding.steps[self.index].site(name) if name in trace.sites else None

    def _name(self, decoded: Decoded) -> str:
        return shown_step_site(decoded, self._store.document.view.site)

    def _trace_stages(self) -> tuple[str, ...]:
        assert self._store.trace is not None and self.decoded is not None
        return self._store.trace.site(self._name(self.decoded)).stages

    def _cell(self, stage: str, row: int, column: int, head: int = 0) -> Cell:
        assert self.decoded is not None
        return Cell(stage, row, column, head, self._of(self._name(self.decoded)))

    def _of(self, name: str) -> str:
        """The name of a site in cells: empty for the selected one."""
        return "" if name == shown_site(self._store.experiment, self._store.document.view.site) else name

    def _head(self, site: SiteStep, name: str) -> int:
        heads = site.experiment.heads
        head = min(self._store.document.view.head, heads.n_heads - 1)
        return head if name == "q" else head // heads.group_size


def shown_step_site(decoded: Decoded, looked_at: str) -> str:
    """The site whose steps are shown: the selected one, or the main one if that belongs to an encoder."""
    experiment = decoded.decoding.experiment
    name = shown_site(experiment, looked_at)
    return name if name in decoded.decoding.steps[0].sites else shown_site(experiment, "")
