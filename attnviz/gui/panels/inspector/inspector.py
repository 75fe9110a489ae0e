"""The inspector: the arithmetic of one cell, term by term."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPen, QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from attnviz.explain.arithmetic.cell import exists, explain
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.explain.scripts.library import LIBRARIES, LIBRARY_BY_ID
from attnviz.explain.scripts.stages import stage_text
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.inspector.by_hand import ByHand
from attnviz.gui.panels.inspector.start import InspectorStart
from attnviz.gui.panels.panel import Panel
from attnviz.gui.player import Player
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import MOUSE_ONLY, Control
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.gradient import GradientSite
from attnviz.model.reading import stage_symbol
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

MOST_CRUMBS = 5
"""Steps of the way that are shown; of a longer one, the last."""


class LockMark(QWidget):
    """A small closed padlock."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self.setFixedSize(12, 14)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawArc(QRectF(3.5, 1.5, 5, 8), 0, 180 * 16)
        painter.setBrush(QColor(self._theme.accent))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(QRectF(2, 6, 8, 6.5), 1.5, 1.5)


class InspectorPath(QWidget):
    """Back, the stages passed on the way, the present one, and a hint."""

    back_wanted = Signal()
    crumb_wanted = Signal(int)
    """The number of the step to go back to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        name = N_("Return to the previous cell")
        self._back = says(QToolButton(), id="inspector_back", name=name, tip=True)
        self._back.setArrowType(Qt.ArrowType.LeftArrow)
        self._back.setAutoRaise(True)
        self._back.clicked.connect(self.back_wanted)
        self._crumbs: list[QToolButton] = []
        for place in range(MOST_CRUMBS - 1):
            crumb = QToolButton()
            crumb.setObjectName(f"inspector_crumb_{place}")
            crumb.setAutoRaise(True)
            crumb.clicked.connect(self._on_crumb)
            self._crumbs.append(crumb)
        self._title, self._hint = WholeLabel(), QLabel()
        self._title.setObjectName("inspector_title")
        self._title.elide = Qt.TextElideMode.ElideLeft  # stage and head stand last
        self._hint.setObjectName("inspector_hint")
        self._hint.setTextFormat(Qt.TextFormat.PlainText)
        self._lock = LockMark()
        for part in (self._back, self._hint, self._lock):
            part.setProperty(MOUSE_ONLY, True)
        self._lock.setObjectName("inspector_lock")
        row = in_row(self, self._back, *self._crumbs, self._title, spacing=GRID // 2)
        row.addStretch(1)
        row.addWidget(self._lock)
        row.addWidget(self._hint)
        self.setFixedHeight(24)
        # A long way down does not widen the dock.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._first = 0
        set_tone("muted", self._hint)
        set_tone("title", self._title)

    def set_path(self, passed: tuple[str, ...], title: str, is_locked: bool) -> None:
        """The stages `passed` on the way to the present one, whose `title` stands last."""
        self._back.setVisible(bool(passed))
        self._first = max(0, len(passed) - len(self._crumbs))
        shown = passed[self._first :]
        for place, crumb in enumerate(self._crumbs):
            crumb.setVisible(place < len(shown))
            if place < len(shown):
                text = f"{shown[place]} ›"
                crumb.setText(text.replace("&", "&&"))
                crumb.setAccessibleName(shown[place])
        self._title.set_line(title)
        self._lock.setVisible(is_locked)
        self._hint.setText(_("Esc unlocks") if is_locked else _("click to lock"))
        self._lock.setToolTip(self._hint.text())
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave the hint out where the title needs its room: the status bar says the same."""
        parts = [self._back, *self._crumbs, self._title, self._lock, self._hint]
        shown = [part for part in parts if part is self._hint or not part.isHidden()]
        needed = sum(part.sizeHint().width() + GRID // 2 for part in shown)
        self._hint.setVisible(needed <= self.width())

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        for crumb in self._crumbs:
            crumb.setStyleSheet(f"QToolButton {{ color: {theme.muted}; padding: 1px; }}")

    def sizeHint(self) -> QSize:
        return QSize(320, 24)

    @Slot()
    def _on_crumb(self) -> None:
        sender = self.sender()
        if isinstance(sender, QToolButton):
            self.crumb_wanted.emit(self._first + self._crumbs.index(sender))


HEIGHT = 132


class CodeFold(Control):
    """A title that unfolds the code of a stage; a choice of the library, and a button that copies it.

    It holds texts alone: an unfolded one asks for its stage again with `wanted`.
    """

    wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stage = ""
        self._fold = says(Button(), id="code_fold")
        self._fold.setCheckable(True)
        self._fold.setFlat(True)
        self._fold.toggled.connect(self._on_toggled)
        self._copy = says(
            Button(),
            N_("Copy"),
            id="code_copy",
            name=N_("Copy the code"),
            tip=N_("Copy these lines to the clipboard"),
        )
        self._copy.clicked.connect(self._on_copy)
        self._library = Segmented([(row.id, row.title, "") for row in LIBRARIES], LIBRARIES[0].id)
        says(self._library, id="code_library", name=N_("Library of the code"))
        self._library.changed.connect(self._on_library)
        self.text = says(QPlainTextEdit(), id="code_text", name=N_("Code of the stage"))
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setFont(number_font(TEXT_PX))
        self.text.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(HEIGHT)
        self._lay_out()
        self._on_toggled(False)

    @property
    def is_open(self) -> bool:
        """True if the code is shown."""
        return self._fold.isChecked()

    def show_stage(self, site: SiteTrace | None, stage: str) -> None:
        """Show the code of a stage of an attention; nothing without one."""
        self._stage = stage if site is not None and stage in site.stages else ""
        self.setVisible(bool(self._stage))
        self._name()
        if site is None or not (self._stage and self.is_open):
            return
        library = LIBRARY_BY_ID[self._library.value()]  # type: ignore[index]
        text = stage_text(site.experiment, stage, library)
        if text != self.text.toPlainText():
            self.text.setPlainText(text)

    def forget(self) -> None:
        """Show nothing."""
        self._stage = ""
        self.text.clear()
        self.hide()

    def retranslate(self) -> None:
        self._name()

    def _name(self) -> None:
        title = _(STAGE_BY_ID[self._stage].title) if self._stage else ""
        mark = "▾" if self.is_open else "▸"
        text = _("Code · {stage}").format(stage=title)
        self._fold.setText(f"{mark} {text}")
        self._fold.setAccessibleName(text)
        sentence = _("Show the lines of NumPy or PyTorch that compute this stage")
        self._fold.setToolTip(plain_tooltip(sentence))

    @Slot(bool)
    def _on_toggled(self, is_open: bool) -> None:
        for part in (self.text, self._library, self._copy):
            part.setVisible(is_open)
        self._name()
        self.wanted.emit()

    @Slot(str)
    def _on_library(self, id_: str) -> None:
        self.wanted.emit()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())

    def _lay_out(self) -> None:
        controls = QHBoxLayout()
        controls.setSpacing(GRID)
        controls.addWidget(self._library)
        controls.addWidget(self._copy)
        controls.addStretch(1)
        column = in_column(self, self._fold, spacing=GRID // 2)
        column.addLayout(controls)
        column.addWidget(self.text)
        # Neither a long title nor wide lines widen the dock.
        self._fold.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._fold.setStyleSheet("text-align: left")
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)


