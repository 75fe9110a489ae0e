"""Compare: A, B and B − A. A is pinned by the user, or prepared by a row of `WHY_NOTS`."""

from __future__ import annotations

from typing import Any
from weakref import ref

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from attnviz.core.alignment import ALIGNMENTS
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.compare.cards import Cards, CardsAsked
from attnviz.gui.panels.compare.controls import Controls
from attnviz.gui.panels.compare.details import HEIGHT, WIDTH, Details
from attnviz.gui.panels.compare.maps import SIDES, CompareMaps
from attnviz.gui.panels.compare.picture import Picture, change_sentence
from attnviz.gui.panels.compare.pinning import Pinning, become
from attnviz.gui.panels.compare.requests import OwnAsked, Pinned, PreparedAsked, Where
from attnviz.gui.panels.compare.shown import OWN, Comparison, heading, options
from attnviz.gui.panels.compare.texts import name_of_pinned
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.heat.compare_map import CompareMap
from attnviz.i18n import N_, _, ngettext
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace
from attnviz.model.why_not import WHY_NOT_BY_ID
from attnviz.study.contrast.contrast import nearest_common

KEY, CARDS = "compare", "compare_cards"
"""The jobs of the worker."""
BRIEF = 96
"""Height of the sentence above the cards."""
BELOW_FROM = 380
"""Height from which the details stand below the maps."""


