"""What every panel is: a widget that reads the store, paints what changed, and edits through the store."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.store import Store
from attnviz.gui.theme import LIGHT, Theme
from attnviz.model.document import Document
from attnviz.model.trace import Trace
from attnviz.model.view import Cell


class Panel(QWidget):
    """Base of the panels. Subclasses build their widgets in `__init__`, then override what concerns them.

    The window calls `start` once the panel is complete, `apply_theme` and `retranslate` when theme
    or language change. Panels know the store and no other panel.
    """

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.theme: Theme = LIGHT
        self.is_seen = True
        """False while another tab lies over the panel; Qt counts it as visible all the same."""

    def start(self) -> None:
        """Connect to the store and show its present state."""
        self.store.changed.connect(self._document_changed)
        self.store.traced.connect(self._trace_arrived)
        self.store.hovered.connect(self._hover_moved)
        self.store.stage_hovered.connect(self._stage_hover_moved)
        self.retranslate()
        self.on_document(None, self.store.document)
        if self.store.trace is not None:
            self.on_trace(self.store.trace)

    def on_document(self, old: Document | None, new: Document) -> None:
        """The document changed; `old` is None the first time. Repaint what differs."""

    def on_trace(self, trace: Trace) -> None:
        """The numbers of a run arrived, or another of its sites is looked at.

        `trace.experiment` may be older than the store's by a frame.
        """

    def header(self) -> QWidget | None:
        """A small widget for the right end of the title, asked for once after `__init__`; or None."""
        return None

    def on_hover(self, cell: Cell | None) -> None:
        """The mouse is on this cell in some panel, or on none."""

    def on_stage_hover(self, stage: str) -> None:
        """The mouse is on this stage's picture or symbol in some panel, or (empty) on none."""

    def on_seen(self) -> None:
        """The panel's tab came to the front: show what changed meanwhile."""

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours; subclasses call this first, then pass the theme on to what paints itself."""
        self.theme = theme

    def retranslate(self) -> None:
        """Set every text again, in the present language."""

    @Slot(bool)
    def set_seen(self, is_seen: bool) -> None:
        """Say whether the panel can be seen, or another tab lies over it."""
        if is_seen != self.is_seen:
            self.is_seen = is_seen
            if is_seen:
                self.on_seen()

    @Slot(object, object)
    def _document_changed(self, old: Document, new: Document) -> None:
        self.on_document(old, new)
        if old.site != new.site and self.store.trace is not None:
            self.on_trace(self.store.trace)

    @Slot(object)
    def _trace_arrived(self, trace: Trace) -> None:
        self.on_trace(trace)

    @Slot(object)
    def _hover_moved(self, cell: Cell | None) -> None:
        self.on_hover(cell)

    @Slot(str)
    def _stage_hover_moved(self, stage: str) -> None:
        self.on_stage_hover(stage)