class InspectorPanel(Panel):
    """Hovering previews a cell, locking keeps it; a click on a term leads to the cell of its origin."""

    follows = ("locked", "stage", "query", "head")
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.page = says(ExplanationPage(), id="inspector_page", name=N_("Arithmetic of the cell"))
        self.page.pointed.connect(self._on_pointed)
        self.page.followed.connect(self._on_followed)
        self.page.back_wanted.connect(self._on_back)
        self._path_line = InspectorPath()
        self._path_line.setObjectName("inspector_path")
        self._path_line.back_wanted.connect(self._on_back)
        self._path_line.crumb_wanted.connect(self._on_crumb)
        self._empty = InspectorStart(store)
        self._empty.setObjectName("inspector_empty")
        self._code = CodeFold()
        self._code.setObjectName("inspector_code")
        self._code.wanted.connect(self._show_soon)
        self._by_hand = ByHand(store)
        self._by_hand.hide()
        self._path: tuple[Cell, ...] = ()
        self._pointed: Cell | None = None
        # A quick mouse crosses many cells between two frames: only the last one is worth explaining.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._show)
        store.pointer_changed.connect(self._on_pointer)
        store.player_changed.connect(self._on_player)
        store.opened.connect(self._on_opened)
        self._lay_out()

    def on_document(self, old: Document | None, new: Document) -> None:
        locked = new.view.locked
        if locked is None:
            self._path = ()
        else:
            self._arrive(locked)
        is_other = old is None or (old.view.locked, old.view.stage) != (locked, new.view.stage)
        is_empty = self._stack.currentWidget() is self._empty  # which shows what can be tried, and the sum
        if is_other or (
            is_empty and old is not None and not new.experiment.differs_in_vectors(old.experiment)
        ):
            self._show_soon()

    def on_trace(self, trace: Trace) -> None:
        self._show_soon()

    def on_hover(self, cell: Cell | None) -> None:
        # What a link of this page lights elsewhere does not replace the page under the mouse.
        if cell is None or cell != self._pointed:
            self._show_soon()

    def retranslate(self) -> None:
        self._timer.start()

    def sizeHint(self) -> QSize:
        return QSize(520, 150)

    # --- showing

    def _arrive(self, cell: Cell) -> None:
        """Continue the path to a cell, or return on it, or begin another one."""
        here = _located(cell, self.store.document.site)
        passed = self._path.index(here) if here in self._path else 0
        self._path = (*self._path[:passed], here)

    def _show_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _show(self) -> None:
        cell, is_decoded = self._shown_cell()
        site = None if self.store.trace is None else self.store.drawn_site
        if cell is not None and is_decoded:
            site = self.store.decoded_site(cell)
        self._code.show_stage(site, self.store.document.view.stage if cell is None else cell.stage)
        if cell is None or site is None or not exists(site, cell):
            is_gone = cell is not None and cell == self.store.document.view.locked
            hover = _("Hover a cell to see its arithmetic; click to lock it.")
            gone = _("This cell no longer exists. Hover a cell to see its arithmetic; click to lock it.")
            self._say(gone if is_gone and site is not None else hover)
            return
        explanation = explain_gradient(site, cell) if isinstance(site, GradientSite) else explain(site, cell)
        self.page.set_explanation(explanation)
        is_locked = cell == (self.store.pointer.held if is_decoded else self.store.document.view.locked)
        passed = tuple(self._crumb(step) for step in self._path[:-1]) if is_locked else ()
        attention = label_among_several(self._experiment(is_decoded), site.name)
        # The cache may hold other numbers: the explanation uses those of the pass.
        made_by = _("without a cache") if is_decoded else ""
        title = " · ".join(part for part in (attention, explanation.title, made_by) if part)
        self._path_line.set_path(passed, title, is_locked)
        self._by_hand.show_cell(site, cell if is_locked and not is_decoded else None)
        self._stack.setCurrentIndex(1)

    def _shown_cell(self) -> tuple[Cell | None, bool]:
        """The cell in focus, unless it is in focus because a link of this page is pointed at.

        And whether it is the decoding's.
        """
        pointer = self.store.pointer
        if pointer.decoded is not None and self._has(pointer.decoded):
            return pointer.decoded, True
        if pointer.cell is not None and pointer.cell != self._pointed:
            return pointer.cell, False
        if pointer.held is not None and self._has(pointer.held):
            return pointer.held, True
        return self.store.document.view.locked, False

    def _has(self, cell: Cell) -> bool:
        """True if the decoding has its pass at hand, with this cell in it."""
        site = self.store.decoded_site(cell)
        return site is not None and exists(site, cell)

    def _experiment(self, is_decoded: bool) -> Experiment:
        """Whose attentions are named: that of the trace which is shown, not of one that is on its way."""
        decoded = self.store.player.decoded
        if is_decoded and decoded is not None:
            return decoded.decoding.experiment
        assert self.store.shown_trace is not None
        return self.store.shown_trace.experiment

    def set_by_hand(self) -> None:
        """Put the focus on the number that stands in the locked cell."""
        self._show()
        self._by_hand.take_focus()

    def _crumb(self, step: Cell) -> str:
        """A cell passed on the way: its stage, and of another attention that one's name too."""
        symbol = stage_symbol(step.stage)
        return symbol if step.site == self.store.drawn_site.name else f"{step.site} · {symbol}"

    def _say(self, text: str) -> None:
        self._empty.set_text(text)
        self._stack.setCurrentIndex(0)
        self.page.forget()

    # --- acting

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if (old.decoded, old.held) == (new.decoded, new.held):
            return
        if new.held is not None:
            self._arrive(new.held)
        if self.is_seen:
            self._show_soon()

    @Slot()
    def _on_opened(self) -> None:
        self._empty.forget()
        if not self.is_seen:
            self.page.forget()
            self._code.forget()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if self.is_seen and old.decoded is not new.decoded and self.store.pointer.held is not None:
            self._show_soon()

    @Slot(object)
    def _on_pointed(self, cell: Cell | None) -> None:
        self._pointed = cell
        # A cell of another attention highlights nothing in the selected one.
        is_here = cell is not None and cell.site in ("", self.store.document.site)
        is_lit = cell is not None and is_here and not self.store.is_written(cell)
        self.store.set_hover(cell if is_lit else None)

    @Slot(object)
    def _on_followed(self, cell: Cell) -> None:
        self._pointed = None
        self.store.set_hover(None)
        there = _located(cell, self.store.document.site)
        self._path = (*self._path, there)
        self._lock(there)

    @Slot()
    def _on_back(self) -> None:
        self._on_crumb(len(self._path) - 2)

    @Slot(int)
    def _on_crumb(self, step: int) -> None:
        if 0 <= step < len(self._path):
            self._lock(self._path[step])

    def _lock(self, cell: Cell) -> None:
        """Lock a cell and show the attention, the stage and the head where it stands."""
        document = self.store.document
        if self.store.pointer.held is not None:
            self.store.hold_in_decoding(cell)
            return
        if cell.site in site_names(document.experiment):
            self.store.look_at(cell)

    def _lay_out(self) -> None:
        filled = QWidget()
        column = in_column(filled, self._path_line, spacing=GRID // 2)
        column.addWidget(self._by_hand)
        column.addWidget(self.page, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(filled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self._code)


def _located(cell: Cell, site: str) -> Cell:
    """The cell with the name of its site: the selected one by default."""
    return replace(cell, site=cell.site or site)
