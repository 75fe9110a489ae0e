"""The large view of one stage; `Side`, the output and the row of the query, unfolds beside it."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.core.levels import RANGE_BY_ID
from attnviz.explain.formulas.symbols import stage_parts
from attnviz.gui.live.brush import Brush
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.stage.caption import DocumentCaption
from attnviz.gui.panels.stage.gradients import GradientBar, likely_target
from attnviz.gui.panels.stage.header import StageHeader
from attnviz.gui.panels.stage.seen import Seen
from attnviz.gui.panels.stage.show import Shown
from attnviz.gui.panels.stage.side import Side
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.arcs import ArcsView
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.heat.map import HeatContent, HeatMap
from attnviz.gui.widgets.heat.stages import stage_content, stage_title
from attnviz.gui.widgets.lines import WordLinesView
from attnviz.gui.widgets.pictures.patches import PatchesView, PatchPictures
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.edit import edits
from attnviz.model.io.titles import as_shown
from attnviz.model.links import word_lines
from attnviz.model.masks import mask_of
from attnviz.model.ranges import proposed_range, why_no_first, with_first
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Padding
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace


class StagePictures(QWidget):
    """One of the pictures is in sight; all of them point at cells and choose them."""

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)
    query_clicked = Signal(int)
    head_clicked = Signal(str, int)
    layer_stepped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = HeatMap()
        self.map.setObjectName("stage_map")
        self.map.cell_hovered.connect(self.cell_hovered)
        self.map.cell_clicked.connect(self.cell_clicked)
        self._words, self._patches, self._arcs = WordLinesView(), PatchesView(), ArcsView()
        self._arcs.head_clicked.connect(self.head_clicked)
        self._arcs.layer_stepped.connect(self.layer_stepped)
        for view in (self._words, self._patches, self._arcs):
            view.query_clicked.connect(self.query_clicked)
            view.key_hovered.connect(self.cell_hovered)
            view.key_clicked.connect(self.cell_clicked)
        self._scroll = clear_scroll(self._words, sideways=False)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._bring_word_into_sight)
        self._pictures: PatchPictures | None = None
        self._shown: dict[str, QWidget] = {
            "map": self.map,
            "mean": self.map,
            "lines": self._scroll,
            "arcs": self._arcs,
            "patches": self._patches,
        }
        self._all = tuple(dict.fromkeys(self._shown.values()))
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
        shown, view = self._shown[seen.picture], seen.follows
        title = seen.titled(stage_title(seen.site, view, seen.stage))
        if seen.picture == "lines":
            is_off = RANGE_BY_ID[seen.range_id].skips_first
            self._words.set_lines(word_lines(seen.site, view, seen.stage), title, is_first_off=is_off)
        elif seen.picture == "arcs":
            self._arcs.set_content(seen.arcs, title)
        elif seen.picture == "patches" and seen.image is not None:
            self._patches.set_image(word_lines(seen.site, view, seen.stage), seen.image, title)
        if shown.isHidden():
            has_focus = self.in_sight.hasFocus()
            shown.show()
            if has_focus:  # before Qt hands it from the hidden picture to the next control
                (self._words if shown is self._scroll else shown).setFocus(Qt.FocusReason.OtherFocusReason)
            for picture in self._all:
                picture.setVisible(picture is shown)

    def light(self, seen: Seen) -> None:
        """Light what belongs to the focus."""
        self.map.set_highlight(seen.highlight)
        self._words.set_chosen(*seen.lit_words)
        self._patches.set_chosen(*seen.lit_words)
        query, key = seen.lit_words
        content = self._arcs.content
        self._arcs.set_lit(key if content is not None and query == content.query else -1)

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


SIDE_FROM = 900
"""Width from which the side is open until the user decides."""


class StageViewPanel(Panel):
    """The stage that the view names: hover lights, click locks, painting blocks cells by hand."""

    follows = (
        *("stage", "head", "query", "ranges", "orientation", "locked", "keys", "picture", "lines"),
        *("target", "quantity", "step", "first_tokens", "parts"),
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
        self.pictures.head_clicked.connect(self._on_head)
        self.pictures.layer_stepped.connect(self._on_layer)
        self.map.cell_stroked.connect(self._on_stroked)
        self.map.label_clicked.connect(self._on_label)
        self.map.stroke_finished.connect(store.end_gesture)
        self._header = StageHeader()
        self._header.formula.stage_pointed.connect(store.set_stage_hover)
        self._header.formula.stage_clicked.connect(self._on_stage)
        self._header.range_chosen.connect(self._on_range)
        self._header.picture_chosen.connect(self._on_picture)
        options = self._header.options
        options.range_chosen.connect(self._on_range)
        options.first_chosen.connect(self._on_first)
        options.turn_chosen.connect(self._on_turn)
        options.part_chosen.connect(self._on_part)
        options.lines_chosen.connect(self._on_lines)
        options.side_wanted.connect(self._on_side)
        options.gradient_wanted.connect(self._on_gradient)
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
        state = Shown(
            view,
            stage,
            seen.picture,
            seen.range_id,
            RANGE_BY_ID[seen.range_id].skips_first,
            why_no_first(site, stage),
            site.has_shares(stage),
        )
        proposed = proposed_range(site, stage, seen.range_id, seen.head)
        self._header.show_picture(state, seen.pictures, proposed)
        self._header.options.gradient.set_value(view.target is not None)
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
        self._header.options.side.set_value(is_open)

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

    @Slot(bool)
    def _on_first(self, is_off: bool) -> None:
        """Leave the first token of the shown head out of the colours, or put it back."""
        if self.store.trace is not None:
            seen = Seen.of(self.store)
            self.store.look(**with_first(seen.site, seen.view, seen.stage, is_off))

    def switch_first(self) -> None:
        """The same by a key: the other way round than now."""
        switch = self._header.options.first
        if self.store.trace is not None and switch.isEnabled():
            self._on_first(not switch.value())

    @Slot(bool)
    def _on_turn(self, is_turned: bool) -> None:
        self.store.look(orientation="queries_as_columns" if is_turned else "queries_as_rows")

    @Slot(str, bool)
    def _on_part(self, part: str, is_wanted: bool) -> None:
        others = tuple(one for one in self.store.document.view.parts if one != part)
        self.store.look(parts=(*others, part) if is_wanted else others)

    @Slot(str)
    def _on_picture(self, picture: str) -> None:
        """Choose a picture; that of all rows has the lines of all queries."""
        self.show_picture(picture)

    def show_picture(self, picture: str) -> None:
        """Show a picture if the stage has it."""
        if self.store.trace is None or picture not in Seen.of(self.store).pictures:
            return
        lines = self.store.document.view.lines
        if picture == "lines":
            lines = structs.replace(lines, queries="all")
        self.store.look(picture=picture, lines=lines)

    @Slot(str, int)
    def _on_head(self, site: str, head: int) -> None:
        self.store.look(site=site, head=head)

    @Slot(int)
    def _on_layer(self, step: int) -> None:
        names = self.store.trace.sites if self.store.trace is not None else ()
        place = names.index(self.store.document.site) + step if self.store.document.site in names else -1
        if 0 <= place < len(names):
            self.store.look(site=names[place])

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
