"""Lessons in the window: opens the document of a step, remembers the place, and asks before a page opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import CancelToken
from attnviz.core.text import visible
from attnviz.errors import InputError, about, message_of, verbatim
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.panels.table import PANEL_NAMES
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.i18n import _
from attnviz.study.lessons.lesson import Lesson, Scene
from attnviz.study.lessons.reading import load_lesson
from attnviz.study.lessons.scene import document_of, has_words
from attnviz.study.lessons.table import LESSONS, SUFFIX, shipped_lesson

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface
    from attnviz.gui.panels.lesson.lesson import LessonPanel
    from attnviz.model.spec.document import Document

LESSON_SUFFIX = SUFFIX
WORKSPACE = "learn"
ALONE = ("lesson", "stage")
"""The panels of a step that names none."""
SHELF = (*ALONE, "inspector")
"""The panels beside the shelf of all lessons."""


class LessonLive(QObject):
    """Answers the wishes of the lesson panel."""

    def __init__(self, window: QWidget, surface: Surface) -> None:
        super().__init__(window)
        self._window, self._surface, self._services = window, surface, surface.services
        self._panel: LessonPanel | None = None
        self._file: Lesson | None = None
        """A lesson from a file of the reader."""

    def watch(self, panel: LessonPanel) -> None:
        """Begin with the shelf of all lessons."""
        self._panel = panel
        panel.workspaces = {row.id: row.title for row in WORKSPACES}
        panel.lesson_wanted.connect(self.open)
        panel.step_wanted.connect(self.go)
        panel.step_done.connect(self._on_done)
        panel.step_named.connect(self._on_named)
        panel.shelf_wanted.connect(self.show_shelf)
        panel.file_wanted.connect(self.ask_file)
        panel.page_wanted.connect(self._on_page)
        panel.cure_wanted.connect(self._on_cure)
        panel.workspace_wanted.connect(self._surface.workspaces.switch)
        self._surface.workspaces.switched.connect(self._arrange)
        self._services.store.changed.connect(self._on_changed)
        self.show_shelf()

    @property
    def lesson(self) -> Lesson | None:
        """The lesson that is open, if any."""
        return None if self._panel is None else self._panel.lesson

    @property
    def is_shown(self) -> bool:
        """True while a step is in sight."""
        is_here = self._surface.workspaces.present.id == WORKSPACE
        return is_here and self._panel is not None and self._panel.step is not None

    def progress(self) -> str:
        """A sentence about how many lessons are finished."""
        done = sum(self._is_finished(shipped_lesson(id_)) for id_ in LESSONS)
        return _("{done} of {count} lessons finished").format(done=done, count=len(LESSONS))

    # --- going

    @Slot()
    def show_shelf(self) -> None:
        """Show all lessons, and the document as it is."""
        from attnviz.gui.panels.lesson.library import Shelved

        if self._panel is None:
            return
        lessons = [shipped_lesson(id_) for id_ in LESSONS] + ([self._file] if self._file else [])
        shelf = tuple(Shelved(lesson, len(self._done(lesson))) for lesson in lessons)
        self._panel.show_shelf(shelf)
        self._hide(())
        self._arrange()

    @Slot(str)
    def open(self, id_: str) -> None:
        """Open a lesson where the reader left it; a finished one from the beginning."""
        lesson = self._file if self._file is not None and self._file.id == id_ else shipped_lesson(id_)
        index, _seen = self._services.settings.lesson(id_)
        is_over = self._is_finished(lesson) and index == len(lesson.steps) - 1
        self._show(lesson, 0 if is_over or index >= len(lesson.steps) else index)

    def go_by(self, by: int) -> None:
        """The step after or before the present one."""
        if self._panel is not None:
            self.go(self._panel.index + by)

    @Slot(int)
    def go(self, index: int) -> None:
        """Show a step of the present lesson; past the last one the shelf."""
        lesson = self._panel.lesson if self._panel is not None else None
        if lesson is None or index < 0:
            return
        if index >= len(lesson.steps):
            self.show_shelf()
        else:
            self._show(lesson, index)

    @Slot(str)
    def _on_named(self, id_: str) -> None:
        lesson = self._panel.lesson if self._panel is not None else None
        ids = [step.id for step in lesson.steps] if lesson is not None else []
        if id_ in ids:
            self.go(ids.index(id_))

    def _show(self, lesson: Lesson, index: int) -> None:
        """Have the worker read the document of a step, then open it."""
        services, scene = self._services, lesson.steps[index].scene
        if not services.documents.may_leave():
            return

        def job(token: CancelToken) -> Document:
            return document_of(scene, load_preset, token.check)

        def done(document: Document) -> None:
            seen = max(self._seen(lesson), index + 1)
            services.settings.set_lesson(lesson.id, index, seen)
            assert self._panel is not None
            services.store.open(document)
            services.store.stand_in()
            services.store.mark_exercise(is_one=True)
            # What the store holds: it shares matrices with other documents of the history.
            self._panel.show_step(lesson, index, services.store.document, seen - 1)
            self._hide(lesson.hides)
            self._arrange()
            if scene.section:
                self._surface.panels["mechanism"].open_section(scene.section)  # type: ignore[attr-defined]
            if scene.curve:
                self._surface.panels["gradients"].choose(scene.curve)  # type: ignore[attr-defined]
            if scene.cost:
                self._surface.panels["cost"].choose(*scene.cost)  # type: ignore[attr-defined]
            self._panel.take_keys()

        services.schedulers.run.submit(job, done, self._on_failed, key="lesson")

    def _hide(self, panels: tuple[str, ...]) -> None:
        """Hide the panels that the lesson hides, in every workspace."""
        self._surface.workspaces.hide(frozenset(panels), "lesson")

    @Slot(object)
    def _on_cure(self, scene: Scene) -> None:
        """Edit the document so that a claim holds; the step stays, and undo goes back."""

        def job(token: CancelToken) -> Document:
            return document_of(scene, load_preset, token.check)

        def done(document: Document) -> None:
            self._services.store.edit(lambda _present: document.experiment)

        self._services.schedulers.run.submit(job, done, self._on_failed, key="lesson")

    def _on_failed(self, error: BaseException) -> None:
        self._services.status.warn(failure_message(error))
        if not is_expected(error):
            raise error

    @Slot()
    def _on_done(self) -> None:
        """Remember that the step was read, its question answered and its task done."""
        assert self._panel is not None and self._panel.step is not None and self._panel.lesson is not None
        self._services.settings.add_done(self._panel.lesson.id, self._panel.step.id)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """An edit outside of the lesson makes its document work of the reader's own."""
        if not self.is_shown and not new.has_work_of(old):
            self._services.store.mark_exercise(is_one=False)

    def _seen(self, lesson: Lesson) -> int:
        return min(self._services.settings.lesson(lesson.id)[1], len(lesson.steps))

    def _done(self, lesson: Lesson) -> list[str]:
        """The steps of a lesson that are done, by name."""
        done = self._services.settings.done(lesson.id)
        return [step.id for step in lesson.steps if step.id in done]

    def _is_finished(self, lesson: Lesson) -> bool:
        """True if every question was answered and every task done."""
        return len(self._done(lesson)) == len(lesson.steps)

    @Slot()
    def _arrange(self) -> None:
        """Show the panels of the step beside the lesson."""
        if self._panel is None or self._surface.workspaces.present.id != WORKSPACE:
            return
        step = self._panel.step
        wanted = ("lesson", *step.scene.panels) if step is not None and step.scene.panels else ALONE
        self._surface.workspaces.show_only(SHELF if step is None else wanted)

    def follow_language(self) -> bool:
        """Set up a step in sight anew whose tokens are words of the language, unless somebody has edited it.

        False for any other step.
        """
        panel = self._panel if self.is_shown else None
        if panel is None or panel.step is None or panel.is_away or not has_words(panel.step.scene):
            return False
        if panel.is_untouched:
            self.go(panel.index)
        return True

    # --- files and pages

    @Slot()
    def ask_file(self) -> None:
        """Ask for the file of a lesson and open it."""
        title = _("Open a lesson")
        name, _kind = QFileDialog.getOpenFileName(self._window, title, "", f"{_('Lessons')} (*{SUFFIX})")
        if name:
            self.open_file(Path(name))

    def open_file(self, path: Path) -> None:
        """Open the lesson in a file."""
        try:
            self._file = load_lesson(path, PANEL_NAMES)
        except (OSError, ValueError) as error:
            self._services.status.warn(InputError(about(verbatim(visible(path.name)), message_of(error))))
            return
        self._surface.workspaces.switch(WORKSPACE)
        self._show(self._file, 0)

    @Slot(str)
    def _on_page(self, address: str) -> None:
        """Open a page in the browser, if the reader agrees."""
        if not address.startswith("https://"):
            return
        box = QMessageBox(self._window)
        box.setObjectName("page_question")
        box.setText(_("Open this page in the browser?"))
        box.setInformativeText(visible(address))
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        if box.exec() == QMessageBox.StandardButton.Open:
            QDesktopServices.openUrl(QUrl(address))
