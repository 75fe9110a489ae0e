"""Export from the window: any row of `EXPORTS` to a file; the large map and its table to the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import QWidget

from attnviz.compute.execute import execute_decoding, execute_shown
from attnviz.compute.scheduler import CancelToken
from attnviz.core.progress import Check
from attnviz.core.text import visible
from attnviz.engines.decode.run import Decoding
from attnviz.errors import InputError, Message, about
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.explain.scripts.script import script
from attnviz.figures.figure import kind_of
from attnviz.figures.sequences.frames import Engines
from attnviz.figures.subject import Subject
from attnviz.gui.export.dialog import ExportDialog
from attnviz.gui.export.memory import Memory
from attnviz.gui.export.shell import Command, command_of, present_choice
from attnviz.gui.export.source import Made, Source
from attnviz.gui.export.table import EXPORT_BY_ID, Export, first_row
from attnviz.gui.export.widget import framed, picture
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.compare.requests import Pinned
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.documents import proposed_name
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.file_to_write import ask_file_to_write
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.stages import stage_content
from attnviz.gui.widgets.heat.words import table_text
from attnviz.i18n import _
from attnviz.model.io.titles import as_shown
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.lessons.lesson import Lesson

if TYPE_CHECKING:
    from attnviz.training.record import Record
    from attnviz.training.run import Run

KEY = "export"

MOST_COPIED = 2**22
"""Most cells of a table on the clipboard: some 40 MB of text. Larger ones are written to a file."""


class Exporter(QObject):
    """Writes the shown figures, panels and numbers."""

    failed = Signal(object)
    """One sentence: why nothing was written."""
    said = Signal(str)
    """One sentence: what was written."""

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window)
        self._window, self._services = window, services
        self._store, self._scheduler = services.store, services.schedulers.run
        self.pinned: Callable[[], Pinned | None] = lambda: None
        """The state A that the window compares with, if any."""
        self.lesson: Callable[[], Lesson | None] = lambda: None
        """The lesson that is open, if any."""

    # --- commands

    def export(
        self, row: str, panels: Mapping[str, Panel] | None = None, chosen: Mapping[str, str] | None = None
    ) -> None:
        """Ask what is exported, a row of `EXPORTS` with `chosen` options first, and for a file; write it."""
        if self._trace() is not None:
            self._export(row, self.source(panels or {}), chosen or {})

    def export_last(self, group: str, panels: Mapping[str, Panel], chosen: Mapping[str, str]) -> None:
        """As `export`, with the last exported row of a group, or of all groups where it is empty."""
        if self._trace() is not None:
            source, last = self.source(panels), Memory.read(self._services.settings.export()).rows
            self._export(first_row(source, last, group), source, chosen)

    def _export(self, row: str, source: Source, chosen: Mapping[str, str]) -> None:
        reason = EXPORT_BY_ID[row].why_not(source)
        if reason is not None:
            self.failed.emit(reason)
            return
        dialog = ExportDialog(self._window, self._services, source, self._ask, row, chosen)
        is_accepted = dialog.ask()
        if is_accepted and dialog.made is not None and dialog.path is not None:
            self.write(dialog.path, dialog.made, dialog.format_by_name)

    def why_not(self, row: str) -> Message | None:
        """The reason for which the present state has no file of a row; None if it has one, or no numbers."""
        return None if self._store.shown_trace is None else EXPORT_BY_ID[row].why_not(self.source({}))

    def source(self, panels: Mapping[str, Panel]) -> Source:
        """The present state."""
        self._store.set_hover(None)
        trace = self._store.shown_trace
        assert trace is not None
        seen = {id_: panel for id_, panel in panels.items() if panel.is_seen}
        drawn = self._store.drawn_trace
        return Source(
            self._store.document,
            trace,
            self._decoding,
            _engines(trace, self._store.document.view),
            active_theme().name,
            self._other(),
            seen,
            drawn if drawn is not trace else None,
            self.lesson(),
            self._store.path or Path(proposed_name(self._store.document)),
            self._store.path is not None and not self._store.chapters.present.is_modified,
            self.pinned(),
            {id_: framed(panel).size().toTuple() for id_, panel in seen.items()},
            self._run(),
        )

    def _run(self) -> Callable[[], Run] | None:
        """The training run of the document; None without one."""
        begun, where = self._store.run, (self._store.engine, self._store.device)
        if begun is None:
            return None

        def restored() -> Run:
            from attnviz.training.file import begun as restored_run

            return restored_run(begun.experiments[0], cast("Record", begun.record), *where)

        return restored

    def _other(self) -> Callable[[Check], Subject] | None:
        """The computation of the pinned state A; None without one."""
        pinned = self.pinned()
        if pinned is None:
            return None

        def computed(check: Check) -> Subject:
            view = self._store.document.view
            trace = execute_shown(pinned.experiment, view, pinned.engine, pinned.device, check)
            first = pinned.document
            return Subject(trace, first.view, None, first.view.head, first.site, title=as_shown(first.title))

        return computed

    def _decoding(self, check: Check) -> Decoding:
        """The decoding that is played, or a new one of the present document."""
        decoded = self._store.player.decoded
        if decoded is not None:
            return decoded.decoding
        trace = self._store.trace
        assert trace is not None
        return execute_decoding(trace.experiment, None, trace.engine, "auto", check)

    def write(self, path: Path, made: Made, format_by_name: str = "") -> None:
        """Write a file in the worker, completely or not at all; say the format that its name has chosen."""

        def job(token: CancelToken) -> tuple[Path, ...]:
            return made.save(path)

        def done(written: tuple[Path, ...]) -> None:
            names = ", ".join(visible(file.name) for file in written)
            by_name = _("Saved {file} as {format}, as its name says")
            says = by_name if format_by_name else _("Saved {file}")
            self.said.emit(says.format(file=names, format=format_by_name))

        def failed(error: BaseException) -> None:
            self._fail(path, error)

        self._scheduler.submit(job, done, failed, key=KEY)

    def copy_picture(self) -> None:
        """Copy the large map, at twice its size, to the clipboard."""
        content = self._content()
        if content is not None:
            QGuiApplication.clipboard().setPixmap(self.stage_picture(content))
            self.said.emit(_("Copied the picture to the clipboard."))

    def copy_table(self) -> None:
        """Copy the shown matrix to the clipboard, tab-separated, with every digit."""
        content = self._content()
        if content is None:
            return
        if content.values.size > MOST_COPIED:
            says = _("A copied table must have at most {most} cells; got {cells}. Export it as CSV.")
            self.failed.emit(says.format(cells=f"{content.values.size:,}", most=f"{MOST_COPIED:,}"))
            return

        def job(token: CancelToken) -> str:
            return table_text(content, token.progress)

        self._scheduler.submit(job, self._on_table, self._on_not_copied, key="copy")

    def copy_python(self) -> None:
        """Copy the document as a script to the clipboard."""
        document = self._store.document

        def job(token: CancelToken) -> str:
            return script(document, LIBRARIES[0])

        self._scheduler.submit(job, self._on_python, self._on_not_copied, key="copy")

    def _on_python(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.said.emit(_("Copied the document as Python to the clipboard."))

    def copy_shell(self) -> None:
        """Copy the command that draws the present picture to the clipboard."""
        if self._trace() is None:
            return
        source = self.source({})
        row = EXPORT_BY_ID[kind_of(Subject(source.trace, source.document.view))]

        def job(token: CancelToken) -> Command:
            return command_of(source, row, present_choice(source, row))

        self._scheduler.submit(job, self._on_command, self._on_not_copied, key="copy")

    def _on_command(self, command: Command) -> None:
        QGuiApplication.clipboard().setText(command.text)
        self.said.emit(command.said)

    def _on_table(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.said.emit(_("Copied the table to the clipboard."))

    def _on_not_copied(self, error: BaseException) -> None:
        self.failed.emit(failure_message(error))
        if not is_expected(error):
            raise error

    def stage_picture(self, content: HeatContent) -> QPixmap:
        """A heat map as large as the one in the window, without highlights."""
        shown = self._window.findChild(HeatMap, "stage_map")
        heat_map = HeatMap()
        if shown is None or shown.size().isEmpty():  # squeezed to no width
            heat_map.resize(heat_map.sizeHint())
        else:
            heat_map.resize(shown.size())
        heat_map.apply_theme(active_theme())
        heat_map.set_content(content)
        pixels = picture(heat_map, active_theme())
        heat_map.deleteLater()
        return pixels

    def _fail(self, path: Path, error: BaseException) -> None:
        message = failure_message(error)
        self.failed.emit(message if path.name in str(message) else about(path.name, message))
        if not is_expected(error):
            raise error

    @staticmethod
    def _ask(parent: QWidget, row: Export, format_id: str, start: str) -> Path | None:
        """A file name from the user, with the suffix of a format of the row: that of `format_id` unless
        another one was typed.
        """
        chosen = row.format(format_id)

        def named(typed: Path) -> Path:
            suffix = row.format_of(typed, format_id).suffix
            return typed if typed.suffix.lower() == suffix else typed.with_name(typed.name + suffix)

        def placed(file: Path) -> Path:
            return row.format_of(file, format_id).placed(file)

        kinds = f"{_(chosen.of_file)} (*{chosen.suffix})"
        return ask_file_to_write(parent, _("Export"), start, kinds, named, placed)

    def _trace(self) -> Trace | None:
        """The numbers on the screen; None, and a sentence, if they are not those of the document."""
        if self._store.shown_trace is None:
            self.failed.emit(InputError(Message("An export needs computed numbers; got none yet.")))
        elif self._store.current_trace is None:
            problem = Message(
                "An export needs the numbers of this document; those on the screen are of an earlier state."
            )
            self.failed.emit(InputError(problem))
            return None
        return self._store.shown_trace

    def _stage(self) -> str:
        return self._store.shown_site.shown_stage(self._store.document.view.stage)

    def _content(self) -> HeatContent | None:
        trace = self._trace()
        theme: Theme = active_theme()
        view = self._store.document.view
        return None if trace is None else stage_content(self._store.drawn_site, view, self._stage(), theme)


def _engines(trace: Trace, view: View) -> Engines:
    """The engine of the shown numbers, values or gradients, leaving the window its core."""
    where = trace.engine, trace.device
    return Engines(
        lambda experiment, check: execute_shown(experiment, view, *where, check, GUI_CORES),
        lambda experiment, check: execute_decoding(experiment, None, *where, check, reserve=GUI_CORES),
    )
