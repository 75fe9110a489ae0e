"""The store: the one live state of the window, and the signals of its changes.

A state change is a pure function of the old document; panels compare old and new and repaint what
differs. Looking (a change of the view) amends the present entry of the history; editing adds one, and
all edits of one gesture share it. The history crosses documents: each open one is a chapter. What the mouse
and the player do is a frozen record each, `Pointer` and `Player`, changed and told in the same way.

Over 500 lines because everything that reads or changes the one state stands beside the signal that tells it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from attnviz.engines.table import ENGINE_BY_ID
from attnviz.errors import Message
from attnviz.gui import pointer as pointing
from attnviz.gui.head_names import HeadNames
from attnviz.gui.player import Arrive, Event, Follow, Player
from attnviz.gui.pointer import Pointer
from attnviz.model.captions import check_links
from attnviz.model.edit.chapters import Begun, Chapters, RunRecord
from attnviz.model.edit.generation import differs_in_writing
from attnviz.model.edit.layers import companions, edit_alike
from attnviz.model.edit.movement import removed_with_tokens
from attnviz.model.io.stamp import Stamp
from attnviz.model.provenance import tokens_of
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.sites.stages import head_and_token
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell, View
from attnviz.model.stages import STAGE_BY_ID

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.model.gradient import Gradient
    from attnviz.model.trace import SiteTrace, Trace

P = ParamSpec("P")

AUTO = "auto"
"""The device that every engine has: the one that it chooses."""


class Store(QObject):
    """Document, history, trace, pointer and player. Panels read its properties and call its methods."""

    changed = Signal(object, object)
    """(old Document, new Document), after every edit, look, undo, redo and load."""
    opened = Signal()
    """Another document is about to replace the present one, before `changed`, also by undo and redo: hidden
    data of the old one is released. It may be a model of gigabytes.
    """
    traced = Signal(object)
    """A Trace: the numbers of the document's experiment have arrived."""
    pointer_changed = Signal(object, object)
    """(old Pointer, new Pointer): the target of the mouse, its cell of the decoding, and the
    modes of editing.
    """
    player_changed = Signal(object, object)
    """(old Player, new Player): the decoding, whether it plays, and its speed."""
    followed_changed = Signal()
    """`shown_trace` has other tokens: those up to the step of the player, or the document's again."""
    drawn_changed = Signal()
    """`gradient` is another one, or none."""
    rejected = Signal(object)
    """The error of an edit that was rejected; None once the field has a valid value."""
    noticed = Signal(object)
    """A Message: what an edit changed beside what it was made for."""
    engine_chosen = Signal(str, str)
    """(engine, device) that the next run uses."""
    history_changed = Signal()
    """Undo, redo or save may have become available or unavailable."""
    run_changed = Signal()
    """The training run of the document has gone on, or was left."""
    run_opened = Signal()
    """A document came with its run, from its file or from an earlier session."""

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._chapters = Chapters.of(document)
        self.head_names = HeadNames(self)
        """The names of the heads of every model."""
        self.trace: Trace | None = None
        self.gradient: Gradient | None = None
        """The gradients of the view's target, once computed; `drawn_changed` announces others."""
        self.why_no_gradient: Message | None = None
        """Why the view's target has none."""
        self.engine, self.device = "numpy", AUTO
        """The engine of the next run, and its device."""
        self.pointer = Pointer()
        self.player = Player()
        self._followed: tuple[Document, Trace] | None = None
        self.pictured: frozenset[str] | None = frozenset()
        """The stages with a thumbnail in sight: a run computes their overviews, and the others later. None
        before a panel knows: all of them.
        """

    # --- reading

    @property
    def document(self) -> Document:
        return self._chapters.present.document

    @property
    def chapters(self) -> Chapters:
        """The history of all open documents, a frozen value; `history_changed` announces another one."""
        return self._chapters

    @property
    def path(self) -> Path | None:
        """The file of the document."""
        return self._chapters.present.path

    @property
    def as_described(self) -> Document:
        """The document as it was when it got its caption."""
        return self._chapters.present.as_described

    @property
    def experiment(self) -> Experiment:
        return self.document.experiment

    @property
    def attention(self) -> Site:
        """The selected attention."""
        return self.document.attention

    @property
    def site(self) -> SiteTrace:
        """The selected site of the trace."""
        assert self.trace is not None
        return self.trace.shown(self.document.view.site)

    @property
    def followed(self) -> Document | None:
        """The document with the tokens generated up to the step of the player; None while the panels show
        the document itself.
        """
        return None if self._followed is None else self._followed[0]

    @property
    def shown_trace(self) -> Trace | None:
        """The numbers of `followed`, or of the document without one."""
        return self.trace if self._followed is None else self._followed[1]

    def is_of_document(self, trace: Trace | None) -> bool:
        """True if the numbers are those of the document: an edit may be under way, or may have failed."""
        return trace is not None and trace.experiment == self.experiment

    @property
    def current_trace(self) -> Trace | None:
        """The numbers of the document; None while they are on their way."""
        return self.trace if self.is_of_document(self.trace) else None

    @property
    def shown_site(self) -> SiteTrace:
        """The selected site of `shown_trace`."""
        assert self.shown_trace is not None
        return self.shown_trace.shown(self.document.view.site)

    @property
    def drawn_trace(self) -> Trace | None:
        """The numbers that pictures draw: `shown_trace`, or its gradient where the view shows that.

        While a gradient is on its way, and for tokens that only the player has, these are the values.
        """
        quantity = self.document.view.quantity
        if quantity == "value" or self.gradient is None or self._followed is not None:
            return self.shown_trace
        return self.gradient if quantity == "gradient" else self.gradient.product

    @property
    def is_gradient_due(self) -> bool:
        """True while the view shows a gradient that is not computed yet."""
        is_known = self.gradient is not None or self.why_no_gradient is not None
        return self.document.view.quantity != "value" and self._followed is None and not is_known

    @property
    def drawn_site(self) -> SiteTrace:
        """The selected site of `drawn_trace`."""
        assert self.drawn_trace is not None
        return self.drawn_trace.shown(self.document.view.site)

    @property
    def shown_view(self) -> View:
        """The view, whose query is the newest token of `followed`."""
        view = self.document.view
        return view if self.followed is None else replace(view, query=self.followed.experiment.n_queries - 1)

    @property
    def played_row(self) -> int:
        """The query of the step that the panels follow; −1 where no panel in sight shows steps."""
        if self._followed is not None:
            return self.shown_view.query
        player = self.player
        is_followed = player.follows and player.viewers and player.decoded is not None
        has_step = is_followed and self.experiment.memory is None
        return player.nearest(self.document.view.step) if has_step else -1

    @property
    def hovered(self) -> Cell | None:
        """The cell under the mouse, if the document has its tokens; a followed cell may have others."""
        cell = self.pointer.cell
        return None if cell is not None and self._is_past_the_end(self.experiment, cell) else cell

    @property
    def focus(self) -> Cell | None:
        """The cell whose sources are highlighted: the hovered one, else the one of this attention
        that is locked.
        """
        return self.pointer.cell or self.document.locked_here

    def decoded_site(self, cell: Cell) -> SiteTrace | None:
        """The attention of a cell in the decoding's pass over all tokens; None without one."""
        trace = None if self.player.decoded is None else self.player.decoded.trace
        if trace is None or (cell.site and cell.site not in trace.sites):
            return None
        return trace.shown(cell.site or self.document.view.site)

    def is_written(self, cell: Cell) -> bool:
        """True if no panel but the decoding shows a cell: it belongs to a generated token that is not
        followed, or to no attention of the document.
        """
        if cell.site and cell.site not in site_names(self.experiment):
            return True
        return self._is_past_the_end((self.followed or self.document).experiment, cell)

    def _is_past_the_end(self, experiment: Experiment, cell: Cell) -> bool:
        """True if a cell belongs to a token after the last one of `experiment`."""
        site = at(experiment, cell.site or self.document.site)
        queries, keys = tokens_of(cell)
        own = queries if site.memory is not None else (*queries, *keys)
        return any(token >= site.n_queries for token in own)

    @property
    def is_modified(self) -> bool:
        """True if the document differs from the last opened or saved one."""
        return self._chapters.present.is_modified

    @property
    def run(self) -> Begun | None:
        """The training run of the document."""
        return self._chapters.present.run

    @property
    def can_undo(self) -> bool:
        return self._chapters.can_undo

    @property
    def can_redo(self) -> bool:
        return self._chapters.can_redo

    # --- changing

    def choose_engine(self, engine: str, device: str) -> None:
        """Compute with another engine from now on; on `AUTO` where the engine has no such device."""
        kind = ENGINE_BY_ID.get(engine)
        self.engine, self.device = engine, device if kind is None or kind.is_device(device) else AUTO
        self.engine_chosen.emit(self.engine, self.device)

    def edit(
        self, function: Callable[Concatenate[Experiment, P], Experiment], *args: P.args, **named: P.kwargs
    ) -> bool:
        """Replace the experiment by function(experiment, *args, **named).

        An edit that raises `ValueError` changes nothing; the error is sent through `rejected`.
        """
        try:
            experiment = function(self.experiment, *args, **named)
        except ValueError as error:
            self.rejected.emit(error)
            return False
        if experiment == self.experiment:
            return True
        removed = removed_with_tokens(self.experiment, experiment)
        self._put(replace(self.document, experiment=experiment))
        if removed is not None:
            self.noticed.emit(removed)
        return True

    def describe(self, caption: str) -> bool:
        """Replace the caption of the document; one that is not valid is sent through `rejected`."""
        try:
            check_links(caption)
        except ValueError as error:
            self.rejected.emit(error)
            return False
        return self._say(caption=caption)

    def entitle(self, title: str) -> bool:
        """Replace the title of the document, as `describe` does its caption."""
        return self._say(title=title)

    def _say(self, **words: str) -> bool:
        try:
            document = replace(self.document, **words)
        except ValueError as error:
            self.rejected.emit(error)
            return False
        if any(getattr(self.document, name) != text for name, text in words.items()):
            self._put(document)
        return True

    def claim(self, claims: tuple[str, ...]) -> bool:
        """Replace the claims of the document; ones that are no expression are sent through `rejected`."""
        if claims == self.document.claims:
            return True
        try:
            document = replace(self.document, claims=claims)
        except ValueError as error:
            self.rejected.emit(error)
            return False
        self._put(document)
        return True

    @property
    def edited_attentions(self) -> tuple[Site, ...]:
        """The attentions that an edit changes: the selected one, then those that are edited alike."""
        site = self.document.site
        others = companions(self.experiment, site) if self.pointer.edits_alike else ()
        return (self.attention, *(at(self.experiment, place.name) for place in others))

    def edit_attention(
        self, function: Callable[Concatenate[Site, P], Site], *args: P.args, **named: P.kwargs
    ) -> bool:
        """Replace the selected attention by function(attention, *args, **named); see `edit`.

        While all layers are edited alike, those of its kind in the other layers are replaced as well.
        """
        site = self.document.site
        if not self.pointer.edits_alike:
            return self.edit_here(function, *args, **named)
        return self.edit(edit_alike, site, lambda one: function(one, *args, **named))

    def edit_here(
        self, function: Callable[Concatenate[Site, P], Site], *args: P.args, **named: P.kwargs
    ) -> bool:
        """Replace the selected attention only: for numbers that each layer has separately."""
        site = self.document.site

        def edited(experiment: Experiment) -> Experiment:
            return put(experiment, function(at(experiment, site), *args, **named))

        return self.edit(edited)

    def look(self, **fields: Any) -> None:
        """Replace fields of the view: `store.look(stage="scores")`."""
        if "locked" in fields:
            self.hold_in_decoding(None)
        old = self.document
        new = old.looking(**fields)
        if new.view != old.view:
            self._chapters = self._chapters.amend(new)
            self.changed.emit(old, self.document)
            if new.view.head != old.view.head:  # the mouse rests while the head under it changes
                self.set_hover(new.of_shown_head(self.pointer.cell))

    def look_at(self, cell: Cell) -> None:
        """Lock a cell, of the selected attention by default, and show the attention, stage and head of it."""
        document = self.document
        there = cell.site or document.site
        view, heads = document.view, at(document.experiment, there).heads
        row, head = STAGE_BY_ID[cell.stage], view.head
        own, token = head_and_token(at(document.experiment, there), cell.stage, cell.head)
        if row.axes[0] == "head":
            head = own
        elif row.axes[0] == "kv_head" and min(head, heads.n_heads - 1) // heads.group_size != own:
            head = own * heads.group_size
        query = token if row.by_token else cell.row if row.axes[-2] in ("query", "token") else view.query
        site = view.site if there == document.site else there
        self.look(site=site, locked=replace(cell, site=""), stage=cell.stage, head=head, query=query)

    def set_hover(self, cell: Cell | None) -> None:
        """Set the cell under the mouse; see `pointer.hover`."""
        self._point(pointing.hover(self.pointer, cell, self.document.site))

    def point_in_decoding(self, cell: Cell | None) -> None:
        """Set the number of the player under the mouse.

        It opens in the decoding's own pass: a document that is not causal has other numbers in its own, and a
        generated token has none there. A token of the document is highlighted everywhere.
        """
        is_in_document = cell is not None and not self.is_written(cell)
        site = self.document.site
        self._point(pointing.hover_in_decoding(self.pointer, cell, site, is_in_document=is_in_document))

    def hold_in_decoding(self, cell: Cell | None) -> None:
        """Keep a cell of the decoding in sight, as locking does with the document's; None lets it go."""
        self._point(dataclasses.replace(self.pointer, held=cell))

    def set_stage_hover(self, stage: str) -> None:
        """Set the stage whose picture or symbol is under the mouse; empty for none."""
        self._point(dataclasses.replace(self.pointer, stage=stage))

    def set_edits_alike(self, is_alike: bool) -> None:
        """Edit one attention from now on, or those of its kind in all layers."""
        self._point(dataclasses.replace(self.pointer, edits_alike=is_alike))

    def set_paint_mode(self, is_painting: bool) -> None:
        """Begin or end painting the mask by hand."""
        self._point(dataclasses.replace(self.pointer, paints=is_painting))

    def set_caption_shown(self, is_shown: bool) -> None:
        """Show or hide the captions of documents."""
        self._point(dataclasses.replace(self.pointer, shows_caption=is_shown))

    def set_spot(self, spot: pointing.Spot | None) -> None:
        """Let the cells that a lesson speaks of stay bright; None: all of them."""
        self._point(dataclasses.replace(self.pointer, spot=spot))

    def play(self, event: Event) -> None:
        """Let something happen to the player: `store.play(Toggle())`."""
        step = self.document.view.step
        old = self.player
        self.player, there = event.on(old, step)
        if there != step:
            self.look(step=there)
        if self.player != old:
            self.player_changed.emit(old, self.player)

    def _point(self, pointer: Pointer) -> None:
        old, self.pointer = self.pointer, pointer
        if pointer != old:
            self.pointer_changed.emit(old, pointer)

    def set_trace(self, trace: Trace) -> None:
        """Take the numbers of a finished run."""
        self.trace = trace
        self.traced.emit(trace)

    def set_gradient(self, gradient: Gradient | None, why: Message | None = None) -> None:
        """Take the gradients of a target; None: it has none, and `why`, or its document is closed."""
        if gradient is not self.gradient or why != self.why_no_gradient:
            self.gradient, self.why_no_gradient = gradient, why
            self.drawn_changed.emit()

    def set_decoded(self, decoded: Decoded | None) -> None:
        """Accept a finished decoding, or None."""
        self.play(Arrive(decoded))

    def set_following(self, is_following: bool) -> None:
        """Let the panels follow the step of the player, or show the document."""
        self.play(Follow(is_following))

    def set_followed(self, followed: tuple[Document, Trace] | None) -> None:
        """Take the numbers of the tokens up to the step of the player; None: show the document again."""
        if followed is not self._followed:
            self._followed = followed
            self.followed_changed.emit()

    # --- gestures, undo, files

    def begin_gesture(self) -> None:
        """From here to `end_gesture` all edits are one entry of the history."""
        self._point(dataclasses.replace(self.pointer, gesture="begun"))

    def end_gesture(self) -> None:
        """The drag, the wheel or the typing ended."""
        self._point(dataclasses.replace(self.pointer, gesture="none"))

    def undo(self) -> None:
        """Go one entry back, at the first one to the document before.

        A continuing gesture begins another entry, so that no older one is lost.
        """
        self._point(pointing.split_gesture(self.pointer))
        self._move_to(self._chapters.undo())

    def redo(self) -> None:
        """One entry forward, at the last one to the document after."""
        self._point(pointing.split_gesture(self.pointer))
        self._move_to(self._chapters.redo())

    def open(
        self,
        document: Document,
        path: Path | None = None,
        stamp: Stamp | None = None,
        run: RunRecord | None = None,
    ) -> None:
        """Begin a chapter of the history with another document, perhaps with its run; undo returns to the
        present one.
        """
        self._move_to(self._chapters.open(document, path, stamp, run))
        if run is not None:
            self.run_opened.emit()

    def restore(self, chapters: Chapters) -> None:
        """Add the documents of an earlier session, each with its history."""
        self._move_to(self._chapters.join(chapters))
        if self.run is not None:
            self.run_opened.emit()

    def reload(self, document: Document, stamp: Stamp | None, run: RunRecord | None = None) -> None:
        """Take the present content of the document's file; undo returns to the own edits."""
        self._point(pointing.split_gesture(self.pointer))
        self._move_to(self._chapters.reload(document, stamp, datetime.now(), run))

    def set_run(self, run: Begun | None) -> None:
        """Let the document have its run as far as it has come, or none."""
        if run is self.run:
            return
        was_modified = self.is_modified
        self._chapters = self._chapters.with_run(run)
        self.run_changed.emit()
        if self.is_modified != was_modified:
            self.history_changed.emit()

    def take_run(self) -> None:
        """Give the document the weights that its run shows, as one edit."""
        run = self.run
        if run is not None and run.pending is not None and run.belongs_to(self.experiment):
            shown = run.record.with_text_of(run.pending, self.experiment)
            self.set_run(Begun(run.record, (*run.experiments, shown), None, run.shown))
            self.edit(lambda _present: shown)

    def go_to_chapter(self, number: int) -> None:
        """Return to an earlier document; undo returns to the present one."""
        self._move_to(self._chapters.go_to(number))

    def stand_in(self) -> None:
        """Let the present document leave no chapter when another one opens, unless it is edited before."""
        self._chapters = self._chapters.stand_in()

    def mark_exercise(self, *, is_one: bool) -> None:
        """Mark the present document as one that a lesson has opened, or as work of its own."""
        if self._chapters.present.is_exercise != is_one:
            self._chapters = self._chapters.mark_exercise(is_one=is_one)
            self.history_changed.emit()

    def mark_saved(
        self, path: Path, document: Document, stamp: Stamp | None = None, run: RunRecord | None = None
    ) -> None:
        """Note that the file at `path` holds `document`, with its `run`."""
        self._chapters = self._chapters.mark_saved(path, document, stamp, run)
        self.history_changed.emit()

    def _put(self, document: Document) -> None:
        old = self.document
        is_entered = self.pointer.gesture == "entered"
        chapters = self._chapters
        self._chapters = chapters.amend(document) if is_entered else chapters.push(document, datetime.now())
        self._point(pointing.enter_history(self.pointer))
        self._unfollow(old)
        self.changed.emit(old, document)
        self.history_changed.emit()

    def _move_to(self, chapters: Chapters) -> None:
        old, before = self.document, self._chapters.present.number
        is_another = chapters.present.number != before
        if is_another:
            self.end_gesture()
            self.set_stage_hover("")  # the target of the pointer was replaced or removed
        self._chapters = chapters
        if is_another:
            self.opened.emit()
        if self.document is not old:
            self._point(pointing.leave_document(self.pointer))
            self._unfollow(old)
            self.changed.emit(old, self.document)
        self.history_changed.emit()

    def _unfollow(self, old: Document) -> None:
        """Show the document after an edit of its numbers: those of the followed tokens are out of date."""
        if self._followed is not None and not differs_in_writing(old.experiment, self.experiment):
            self.set_followed(None)
