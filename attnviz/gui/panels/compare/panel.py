"""Compare: A, B and B − A. A is pinned by the user, or prepared by a row of `WHY_NOTS`."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from attnviz.core.alignment import ALIGNMENTS
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.compare.controls import Controls
from attnviz.gui.panels.compare.details import HEIGHT, WIDTH, Details
from attnviz.gui.panels.compare.live import CompareLive
from attnviz.gui.panels.compare.maps import SIDES, CompareMaps
from attnviz.gui.panels.compare.picture import Picture, change_sentence, of_compared, of_contrast
from attnviz.gui.panels.compare.requests import OwnAnswer, OwnAsked, Pinned, PreparedAsked
from attnviz.gui.panels.compare.texts import captions, differing, name_of_pinned, title
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.heat.compare_map import CompareMap
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import N_, _, ngettext
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.model.why_not import WHY_NOT_BY_ID, WHY_NOTS
from attnviz.study.contrast.contrast import nearest_common

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

OWN = "own"
"""Entry of the menu for a comparison of one's own."""
OWN_TITLE = N_("Pinned state")

BELOW_FROM = 380
"""Height from which the details stand below the maps."""


class ComparePanel(Panel):
    """Asks for a comparison while it is seen, and draws the answer."""

    asked = Signal(object)
    """An OwnAsked or a PreparedAsked; `show_own`, `show_compared` or `show_reason` gets the answer."""
    pin_wanted = Signal()
    unpin_wanted = Signal()
    swap_wanted = Signal()
    export_wanted = Signal(str, str, str)
    """The stage, the alignment of tokens and the head of A, as the export dialog names them."""

    follows = ("site", "head", "stage", "orientation", "ranges", "locked", "quantity", "target")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._asked: Any = None
        self._pinned: Pinned | None = None
        self._answer: OwnAnswer | None = None
        self._compared: Compared | None = None
        self._picture: Picture | None = None
        self._reason, self._seed = "", 0
        self._common_stage = ""
        """The stage that is offered where A lacks the chosen one; empty where none is."""
        self._placed: tuple[Any, ...] = ()
        """The state that the title and the choices of places show: they are written anew for another."""
        self._local: tuple[int, int] | None = None
        """A chosen cell that B does not have."""
        self._alignment, self._a_follows = ALIGNMENTS[0].id, False
        store.opened.connect(self._on_opened)
        store.drawn_changed.connect(self._on_drawn)
        self.controls, self.details, self._empty = Controls(), Details(), EmptyState("")
        self.pictures = CompareMaps()
        self._lay_out()
        self._connect()

    # --- what the window tells

    def sizeHint(self) -> QSize:
        return QSize(800, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 110)

    def serve(self, services: Services) -> None:
        """Take the services; a worker compares."""
        super().serve(services)
        self.live = CompareLive(self, services)

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
        self.setAccessibleName(_("Compare"))
        self.controls.retranslate()
        self.controls.align.set_value(self._alignment)
        self.controls.row.set_options(_options())
        self.details.name_sections(self.is_own)
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
        return self._picture

    def choose(self, row_id: str) -> None:
        """Compare by this row of the table, or by `OWN`."""
        self.controls.row.set_value(row_id)
        self._on_row(row_id)

    def set_pinned(self, pinned: Pinned | None) -> None:
        """Another state is A, or none."""
        self._pinned = pinned
        if self.is_own:
            self._forget()
            self._ask()
        elif pinned is not None:
            self.choose(OWN)
        self._show_places()

    def show_own(self, answer: OwnAnswer) -> None:
        """Draw A and B, unless another comparison was chosen meanwhile."""
        if self.is_own and self._asked is not None:
            self._answer, self._reason = answer, ""
            self._draw()

    def show_compared(self, compared: Compared) -> None:
        """Draw a prepared answer, unless another row was chosen or another document opened meanwhile."""
        if self._asked is not None and compared.row.id == self.controls.row.value():
            self._compared, self._reason = compared, ""
            self._draw()

    def show_reason(self, sentence: str) -> None:
        """Show why no comparison is possible."""
        self._forget()
        self._reason = sentence
        self._draw()

    def _forget(self) -> None:
        """Release the shown comparison."""
        self._asked, self._answer, self._compared, self._reason = None, None, None, ""
        self._draw()

    def _ask(self) -> None:
        """Request the chosen comparison, once."""
        if reason := self._why_unrelated():
            if reason != self._reason:
                self.show_reason(reason)
            return
        trace = self.store.trace
        if trace is None or trace.experiment != self.store.experiment:
            return  # the next trace is on its way
        if self.is_own and self.store.is_gradient_due:
            return  # and so is the next gradient
        wanted = self._own_request(trace) if self.is_own else self._prepared_request(trace)
        if wanted is None:
            return
        request, key = wanted
        if key != self._asked:
            self._asked = key
            self.asked.emit(request)

    def _why_unrelated(self) -> str:
        """Why A is not compared: another document is open; empty where it can be."""
        pinned = self._pinned
        if pinned is None or not self.is_own or pinned.compares_with(self.store.chapters.present):
            return ""
        says = _("A belongs to “{name}”, which has another text: go back to it, or pin the present state.")
        return says.format(name=name_of_pinned(pinned))

    @Slot()
    def _on_drawn(self) -> None:
        """Compare another gradient, or the values again."""
        if self.is_seen:
            self._show_places()
            self._ask()

    def _own_request(self, trace: Trace) -> tuple[OwnAsked, Any] | None:
        if self._pinned is None:
            return None
        document = self.store.document
        stage, drawn = self._stage(trace), self.store.drawn_trace or trace
        drawn = drawn if drawn.experiment == trace.experiment else trace
        asked = OwnAsked(self._pinned, document, trace, drawn, stage, self._alignment, self._a_follows)
        where, shown = (document.site, document.view.head), (self._alignment, self._a_follows)
        return asked, (id(self._pinned), weakref.ref(drawn), stage, where, shown, document.claims)

    def _prepared_request(self, trace: Trace) -> tuple[PreparedAsked, Any]:
        view = self.store.document.view
        row = WHY_NOT_BY_ID[self.controls.row.value()]
        asked = PreparedAsked(row, trace.experiment, view.site, view.head, self._seed)
        return asked, asked

    def _stage(self, trace: Trace) -> str:
        return trace.shown(self.store.document.site).shown_stage(self.store.document.view.stage)

    # --- drawing

    def _draw(self) -> None:
        """Show the answer, the reason why none exists, or what to do first."""
        self._picture = self._made_picture()
        if self._picture is not None and self._local is not None and not self._picture.has(self._local):
            self._local = None
        is_drawn, is_own = self._picture is not None, self.is_own
        is_empty = is_own and self._pinned is None
        self._body.setVisible(is_drawn or (not is_own and not is_empty))
        self._empty.setVisible(not self._body.isVisibleTo(self))
        says = self._reason or _("Comparing…")
        if is_empty:
            says = _(
                "Pin the present state as A, then change anything in the window: the text, the mask, a head."
            )
        self._empty.set_text(says)
        self._common_stage = self._found_common_stage()
        common = STAGE_BY_ID[self._common_stage].title if self._common_stage else ""
        offer = _("Compare “{stage}”").format(stage=_(common)) if common else ""
        self._empty.set_action(_("Pin as A") if is_empty or self._why_unrelated() else offer)
        self._empty.set_links(
            _("Or compare this state with a prepared change:"), _prepared() if is_empty else ()
        )
        self._show_controls()
        self._fill_details()
        self.pictures.show_picture(self._picture, self.store.document.view, self.theme)
        self._light()

    def _found_common_stage(self) -> str:
        """The nearest stage of both, if a reason is shown and A lacks the chosen one; else empty."""
        trace = self.store.trace
        is_asked = self.is_own and self._reason and not self._why_unrelated()
        wanted = self._own_request(trace) if trace is not None and is_asked else None
        if wanted is None:
            return ""
        (of_a, of_b), stage = wanted[0].stages, wanted[0].stage
        return "" if stage in of_a else nearest_common(stage, of_a, of_b)

    def _made_picture(self) -> Picture | None:
        if self.is_own and self._answer is not None:
            return of_contrast(self._answer.contrast, captions(self._answer), self.store.document.view)
        if not self.is_own and self._compared is not None:
            return of_compared(self._compared)
        return None

    def _fill_details(self) -> None:
        details, picture = self.details, self._picture
        details.name_sections(self.is_own)
        details.set_changes(() if picture is None else picture.changes)
        if self.is_own:
            answer = self._answer
            details.show_own(answer is not None and bool(answer.next_tokens))
            if answer is not None:
                details.differs.set_lines(*differing(answer))
                details.next.set_tokens(answer.next_tokens)
            return
        details.show_prepared()
        text = self._reason if self._compared is None else self._compared.sentence()
        details.sentence.setText(text)
        details.sentence.setToolTip(plain_tooltip(text))
        for index, side in enumerate(SIDES[:2]):
            details.open[side].setVisible(self._compared is not None)
            if self._compared is not None:
                self._show_button(side, self._compared, index)

    def _show_button(self, side: str, compared: Compared, index: int) -> None:
        """Offer to open this side as the document, if it is a different one."""
        button = self.details.open[side]
        if not compared.row.opens[index]:
            reason = _("No experiment computes this: it has no weights.")
        elif compared.documents[index] == self.store.experiment:
            reason = _("This side is the document.")
        else:
            reason = ""
        button.setEnabled(not reason)
        button.setToolTip(plain_tooltip(reason or _("Open this side as the document (undoable)")))
        caption = _(compared.row.left if side == "left" else compared.row.right)
        button.setAccessibleName(_("Open {side} as the document").format(side=caption))

    def _show_controls(self) -> None:
        """Show the controls of the chosen kind of comparison, and enable what is possible."""
        controls, is_pinned = self.controls, self._pinned is not None
        for widget in controls.of_own:
            widget.setVisible(self.is_own and is_pinned)
        for choice in controls.places:
            choice.setVisible(choice.isVisibleTo(controls) and self.is_own and is_pinned)
        compared = self._compared
        controls.shuffle.setVisible(compared is not None and compared.row.how == "permuted")
        controls.export.setVisible(self.is_own and self._answer is not None)
        self._show_places()

    def _show_places(self) -> None:
        """The title, and the choices of layer, head and stage of B."""
        trace, controls = self.store.trace, self.controls
        if not self.is_own:
            self._placed = ()  # the choices are hidden
            called = _(STAGE_BY_ID[WHY_NOT_BY_ID[controls.row.value()].stage].title)
            controls.title.set_line(title(self.store.document, called))
            return
        if trace is None:
            return
        document, drawn_trace = self.store.document, self.store.drawn_trace or trace
        shown = weakref.ref(trace), weakref.ref(drawn_trace)
        placed = document.title, document.view, shown, self._pinned is None
        if placed == self._placed:
            return
        self._placed = placed
        stage = self._stage(trace)
        drawn = drawn_trace.shown(document.site)
        called = drawn.called(stage)
        controls.title.set_line(title(document, called) if drawn.quantity == "value" else called)
        if self._pinned is None or document.site not in trace.sites:
            return
        site = trace.shown(document.site)
        names = site_names(trace.experiment)
        options = [(name, site_label(trace.experiment, name), "") for name in names]
        controls.set_choices(controls.site, options, document.site)
        stages = [(id_, _(STAGE_BY_ID[id_].title), "") for id_ in site.stages]
        controls.set_choices(controls.stage, stages, stage)
        n_heads = site.experiment.heads.n_heads
        controls.set_heads(n_heads, min(document.view.head, n_heads - 1))
        controls.head.setVisible(n_heads > 1 and STAGE_BY_ID[stage].per_head)

    # --- hovering and choosing

    def _light(self) -> None:
        """Outline the same cell in all three: the hovered one, else the chosen one."""
        hovered = self._common(self.store.pointer.cell)
        chosen = self._common(self.store.document.locked_here) or self._local
        cell = hovered or chosen
        self.pictures.light(cell, is_locked=cell == chosen, says=self._said(hovered, chosen))
        changes = () if self._picture is None else self._picture.changes
        places = [(change.row, change.column) for change in changes]
        self.details.changes.set_chosen(places.index(chosen) if chosen in places else -1)

    def _common(self, cell: Cell | None) -> tuple[int, int] | None:
        """A cell of B on the common axes; None if this is not the stage and head of B."""
        answer = self._answer
        if cell is None or answer is None or not self.is_own:
            return None
        second, where = answer.contrast.second, answer.where[1]
        if cell.stage != answer.contrast.stage or (cell.site or where.site) != where.site:
            return None
        if STAGE_BY_ID[cell.stage].per_head and cell.head != second.head:
            return None
        if cell.row not in second.rows or cell.column not in second.columns:
            return None
        return second.rows.index(cell.row), second.columns.index(cell.column)

    def _cell_of_b(self, row: int, column: int) -> Cell | None:
        """The cell of the document at a place of the common axes; None if it has none there."""
        answer = self._answer
        if answer is None or not self.is_own:
            return None
        second = answer.contrast.second
        at = second.rows[row], second.columns[column]
        if at[0] is None or at[1] is None:
            return None
        return Cell(answer.contrast.stage, at[0], at[1], second.head, answer.where[1].site)

    def _said(self, hovered: tuple[int, int] | None, chosen: tuple[int, int] | None) -> str:
        """The numbers of the hovered cell; else those of the chosen one, and the greatest change."""
        picture = self._picture
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
        if self._picture is not None:
            change = self._picture.changes[index]
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
        if self._compared is None or self._compared.row.id != row_id:
            self._forget()
        self._ask()

    @Slot()
    def _on_action(self) -> None:
        """Pin A, or show the stage that the button names."""
        if self._pinned is None or self._why_unrelated():
            self.pin_wanted.emit()
        else:
            self.store.look(stage=self._common_stage)

    @Slot(str)
    def _on_prepared(self, row_id: str) -> None:
        """Show a prepared comparison, chosen where nothing is pinned."""
        self.controls.row.set_value(row_id)
        self._on_row(row_id)

    @Slot()
    def _on_shuffle(self) -> None:
        self._seed += 1
        self._ask()

    @Slot()
    def _on_open(self) -> None:
        if self._compared is not None:
            index = SIDES.index(self.sender().property("side"))
            self.store.edit(_become, self._compared.documents[index])

    @Slot()
    def _on_export(self) -> None:
        """Export the comparison as it is shown."""
        if self._answer is not None:
            of_a = "same" if self._a_follows else "pinned"
            self.export_wanted.emit(self._answer.contrast.stage, self._alignment, of_a)

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
        controls, details = self.controls, self.details
        controls.pin.clicked.connect(self.pin_wanted)
        self._empty.triggered.connect(self._on_action)
        self._empty.chosen.connect(self._on_prepared)
        controls.unpin.clicked.connect(self.unpin_wanted)
        controls.swap.clicked.connect(self.swap_wanted)
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
        self.controls.row.set_options(_options())
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


def _become(experiment: Experiment, other: Experiment) -> Experiment:
    """The edit that opens a side."""
    return other


def _options() -> tuple[Option, ...]:
    return ((OWN, _(OWN_TITLE), _("The pinned state beside the present one")), *_prepared())


def _prepared() -> tuple[Option, ...]:
    return tuple((row.id, _(row.title), _(row.title)) for row in WHY_NOTS)
