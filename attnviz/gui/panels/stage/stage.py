"""The large view of one stage; the output and the row of the query in focus unfold beside it."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.text import isolated, visible
from attnviz.explain.formulas.symbols import stage_parts
from attnviz.gui.live.brush import Brush
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.stage.caption import DocumentCaption
from attnviz.gui.panels.stage.gradients import GradientBar, likely_target
from attnviz.gui.panels.stage.header import StageHeader
from attnviz.gui.panels.stage.seen import Seen
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.heat.map import HeatContent, HeatMap
from attnviz.gui.widgets.heat.stages import highlight, stage_content, stage_title
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.lines import WordLinesView
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.pictures.patches import PatchesView, PatchPictures
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit import edits
from attnviz.model.io.titles import as_shown
from attnviz.model.links import shares_of, word_lines
from attnviz.model.masks import mask_of
from attnviz.model.ranges import proposed_range
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Padding
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace


class StagePictures(QWidget):
    """One of the pictures is in sight; all of them point at cells and choose them."""

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)
    query_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = HeatMap()
        self.map.setObjectName("stage_map")
        self.map.cell_hovered.connect(self.cell_hovered)
        self.map.cell_clicked.connect(self.cell_clicked)
        self._words, self._patches = WordLinesView(), PatchesView()
        for view in (self._words, self._patches):
            view.query_clicked.connect(self.query_clicked)
            view.key_hovered.connect(self.cell_hovered)
            view.key_clicked.connect(self.cell_clicked)
        self._scroll = clear_scroll(self._words, sideways=False)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._bring_word_into_sight)
        self._pictures: PatchPictures | None = None
        self._all: tuple[QWidget, ...] = (self.map, self._scroll, self._patches)
        row = in_row(self, spacing=0)
        for picture in self._all:
            row.addWidget(picture, 1)
            picture.setVisible(picture is self.map)

    @property
    def in_sight(self) -> QWidget:
        """The picture that takes the keys."""
        shown = next(picture for picture in self._all if not picture.isHidden())
        return self._words if shown is self._scroll else shown

    def show_state(self, seen: Seen, theme: Theme) -> None:
        """Show the stage by the picture that the view names, if the stage has it."""
        content = stage_content(seen.site, seen.view, seen.stage, theme)
        self.map.set_content(self._with_patches(content, seen))
        of_row = _("Click: select this query") if seen.is_by_query else ""
        of_column = _("Click: show the share of each row that goes to this key; Ctrl+click: add a key")
        self.map.set_label_help(of_row, of_column if content.column_means is not None else "")
        shown, view = self._all[0], seen.follows
        title = seen.titled(stage_title(seen.site, view, seen.stage))
        if view.picture == "lines" and seen.has_lines:
            shown = self._scroll
            self._words.set_lines(word_lines(seen.site, view, seen.stage), title)
        elif view.picture == "patches" and seen.image is not None and seen.has_patches:
            shown = self._patches
            self._patches.set_image(word_lines(seen.site, view, seen.stage), seen.image, title)
        if shown.isHidden():
            for picture in self._all:
                picture.setVisible(picture is shown)

    def light(self, seen: Seen) -> None:
        """Light what belongs to the focus."""
        self.map.set_highlight(seen.highlight)
        self._words.set_chosen(*seen.lit_words)
        self._patches.set_chosen(*seen.lit_words)

    def bring_into_sight(self, row: int, column: int) -> None:
        """Scroll to a cell; −1 leaves its axis as it is."""
        self.map.bring_into_sight(row, column)
        if row >= 0:
            self._bring_word_into_sight()

    @Slot()
    def _bring_word_into_sight(self) -> None:
        """Scroll the lines to the selected query, also in a text of another length."""
        places = self._words.columns
        middle = round(places.y(self._words.chosen_query))
        self._scroll.ensureVisible(0, middle, 0, round(places.row))

    def _with_patches(self, content: HeatContent, seen: Seen) -> HeatContent:
        """The content with the patches of the document's image as labels of its tokens."""
        image = seen.image
        if image is None:
            return content
        if self._pictures is None or self._pictures.image is not image:
            self._pictures = PatchPictures(image)
        axes = STAGE_BY_ID[seen.stage].axes[-2:]
        of_tokens = [has_names(axis) and axis not in ("vocabulary", "expert") for axis in axes]
        fitting = [size == image.n_tokens for size in content.values.shape]
        rows, columns = (
            self._pictures if is_token and fits else None
            for is_token, fits in zip(of_tokens, fitting, strict=True)
        )
        return replace(content, row_pictures=rows, column_pictures=columns)


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
        self.pictures = StagePictures()
        self.map = self.pictures.map
        self.pictures.cell_hovered.connect(self._on_hovered)
        self.pictures.cell_clicked.connect(self._on_clicked)
        self.pictures.query_clicked.connect(self._on_query)
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
        row.addWidget(self.pictures, 1)
        row.addWidget(self._side)
        self._fold()
        self.setFocusProxy(self.map)
        store.pointer_changed.connect(self._on_pointer)
        store.player_changed.connect(self._on_player)

    def step_caption(self, by: int) -> bool:
        """Lock the cell of the next word of the caption, or of the one before; False without one."""
        return self._caption.step(by)

    def set_plain(self, is_plain: bool) -> None:
        """Show the names and the choice of the picture alone."""
        self._header.set_plain(is_plain)

    def header(self) -> QWidget:
        """Document, place, formula and colour range, in the line of the card's title."""
        return self._header

    def on_document(self, old: Document | None, new: Document) -> None:
        if self.store.trace is None or old is None or old.site != new.site:
            return  # another attention also sends its trace
        if structs.replace(old.view, step=new.view.step) != new.view:
            self._show()
        elif old.view != new.view:
            self._light()
        self.pictures.bring_into_sight(*Seen.of(self.store).chosen(old.view))

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._light()

    def on_stage_hover(self, stage: str) -> None:
        self._header.formula.set_lit(stage)
        self._side.set_output_pointed(stage == "attention_output")

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._show()

    def retranslate(self) -> None:
        self._show()

    # --- showing

    def _show(self) -> None:
        if self.store.trace is None:
            return
        seen = Seen.of(self.store)
        site, view, stage = seen.site, seen.view, seen.stage
        self.pictures.show_state(seen, self.theme)
        self.setFocusProxy(self.pictures.in_sight)
        self._header.show_name(as_shown(seen.document.title))
        parts = stage_parts(site.experiment, stage, site.stages) if site.quantity == "value" else ()
        self._header.show_place(seen.titles, parts, seen.flags)
        self._gradients.show_choice(self.store)
        range_id, head = view.range_of(stage), shown_head(site.experiment, view, stage)
        self._header.show_range(stage, range_id, proposed_range(site, stage, range_id, head))
        self._header.show_gradient(view.target is not None)
        self._header.show_picture(view, can_be_lines=seen.has_lines, can_be=seen.pictures)
        if self._is_side_open:
            self._side.show_output(seen.values, view)
        self._light()

    def _light(self) -> None:
        if self.store.trace is None:
            return
        seen = Seen.of(self.store)
        self.pictures.light(seen)
        if self._is_side_open:
            self._side.light(seen.values, seen.follows, seen.focus, self.theme)

    # --- folding

    @property
    def _is_side_open(self) -> bool:
        return not self._side.isHidden()

    def _fold(self) -> None:
        """Open or close the side: as the user wants, else by the width of the card."""
        is_open = self.width() >= SIDE_FROM if self._wants_side is None else self._wants_side
        if is_open != self._is_side_open:
            self._side.setVisible(is_open)
            if is_open:
                self._show()
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
        if old.spot != new.spot:
            self._light()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """Frame the row of the step while a panel in sight shows the decoding."""
        were, are = ((one.decoded, one.follows, one.viewers) for one in (old, new))
        if were != are and self.is_seen:
            self._light()

    def _cell(self, row: int, column: int) -> Cell | None:
        return None if self.store.trace is None or row < 0 else Seen.of(self.store).cell(row, column)

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        self.store.set_hover(self._cell(row, column))

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        cell = self._cell(row, column)
        if cell is not None:
            view, is_by_query = self.store.document.view, Seen.of(self.store).is_by_query
            self.store.look(
                locked=None if cell == view.locked else cell, query=row if is_by_query else view.query
            )

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
        if self.store.trace is not None and STAGE_BY_ID[Seen.of(self.store).stage].score_shaped:
            self._brush.touch(row, column, starts=start)

    @Slot(str)
    def _on_range(self, range_id: str) -> None:
        if self.store.trace is not None:
            seen = Seen.of(self.store)
            self.store.look(ranges=seen.view.with_range(seen.stage, range_id))  # type: ignore[arg-type]

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
