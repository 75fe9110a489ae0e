"""Export from the window: figures, panels, numbers; to files and to the clipboard.

The commands open the dialogs; the `write_*` methods take a path and write.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QWidget

from attnviz.compute.saving import save_arrays
from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.errors import InputError, Message, about, suffix_error
from attnviz.figures import FORMATS, save_figure
from attnviz.figures.files import format_of
from attnviz.gui.dialogs.export import FigureChoice, FigureDialog, PanelDialog, draw_choice
from attnviz.gui.export.widget import picture, widget_bytes
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.table import PANELS
from attnviz.gui.stage_heat import stage_content
from attnviz.gui.store import Store
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.words import table_text
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.i18n import _
from attnviz.model.io.files import replace_file
from attnviz.model.io.numbers import NPZ_SUFFIX
from attnviz.model.io.tables import Table, table_bytes
from attnviz.model.spec.view import shown_head
from attnviz.model.trace import Trace

KEY = "export"
CSV_SUFFIX = ".csv"

MOST_COPIED = 2**22
"""Most cells of a table on the clipboard: some 40 MB of text. Larger ones are written to a file."""


class Exporter(QObject):
    """Writes the shown figures, panels and numbers."""

    failed = Signal(object)
    """One sentence: why nothing was written."""
    said = Signal(str)
    """One sentence: what was written."""

    def __init__(self, window: QWidget, store: Store, scheduler: Scheduler) -> None:
        super().__init__(window)
        self._window, self._store, self._scheduler = window, store, scheduler
        self._folder = Path()

    # --- commands

    def export_figure(self) -> None:
        """Ask for the content and the file, then write a figure."""
        trace = self._trace()
        if trace is None:
            return
        view, theme = self._store.document.view, active_theme()
        caption = _(self._store.document.caption)
        dialog = FigureDialog(self._window, trace, view, theme.name, self._scheduler, caption)
        accepted, choice = dialog.exec() == QDialog.DialogCode.Accepted, dialog.choice
        dialog.deleteLater()
        if accepted:
            suffix = f".{choice.format_id}"
            name = choice.stage if choice.site is None else f"{choice.site}.{choice.stage}"
            path = self._ask(name, suffix, _formats_filter(choice.format_id))
            if path is not None:
                self.write_figure(path, choice)

    def export_panel(self, panels: dict[str, Panel], proposed: str = "") -> None:
        """Ask for a panel and a file, then write the panel as shown.

        Without a proposed panel the dialog proposes that with the focus.
        """
        dialog = PanelDialog(self._window, seen_titles(panels), proposed or _panel_in_focus(panels))
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        panel_id, format_id = dialog.panel_id, dialog.format_id
        dialog.deleteLater()
        if accepted:
            path = self._ask(panel_id, f".{format_id}", _formats_filter(format_id))
            if path is not None:
                self.write_panel(path, panels[panel_id])

    def export_numbers(self) -> None:
        """Ask for a file, then write numbers."""
        if self._trace() is None:
            return
        kinds = (
            _("This stage and head, CSV ({pattern})").format(pattern=f"*{CSV_SUFFIX}"),
            _("All stages, NPZ ({pattern})").format(pattern=f"*{NPZ_SUFFIX}"),
        )
        path = self._ask(self._stage(), CSV_SUFFIX, ";;".join(kinds))
        if path is not None:
            self.write_numbers(path)

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
            says = _("A table on the clipboard has at most {most} cells; got {cells}. Export it as CSV.")
            self.failed.emit(says.format(cells=f"{content.values.size:,}", most=f"{MOST_COPIED:,}"))
            return

        def job(token: CancelToken) -> str:
            return table_text(content, token.progress)

        self._scheduler.submit(job, self._on_table, self._on_no_table, key="copy")

    def _on_table(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.said.emit(_("Copied the table to the clipboard."))

    def _on_no_table(self, error: BaseException) -> None:
        self.failed.emit(failure_message(error))
        if not is_expected(error):
            raise error

    # --- actions

    def write_figure(self, path: Path, choice: FigureChoice) -> None:
        """Draw and write a figure in the worker; the suffix of `path` selects the format."""
        trace, view = self._store.shown_trace, self._store.document.view
        if trace is None:
            return

        def job(token: CancelToken) -> Path:
            format_of(path)
            figure = draw_choice(trace, view, choice)
            token.check()
            return save_figure(figure, path, dpi=choice.dpi)

        self._submit(job, path)

    def write_panel(self, path: Path, panel: QWidget) -> None:
        """Write a panel as shown, with its card or dock, without hover effects."""
        self._store.set_hover(None)
        try:
            data = widget_bytes(_framed(panel), active_theme(), format_of(path))
        except (ValueError, OSError, MemoryError) as error:
            self._fail(path, error)
            return

        def job(token: CancelToken) -> Path:
            replace_file(path, data)
            return path

        self._submit(job, path)

    def write_numbers(self, path: Path) -> None:
        """Write the shown stage and head as CSV, or all stages as NPZ, by the suffix of `path`."""
        trace, view = self._store.shown_trace, self._store.document.view
        if trace is None:
            return
        stage = self._stage()
        site = trace.shown(view.site)
        head = shown_head(site.experiment, view, stage)

        def job(token: CancelToken) -> Path:
            suffix = path.suffix.lower()
            if suffix == CSV_SUFFIX:
                data = table_bytes(Table.of(site, stage, head), "csv", check=token.progress)
                replace_file(path, data)
                return path
            if suffix == NPZ_SUFFIX:
                return save_arrays(trace, None, path, check=token.progress)
            raise suffix_error(path.suffix, (CSV_SUFFIX, NPZ_SUFFIX))

        self._submit(job, path)

    def stage_picture(self, content: HeatContent) -> QPixmap:
        """A heat map as large as the one in the window, without highlights."""
        shown = self._window.findChild(HeatMap, "stage_map")
        heat_map = HeatMap()
        heat_map.resize(shown.size() if shown is not None else heat_map.sizeHint())
        heat_map.apply_theme(active_theme())
        heat_map.set_content(content)
        pixels = picture(heat_map, active_theme())
        heat_map.deleteLater()
        return pixels

    def _submit(self, job: Callable[[CancelToken], Path], path: Path) -> None:
        def done(written: Path) -> None:
            self.said.emit(_("Saved {file}").format(file=written.name))

        def failed(error: BaseException) -> None:
            self._fail(path, error)

        self._scheduler.submit(job, done, failed, key=KEY)

    def _fail(self, path: Path, error: BaseException) -> None:
        message = failure_message(error)
        is_named = str(message).startswith(path.name)
        self.failed.emit(message if is_named else about(path.name, message))
        if not is_expected(error):
            raise error

    def _ask(self, name: str, suffix: str, filters: str) -> Path | None:
        """A file name from the user, with the suffix of the chosen format unless one was typed."""
        start = str(self._folder / f"{name}{suffix}")
        text, kind = QFileDialog.getSaveFileName(self._window, _("Export"), start, filters)
        if not text:
            return None
        path = Path(text)
        if not path.suffix:
            chosen = kind[kind.rfind("*.") + 1 : kind.rfind(")")] if "*." in kind else suffix
            path = path.with_name(path.name + chosen)
        self._folder = path.parent
        return path

    def _trace(self) -> Trace | None:
        if self._store.shown_trace is None:
            self.failed.emit(InputError(Message("An export needs computed numbers; got none yet.")))
        return self._store.shown_trace

    def _stage(self) -> str:
        wanted = self._store.document.view.stage
        known = self._store.shown_trace is not None and wanted in self._store.shown_site.stages
        return wanted if known else "weights"

    def _content(self) -> HeatContent | None:
        trace = self._trace()
        theme: Theme = active_theme()
        view = self._store.document.view
        return None if trace is None else stage_content(self._store.shown_site, view, self._stage(), theme)


def _formats_filter(first: str) -> str:
    """The file dialog's list of formats, the chosen one first."""
    rows = sorted(FORMATS, key=lambda row: row.id != first)
    return ";;".join(f"{row.title} (*.{row.id})" for row in rows)


def _framed(panel: QWidget) -> QWidget:
    """The card or dock around a panel, with its title; the panel itself if it has none."""
    around = panel.parentWidget()
    while around is not None and not isinstance(around, Card | PanelDock):
        around = around.parentWidget()
    return panel if around is None else around


def seen_titles(panels: dict[str, Panel]) -> dict[str, str]:
    """Id and title of the visible panels: a panel under another tab is out of date."""
    return {row.id: _(row.title) for row in PANELS if row.id in panels and panels[row.id].is_seen}


def _panel_in_focus(panels: dict[str, Panel]) -> str:
    focus = QApplication.focusWidget()
    for id_, panel in panels.items():
        if focus is not None and (panel is focus or panel.isAncestorOf(focus)):
            return id_
    return "stage"
