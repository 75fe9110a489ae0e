"""The mechanism: all settings of the experiment except tokens and matrices, in sections that fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from attnviz.engines.table import ENGINE_BY_ID
from attnviz.errors import FieldError
from attnviz.gui.forms.edit_all import EditAll
from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.panels.mechanism.block import BlockSection
from attnviz.gui.panels.mechanism.by_hand import ByHandSection
from attnviz.gui.panels.mechanism.dtype import DTypeSection
from attnviz.gui.panels.mechanism.heads import HeadsSection
from attnviz.gui.panels.mechanism.layers import LayersSection
from attnviz.gui.panels.mechanism.mask import MaskSection
from attnviz.gui.panels.mechanism.memory import MemorySection
from attnviz.gui.panels.mechanism.position import PositionSection
from attnviz.gui.panels.mechanism.projections import ProjectionsSection
from attnviz.gui.panels.mechanism.score import ScoreSection
from attnviz.gui.panels.mechanism.search import Found, SearchLine
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.terms import answering
from attnviz.gui.panels.mechanism.weighting import WeightsSection
from attnviz.gui.panels.panel import Panel
from attnviz.gui.pointer import Pointer
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.edit.generation import differs_in_writing
from attnviz.model.errors.titles import in_words
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import layer_label, site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace


@dataclass(frozen=True)
class Folding:
    """The section opened last, and the sections that stay open beside it."""

    current: str = ""
    pinned: frozenset[str] = frozenset()

    @property
    def opened(self) -> frozenset[str]:
        """The open sections."""
        return self.pinned | {self.current} - {""}

    def choose(self, section: str) -> Folding:
        """Close an open section, or open one in place of the current one."""
        if section in self.opened:
            return Folding("" if section == self.current else self.current, self.pinned - {section})
        return replace(self, current=section)

    def pin(self, section: str) -> Folding:
        """Keep a section open beside the others, or close a pinned one."""
        if section in self.pinned:
            return replace(self, pinned=self.pinned - {section})
        return Folding("" if section == self.current else self.current, self.pinned | {section})

    def text(self) -> str:
        """The state for the settings: the current section or a dash, then the pinned ones."""
        return " ".join((self.current or "-", *sorted(self.pinned)))

    @classmethod
    def read(cls, text: str, known: Iterable[str]) -> Folding:
        """The state of `text`, without sections that are not `known`."""
        current, *pinned = text.split()
        names = frozenset(known)
        return cls(current if current in names else "", frozenset(pinned) & names)


SECTIONS: tuple[type[Section], ...] = (
    HeadsSection,
    ScoreSection,
    MaskSection,
    PositionSection,
    WeightsSection,
    ProjectionsSection,
    BlockSection,
    LayersSection,
    ByHandSection,
    MemorySection,
    DTypeSection,
)
FIRST_OPEN = "mask"

WIDTH, NARROWEST = 248, 232
_SETTLED_MS = 60
"""Time after which sections that were opened have their places."""
PADDING = 12


class MechanismPanel(Panel):
    """A search field above sections that fold, in a column that scrolls.

    `dtype_reason` is why a dtype is unavailable with the chosen engine (empty: it is available).
    """

    follows = ("head", "query", "locked")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._scroll = _MarginScroll(self)
        # Each part is made inside the one around it: Qt styles a tree anew for every parent that it gets.
        self.sections = tuple(make(store, self._scroll.content) for make in SECTIONS)
        self._folding = Folding(FIRST_OPEN)
        self._found: frozenset[str] | None = None
        """The open sections during a search."""
        self._highlights: list[Found] = []
        self.search = SearchLine()
        self.search.textChanged.connect(self._on_search)
        self.search.left.connect(self._on_search_left)
        self._count, self._place = WholeLabel(), WholeLabel()
        self._count.setObjectName("mechanism_found")
        self._place.setObjectName("mechanism_place")
        set_tone("muted", self._count, self._place)
        self._count.hide()
        self._alike = EditAll(store, "mechanism_alike_toggle", N_("Edit all"))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, PADDING, 1, 1)
        outer.setSpacing(GRID // 2)
        top = QVBoxLayout()
        top.setContentsMargins(PADDING, 0, PADDING, GRID // 2)
        top.addWidget(self.search)
        line = in_row(None, spacing=GRID)
        line.addWidget(self._count, 1)
        line.addWidget(self._place)
        line.addWidget(self._alike)
        top.addLayout(line)
        outer.addLayout(top)
        outer.addWidget(self._scroll)
        self._arrange()
        self.setMinimumWidth(NARROWEST)
        self._show_folds()

    def _arrange(self) -> None:
        """Put the sections below each other, and listen to their headers."""
        column = QVBoxLayout(self._scroll.content)
        column.setContentsMargins(PADDING - 1, 0, PADDING - 1, 0)
        column.setSpacing(0)
        for section in self.sections:
            column.addWidget(section)
            section.header.chosen.connect(partial(self._on_chosen, section.id))
            section.header.pinned.connect(partial(self._on_pinned, section.id))
        column.addStretch(1)
        self.store.rejected.connect(self._on_rejected)
        self.store.changed.connect(self._on_edited)

    # --- folding and searching

    def open_all(self) -> None:
        """Open every section; the settings do not keep it."""
        self._folding = Folding(pinned=frozenset(section.id for section in self.sections))
        self._show_folds()

    def open_section(self, id_: str) -> None:
        """Open a section in place of the current one, and scroll to it; the settings do not keep it."""
        self.search.clear()
        for section in self.sections:
            if section.id == id_:
                self._folding = replace(self._folding, current=id_)
                self._show_folds()
                self._scroll.reveal(section)

    def fold(self, text: str) -> None:
        """Open the sections of `text`, which the settings keep; an empty one changes nothing."""
        if text:
            self._folding = Folding.read(text, (section.id for section in self.sections))
            self._show_folds()

    def focus_search(self) -> None:
        """Put the caret into the search field."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def bring(self, control: QWidget) -> None:
        """Open the section around a control, scroll to it, and give it the focus."""
        section = next(one for one in self.sections if one.isAncestorOf(control))
        self.search.clear()
        if not section.is_open:
            self._fold_to(self._folding.choose(section.id))
        self._scroll.reveal(control)
        _focus(control)

    def _show_folds(self) -> None:
        opened = self._folding.opened if self._found is None else self._found
        for section in self.sections:
            is_pinned = self._found is None and section.id in self._folding.pinned
            section.set_open(section.id in opened, is_pinned=is_pinned)

    def _on_chosen(self, section: str) -> None:
        if self._found is None:
            self._fold_to(self._folding.choose(section))
        else:
            self._found ^= {section}
            self._show_folds()

    def _on_pinned(self, section: str) -> None:
        self._fold_to(self._folding.pin(section))

    def _fold_to(self, folding: Folding) -> None:
        newly = folding.opened - self._folding.opened
        self._folding = folding
        self._show_folds()
        self.services.settings.set_folds("mechanism", folding.text())
        for section in self.sections:
            if section.id in newly:
                self._scroll.reveal(section)

    @Slot(str)
    def _on_search(self, text: str) -> None:
        """Open the sections with controls that answer, and tint these."""
        for highlight in self._highlights:
            highlight.hide()
            highlight.deleteLater()
        self._highlights.clear()
        words = text.strip()
        terms = [term for section in self.sections for term in section.terms()]
        controls = [term.widget for term in answering(terms, words)] if words else []
        headers = [section.header for section in self.sections]
        for header in headers:
            header.set_found(header in controls)
        self._highlights += [Found(widget) for widget in controls if widget not in headers]
        self._found = self._sections_found() if words else None
        self._count.setVisible(bool(words))
        self._say_count()
        self._show_place(self.store.document)
        self._show_folds()
        self._reveal_found()

    def _sections_found(self) -> frozenset[str]:
        """The sections with controls that were found; those of controls not in use only if no other is."""
        used = self._found_controls()
        controls = used or [highlight.control for highlight in self._highlights]
        ids = {s.id for s in self.sections for control in controls if s.content.isAncestorOf(control)}
        return frozenset(ids | {s.id for s in self.sections if s.header.is_found()})

    def _say_count(self) -> None:
        if self._found is None:
            return
        shown = len(self._found_controls())
        hidden = len(self._highlights) - shown
        parts = [ngettext("{n} setting", "{n} settings", shown).format(n=shown)]
        if hidden:
            parts.append(_("{n} not in use").format(n=hidden))
        self._count.set_line(" · ".join(parts) if self._found else _("No setting has these words."))

    def _found_controls(self) -> list[QWidget]:
        """The controls that were found and apply to the present document."""
        controls = [highlight.control for highlight in self._highlights]
        contents = [section.content for section in self.sections]
        return [
            control
            for control in controls
            if any(content.isAncestorOf(control) and control.isVisibleTo(content) for content in contents)
        ]

    def _reveal_found(self) -> QWidget | None:
        """Scroll to the first control that was found, else to the first header, and return it."""
        headers = [section.header for section in self.sections if section.header.is_found()]
        found = next(iter((*self._found_controls(), *headers)), None)
        if found is not None:
            self._scroll.reveal(found)
        return found

    @Slot()
    def _on_search_left(self) -> None:
        """The focus goes to the first control that was found."""
        found = self._reveal_found()
        self.search.clearFocus()
        if found is not None:
            _focus(found)

    # --- errors

    @Slot(object)
    def _on_rejected(self, error: Exception | None) -> None:
        """Open the section of the field that is wrong, beside the open ones, and mark its header."""
        path = error.path if isinstance(error, FieldError) else ""
        sentence = in_words(error) if error is not None else ""
        for section in self.sections:
            if error is not None and path and not section.is_complete:
                section.complete()
                section.mark(error)
        wrong = [(s, control) for s in self.sections if path and (control := s.control_of(path)) is not None]
        for section in self.sections:
            section.header.set_error(sentence if wrong and section is wrong[0][0] else "")
        if not wrong:
            return
        section, control = wrong[0]
        if not section.is_open:
            self._folding = self._folding.pin(section.id)
            self._show_folds()
        self._scroll.reveal(control)

    @Slot(object, object)
    def _on_edited(self, old: Document, new: Document) -> None:
        if old.experiment is not new.experiment:
            for section in self.sections:
                section.header.set_error("")

    def serve(self, services: Services) -> None:
        """Take the services: the open sections of an earlier start, and the present engine."""
        super().serve(services)
        self.fold(services.settings.folds("mechanism"))
        self.store.engine_chosen.connect(self._on_engine)
        self._on_engine()

    @Slot()
    def _on_engine(self) -> None:
        self.dtype_reason = ENGINE_BY_ID[self.store.engine].why_not

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

    def _complete(self) -> list[Section]:
        """The sections that have controls."""
        return [section for section in self.sections if section.is_complete]

    def on_document(self, old: Document | None, new: Document) -> None:
        is_same = old is not None and old.site == new.site
        if old is not None and is_same:
            pair = old.experiment, new.experiment
            is_same = differs_in_writing(*pair) or new.experiment.differs_in_vectors(old.experiment)
        for section in self.sections:
            if old is None or not is_same:
                section.header.set_value(section.present(new))
        for section in self._complete():
            if old is None or not is_same:
                section.on_document(old, new)
            elif old.view != new.view:
                section.on_view(new)
        if old is None or not is_same:
            self._show_place(new)
        self._say_count()

    def _show_place(self, document: Document) -> None:
        """Name the layer that is edited, where the document has several, and the switch for all of them.

        Beside the count of a search the name is short.
        """
        experiment, site, is_alike = document.experiment, document.site, self.store.pointer.edits_alike
        label = (site_label if self._found is None else layer_label)(experiment, site)
        has_several = len(site_names(experiment)) > 1
        self._place.setVisible(has_several)
        self._place.set_line(_("all layers") if is_alike else label)
        self._alike.setVisible(has_several)
        self._alike.show_document(document)

    def on_trace(self, trace: Trace) -> None:
        for section in self._complete():
            section.on_trace(trace)

    def on_hover(self, cell: Cell | None) -> None:
        for section in self._complete():
            section.on_hover(cell)

    def retranslate(self) -> None:
        self.forget()
        if self.is_seen:
            self._tell()

    def start(self) -> None:
        super().start()
        self.store.pointer_changed.connect(self._on_pointer)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        """Request the reasons again: attentions differ in their possible edits."""
        if old.edits_alike != new.edits_alike:
            self.on_document(None, self.store.document)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self.theme.line))
        painter.setBrush(QColor(self.theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


def _focus(control: QWidget) -> None:
    """Give the focus to a control, or to its first part that takes it."""
    first = next((one for one in (control, *control.findChildren(QWidget)) if _takes_focus(one)), control)
    first.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _takes_focus(widget: QWidget) -> bool:
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus and widget.isEnabled()


class _MarginScroll(QScrollArea):
    """A column, `content`, whose scroll bar lies over its right margin and takes no room from it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.content = content = QWidget()
        content.setObjectName("mechanism_content")
        self.setObjectName("mechanism_scroll")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)
        self._wanted: QWidget | None = None
        """The widget to scroll to once it has its place."""
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_SETTLED_MS)
        self._later.timeout.connect(self._end_reveal)
        self.verticalScrollBar().rangeChanged.connect(self._reveal)
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        self.verticalScrollBar().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give the right margin to the scroll bar while it is shown."""
        if watched is self.verticalScrollBar() and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            taken = watched.sizeHint().width() if event.type() == QEvent.Type.Show else 0
            layout = self.content.layout()
            if layout is not None:
                layout.setContentsMargins(PADDING - 1, 0, max(PADDING - 1 - taken, 1), 0)
        return super().eventFilter(watched, event)

    def reveal(self, widget: QWidget) -> None:
        """Scroll until `widget` is in sight, once the new layout is known."""
        layout = self.content.layout()
        if layout is not None:
            layout.activate()
        self._wanted = widget
        self._reveal()
        self._later.start()  # sections that open take their heights with the next events

    @Slot()
    def _reveal(self) -> None:
        if self._wanted is not None and isValid(self._wanted):
            self.ensureWidgetVisible(self._wanted, 0, GRID)

    @Slot()
    def _end_reveal(self) -> None:
        self._reveal()
        self._wanted = None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._reveal()
