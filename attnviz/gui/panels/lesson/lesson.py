"""The lesson: its steps one by one, with the numbers of the live program in their texts."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from attnviz.errors import InputError
from attnviz.gui.forms.sentence import SentenceControls
from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.lesson.footer import Footer
from attnviz.gui.panels.lesson.library import Library, Shelved
from attnviz.gui.panels.lesson.question import Claim, Question, Task
from attnviz.gui.panels.panel import Panel
from attnviz.gui.pointer import Spot
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs, points
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, current_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.study.claims.scope import Scope, holds, scope_now
from attnviz.study.lessons.lesson import Lesson, Step
from attnviz.study.lessons.markup import NUMBER, markup
from attnviz.study.lessons.scene import covered_cells, lit_cells
from attnviz.study.lessons.table import LESSONS, shipped_lesson

_INSET = 2 * GRID


class LessonPanel(Panel):
    """Shows the shelf of lessons, or a step. The window answers its wishes (see `gui/window/lessons.py`)."""

    lesson_wanted = Signal(str)
    step_wanted = Signal(int)
    """The index of a step; past the last one: the shelf."""
    step_done = Signal()
    """The present step was read, its question answered and its task done."""
    step_named = Signal(str)
    page_wanted = Signal(str)
    file_wanted = Signal()
    shelf_wanted = Signal()
    workspace_wanted = Signal(str)
    cure_wanted = Signal(object)
    """The scene in which the claim of the step holds."""

    follows = ("stage", "head", "site", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.lesson: Lesson | None = None
        self.index = 0
        self.workspaces: Mapping[str, str] = {}
        """The titles of the workspaces that a step can offer."""
        self._seen = 0
        self._scene: Document | None = None
        self._chapters: frozenset[int] = frozenset()
        """The numbers of the chapters of the history that the present step has opened."""
        self._is_asleep = False
        """Whether the texts of the step are hidden, as another document is shown."""
        self._scope: Scope | None = None
        self._was_met = False
        """True once the task of the step was done, whatever its reader tries next."""
        self._shelf: tuple[Shelved, ...] = ()
        self._library, self.question, self.claim = Library(), Question(), Claim()
        self.task, self.footer = Task(), Footer()
        self._place, self._title = QLabel(), QLabel()
        self._text = LinkedText("lesson_text")
        says(self, name=N_("Lesson"))
        tip = N_("Show all lessons and your progress")
        self._all = says(Button(), N_("All lessons"), id="all_lessons", tip=tip)
        tip = N_("Restore the state of this step; undo brings your changes back")
        self._return = says(Button(), N_("Return to the step"), id="lesson_return", tip=tip)
        tip = N_("Show the same document in that workspace")
        self._go = says(Button(), id="lesson_workspace", tip=tip)
        self._next = says(Button(), id="next_lesson", tip=N_("Open the next lesson where you left it"))
        self._away = says(
            QLabel(), N_("Another document is shown: this step has numbers of its own."), id="lesson_away"
        )
        tip = N_("Open the document of this step; undo returns to the one that is shown")
        self._set_up = says(Button(), N_("Set up this step again"), id="lesson_set_up", tip=tip)
        self._pages = QStackedWidget()
        self._build()
        for text in self.findChildren(LinkedText):
            text.make_control = SentenceControls(store)
        self._connect()
        set_tone("muted", self._place)

    def _build(self) -> None:
        self._place.setFont(section_title_font())
        self._title.setObjectName("lesson_title")
        self._title.setFont(ui_font(22, QFont.Weight.DemiBold))
        self._title.setWordWrap(True)
        self._away.setFont(ui_font(14))
        self._away.setWordWrap(True)
        top = QHBoxLayout()
        top.addWidget(self._place, 1)
        top.addWidget(self._return)
        top.addWidget(self._all)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, GRID, 0)
        column.setSpacing(_INSET)
        for widget in (self._title, self._away, self._text, self.question, self.claim, self.task):
            column.addWidget(widget)
        column.addWidget(self._set_up, 0, Qt.AlignmentFlag.AlignLeft)
        for button in (self._go, self._next):
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        page = QWidget()
        outer = QVBoxLayout(page)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addLayout(top)
        outer.addWidget(clear_scroll(inside, sideways=False), 1)
        outer.addWidget(self.footer)
        for one in (self._library, page):
            self._pages.addWidget(one)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(_INSET, GRID, _INSET, GRID)
        whole.addWidget(self._pages)

    def _connect(self) -> None:
        self._library.chosen.connect(self.lesson_wanted)
        self._library.file_wanted.connect(self.file_wanted)
        self._all.clicked.connect(self.shelf_wanted)
        for button in (self._return, self._set_up):
            button.clicked.connect(self._on_return)
        self.store.history_changed.connect(self._on_history)
        self._go.clicked.connect(self._on_go)
        self._next.clicked.connect(self._on_next)
        self.footer.stepped.connect(self._on_stepped)
        self.footer.chosen.connect(self.step_wanted)
        self.question.revealed.connect(self._light)
        self.question.revealed.connect(self._tell_done)
        self.claim.cure_wanted.connect(self._on_cure)
        for texts in (self._text, self.question, self.claim, self.task):
            texts.pointed.connect(self._on_pointed)
            texts.chosen.connect(self._on_chosen)

    # --- showing

    @property
    def step(self) -> Step | None:
        """The present step; None on the shelf."""
        return None if self.lesson is None else self.lesson.steps[self.index]

    @property
    def is_untouched(self) -> bool:
        """True while the document has the numbers of the step."""
        return self._scene is not None and self.store.experiment is self._scene.experiment

    @property
    def is_away(self) -> bool:
        """True while another document than that of the step is shown, as undo or a file opens one."""
        return self._scene is not None and self.store.chapters.present.number not in self._chapters

    def show_shelf(self, shelf: tuple[Shelved, ...]) -> None:
        """Show all lessons."""
        self._shelf, self.lesson = shelf, None
        self._scene, self._scope, self._chapters = None, None, frozenset()
        self.store.set_spot(None)
        self._library.set_shelf(shelf)
        self._pages.setCurrentIndex(0)
        self.setFocusProxy(None)  # type: ignore[arg-type] # Tab would go to the button of the other page

    def show_step(self, lesson: Lesson, index: int, scene: Document, seen: int) -> None:
        """Show a step, whose document is about to be computed."""
        is_same = lesson == self.lesson and index == self.index  # undo returns to its earlier document
        before = self._chapters if is_same else frozenset[int]()
        self._chapters = before | {self.store.chapters.present.number}
        self.lesson, self.index, self._scene, self._seen = lesson, index, scene, seen
        self._scope, self._was_met = None, False
        self.task.set_done(False, was_done=False)
        self._pages.setCurrentIndex(1)
        self.setFocusProxy(self.footer.next)
        self._show()
        trace = self.store.current_trace  # not that of the step before, which may do the task of this one
        if trace is not None:
            self.on_trace(trace)

    def sizeHint(self) -> QSize:
        return QSize(424, 640)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, 240)

    def retranslate(self) -> None:
        self._library.set_shelf(self._shelf)
        self._show()

    @Slot()
    def _on_history(self) -> None:
        """Hide the texts over another document, and show them again over that of the step.

        Chapters that are gone are forgotten: a later one may have their numbers.
        """
        self._chapters &= {chapter.number for chapter in self.store.chapters.chapters}
        if self._is_asleep != self.is_away:
            self._show()
            self._light()

    def on_document(self, old: Document | None, new: Document) -> None:
        self._show_way_back()
        if self._scope is not None:
            self._light()

    def on_trace(self, trace: Trace) -> None:
        scene, step = self._scene, self.step
        if scene is None or step is None or self.is_away:
            return
        # Another document with the same experiment needs no other run.
        is_of_scene = trace.experiment is scene.experiment or trace.experiment == scene.experiment
        if self._scope is None and is_of_scene:
            self._scope = scope_now(trace, scene.view)
            self._show()
            self._light()
        if step.claim:
            self.claim.set_step(step, step.words_in(current_language()), scope_now(trace, scene.view))
        if step.task:
            is_met = _is_met(step.task, scope_now(trace, scene.view))
            self._was_met = self._was_met or is_met
            self.task.set_done(is_met, was_done=self._was_met)
        self._tell_done()

    @Slot()
    def _tell_done(self) -> None:
        step = self.step
        if step is None or self._scope is None or self.is_away:
            return
        is_answered = self.question.is_answered or not (step.predict or step.choose)
        if is_answered and (self._was_met or not step.task):
            self.step_done.emit()

    def set_seen(self, is_seen: bool) -> None:
        """In another workspace nothing fades."""
        super().set_seen(is_seen)
        if not is_seen:
            self.store.set_spot(None)
        elif self._scope is not None:
            self._light()

    def _show(self) -> None:
        step = self.step
        if step is None or self.lesson is None:
            return
        words = step.words_in(current_language())
        self._place.setText(self.lesson.title(current_language()))
        self._title.setText(words.title)
        self.footer.set_place(len(self.lesson.steps), self.index, self._seen)
        self._show_next(self.lesson)
        self._is_asleep = self.is_away
        for widget in (self._away, self._set_up):
            widget.setVisible(self._is_asleep)
        self._show_way_back()
        if self._is_asleep:
            for part in (self._text, self.question, self.claim, self.task, self._go):
                part.hide()
            return
        body = paragraphs([markup(text, self._scope) for text in words.paragraphs])
        self._text.set_body(body + points([markup(text, self._scope) for text in words.points]))
        self._text.setVisible(bool(words.paragraphs or words.points))
        self.question.setVisible(bool(words.question))
        if words.question:
            self.question.set_step(step, words)
            if self._scope is not None:
                self.question.set_scope(self._scope)
        self.claim.setVisible(bool(words.claim))
        if words.claim:
            self.claim.set_step(step, words, self._live_scope())
        self.task.setVisible(bool(words.task))
        self.task.set_task(words, self._scope)
        self._show_workspace(step)

    def _live_scope(self) -> Scope | None:
        """The names over the newest run, seen as the step sees it; None before the run of the step."""
        scene, trace = self._scene, self.store.current_trace
        return None if self._scope is None or scene is None or trace is None else scope_now(trace, scene.view)

    def _show_workspace(self, step: Step) -> None:
        title = self.workspaces.get(step.scene.workspace)
        self._go.setVisible(title is not None)
        if title is not None:
            self._go.setText(_("Open in {workspace}").format(workspace=_(title)))

    def _show_next(self, lesson: Lesson) -> None:
        """Name the next lesson on the last step."""
        id_ = _next_lesson(lesson) if self.index == len(lesson.steps) - 1 else ""
        self._next.setVisible(bool(id_))
        if id_:
            title = shipped_lesson(id_).title(current_language())
            self._next.setText(_("Next lesson: {title}").format(title=title))

    def _show_way_back(self) -> None:
        scene, now = self._scene, self.store.document
        is_changed = scene is not None and (
            now.experiment is not scene.experiment or now.view.stage != scene.view.stage
        )
        self._return.setVisible(is_changed and not self.is_away)

    @Slot()
    def _light(self) -> None:
        """Let the cells of the step stay bright, and cover the one that is to be predicted."""
        step, scene, scope = self.step, self._scene, self._scope
        if step is None or scene is None or scope is None or not self.is_seen:
            return
        if self.is_away or self.store.experiment is not scene.experiment:
            self.store.set_spot(None)
            return
        cells = lit_cells(step.scene, scope)
        is_answered = bool(step.predict or step.choose) and self.question.is_revealed
        covered = frozenset() if is_answered else covered_cells(step, scope)
        self.store.set_spot(Spot(scene.view.stage, scene.site, cells, covered))

    # --- acting

    @Slot(str)
    def _on_pointed(self, address: str) -> None:
        self.store.set_hover(self._cell(address))

    @Slot(str)
    def _on_chosen(self, address: str) -> None:
        kind, _colon, rest = address.partition(":")
        if kind == "step":
            self.step_named.emit(rest)
        elif kind == "https":
            self.page_wanted.emit(address)
        else:
            cell = self._cell(address)
            if cell is not None and kind == NUMBER:
                self.store.look_at(cell)
            elif cell is not None:
                self.store.look(
                    locked=self._locked(cell), query=min(cell.row, self.store.attention.n_queries - 1)
                )

    def _cell(self, address: str) -> Cell | None:
        """The cell of a link."""
        kind, *rest = address.split(":")
        if self._scope is None or kind not in ("token", "cell", NUMBER):
            return None
        if kind == NUMBER:
            where, named, *places = rest
            head, down, across = map(int, places)
            return Cell(named, down, across, head, where)
        view, site = self.store.document.view, self.store.attention
        axis = rest[0] if kind == "token" else ""
        stage = {"query": "q", "key": "k", "": view.stage}[axis]
        row, column = int(rest[-2]), int(rest[-1])
        return Cell(stage, row, column, shown_head(site, view, stage))

    def _locked(self, cell: Cell) -> Cell:
        """A click on a key's word locks the cell of the selected query and that key."""
        view = self.store.document.view
        if cell.stage == "k" and STAGE_BY_ID[view.stage].score_shaped:
            row = min(view.query, self.store.attention.n_queries - 1)
            return Cell(view.stage, row, cell.row, shown_head(self.store.attention, view, view.stage))
        return cell

    @Slot(int)
    def _on_stepped(self, by: int) -> None:
        self.step_wanted.emit(self.index + by)

    @Slot()
    def _on_return(self) -> None:
        self.step_wanted.emit(self.index)

    @Slot()
    def _on_go(self) -> None:
        if self.step is not None:
            self.workspace_wanted.emit(self.step.scene.workspace)

    @Slot()
    def _on_next(self) -> None:
        if self.lesson is not None and (id_ := _next_lesson(self.lesson)):
            self.lesson_wanted.emit(id_)

    @Slot()
    def _on_cure(self) -> None:
        if self.step is not None:
            self.cure_wanted.emit(self.step.cured)

    def take_keys(self) -> None:
        """Get the keys of the steps, unless a control of the panel has the focus; Space still plays."""
        focus = QApplication.focusWidget()
        if focus is None or not self.isAncestorOf(focus):
            self._pages.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right go through the steps; Enter reveals."""
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        key = Qt.Key(event.key())
        if self.step is not None and key in steps and not event.modifiers():
            self._on_stepped(steps[key])
        elif not self.question.isHidden() and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.question.reveal()
        else:
            super().keyPressEvent(event)


def _is_met(task: str, scope: Scope) -> bool:
    """True if the condition of a task holds; a document without its cells does not meet it."""
    try:
        return holds(task, scope)
    except InputError:
        return False


def _next_lesson(lesson: Lesson) -> str:
    """The id of the shipped lesson after one; empty for the last, and for a file of the reader."""
    after = dict(zip(LESSONS, LESSONS[1:], strict=False))
    return after.get(lesson.id, "")
