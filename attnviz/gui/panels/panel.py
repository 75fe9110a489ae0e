"""Base of every panel: a widget that reads the store, paints changes, and edits through the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from weakref import ref

from PySide6.QtCore import Signal, SignalInstance, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.live.answer import Answer, Asked, Result
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.look.words import retranslate
from attnviz.gui.pointer import Pointer
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, View
from attnviz.model.trace import Trace


class Panel(QWidget):
    """Base of the panels. Subclasses build their widgets in `__init__`, then override what concerns them.

    The window calls `serve`, and `start` once the panel is complete. Panels know the store and no other
    panel. A panel behind another tab receives no changes; in front again, it receives all missed changes as
    one.
    """

    command_wanted = Signal(str)
    """A row of `ACTIONS` is to be run, by its id."""
    front_wanted = Signal()
    """The panel has something to show: it is to come in front, in a workspace where it stands."""

    follows: ClassVar[tuple[str, ...]] = View.__struct_fields__
    """Fields of the view that the panel shows: another look is not told. The experiment always is."""
    follows_player: ClassVar[bool] = False
    """Whether the panel shows the tokens up to the step of the player (`store.shown_trace`)."""

    draws_gradients: ClassVar[bool] = False
    """Whether the panel shows gradients in place of values (`store.drawn_trace`); it follows the player."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.theme: Theme = LIGHT
        self.answers: list[Answer[Any, Any]] = []
        """The answers that the panel asks for while it is seen."""
        self.is_seen = True
        """False while another tab lies over the panel; Qt counts it as visible all the same."""
        self._is_started = False
        self._told: tuple[Document | None, Trace | None] = (None, None)
        self._left: ref[Trace] | None = None
        """The trace of the document that was left for the present one; held by nobody, it is gone."""

    def serve(self, services: Services) -> None:
        """Take the services of the window, once, before `start`: whoever computes, remembers or says."""
        self.services = services
        for answer in self.answers:
            answer.serve(services.schedulers.answers)

    def asks(self, answer: Answer[Asked, Result]) -> Answer[Asked, Result]:
        """Ask for this answer only while the panel is seen.

        Behind another tab nothing is computed: a question under way is dropped, and asked again in front.
        Nothing of another document stays.
        """
        self.store.opened.connect(answer.clear)
        self.answers.append(answer)
        return answer

    def start(self) -> None:
        """Connect to the store; show its present state, unless another tab lies over the panel."""
        self._is_started = True
        self.store.opened.connect(self._document_opened)
        for part in filter(None, (self.header(), self)):
            retranslate(part)
        if self.is_seen:
            self._listen(True)
            self._tell()

    def on_document(self, old: Document | None, new: Document) -> None:
        """The part of the document in the panel changed; `old` is None the first time. Repaint the
        differences.

        If another attention is selected, `on_trace` follows; after another document is opened, as soon as
        its own numbers arrive.
        """

    def on_trace(self, trace: Trace) -> None:
        """The numbers of a run arrived, or another of its sites was selected.

        `trace.experiment` may be older than the store's by a frame.
        """

    def set_plain(self, is_plain: bool) -> None:
        """Leave out the controls that a student does not need, or show them again; most panels have none."""

    def header(self) -> QWidget | None:
        """A small widget for the right end of the title, the same at every call; or None."""
        return None

    def on_hover(self, cell: Cell | None) -> None:
        """The mouse is on this cell in some panel, or on none.

        A panel that follows the player receives cells of generated tokens, too.
        """

    def on_stage_hover(self, stage: str) -> None:
        """The mouse is on this stage's picture or symbol in some panel, or (empty) on none."""

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours; the widgets inside are told as well, and need not be told by the panel."""
        self.theme = theme

    @Slot(bool)
    def set_seen(self, is_seen: bool) -> None:
        """Say whether the panel can be seen, or another tab lies over it."""
        if is_seen == self.is_seen:
            return
        self.is_seen = is_seen
        if not is_seen and (due := [answer for answer in self.answers if answer.is_due]):
            for answer in due:
                answer.stop()
            self.forget()
        if not self._is_started:
            return
        self._listen(is_seen)
        if is_seen:
            self._tell()
            self.on_hover(self._hovered())
            self.on_stage_hover(self.store.pointer.stage)

    def forget(self) -> None:
        """Receive the whole state again with the next change, or as soon as the panel is in front."""
        self._told = (None, None)

    def _listen(self, is_seen: bool) -> None:
        """Connect to the store while the panel is seen: an edit then calls no hidden panel."""
        store = self.store
        heard: list[tuple[SignalInstance, Callable[..., None]]] = [
            (store.changed, self._document_changed),
            (store.traced, self._trace_arrived),
            (store.pointer_changed, self._pointer_moved),
        ]
        if self.follows_player:
            heard.append((store.followed_changed, self._followed_changed))
        if self.draws_gradients:
            heard.append((store.drawn_changed, self._followed_changed))
        for signal, slot in heard:
            (signal.connect if is_seen else signal.disconnect)(slot)

    def _tell(self) -> None:
        """Forward the changes since the last time that concern the panel."""
        store = self.store
        trace = self._own_trace()
        (old, old_trace), new = self._told, store.document
        self._told = new, trace
        moved = old is not None and old.site != new.site
        if old is None or moved or old.experiment is not new.experiment or self.looks_anew(old, new):
            self.on_document(old, new)
        if trace is not None and (moved and not self._is_left(trace) or trace is not old_trace):
            self.on_trace(trace)

    def _is_left(self, trace: Trace) -> bool:
        """True if the numbers are those of another document than the present one."""
        is_left = self._left is not None and trace is self._left()
        return is_left and not self.store.is_of_document(trace)

    def _own_trace(self) -> Trace | None:
        if self.draws_gradients:
            return self.store.drawn_trace
        return self.store.shown_trace if self.follows_player else self.store.trace

    def _hovered(self) -> Cell | None:
        return self.store.pointer.cell if self.follows_player else self.store.hovered

    def looks_anew(self, old: Document, new: Document) -> bool:
        """True if a document of the same experiment looks different in the panel."""
        return any(getattr(old.view, name) != getattr(new.view, name) for name in self.follows)

    @Slot()
    def _document_opened(self) -> None:
        trace = self._own_trace()
        self._left = None if trace is None else ref(trace)
        if not self.is_seen:
            self.forget()

    @Slot(object, object)
    def _document_changed(self, old: Document, new: Document) -> None:
        self._tell()

    @Slot(object)
    def _trace_arrived(self, trace: Trace) -> None:
        self._tell()

    @Slot()
    def _followed_changed(self) -> None:
        self._tell()

    @Slot(object, object)
    def _pointer_moved(self, old: Pointer, new: Pointer) -> None:
        # Where another panel moves the pointer as numbers arrive, these have not come here yet.
        self._tell()
        if old.cell != new.cell:
            self.on_hover(self._hovered())
        if old.stage != new.stage:
            self.on_stage_hover(new.stage)
