"""The first glance: a sentence with the arcs of one word, and below it the sum that the word takes over."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from attnviz.gui.live.clock import Clock
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.glance.motion import FIRST_S, WORD_S, Motion
from attnviz.gui.panels.glance.scrubber import STOPS
from attnviz.gui.panels.glance.seen import GlanceSeen
from attnviz.gui.panels.glance.sentence import SentenceSheet
from attnviz.gui.panels.glance.sheet import Sheet
from attnviz.gui.panels.glance.strip import Strip
from attnviz.gui.panels.glance.values import ValuesSheet
from attnviz.gui.panels.glance.way import WaySheet
from attnviz.gui.panels.panel import Panel
from attnviz.gui.player import GoTo, Player, Watch
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import transition_ms
from attnviz.i18n import N_
from attnviz.model.ranges import with_first
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

STRIP_PX = 44
"""Height of the folded panel."""
LEAST_OPEN = 160
"""Height from which the panel shows its pictures."""
WIDE, HIGH = 1100, 600
"""Size from which the list stands beside the plane; in a smaller one it is behind a button."""
SHARES = (282, 254, 168)
"""Heights of the three parts in a panel of the first size, which grow alike."""
LEAST_SHARE = 60
"""That of the way under a part that is enlarged."""


class GlancePanel(Panel):
    """Shows t = 1 unless it plays: once by itself, and after each word that is written here."""

    fold_wanted = Signal(bool)
    """The panel is to be folded to a line, or (False) to have the room of the others."""
    enlarge_wanted = Signal()
    """The panel is to have the window for one part alone, or to return from it."""
    opened = Signal()
    """The arithmetic of a number is to be shown: its cell is locked."""

    follows = ("head", "query", "first_tokens", "ranges", "locked", "step", "parts")
    follows_player = True

    def __init__(self, store: Store, parent: QWidget | None = None, clock: Clock | None = None) -> None:
        super().__init__(store, parent)
        says(self, name=N_("First glance"))
        self._part, self._plays_next = 1.0, 0.0
        self._seen: GlanceSeen | None = None
        self.motion = Motion(clock, self)
        self.motion.moved.connect(self._on_part)
        self.motion.ended.connect(self._on_ended)
        self.sentence, self.values, self.way, self.strip = (
            SentenceSheet(),
            ValuesSheet(store),
            WaySheet(),
            Strip(),
        )
        self._open = QWidget()
        self._column = in_column(self._open, self.sentence, self.values, self.way, spacing=GRID)
        for place, share in enumerate(SHARES):
            self._column.setStretch(place, share)
        self._part_alone: Sheet = self.values
        """The part that is shown while the panel is enlarged, with the way below it."""
        self._stack = QStackedWidget()
        self._stack.addWidget(self._open)
        self._stack.addWidget(self.strip)
        in_column(self, self._stack, spacing=0)
        self.setFocusProxy(self.way.scrubber)
        self._connect()

    def _connect(self) -> None:
        arcs = self.sentence.arcs
        arcs.query_clicked.connect(self._on_query)
        arcs.key_clicked.connect(self._on_key)
        arcs.key_hovered.connect(self._on_hovered)
        self.sentence.heads.chosen.connect(self._on_head)
        self.sentence.heads.layer_stepped.connect(self._on_layer)
        self.sentence.first.changed.connect(self._on_first)
        self.sentence.fold.clicked.connect(self._on_fold)
        self.sentence.enlarge.clicked.connect(self._on_enlarge)
        self.values.enlarge.clicked.connect(self._on_enlarge)
        self.strip.open.clicked.connect(self._on_unfold)
        self.values.plane.clicked.connect(self._on_result)
        self.values.rows.clicked.connect(self._on_row)
        self.values.rows.hovered.connect(self._on_row_hovered)
        self.values.next.write_wanted.connect(self._on_write)
        self.values.next.last_wanted.connect(self._on_last)
        self.way.play_wanted.connect(self.play_or_pause)
        self.way.scrubber.moved.connect(self._on_scrubbed)
        self.way.scrubber.pointed.connect(self._on_pointed)

    # --- following

    def start(self) -> None:
        super().start()
        self.store.player_changed.connect(self._on_player)
        self.store.opened.connect(self._on_opened)
        self._watch()

    @Slot(bool)
    def set_seen(self, is_seen: bool) -> None:
        was_seen = self.is_seen
        super().set_seen(is_seen)
        if self._is_started and was_seen != is_seen:
            self._watch()
            if is_seen:
                self._show()
            else:
                self._rest()

    def _watch(self) -> None:
        self.store.play(Watch(type(self).__name__, self.is_seen))

    def on_document(self, old: Document | None, new: Document) -> None:
        if self.store.trace is None or old is None or old.site != new.site:
            return  # another attention also sends its trace
        if old.experiment is not new.experiment:
            return  # an edit does, too
        if old.view.query != new.view.query or old.view.head != new.view.head:
            self._rest()
        self._show()

    def on_trace(self, trace: Trace) -> None:
        if self._plays_next and self.store.followed is not None:
            seconds, self._plays_next = self._plays_next, 0.0
            self._play(seconds)
        elif not self.motion.is_playing:
            self._part = 1.0
        self._show()
        self._play_first()

    def on_hover(self, cell: Cell | None) -> None:
        self._light()

    def retranslate(self) -> None:
        self._show()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if self.is_seen and old.decoded is not new.decoded:
            self._show()

    @Slot()
    def _on_opened(self) -> None:
        """Hold nothing of the former document in pictures that will not show another one."""
        if not (self.is_seen and self.is_open):
            self._release()

    def _release(self) -> None:
        self._rest()
        self._seen = None
        self.sentence.arcs.forget()
        self.values.plane.set_sum(None)
        self.values.rows.forget()
        self.way.scrubber.set_sum(None, "", 1.0)

    # --- showing

    @property
    def is_open(self) -> bool:
        """True if the panel has room for its pictures."""
        return self._stack.currentWidget() is self._open

    def _show(self) -> None:
        """Read the state anew, and show it."""
        if self.store.shown_trace is None or not self.is_seen:
            return
        self._seen = GlanceSeen.of(self.store, at_step=not self.is_open)
        self._draw(self._part)
        self._light()

    def _draw(self, part: float) -> None:
        seen = self._seen
        if seen is None:
            return
        if not self.is_open:
            self.strip.show_state(seen)
            return
        document = self.store.followed or self.store.document
        self.sentence.show_state(seen, document, part)
        self.values.show_state(seen, document, part)
        self.way.show_state(seen, part)
        self.way.setVisible(seen.sum is not None)
        self.way.button.setEnabled(transition_ms(self) > 0)

    def _light(self) -> None:
        """Light the key in focus, of the present query."""
        seen, cell = self._seen, self.store.pointer.cell or self.store.document.locked_here
        is_here = seen is not None and cell is not None and cell.row == seen.query
        is_here = is_here and cell is not None and STAGE_BY_ID[cell.stage].score_shaped
        key = cell.column if is_here and cell is not None else -1
        self.sentence.arcs.set_lit(key)
        self.values.plane.set_lit(key)
        self.values.rows.set_lit(key)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        was_open = self.is_open
        self._stack.setCurrentWidget(self._open if self.height() >= LEAST_OPEN else self.strip)
        self.values.set_wide(self.width() >= WIDE and self.height() >= HIGH)
        if was_open != self.is_open:
            self._draw(self._part)

    def sizeHint(self) -> QSize:
        return QSize(1000, sum(SHARES) + 2 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, STRIP_PX)

    # --- time

    def _play_first(self) -> None:
        """Play once by itself, at the first start of all."""
        if self.is_open and self.isVisible() and self.services.settings.is_first_run():
            self._play(FIRST_S)

    def _play(self, seconds: float) -> None:
        """Play from the beginning, unless transitions are off."""
        if transition_ms(self) and self._seen is not None:
            self.motion.play(seconds)
            self.way.button.set_playing(self.motion.is_playing)

    @Slot()
    def play_or_pause(self) -> None:
        """Play the sum, pause, or go on, as Space does; with reduced motion, show the next of three parts."""
        if transition_ms(self):
            self.motion.toggle()
            self.way.button.set_playing(self.motion.is_playing)
        else:
            self._on_scrubbed(next((part for part in STOPS if part > self._part), STOPS[0]))

    def _rest(self) -> None:
        """Stand at the end of the way."""
        self.motion.forget()
        self._part = 1.0

    @Slot(float)
    def _on_part(self, part: float) -> None:
        self._part = part
        self._draw(part)

    @Slot()
    def _on_ended(self) -> None:
        self.way.button.set_playing(False)

    @Slot(float)
    def _on_scrubbed(self, part: float) -> None:
        self.motion.forget()
        self._on_part(part)

    @Slot(float)
    def _on_pointed(self, part: float) -> None:
        """Show the frame under the mouse until the mouse leaves it."""
        if not self.motion.is_playing:
            self._draw(self._part if part < 0 else part)

    # --- acting

    @Slot(int)
    def _on_query(self, query: int) -> None:
        """Let another word ask: one of the document, or one that is generated."""
        if self.store.followed is None:
            self.store.look(query=query, locked=None)
        elif query < self.store.experiment.n_queries:
            self.store.look(query=query, locked=None, step=query)
        else:
            self.store.play(GoTo(query))

    @Slot(int, int)
    def _on_key(self, query: int, key: int) -> None:
        self._open_weight(key)

    def _open_weight(self, key: int) -> None:
        """Lock the cell of a weight; a second time unlocks it."""
        if self._seen is None:
            return
        self._open_cell(self._seen.weight_cell(key))

    def _open_cell(self, cell: Cell) -> None:
        if self.store.is_written(cell) or self.store.followed is not None:
            self.store.hold_in_decoding(cell)
            self.opened.emit()
            return
        is_locked = cell == self.store.document.view.locked
        self.store.look(locked=None if is_locked else cell, query=cell.row, stage=cell.stage)
        if not is_locked:
            self.opened.emit()

    @Slot(int, int)
    def _on_hovered(self, query: int, key: int) -> None:
        seen = self._seen
        self.store.set_hover(None if seen is None or key < 0 else seen.weight_cell(key))

    @Slot(int)
    def _on_row(self, place: int) -> None:
        key = self.values.rows.key_of(place)
        if key is None:
            self._on_result()
        elif key >= 0:
            self._open_weight(key)

    @Slot(int)
    def _on_row_hovered(self, place: int) -> None:
        key = self.values.rows.key_of(place)
        self._on_hovered(0, -1 if key is None else key)

    @Slot()
    def _on_result(self) -> None:
        if self._seen is not None and self._seen.sum is not None:
            self._open_cell(self._seen.result_cell)

    @Slot(int)
    def _on_head(self, head: int) -> None:
        self.store.look(head=head)

    @Slot(int)
    def _on_layer(self, step: int) -> None:
        names = self.store.trace.sites if self.store.trace is not None else ()
        place = names.index(self.store.document.site) + step if self.store.document.site in names else -1
        if 0 <= place < len(names):
            self._rest()
            self.store.look(site=names[place])

    def switch_first(self) -> None:
        """Leave the first token out of the picture, or put it back, as F does."""
        if self._seen is not None and self.sentence.first.isEnabled():
            self._on_first(not self._seen.is_first_off)

    @Slot(bool)
    def _on_first(self, is_off: bool) -> None:
        if self._seen is not None:
            seen = self._seen
            self.store.look(**with_first(seen.site, self.store.document.view, seen.site.map, is_off))

    @Slot()
    def _on_write(self) -> None:
        """One step of the generation; the picture of the new word plays."""
        if self._seen is not None:
            self._plays_next = WORD_S
            self.store.play(GoTo(self._seen.query + 1))

    @Slot()
    def _on_last(self) -> None:
        if self._seen is not None:
            self._on_query(self._seen.last)

    @Slot()
    def _on_enlarge(self) -> None:
        part = self.sender().parent()
        assert isinstance(part, Sheet)
        self._part_alone = part
        self.enlarge_wanted.emit()

    def set_enlarged(self, is_enlarged: bool) -> None:
        """Show one part alone, with the way below it; the sum unless a person chose the sentence."""
        for part in (self.sentence, self.values):
            part.setVisible(not is_enlarged or part is self._part_alone)
            part.enlarge.set_back(is_enlarged)
        self.sentence.fold.setVisible(not is_enlarged)
        self._column.setStretch(len(SHARES) - 1, LEAST_SHARE if is_enlarged else SHARES[-1])
        if not is_enlarged:
            self._part_alone = self.values

    @Slot()
    def _on_fold(self) -> None:
        self.fold_wanted.emit(True)

    @Slot()
    def _on_unfold(self) -> None:
        self.fold_wanted.emit(False)