class ComparePanel(Panel):
    """Asks for a comparison while it is seen, and draws the answer."""

    export_wanted = Signal(str, str, str)
    """The stage, the alignment of tokens and the head of A, as the export dialog names them."""

    follows = ("site", "head", "stage", "orientation", "ranges", "locked", "quantity", "target")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        says(self, name=N_("Compare"))
        self.pinning = Pinning(store, self)
        self.own = self.asks(Answer(KEY, OwnAsked.answer, self, in_turn=True))
        self.prepared = self.asks(Answer(KEY, PreparedAsked.answer, self, in_turn=True))
        self._small = self.asks(Answer(CARDS, CardsAsked.answer, self, after=KEY))
        self._seed = 0
        self._placed: tuple[Any, ...] = ()
        """The state that the title and the choices of places show: they are written anew for another."""
        self._local: tuple[int, int] | None = None
        """A chosen cell that B does not have."""
        self._alignment, self._a_follows = ALIGNMENTS[0].id, False
        self.controls, self.details, self._empty = Controls(), Details(), EmptyState("")
        self.cards = Cards()
        self.pictures = CompareMaps()
        self._lay_out()
        self._shown = self._comparison()
        self._connect()

    # --- what the window tells

    def sizeHint(self) -> QSize:
        return QSize(800, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 110)

    def serve(self, services: Services) -> None:
        """Take the services; a worker compares."""
        super().serve(services)
        self.pinning.said.connect(services.status.say)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None:
            return
        if any(getattr(old.view, name) != getattr(new.view, name) for name in ("orientation", "ranges")):
            self._draw()
        self._show_places()
        self._ask()
        self._light()

    def on_trace(self, trace: Trace) -> None:
        self._show_places()
        self._ask()

    def on_hover(self, cell: Cell | None) -> None:
        self._light()

    def looks_anew(self, old: Document, new: Document) -> bool:
        return old.claims != new.claims or super().looks_anew(old, new)

    def set_seen(self, is_seen: bool) -> None:
        """Rest behind another tab."""
        if not is_seen:
            self._set_blinking(False)
        super().set_seen(is_seen)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low panel the details stand beside the maps."""
        super().resizeEvent(event)
        self._arrange()
        self.pictures.fit(self.width(), is_low=self.height() < BELOW_FROM)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._draw()

    def retranslate(self) -> None:
        self.controls.align.set_value(self._alignment)
        self.controls.row.set_options(options())
        self._placed = ()
        self._show_places()
        self._draw()

    # --- asking and being answered

    @property
    def is_own(self) -> bool:
        """True if A is the user's, not a prepared one."""
        return self.controls.row.value() == OWN

    @property
    def maps(self) -> dict[str, CompareMap]:
        """The maps of `SIDES`."""
        return self.pictures.sides

    @property
    def picture(self) -> Picture | None:
        """The shown comparison; None without one."""
        return self._shown.picture

    @Slot(str)
    def choose(self, row_id: str) -> None:
        """Compare by this row of the table, or by `OWN`."""
        self.controls.row.set_value(row_id)
        self._on_row(row_id)

    @Slot()
    def _on_pinned(self) -> None:
        """Another state is A, or none."""
        if self.is_own:
            self._forget()
            self._ask()
        elif self.pinning.pinned is not None:
            self.choose(OWN)
        self._show_places()

    @Slot()
    def _on_answered(self) -> None:
        """Draw the answer; keep the trace of A for the next question."""
        if self.own.result is not None:
            self.pinning.keep(self.own.result.pinned, self.own.result.kept)
        self._draw()

    def _forget(self) -> None:
        """Release the shown comparison."""
        self.own.clear()
        self.prepared.clear()
        self._draw()

    def _ask(self) -> None:
        """Ask for the chosen comparison."""
        if not self.is_seen:
            self.forget()
            return
        if self._shown.offers_prepared:
            self._ask_cards()
        if self._is_unrelated:
            if self.own.asked is not None or not self._shown.is_unrelated:
                self._forget()
            return
        trace = self.store.current_trace
        if trace is None:
            return  # it is on its way
        if self.is_own and self.store.is_gradient_due:
            return  # and so is the next gradient
        if self.is_own and self.pinning.pinned is not None:
            self.own.ask(self._own_question(trace, self.pinning.pinned))
        elif not self.is_own:
            self.prepared.ask(self._prepared_question(trace))

    def _ask_cards(self) -> None:
        """Ask for the pictures of the cards."""
        if self.store.current_trace is not None and self.is_seen and self._is_started:
            self._small.ask(CardsAsked.of(self.store))

    @property
    def _is_unrelated(self) -> bool:
        """True if A is not compared: another document is open."""
        return self.is_own and self.pinning.pinned is not None and self.pinning.comparable is None

    @Slot()
    def _on_drawn(self) -> None:
        """Compare another gradient, or the values again."""
        if self.is_seen:
            self._show_places()
            self._ask()

    def _prepared_question(self, trace: Trace) -> PreparedAsked:
        row, view, store = WHY_NOT_BY_ID[self.controls.row.value()], self.store.document.view, self.store
        place = view.site, view.head, self._seed
        return PreparedAsked(row, trace.experiment, *place, store.engine, store.device)

    def _own_question(self, trace: Trace, pinned: Pinned) -> OwnAsked:
        document, drawn = self.store.document, self.store.drawn_trace or trace
        return OwnAsked(
            pinned=pinned,
            drawn=ref(drawn if drawn.experiment == trace.experiment else trace),
            stage=self._stage(trace),
            alignment=self._alignment,
            follows=self._a_follows,
            own=Where(document.site, document.view.head),
            claims=document.claims,
            document=document,
            trace=ref(trace),
            kept=self.pinning.trace,
        )

    def _stage(self, trace: Trace) -> str:
        return trace.shown(self.store.document.site).shown_stage(self.store.document.view.stage)

    # --- drawing

    def _comparison(self) -> Comparison:
        """The picture: the state, and the answer or the reason why none exists."""
        pinned, is_unrelated = self.pinning.pinned, self._is_unrelated
        problem = (self.own if self.is_own else self.prepared).problem
        reason = "" if problem is None else in_words(problem)
        if is_unrelated and pinned is not None:
            sentence = _(
                "A belongs to “{name}”, which has another text: go back to it, or pin the present state."
            )
            reason = sentence.format(name=name_of_pinned(pinned))
        return Comparison(
            document=self.store.document,
            row=self.controls.row.value(),
            is_pinned=pinned is not None,
            is_unrelated=is_unrelated,
            own=self.own.result,
            compared=self.prepared.result,
            reason=reason,
            offered=self._nearest_common() if reason and not is_unrelated else "",
        )

    def _nearest_common(self) -> str:
        """The nearest stage of both, if A lacks the chosen one; else empty."""
        trace, pinned = self.store.trace, self.pinning.pinned
        if trace is None or pinned is None or not self.is_own:
            return ""
        asked = self._own_question(trace, pinned)
        of_a, of_b = asked.stages_of_a, trace.shown(self.store.document.site).stages
        return "" if asked.stage in of_a else nearest_common(asked.stage, of_a, of_b)

    @Slot()
    def _draw(self) -> None:
        """Show the answer, the reason why none exists, or what to do first."""
        shown = self._shown = self._comparison()
        if self._local is not None and shown.picture is not None and not shown.picture.has(self._local):
            self._local = None
        self._body.setVisible(shown.has_body)
        self._empty.setVisible(not shown.has_body)
        text, action = shown.empty
        self._empty.set_text(text)
        self._empty.set_action(action)
        self.cards.setVisible(shown.offers_prepared)
        self._empty.setMaximumHeight(BRIEF if shown.offers_prepared else self.maximumHeight())
        if shown.offers_prepared:
            self._ask_cards()
        self.controls.show_comparison(shown)
        self._show_places()
        self.details.show_comparison(shown)
        self.pictures.show_picture(shown.picture, self.store.document.view, self.theme)
        self._light()

    def _show_places(self) -> None:
        """The title, and the choices of layer, head and stage of B."""
        trace, controls, document = self.store.trace, self.controls, self.store.document
        if not self.is_own:
            self._placed = ()  # the choices are hidden
            controls.title.set_line(heading(document, controls.row.value(), None))
            return
        if trace is None:
            return
        drawn, is_pinned = self.store.drawn_trace or trace, self.pinning.pinned is not None
        placed = document.title, document.view, ref(trace), ref(drawn), is_pinned
        if placed == self._placed:
            return
        self._placed = placed
        controls.title.set_line(heading(document, OWN, drawn.shown(document.site)))
        if is_pinned and document.site in trace.sites:
            controls.offer_places(trace, document)

    # --- hovering and choosing

    def _light(self) -> None:
        """Outline the same cell in all three: the hovered one, else the chosen one."""
        hovered = self._common(self.store.pointer.cell)
        chosen = self._common(self.store.document.locked_here) or self._local
        cell = hovered or chosen
        self.pictures.light(cell, is_locked=cell == chosen, says=self._said(hovered, chosen))
        changes = () if self.picture is None else self.picture.changes
        places = [(change.row, change.column) for change in changes]
        self.details.changes.set_chosen(places.index(chosen) if chosen in places else -1)

    def _common(self, cell: Cell | None) -> tuple[int, int] | None:
        """A cell of B on the common axes; None if this is not the stage and head of B."""
        return None if self.own.result is None else self.own.result.place(cell)

    def _cell_of_b(self, row: int, column: int) -> Cell | None:
        """The cell of the document at a place of the common axes; None if it has none there."""
        return None if self.own.result is None else self.own.result.cell(row, column)

    def _said(self, hovered: tuple[int, int] | None, chosen: tuple[int, int] | None) -> str:
        """The numbers of the hovered cell; else those of the chosen one, and the greatest change."""
        picture = self.picture
        if picture is None:
            return ""
        if hovered is not None:
            return picture.cell_text(hovered)
        said = [] if chosen is None else [picture.cell_text(chosen)]
        return " · ".join([*said, *([_summary(picture)] if self.is_own else [])])

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        """Highlight the same cell in all three, and in the other panels."""
        cell = None if row < 0 else self._cell_of_b(row, column)
        self.store.set_hover(cell)
        if row >= 0 and cell is None:  # a prepared comparison, or a token of A alone
            self.pictures.light((row, column), is_locked=False, says=self._said((row, column), None))
        elif row < 0:
            self._light()

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        """Lock the cell in the document, or choose it here if the document lacks it; again: free it."""
        cell = self._cell_of_b(row, column)
        if cell is None:
            self._local = None if self._local == (row, column) else (row, column)
            self.store.look(locked=None)
            self._light()
            return
        self._local = None
        self.store.look(locked=None if self.store.document.locked_here == cell else cell)

    @Slot(int)
    def _on_change(self, index: int) -> None:
        if self.picture is not None:
            change = self.picture.changes[index]
            self._on_clicked(change.row, change.column)

    # --- acting

    @Slot()
    def _on_opened(self) -> None:
        """A prepared comparison holds both its experiments: of another document, none is kept."""
        self._local = None
        self._forget()

    @Slot(str)
    def _on_row(self, row_id: str) -> None:
        self._local = None
        self._set_blinking(False)
        if self.prepared.result is None or self.prepared.result.row.id != row_id:
            self._forget()
        self._ask()

    @Slot()
    def _on_action(self) -> None:
        """Pin A, or show the stage that the button names."""
        if self.pinning.comparable is None:
            self.pinning.pin()
        else:
            self.store.look(stage=self._shown.offered)

    @Slot()
    def _on_shuffle(self) -> None:
        self._seed += 1
        self._ask()

    @Slot()
    def _on_open(self) -> None:
        if self.prepared.result is not None:
            index = SIDES.index(self.sender().property("side"))
            self.store.edit(become, self.prepared.result.documents[index])

    @Slot()
    def _on_export(self) -> None:
        """Export the comparison as it is shown."""
        if self.own.result is not None:
            of_a = "same" if self._a_follows else "pinned"
            self.export_wanted.emit(self.own.result.contrast.stage, self._alignment, of_a)

    @Slot(str)
    def _on_align(self, alignment: str) -> None:
        self._alignment, self._local = alignment, None
        self._ask()

    @Slot(bool)
    def _on_follows(self, follows: bool) -> None:
        self._a_follows = follows
        self._ask()

    @Slot(str)
    def _on_head(self, head: str) -> None:
        self.store.look(head=int(head))

    @Slot(str)
    def _on_site(self, site: str) -> None:
        self.store.look(site=site)

    @Slot(str)
    def _on_stage(self, stage: str) -> None:
        self.store.look(stage=stage)

    @Slot(bool)
    def _set_blinking(self, is_on: bool) -> None:
        self.controls.blink.setChecked(is_on)
        self.pictures.set_blinking(is_on)

    # --- places

    def _connect(self) -> None:
        controls, details, pinning = self.controls, self.details, self.pinning
        self.store.opened.connect(self._on_opened)
        self.store.drawn_changed.connect(self._on_drawn)
        self.own.answered.connect(self._on_answered)
        self.prepared.answered.connect(self._draw)
        pinning.changed.connect(self._on_pinned)
        controls.pin.clicked.connect(pinning.pin)
        self._empty.triggered.connect(self._on_action)
        self.cards.chosen.connect(self.choose)
        self.cards.follow(self._small)
        controls.unpin.clicked.connect(pinning.unpin)
        controls.swap.clicked.connect(pinning.swap)
        controls.export.clicked.connect(self._on_export)
        controls.blink.toggled.connect(self._set_blinking)
        controls.shuffle.clicked.connect(self._on_shuffle)
        controls.align.changed.connect(self._on_align)
        controls.follows.changed.connect(self._on_follows)
        controls.head.changed.connect(self._on_head)
        controls.site.changed.connect(self._on_site)
        controls.stage.changed.connect(self._on_stage)
        controls.row.changed.connect(self._on_row)
        details.changes.chosen.connect(self._on_change)
        for button in details.open.values():
            button.clicked.connect(self._on_open)
        self.pictures.cell_hovered.connect(self._on_hovered)
        self.pictures.cell_clicked.connect(self._on_clicked)

    def _lay_out(self) -> None:
        self._body = QWidget()
        self._flow = QBoxLayout(QBoxLayout.Direction.TopToBottom, self._body)
        self._flow.setContentsMargins(0, 0, 0, 0)
        self._flow.setSpacing(GRID)
        self._flow.addWidget(self.pictures, 3)
        self._flow.addWidget(self.details, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self.controls)
        column.addWidget(self._body, 1)
        column.addWidget(self._empty, 1)
        column.addWidget(self.cards, 3)
        self.controls.row.set_options(options())
        self.controls.row.set_value(OWN)
        self._arrange()

    def _arrange(self) -> None:
        """Details below the maps, or beside them where the panel is low."""
        is_beside = self.height() < BELOW_FROM
        direction = QBoxLayout.Direction.RightToLeft if is_beside else QBoxLayout.Direction.TopToBottom
        self._flow.setDirection(direction)
        self.details.set_beside(is_beside)
        self.details.setMinimumWidth(WIDTH if is_beside else 0)
        self.details.setMaximumWidth(WIDTH if is_beside else self.maximumWidth())
        self.details.setMinimumHeight(0 if is_beside else HEIGHT)


def _summary(picture: Picture) -> str:
    """The greatest change in one line, or that no number differs."""
    named = change_sentence(picture.changes[0]) if picture.changes else _("No number differs.")
    said = [_("greatest change: {change}").format(change=named) if picture.changes else named]
    if picture.n_nan:
        said.append(ngettext("NaN in {n} cell", "NaN in {n} cells", picture.n_nan).format(n=picture.n_nan))
    return " · ".join(said)
