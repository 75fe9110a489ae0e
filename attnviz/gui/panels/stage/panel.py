"""The large view of one stage; the output and the row of the query in focus unfold beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import structs
from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.core.phrases import enumerated
from attnviz.core.text import isolated, visible
from attnviz.explain.formulas.symbols import stage_parts
from attnviz.gui.live.brush import Brush
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.stage.caption import DocumentCaption
from attnviz.gui.panels.stage.gradients import GradientBar, likely_target
from attnviz.gui.panels.stage.header import StageHeader
from attnviz.gui.panels.stage.side import Side
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.heat.map import NO_HIGHLIGHT, HeatContent, HeatMap
from attnviz.gui.widgets.heat.stages import highlight, short_title, stage_content, stage_title
from attnviz.gui.widgets.lines.view import WordLinesView
from attnviz.gui.widgets.pictures.patches import PatchesView, PatchPictures
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.edit import edits
from attnviz.model.gradient import GradientSite
from attnviz.model.io.titles import as_shown
from attnviz.model.links import LINED, word_lines
from attnviz.model.masks import mask_of
from attnviz.model.ranges import proposed_range
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Padding
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import MASKED_STAGES, SiteTrace, Trace
from attnviz.study.heads.mean import has_mean, largest_head, shows_mean

SIDE_FROM = 900
"""Width from which the side is open until the user decides."""


class StageViewPanel(Panel):
    """The stage that the view names: hover lights, click locks, painting blocks cells by hand."""

    follows = (
        *("stage", "head", "query", "ranges", "orientation", "locked", "keys", "picture", "lines"),
        *("target", "quantity", "step"),
    )
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.map = HeatMap()
        self.map.setObjectName("stage_map")
        self.map.cell_hovered.connect(self._on_hovered)
        self.map.cell_clicked.connect(self._on_clicked)
        self.map.cell_stroked.connect(self._on_stroked)
        self.map.label_clicked.connect(self._on_label)
        self.map.stroke_finished.connect(store.end_gesture)
        self._header = StageHeader()
        self._header.formula.stage_pointed.connect(store.set_stage_hover)
        self._header.formula.stage_clicked.connect(self._on_stage)
        self._header.range_chosen.connect(self._on_range)
        self._header.picture_chosen.connect(self._on_picture)
        self._header.lines_chosen.connect(self._on_lines)
        self._header.side_wanted.connect(self._on_side)
        self._header.gradient_wanted.connect(self._on_gradient)
        self._gradients = GradientBar()
        self._gradients.quantity_chosen.connect(self._on_quantity)
        self._gradients.target_chosen.connect(self._on_target)
        self._side = Side()
        self._side.bar_clicked.connect(self._on_bar)
        self._side.output_clicked.connect(self._on_output)
        self._side.output_pointed.connect(self._on_output_pointed)
        self._wants_side: bool | None = None
        self._brush = Brush(store)
        self._caption = DocumentCaption(store, self)  # without a parent it would be a window of its own
        self._header.add_opener(self._caption.opener)
        column = in_column(self, self._caption, self._gradients, spacing=0)
        row = QHBoxLayout()
        row.setSpacing(2 * GRID)
        column.addLayout(row, 1)
        self._words = WordLinesView()
        self._words.query_clicked.connect(self._on_query)
        self._words.key_hovered.connect(self._on_hovered)
        self._words.key_clicked.connect(self._on_clicked)
        self._words_scroll = clear_scroll(self._words, sideways=False)
        self._words_scroll.hide()
        self._words_scroll.verticalScrollBar().rangeChanged.connect(self._bring_word_into_sight)
        self._patches = PatchesView()
        self._patches.query_clicked.connect(self._on_query)
        self._patches.key_hovered.connect(self._on_hovered)
        self._patches.key_clicked.connect(self._on_clicked)
        self._patches.hide()
        self._pictures: PatchPictures | None = None
        row.addWidget(self.map, 1)
        row.addWidget(self._words_scroll, 1)
        row.addWidget(self._patches, 1)
        row.addWidget(self._side)
        self._fold()
        self.setFocusProxy(self.map)
        store.pointer_changed.connect(self._on_pointer)
        store.player_changed.connect(self._on_player)

    def step_caption(self, by: int) -> bool:
        """Lock the cell of the next word of the caption, or of the one before; False without one."""
        return self._caption.step(by)

    def header(self) -> QWidget:
        """Document, place, formula and colour range, in the line of the card's title."""
        return self._header

    def on_document(self, old: Document | None, new: Document) -> None:
        if self.store.trace is None or old is None or old.site != new.site:
            return  # another attention also sends its trace
        if structs.replace(old.view, step=new.view.step) != new.view:
            self._show(self.store.drawn_site)
        elif old.view != new.view:
            self._light(self.store.drawn_site)
        row, column = self._chosen(old.view, new.view)
        self.map.bring_into_sight(row, column)
        if row >= 0:
            self._bring_word_into_sight()

    def on_trace(self, trace: Trace) -> None:
        self._show(self.store.drawn_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.drawn_site)

    def on_stage_hover(self, stage: str) -> None:
        self._header.formula.set_lit(stage)
        self._side.set_output_pointed(stage == "attention_output")

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    def retranslate(self) -> None:
        self.map.retranslate()
        self._caption.retranslate()
        self._header.retranslate()
        self._gradients.retranslate()
        self._side.retranslate()
        if self.store.trace is not None:
            self._show(self.store.drawn_site)

    # --- showing

    def _show(self, site: SiteTrace) -> None:
        view = self.store.document.view
        stage = self._stage(site)
        content = self._with_patches(stage_content(site, view, stage, self.theme), stage)
        self.map.set_content(content)
        self._help_labels(stage, has_shares=content.column_means is not None)
        self._header.show_name(as_shown(self.store.document.title))
        parts = stage_parts(site.experiment, stage, site.stages)
        title = stage_title(site, view, stage)
        titles = self._titled(title), short_title(site, view, stage)
        parts = parts if site.quantity == "value" else ()
        self._header.show_place(titles, parts, _flags(site, stage))
        self._gradients.show_choice(self.store)
        range_id, head = view.range_of(stage), shown_head(site.experiment, view, stage)
        self._header.show_range(stage, range_id, proposed_range(site, stage, range_id, head))
        self._header.show_gradient(view.target is not None)
        has = {"mean": has_mean(site, stage), "patches": self._has_patches(site, stage)}
        can_be = frozenset(name for name, is_there in has.items() if is_there)
        self._header.show_picture(view, can_be_lines=_has_lines(site, stage), can_be=can_be)
        self._show_picture(site, stage)
        if self._is_side_open:
            self._side.show_output(self.store.shown_site, view)
        self._light(site)

    def _show_picture(self, site: SiteTrace, stage: str) -> None:
        """Show the lines or the image in place of the map if the view draws this stage so."""
        view, image = self.store.shown_view, self.store.document.image
        title = self._titled(stage_title(site, view, stage))
        shown: QWidget = self.map
        if view.picture == "lines" and _has_lines(site, stage):
            shown = self._words_scroll
            self._words.set_lines(word_lines(site, view, stage), title)
        elif view.picture == "patches" and image is not None and self._has_patches(site, stage):
            shown = self._patches
            self._patches.set_image(word_lines(site, view, stage), image, title)
        if shown.isHidden():
            for part in (self.map, self._words_scroll, self._patches):
                part.setVisible(part is shown)
            self.setFocusProxy(self._words if shown is self._words_scroll else shown)

    @Slot()
    def _bring_word_into_sight(self) -> None:
        """Scroll the lines to the selected query, also in a text of another length."""
        places = self._words.columns
        middle = round(places.y(self._words.chosen_query))
        self._words_scroll.ensureVisible(0, middle, 0, round(places.row))

    def _with_patches(self, content: HeatContent, stage: str) -> HeatContent:
        """The content with the patches of the document's image as labels of its tokens."""
        image = self.store.document.image
        if image is None:
            return content
        if self._pictures is None or self._pictures.image is not image:
            self._pictures = PatchPictures(image)
        of_tokens = [axis not in ("feature", "vocabulary", "expert") for axis in STAGE_BY_ID[stage].axes[-2:]]
        fitting = [size == image.n_tokens for size in content.values.shape]
        rows, columns = (
            self._pictures if is_token and fits else None
            for is_token, fits in zip(of_tokens, fitting, strict=True)
        )
        return replace(content, row_pictures=rows, column_pictures=columns)

    def _has_patches(self, site: SiteTrace, stage: str) -> bool:
        """True if the numbers are weights between the patches of the document's image."""
        image = self.store.document.image
        sizes = site.shape("weights")[-2:]
        return image is not None and _has_lines(site, stage) and sizes == (image.n_tokens,) * 2

    def _help_labels(self, stage: str, *, has_shares: bool) -> None:
        """Let the labels of queries take clicks, and those of keys that have shares of each row."""
        on_query = STAGE_BY_ID[stage].axes[-2] in ("query", "token")
        of_row = _("Click: select this query") if on_query else ""
        of_column = _("Click: show the share of each row that goes to this key; Ctrl+click: add a key")
        self.map.set_label_help(of_row, of_column if has_shares else "")

    def _light(self, site: SiteTrace) -> None:
        view, focus = self.store.shown_view, self.store.focus
        spot = {"newest": self.store.played_row} | self._spotlight(site)
        stage = self._stage(site)
        head = focus.head if focus is not None and shows_mean(site, view, stage) else None
        self.map.set_highlight(replace(highlight(site, view, stage, focus, head), **spot))
        on_weights = focus is not None and STAGE_BY_ID[focus.stage].score_shaped
        last = site.experiment.n_queries - 1
        lit = (focus.row, focus.column) if focus is not None and on_weights else (min(view.query, last), -1)
        self._words.set_chosen(*lit)
        self._patches.set_chosen(*lit)
        if self._is_side_open:
            self._side.light(self.store.shown_site, view, focus, self.theme)

    def _chosen(self, old: View, new: View) -> tuple[int, int]:
        """The (row, column) chosen last: of a locked cell, a query or a step; −1 where none was."""
        site, locked = self.store.drawn_site, self.store.document.locked_here
        stage = self._stage(site)
        lit = NO_HIGHLIGHT if new.locked == old.locked else highlight(site, new, stage, locked)
        if lit.cell is not None:
            return lit.cell
        if lit.rows or lit.columns:
            return _only(lit.rows), _only(lit.columns)
        on_query = STAGE_BY_ID[stage].axes[-2] in ("query", "token")
        if new.query != old.query and on_query:
            return new.query, -1
        return (self.store.played_row if new.step != old.step else -1), -1

    def _spotlight(self, site: SiteTrace) -> dict[str, Any]:
        """The cells of this stage that a lesson speaks of."""
        spot = self.store.pointer.spot
        if spot is None or (spot.stage, spot.site) != (self._stage(site), site.name):
            return {}
        return {"spot": spot.cells, "covered": spot.covered}

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
        site = self.store.drawn_site
        stage = self._stage(site)
        view = self.store.document.view
        if shows_mean(site, view, stage):  # a number of the mean belongs to no head: show the head behind it
            return Cell(stage, row, column, largest_head(site, stage, row, column))
        return Cell(stage, row, column, shown_head(site.experiment, view, stage))

    # --- folding

    @property
    def _is_side_open(self) -> bool:
        return not self._side.isHidden()

    def _fold(self) -> None:
        """Open or close the side: as the user wants, else by the width of the card."""
        is_open = self.width() >= SIDE_FROM if self._wants_side is None else self._wants_side
        if is_open != self._is_side_open:
            self._side.setVisible(is_open)
            if is_open and self.store.trace is not None:
                self._show(self.store.drawn_site)
        self._header.show_side(is_open)

    @Slot(bool)
    def _on_side(self, is_wanted: bool) -> None:
        self._wants_side = is_wanted
        self._fold()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._header.set_card(self.height())
        self._fold()

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    def minimumSizeHint(self) -> QSize:
        return self.map.minimumSizeHint()

    # --- acting

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if old.paints != new.paints:
            self.map.set_paint_mode(new.paints)
        if old.spot != new.spot and self.store.trace is not None:
            self._light(self.store.drawn_site)

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """Frame the row of the step while a panel in sight shows the decoding."""
        were, are = ((one.decoded, one.follows, one.viewers) for one in (old, new))
        if were != are and self.is_seen and self.store.trace is not None:
            self._light(self.store.drawn_site)

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

    @Slot(bool, int, bool)
    def _on_label(self, is_row: bool, index: int, is_added: bool) -> None:
        """A row's label selects its query; a column's label sums what goes to its key, Ctrl to several."""
        view = self.store.document.view
        if is_row:
            self._on_query(index)
        elif is_added:
            self.store.look(keys=tuple(sorted({*view.keys} ^ {index})))
        else:
            self.store.look(keys=() if view.keys == (index,) else (index,))

    @Slot(int, int, bool)
    def _on_stroked(self, row: int, column: int, start: bool) -> None:
        """Paint a cell of the mask on a map of scores."""
        if self.store.trace is None or not STAGE_BY_ID[self._stage(self.store.drawn_site)].score_shaped:
            return
        self._brush.touch(row, column, starts=start)

    @Slot(str)
    def _on_range(self, range_id: str) -> None:
        if self.store.trace is not None:
            stage, view = self._stage(self.store.drawn_site), self.store.document.view
            self.store.look(ranges=view.with_range(stage, range_id))  # type: ignore[arg-type]

    @Slot(int)
    def _on_query(self, query: int) -> None:
        self.store.look(query=query, locked=None)

    @Slot(str)
    def _on_picture(self, picture: str) -> None:
        self.store.look(picture=picture)

    @Slot(str, str)
    def _on_lines(self, field: str, value: str) -> None:
        self.store.look(lines=structs.replace(self.store.document.view.lines, **{field: value}))

    @Slot(bool)
    def _on_gradient(self, is_wanted: bool) -> None:
        """The gradient of the locked cell, else of the loss where the document has one, else of a number."""
        self._on_target(likely_target(self.store) if is_wanted else None)

    @Slot(str)
    def _on_quantity(self, quantity: str) -> None:
        self.store.look(quantity=quantity)

    @Slot(object)
    def _on_target(self, target: str | None) -> None:
        self.store.look(target=target, quantity="value" if target is None else "gradient")

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
    def _on_bar(self, key: int) -> None:
        """A click on a key's bar marks it as padding, or no longer."""
        if key >= self.store.attention.n_keys:  # a generated token, which the document does not have
            return
        padding = mask_of(self.store.attention, Padding)
        self.store.edit_attention(edits.set_padding, key, padding is None or key not in padding.tokens)


def _has_lines(site: SiteTrace, stage: str) -> bool:
    """True if the numbers can be widths of lines between words: weights, not their gradients."""
    return stage in LINED and site.quantity == "value"


def _flags(site: SiteTrace, stage: str) -> str:
    """Warnings about this stage's rows, or why its gradient is zero everywhere."""
    if isinstance(site, GradientSite) and not site.depends(stage):
        return _("0: the target does not depend on this stage")
    if stage not in MASKED_STAGES:
        return ""
    experiment = site.experiment
    empty = site.fully_masked()
    if empty.any() and experiment.mask_placement == "before_softmax":
        first = empty.nonzero()[0][:3].tolist()
        tokens = enumerated(isolated(visible(site.names("query")[i])) for i in first)
        result = "NaN" if experiment.fully_masked_row == "nan" else "0"
        if experiment.mask_bias is not None:
            result = "softmax"  # all scores of the row are lowered alike
        return _("fully masked: {tokens} → {result}").format(tokens=tokens, result=result)
    return ""


def _only(places: frozenset[int]) -> int:
    """The single one of `places`; −1 for several or none."""
    return next(iter(places)) if len(places) == 1 else -1
