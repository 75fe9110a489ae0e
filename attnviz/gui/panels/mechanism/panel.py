"""The mechanism: all settings of the experiment except tokens and matrices, each with a live control."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from attnviz.gui.live.pointer import Pointer
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.mechanism.block import BlockSection
from attnviz.gui.panels.mechanism.dropout import DropoutSection
from attnviz.gui.panels.mechanism.dtype import DTypeSection
from attnviz.gui.panels.mechanism.heads import HeadsSection
from attnviz.gui.panels.mechanism.layers import LayersSection
from attnviz.gui.panels.mechanism.mask import MaskSection
from attnviz.gui.panels.mechanism.memory import MemorySection
from attnviz.gui.panels.mechanism.position import PositionSection
from attnviz.gui.panels.mechanism.projections import ProjectionsSection
from attnviz.gui.panels.mechanism.score import ScoreSection
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.panel import Panel
from attnviz.gui.stage_heat import differ_in_vectors_alone
from attnviz.gui.store import Store
from attnviz.model.edit.generation import differs_in_writing
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace

SECTIONS: tuple[type[Section], ...] = (
    HeadsSection,
    ScoreSection,
    MaskSection,
    PositionSection,
    DropoutSection,
    ProjectionsSection,
    BlockSection,
    LayersSection,
    MemorySection,
    DTypeSection,
)

WIDTH, NARROWEST = 280, 270


class MechanismPanel(Panel):
    """Cards below each other in a column that scrolls.

    `dtype_reason` is why a dtype is unavailable with the chosen engine (empty: it is available); the window
    updates it when the engine changes.
    """

    follows = ("head", "query", "locked")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        content = QWidget()
        content.setObjectName("mechanism_content")
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        self.sections = tuple(make(store) for make in SECTIONS)
        for section in self.sections:
            column.addWidget(section)
        column.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("mechanism_scroll")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(content)
        self._scroll.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._scroll)
        self.setMinimumWidth(NARROWEST)

    @property
    def dtype_reason(self) -> Callable[[str], str]:
        """Why a dtype cannot be had, as one sentence; empty where it can."""
        return self._dtypes.reason

    @dtype_reason.setter
    def dtype_reason(self, reason: Callable[[str], str]) -> None:
        self._dtypes.set_reason(reason)

    @property
    def _dtypes(self) -> DTypeSection:
        return next(section for section in self.sections if isinstance(section, DTypeSection))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 640)

    def on_document(self, old: Document | None, new: Document) -> None:
        is_same = old is not None and old.site == new.site
        if old is not None and is_same:
            pair = old.experiment, new.experiment
            is_same = differs_in_writing(*pair) or differ_in_vectors_alone(*pair)
        for section in self.sections:
            if old is None or not is_same:
                section.on_document(old, new)
            elif old.view != new.view:
                section.on_view(new)

    def on_trace(self, trace: Trace) -> None:
        for section in self.sections:
            section.on_trace(trace)

    def on_hover(self, cell: Cell | None) -> None:
        for section in self.sections:
            section.on_hover(cell)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for section in self.sections:
            section.apply_theme(theme)

    def retranslate(self) -> None:
        for section in self.sections:
            section.retranslate()
        self.on_document(None, self.store.document)

    def start(self) -> None:
        super().start()
        self.store.pointer_changed.connect(self._on_pointer)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        """Request the reasons again: attentions differ in their possible edits."""
        if old.edits_alike != new.edits_alike:
            self.on_document(None, self.store.document)
