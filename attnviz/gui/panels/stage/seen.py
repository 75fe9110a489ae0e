"""The state of the large view: one stage of one attention, and what is lit in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.phrases import enumerated
from attnviz.core.text import isolated, visible
from attnviz.gui.pointer import Spot
from attnviz.gui.store import Store
from attnviz.gui.widgets.arcs import ArcsContent
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, Highlight
from attnviz.gui.widgets.heat.stages import highlight, short_title, stage_title
from attnviz.i18n import _
from attnviz.model.gradient import GradientSite
from attnviz.model.links import LINED, head_rows, word_lines
from attnviz.model.ranges import shown_range
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import label_among_several, layer_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.image import Image
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import MASKED_STAGES, SiteTrace, Trace
from attnviz.study.heads.mean import has_mean, largest_head, shows_mean


@dataclass(frozen=True)
class Seen:
    """`site` has the drawn numbers, `values` those of the run; `follows` is the view at the player's step."""

    document: Document
    trace: Trace
    site: SiteTrace
    values: SiteTrace
    follows: View
    focus: Cell | None
    spot: Spot | None
    newest: int

    @classmethod
    def of(cls, store: Store) -> Seen:
        """The present state; the store has a run."""
        site, values, view = store.drawn_site, store.shown_site, store.shown_view
        trace = store.drawn_trace
        assert trace is not None
        spot, row = store.pointer.spot, store.played_row
        return cls(store.document, trace, site, values, view, store.focus, spot, row)

    @property
    def view(self) -> View:
        return self.document.view

    @property
    def image(self) -> Image | None:
        return self.document.image

    @property
    def stage(self) -> str:
        """The stage of the view, or the weights where the site does not have it."""
        return self.site.shown_stage(self.view.stage)

    @property
    def is_by_query(self) -> bool:
        """True if the rows are queries or tokens."""
        return STAGE_BY_ID[self.stage].axes[-2] in ("query", "token")

    @property
    def has_lines(self) -> bool:
        """True if the numbers can be widths of lines between words: weights, not their gradients."""
        return self.stage in LINED and self.site.quantity == "value"

    @property
    def has_patches(self) -> bool:
        """True if the numbers are weights between the patches of the document's image."""
        sizes = self.site.shape(self.site.raw_map)[-2:]
        return self.image is not None and self.has_lines and sizes == (self.image.n_tokens,) * 2

    @property
    def pictures(self) -> frozenset[str]:
        """The pictures that the stage can have."""
        has = {
            "map": True,
            "lines": self.has_lines,
            "arcs": self.has_lines,
            "mean": has_mean(self.site, self.stage),
            "patches": self.has_patches,
        }
        return frozenset(name for name, is_there in has.items() if is_there)

    @property
    def picture(self) -> str:
        """The picture that the view names, if the stage has it."""
        return self.view.picture if self.view.picture in self.pictures else "map"

    @property
    def head(self) -> int:
        """The head of the stage that the view shows."""
        return shown_head(self.site.experiment, self.view, self.stage)

    @property
    def range_id(self) -> str:
        """The range of the colours: that of the view, or without the first token."""
        is_mean = shows_mean(self.site, self.view, self.stage)
        return shown_range(self.site, self.view, self.stage, is_mean=is_mean)

    @property
    def arcs(self) -> ArcsContent:
        """The arcs of the query at the player's step, and its row in every head."""
        site, view = self.site, self.follows
        lines = word_lines(site, view, self.stage)
        lines = lines.of_query(min(view.query, len(lines.queries) - 1))
        assert lines.query is not None
        rows = head_rows(self.trace, site, self.stage, lines.query)
        experiment = self.trace.experiment
        labels = tuple(f"{place_of(experiment, row.site).layer + 1}·{row.head + 1}" for row in rows)
        is_part = {row.site for row in rows} != set(self.trace.sites) and len(self.trace.sites) > 1
        layer = layer_label(experiment, site.name) if is_part else ""
        is_off = RANGE_BY_ID[self.range_id].skips_first
        return ArcsContent(lines, rows, labels, (site.name, self.head), is_off, layer)

    @property
    def titles(self) -> tuple[str, str]:
        """The place in full, and in few words."""
        title = self.titled(stage_title(self.site, self.view, self.stage))
        return title, short_title(self.site, self.view, self.stage)

    def titled(self, title: str) -> str:
        """The stage's title, prefixed with its site's if several exist."""
        where = label_among_several(self.document.experiment, self.document.site)
        return f"{where} · {title}" if where else title

    @property
    def flags(self) -> str:
        """Warnings about this stage's rows, or why its gradient is zero everywhere."""
        site = self.site
        if isinstance(site, GradientSite) and not site.depends(self.stage):
            return _("0: the target does not depend on this stage")
        if self.stage not in MASKED_STAGES:
            return ""
        experiment, empty = site.experiment, site.fully_masked()
        if not empty.any() or experiment.mask_placement != "before_softmax":
            return ""
        first = empty.nonzero()[0][:3].tolist()
        tokens = enumerated(isolated(visible(site.names("query")[i])) for i in first)
        result = "NaN" if experiment.fully_masked_row == "nan" else "0"
        if experiment.mask_bias is not None:
            result = "softmax"  # all scores of the row are lowered alike
        return _("fully masked: {tokens} → {result}").format(tokens=tokens, result=result)

    def cell(self, row: int, column: int) -> Cell:
        """The cell at a place of the map; one of a mean is that of the head behind it."""
        head = self.head
        if shows_mean(self.site, self.view, self.stage):
            head = largest_head(self.site, self.stage, row, column)
        return Cell(self.stage, row, column, head)

    @property
    def highlight(self) -> Highlight:
        """The lit cells of the map: those of the focus, the newest row, and those that a lesson speaks of."""
        focus, view = self.focus, self.follows
        head = focus.head if focus is not None and shows_mean(self.site, view, self.stage) else None
        lit = replace(highlight(self.site, view, self.stage, focus, head), newest=self.newest)
        if self.spot is None or (self.spot.stage, self.spot.site) != (self.stage, self.site.name):
            return lit
        return replace(lit, spot=self.spot.cells, covered=self.spot.covered)

    @property
    def lit_words(self) -> tuple[int, int]:
        """Query and key of the focus, else the query of the view and −1."""
        if self.focus is not None and STAGE_BY_ID[self.focus.stage].score_shaped:
            return self.focus.row, self.focus.column
        return min(self.follows.query, self.site.experiment.n_queries - 1), -1

    def chosen(self, old: View) -> tuple[int, int]:
        """The (row, column) chosen since `old`: of a locked cell, a query or a step; −1 where none was."""
        new, locked = self.view, self.document.locked_here
        lit = NO_HIGHLIGHT if new.locked == old.locked else highlight(self.site, new, self.stage, locked)
        if lit.cell is not None:
            return lit.cell
        if lit.rows or lit.columns:
            return _only(lit.rows), _only(lit.columns)
        if new.query != old.query and self.is_by_query:
            return new.query, -1
        return (self.newest if new.step != old.step else -1), -1


def _only(places: frozenset[int]) -> int:
    """The single one of `places`; −1 for several or none."""
    return next(iter(places)) if len(places) == 1 else -1
