"""New, open, save, recent files, presets: the document between the store and the disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMessageBox

from attnviz.checkpoints.opening import GGUF
from attnviz.checkpoints.presets import PRESETS, load_preset, needs_model
from attnviz.checkpoints.stories import load
from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.text import visible
from attnviz.gui.failure import failure_message, is_expected, log_unexpected
from attnviz.gui.services.saving import Saving
from attnviz.gui.settings import Settings
from attnviz.gui.store import Store
from attnviz.gui.widgets.file_to_write import ask_file_to_write, with_suffix
from attnviz.gui.widgets.front import front_window
from attnviz.i18n import _, current_language
from attnviz.model.edit.chapters import Chapter, RunRecord
from attnviz.model.errors.titles import in_words
from attnviz.model.io.carriers.table import CARRYING, is_carrier
from attnviz.model.io.files import (
    INLINE_NUMBERS,
    JSON_SUFFIX,
    SURVEY_SUFFIX,
    TENSORS_SUFFIX,
    named,
    number_count,
)
from attnviz.model.io.stamp import Stamp, stamped
from attnviz.model.io.titles import as_shown, translated
from attnviz.model.io.turns import ChangedOnDisk
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.origin import CheckpointMissing
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.text import load_tokenizer

FIRST_PRESET = "fluffy-blue-creature"
"""The initial document of a window: quick to read, until another one opens."""

STORIES = {"en": "stories-en", "zh_CN": "stories-zh"}
"""A new document, by language: the bundled model generates a story."""
FIRST_SENTENCES = {"en": "stories-name", "zh_CN": "stories-name-zh"}
"""Document of a fresh start, by language: one word of a sentence looks for another one."""
MOST_NAMED = 60
"""Characters of a title that become a file name."""
EMPTY_WIDTH = 8
"""Features of a token of an empty document."""
SUFFIXES = (JSON_SUFFIX, TENSORS_SUFFIX)
"""Suffixes of document files."""
OPENED = (*SUFFIXES, *CARRYING)
"""Suffixes of the files that open: documents, and figures, pages and tables that carry theirs."""


Read = tuple[Document, Stamp | None, RunRecord | None]
"""The content of a file: its document, its stamp, and the run beside the document."""


def last_document(settings: Settings) -> Path | str | None:
    """The document that was shown when the window was closed: its file, or the id of its preset; None if it
    is gone.
    """
    origin = settings.document()
    if any(preset.id == origin for preset in PRESETS):
        return origin
    return Path(origin) if origin and Path(origin).is_file() else None


def title_of(preset_id: str) -> str:
    """The title of a preset, a message."""
    return next(preset.title for preset in PRESETS if preset.id == preset_id)


def proposed_name(document: Document) -> str:
    """A file name from the title of a document, a preset or a model: without what no file may have."""
    title = re.sub(r'[\x00-\x1f<>:"/\\|?*]+', " ", translated(document.title))
    stem = visible(" ".join(title.split())).strip(". ")[:MOST_NAMED] or _("attention")
    return stem + suffix_of(document.experiment)


def suffix_of(experiment: Experiment) -> str:
    """Suffix of the file of a document with this experiment."""
    return TENSORS_SUFFIX if number_count(experiment) > INLINE_NUMBERS else JSON_SUFFIX


class Documents(QObject):
    """Reads and writes documents in the worker; asks before unsaved work would be lost.

    Another document begins a chapter of the history, so going there asks nothing. Only unsaved ones that the
    history has no room for are asked about, and the window asks about all unsaved ones when it closes.
    """

    failed = Signal(object)
    """One sentence: why a file could not be read or written."""
    said = Signal(str)
    recent_changed = Signal()
    file_chosen = Signal(Path)
    """A file to open: a document, a lesson, or a survey."""

    def __init__(
        self, store: Store, scheduler: Scheduler, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._scheduler, self._settings = store, scheduler, settings
        self._packed: set[Path] = set()
        """Files that have the weights of their model, and keep them when they are saved again."""

    @property
    def origin(self) -> str:
        """The source of the present document: the path of its file or the id of its preset; else empty."""
        if self._store.path is not None:
            return str(self._store.path)
        title = self._store.document.title
        return next((preset.id for preset in PRESETS if preset.title == title), "")

    def new(self) -> None:
        """Start with the story of this language, without a file."""
        self.open_preset(STORIES[current_language()])

    def open_preset(self, id_: str) -> None:
        """Show a preset; undo returns to the present document."""
        if self.may_leave():
            if needs_model(id_):
                self._read(id_, self._store.open, self._on_failed, "file")
            else:
                self._store.open(load_preset(id_))

    def follow_language(self) -> None:
        """Show a preset whose tokens are words of the language with those of the present one, if nobody has
        edited it; undo returns to the former ones.
        """
        document = self._store.document
        here = next((row for row in PRESETS if row.words and row.title == document.title), None)
        if here is None or self._store.is_modified or self._store.path is not None:
            return
        experiment = load_preset(here.id).experiment
        if replace(document.experiment, tokens=experiment.tokens) == experiment:
            self._store.open(replace(document, experiment=experiment))

    def show(self, document: Document) -> None:
        """Show a document without a file; undo returns to the present one."""
        if self.may_leave():
            self._store.open(document)

    def open_empty(self) -> None:
        """Show a document to begin with: a few words, random vectors, one head."""
        words = tuple(_("write your own text here").split())
        self.show(Document(Experiment(words, SeededVectors(len(words), EMPTY_WIDTH))))

    def open_first(self, id_: str, then: Callable[[], None]) -> None:
        """Show the first preset of a window, unless another document came first.

        `then` follows in any case, also where the preset could not be read.
        """
        before = self._store.experiment

        def done(document: Document) -> None:
            if self._store.experiment is before:
                self._store.open(document)
            then()

        def failed(error: BaseException) -> None:
            if self._store.experiment is before:
                self._store.open(load_preset(FIRST_PRESET))
            then()
            self._on_failed(error)

        # A key of its own: a file that is opened meanwhile must not take `then` away.
        self._read(id_, done, failed, "story")

    def _read(
        self,
        id_: str,
        done: Callable[[Document], None],
        failed: Callable[[BaseException], None],
        key: str,
    ) -> None:
        """Have the worker read a model for a preset."""

        def job(token: CancelToken) -> Document:
            return load_preset(id_)

        self._scheduler.submit(job, done, failed, key=key)

    def ask_open(self) -> None:
        """Choose a file and open it."""
        folder = str(self._store.path.parent) if self._store.path else ""
        name, _kind = QFileDialog.getOpenFileName(
            front_window(), _("Open a document"), folder, _documents_filter((*OPENED, SURVEY_SUFFIX))
        )
        if name:
            self.file_chosen.emit(Path(name))

    def open(self, path: Path) -> None:
        """Read a document and show it. A file that cannot be read changes nothing."""
        if not self.may_leave():
            return

        def done(read: Read) -> None:
            if is_carrier(path):  # saving must not replace a picture
                self._store.open(read[0])
                self.said.emit(_("Opened the document of {file}").format(file=visible(path.name)))
                return
            document, stamp, run = read
            self._store.open(document, path, stamp, run)
            self._remember(path)

        self._load(path, done)

    def reload(self) -> None:
        """Take the present content of the document's file; undo returns to the own edits."""
        chapter = self._store.chapters.present
        path = chapter.path
        if path is None:
            return

        def done(read: Read) -> None:
            if self._store.path == path:
                self._store.reload(*read)
                self.said.emit(
                    _("Reloaded {file}; undo returns to the state before").format(file=name_of(chapter))
                )

        self._load(path, done)

    def _load(
        self,
        path: Path,
        done: Callable[[Read], None],
        checkpoint: Path | None = None,
    ) -> None:
        """Have the worker read a file with its stamp, so that a later change is noticed, and with its run.

        A model that is no longer in its place is asked about.
        """

        def read(token: CancelToken) -> tuple[Document, RunRecord | None]:
            document = load(path, token.progress.at, checkpoint=checkpoint)
            return document, _run_in(path, document)

        def job(token: CancelToken) -> Read:
            (document, run), stamp = stamped(path, partial(read, token))
            load_tokenizer(document.experiment)  # not in the window's thread
            return document, stamp, run

        def failed(error: BaseException) -> None:
            missing = error.__cause__
            if not isinstance(missing, CheckpointMissing):
                self._on_failed(error)
                return
            model = self._ask_checkpoint(missing)
            if model is not None:
                self._load(path, done, model)

        self._scheduler.submit(job, done, failed, key="file")

    def _ask_checkpoint(self, missing: CheckpointMissing) -> Path | None:
        """Path of the model of a document, from the user; None if nobody knows."""
        box = self._box("checkpoint_box", _("Find the model"), in_words(missing.message))
        box.setInformativeText(_("The document holds the edits; the model is in files of its own."))
        if self._ask(box, _("Find the model…")) != QMessageBox.StandardButton.Save:
            return None
        was = Path(missing.link.path)
        if was.suffix.lower() == GGUF:
            name, _kind = QFileDialog.getOpenFileName(front_window(), _("Find the model"), "", f"*{GGUF}")
        else:
            name = QFileDialog.getExistingDirectory(front_window(), _("Find the model"))
        return Path(name) if name else None

    def save(self) -> bool:
        """Write to the document's file, or ask for one, also where that has no room for its run. Returns
        whether the document is on the disk.
        """
        path = self._store.path
        is_too_plain = path is not None and path.suffix.lower() == JSON_SUFFIX and self._store.run is not None
        return self.save_as() if path is None or is_too_plain else self._write(path)

    def save_as(self, start: Path | None = None) -> bool:
        """Ask for a file, `start` or the document's own unless the person names another, and write to it."""
        suffix = suffix_of(self._store.experiment) if self._store.run is None else TENSORS_SUFFIX
        start = start or self._store.path or Path(proposed_name(self._store.document))
        if start.suffix.lower() == JSON_SUFFIX:
            start = start.with_suffix(suffix)
        path = ask_file_to_write(
            front_window(),
            _("Save the document"),
            str(start),
            _documents_filter(SUFFIXES),
            partial(with_suffix, suffix=suffix),
        )
        return path is not None and self._write(path)

    def save_with_weights(self) -> bool:
        """Ask for a file, and write the document with all weights of its model: it needs no checkpoint."""
        start = (self._store.path or Path(proposed_name(self._store.document))).with_suffix(TENSORS_SUFFIX)
        path = ask_file_to_write(
            front_window(),
            _("Save with weights"),
            str(start),
            _documents_filter((TENSORS_SUFFIX,)),
            partial(with_suffix, suffix=TENSORS_SUFFIX),
        )
        if path is None:
            return False
        self._packed.add(path)
        return self._write(path)

    def may_leave(self) -> bool:
        """True if another document may open: the history keeps every unsaved one, or its user agrees."""
        lost = self._store.chapters.lost_by_leaving
        names = [name_of(chapter) for chapter in lost]
        if len(lost) == 1 and lost[0].is_too_large:
            text = _("“{name}” has unsaved changes and is too large for undo to restore.")
            return self._may_go(lost, text.format(name=names[0]))
        text = _("Opening another document makes undo forget these documents, which have unsaved changes:")
        return self._may_go(lost, text + _listed(names))

    def may_close(self) -> bool:
        """True if the window may close: every document is saved, or the user agrees, or saves them now."""
        unsaved = self._unsaved
        names = [name_of(chapter) for chapter in unsaved]
        if len(names) <= 1:
            return self._may_go(unsaved, _("“{name}” has unsaved changes.").format(name="".join(names)))
        return self._may_go(unsaved, _("These documents have unsaved changes:") + _listed(names))

    @property
    def are_saved(self) -> bool:
        """True if closing loses nothing."""
        return not self._unsaved

    @property
    def _unsaved(self) -> tuple[Chapter, ...]:
        present = self._store.chapters.present
        return ((present,) if present.is_modified else ()) + self._store.chapters.unsaved

    def _may_go(self, unsaved: tuple[Chapter, ...], text: str) -> bool:
        """True if these documents may be lost, or are saved now, each shown while its file is chosen."""
        if not unsaved:
            return True
        buttons = QMessageBox.StandardButton
        box = self._box("unsaved_box", _("Unsaved changes"), text)
        box.addButton(buttons.Discard)
        answer = self._ask(box, _("Save all") if len(unsaved) > 1 else "")
        if answer != buttons.Save:
            return bool(answer == buttons.Discard)
        for chapter in unsaved:
            self._store.go_to_chapter(chapter.number)
            if not self.save():
                return False
        return True

    def _box(self, name: str, title: str, text: str) -> QMessageBox:
        """A question that saving answers, or nothing."""
        buttons = QMessageBox.StandardButton
        box = QMessageBox(front_window())
        box.setObjectName(name)
        box.setWindowTitle(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setStandardButtons(buttons.Save | buttons.Cancel)
        box.setDefaultButton(buttons.Save)
        return box

    def _ask(self, box: QMessageBox, save_text: str = "") -> int:
        """The button that the person presses."""
        if save_text:
            box.button(QMessageBox.StandardButton.Save).setText(save_text)
        answer = box.exec()
        box.deleteLater()
        return answer

    def _write(self, path: Path, *, overwrites: bool = False) -> bool:
        """Write the document, with the weights that its run shows; `overwrites`: also if the file has changed
        since it was read.
        """
        self._store.take_run()
        chapter = self._store.chapters.present
        run = chapter.own_run
        document = chapter.document
        expected = chapter.stamp if path == chapter.path and not overwrites else None
        is_packed = path in self._packed
        saving = Saving(front_window(), self._scheduler, document, path, expected, is_packed, run)
        saving.run()
        written, stamp, error = saving.written, saving.stamp, saving.error
        saving.deleteLater()
        if isinstance(error, ChangedOnDisk):
            return self._save_over_change(path)
        if error is not None:
            message = failure_message(error)
            self.failed.emit(message)
            log_unexpected(error)
            return self._save_elsewhere(path, in_words(message))
        if written is None:
            self.said.emit(_("Saving was cancelled; the file is unchanged"))
            return False
        self._store.mark_saved(written, document, stamp, run)
        self._remember(written)
        self.said.emit(_("Saved {file}").format(file=visible(written.name)))
        return True

    def _save_over_change(self, path: Path) -> bool:
        """Ask what becomes of a file that somebody else has changed; nothing was written yet."""
        buttons = QMessageBox.StandardButton
        text = _("{file} has changed on the disk since it was opened.").format(file=visible(path.name))
        box = self._box("changed_box", _("Save the document"), text)
        box.setInformativeText(_("Overwriting it discards the other changes."))
        box.setIcon(QMessageBox.Icon.Warning)
        box.addButton(buttons.SaveAll).setText(_("Save as…"))
        box.setDefaultButton(buttons.SaveAll)
        answer = self._ask(box, _("Overwrite"))
        if answer == buttons.SaveAll:
            return self.save_as(path)
        return bool(answer == buttons.Save) and self._write(path, overwrites=True)

    def _save_elsewhere(self, path: Path, sentence: str) -> bool:
        """Say why nothing was written, so that nobody takes the work for saved, and offer another file.

        If only another suffix is needed, that is the file; else the user names one.
        """
        text = _("The document was not saved.") + "\n\n" + sentence
        box = self._box("not_saved_box", _("Document not saved"), text)
        box.setIcon(QMessageBox.Icon.Warning)
        is_wrong = path.suffix and path.suffix.lower() not in (
            TENSORS_SUFFIX,
            suffix_of(self._store.experiment),
        )
        other = path.with_suffix(suffix_of(self._store.experiment)) if is_wrong else path
        is_offered = is_wrong and not other.exists()
        offer = _("Save as {file}").format(file=visible(other.name)) if is_offered else _("Save as…")
        if self._ask(box, offer) != QMessageBox.StandardButton.Save:
            return False
        return self._write(other) if is_offered else self.save_as(other)

    def _remember(self, path: Path) -> None:
        self._settings.add_recent(path)
        self.recent_changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.failed.emit(failure_message(error))
        if not is_expected(error):
            raise error


def _run_in(path: Path, document: Document) -> RunRecord | None:
    """The run beside a document in its file. Raises `DocumentError`."""
    if path.suffix.lower() != TENSORS_SUFFIX:
        return None
    from attnviz.training.file import record_in

    return named(path.name, lambda: record_in(path, document.experiment))


def name_of(chapter: Chapter) -> str:
    """A document's file name, or its title, on one line and never interpreted."""
    if chapter.path is not None:
        return visible(chapter.path.name)
    return as_shown(chapter.document.title) or _("Untitled")


def _listed(names: Iterable[str]) -> str:
    """One line for each name, below a sentence."""
    return "\n\n" + "\n".join(f"• {name}" for name in names)


def _documents_filter(suffixes: Iterable[str]) -> str:
    patterns = " ".join(f"*{suffix}" for suffix in suffixes)
    return _("attnviz documents ({patterns})").format(patterns=patterns)
