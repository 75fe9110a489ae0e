"""The panels follow the player: the pass over the tokens up to its step, computed in the worker.

A pass under way is finished and shown before the next begins, so that the map grows while the text plays
faster than passes are computed. An edit of the numbers shows the document, until the player moves again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES, execute, warm
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.model.edit.generation import differs_in_writing
from attnviz.model.spec.document import Document

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.model.trace import Trace

KEY = "follow"

Step = tuple["Decoded", int]
"""A decoding and the index of one of its generated tokens."""


def step_to_follow(player: Player, document: Document) -> Step | None:
    """The generated token that the player shows; None at a token of the document.

    None also where no panel in sight shows the decoding, for a decoding of other numbers than the document's,
    and with a memory: panels show both sequences of the document.
    """
    decoded, is_followed = player.decoded, player.follows and player.viewers
    if decoded is None or not is_followed or document.experiment.memory is not None:
        return None
    step = player.nearest(document.view.step)
    if step < decoded.given.n_queries or not differs_in_writing(decoded.given, document.experiment):
        return None
    return decoded, step


def followed(player: Player, document: Document) -> Document | None:
    """The document with the tokens generated up to the step of the player; None where none are.

    It is causal and has the read-out of the decoding, in whose dtype it is computed.
    """
    found = step_to_follow(player, document)
    return None if found is None else _document_at(found, document)


def _document_at(step: Step, document: Document) -> Document:
    """The document with the tokens up to a step."""
    decoded, index = step
    experiment = decoded.decoding.up_to(index)
    return replace(document, experiment=experiment, view=replace(document.view, query=index))


class FollowLive(QObject):
    """Keeps `store.followed` at the step of the player."""

    failed = Signal(object)
    """One sentence: why the tokens of a step have no numbers."""

    def __init__(self, store: Store, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._scheduler = store, scheduler
        self._wanted: Step | None = None
        self._running: Step | None = None
        self._shown: Step | None = None
        self._generation = 0
        """One more whenever a pass under way became obsolete."""
        self._rests = False
        """Whether the document was edited since the player last moved."""
        store.changed.connect(self._on_changed)
        store.player_changed.connect(self._on_player)
        store.pointer_changed.connect(self._on_pointer)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if not differs_in_writing(old.experiment, new.experiment):
            self._rests = True
        elif old.view.step != new.view.step:
            self._rests = False
        self._follow()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if new.is_playing > old.is_playing or new.follows != old.follows or new.visits != old.visits:
            self._rests = False
        self._follow()

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if old.paints != new.paints:
            self._follow()

    def _follow(self) -> None:
        """Compute the step of the player, or show the document. A mask is painted over the document."""
        store = self._store
        is_editing = self._rests or store.pointer.paints
        self._wanted = None if is_editing else step_to_follow(store.player, store.document)
        if self._wanted is None:
            self._generation += 1
            self._running = self._shown = None
            store.set_followed(None)
        elif self._running is None and self._wanted != self._shown:
            self._begin(self._wanted)

    def _begin(self, step: Step) -> None:
        generation, document, pictured = self._generation, self._store.document, self._store.pictured
        self._running = step

        def job(token: CancelToken) -> tuple[Document, Trace]:
            def check() -> None:
                token.check()
                if generation != self._generation:
                    raise Cancelled

            there, decoding = _document_at(step, document), step[0].decoding
            progress = Progress(check, token.report)
            trace = execute(there.experiment, decoding.engine, decoding.device, progress, GUI_CORES)
            warm(trace.shown(there.view.site), there.view, check, pictured)
            return there, trace

        def done(found: tuple[Document, Trace]) -> None:
            if generation == self._generation:
                self._show(step, found)

        def failed(error: BaseException) -> None:
            if generation == self._generation:
                self._fail(error)

        self._scheduler.submit(job, done, failed, key=KEY)

    def _show(self, step: Step, found: tuple[Document, Trace]) -> None:
        self._running, self._shown = None, step
        self._store.set_followed(found)
        self._follow()

    def _fail(self, error: BaseException) -> None:
        self._running, self._shown = None, self._wanted  # the same step is not tried again
        self._store.set_followed(None)
        self.failed.emit(failure_message(error))
        if not is_expected(error):
            raise error
