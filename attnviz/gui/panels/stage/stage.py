"""The large view of one stage; the output and the row of the query in focus unfold beside it."""

from __future__ import annotations

from msgspec import structs
from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.explain.formulas.symbols import stage_parts
from attnviz.gui.live.brush import Brush
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.stage.caption import DocumentCaption
from attnviz.gui.panels.stage.gradients import GradientBar, likely_target
from attnviz.gui.panels.stage.header import StageHeader
from attnviz.gui.panels.stage.pictures import StagePictures
from attnviz.gui.panels.stage.seen import Seen
from attnviz.gui.panels.stage.side import Side
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.model.edit import edits
from attnviz.model.io.titles import as_shown
from attnviz.model.masks import mask_of
from attnviz.model.ranges import proposed_range
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Padding
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

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
