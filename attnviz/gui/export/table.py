"""`EXPORTS`: everything that the window exports, one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from attnviz.checkpoints.shipped import record_of
from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import Message
from attnviz.figures.figure import figure_of
from attnviz.figures.files import FORMATS, figure_bytes
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS, Kind
from attnviz.figures.style import LEAST_DPI
from attnviz.figures.subject import Subject
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.gui.export.widget import framed, widget_bytes
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_, _
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import number_count
from attnviz.model.io.tables import MOST_DIGITS, TABLES, Table, table_bytes
from attnviz.model.spec.view import shown_head
from attnviz.scripts.library import LIBRARIES, Library
from attnviz.scripts.notebook import notebook
from attnviz.scripts.script import program, script
from attnviz.scripts.storage import MOST_INSIDE

PREVIEW_DPI = 130
MOST_SHOWN = 20_000
"""Characters of a table in the preview."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its id, its title and its suffix."""

    id: str
    title: str
    suffix: str


PICTURES = tuple(FileKind(row.id, row.title, f".{row.id}") for row in FORMATS)


def _always(source: Source) -> Message | None:
    return None


@dataclass(frozen=True)
class Export:
    """One row: its formats, the options that it has, and what makes the file.

    `make` runs in the worker, or with `in_window` where it may paint; it raises `ValueError` for an option
    that is no value. `why_not` says why a state has none.
    """

    id: str
    title: str
    formats: tuple[FileKind, ...]
    options: tuple[str, ...]
    make: Callable[[Source, Choice, Check], Made]
    why_not: Callable[[Source], Message | None] = _always
    in_window: bool = False

    def format(self, id_: str) -> FileKind:
        """The format of that id, or the first one."""
        return next((row for row in self.formats if row.id == id_), self.formats[0])


def _figure(kind: str, source: Source, choice: Choice, check: Check) -> Made:
    """A figure that carries its document; the preview is the same drawing as pixels."""
    style, subject = choice.style, choice.subject(source, check)
    if KIND_BY_ID[kind].of_values:
        subject = replace(subject, trace=source.trace)
    if kind == "comparison" and source.other is not None:
        subject = replace(subject, other=source.other(check))
    figure = figure_of(kind, subject, style)
    check()
    plain = figure_bytes(figure, choice.format, dpi=style.dpi)
    check()
    is_png = choice.format == "png"
    shown = plain if is_png else figure_bytes(figure, "png", dpi=max(LEAST_DPI, PREVIEW_DPI))
    record = record_of(subject.document(source.document))
    return Made(carrying(plain, f".{choice.format}", record), shown)


def _why_not_figure(kind: Kind, source: Source) -> Message | None:
    subject = Subject(
        source.drawn or source.trace, source.document.view, decoding=partial(source.decode, never_cancelled)
    )
    return kind.why_not(subject if source.other is None else replace(subject, other=subject))


def _table(source: Source, choice: Choice, check: Check) -> Made:
    subject = choice.subject(source, check)
    site, stage = subject.shown_site, subject.checked_stage
    head = subject.head if isinstance(subject.head, int) else shown_head(site.experiment, subject.view, stage)
    digits = choice.number("digits", 0, MOST_DIGITS)
    data = table_bytes(Table.of(site, stage, head), choice.format, digits, check)
    if choice.format == "npz":
        return Made(data, _("NumPy arrays: values, rows, columns"))
    text = data[: 4 * MOST_SHOWN].decode("utf-8-sig", "ignore").replace("\r\n", "\n")
    return Made(data, text[:MOST_SHOWN] + ("…" if len(text) > MOST_SHOWN else ""))


def _page(source: Source, choice: Choice, check: Check) -> Made:
    """The page of the document, with the steps of its generation."""
    from attnviz.pages.page import page_bytes

    document = source.document
    decoding = None if document.experiment.writing is None else source.decode(check)
    data = page_bytes(document, source.trace, decoding)
    stages = sum(len(source.trace.site(name).stages) for name in source.trace.sites)
    said = _("One HTML file of {size} kB with {n} stages. It opens in any browser, without a network.")
    return Made(data, said.format(size=f"{len(data) / 1000:,.0f}", n=stages))


def _library(choice: Choice) -> Library:
    """The array library that is the format of a script."""
    return next(row for row in LIBRARIES if row.id == choice.format)


def _script(source: Source, choice: Choice, check: Check) -> Made:
    """The script that recomputes the document, as text."""
    text = script(source.document, _library(choice))
    return Made(text.encode(), text[:MOST_SHOWN])


def _notebook(source: Source, choice: Choice, check: Check) -> Made:
    """The script as a notebook, which carries the document; the preview is its script."""
    library = _library(choice)
    made = program(source.document, library)
    data = carrying(notebook(made).encode(), ".ipynb", record_of(source.document))
    return Made(data, made.text()[:MOST_SHOWN])


def _why_no_script(source: Source) -> Message | None:
    """A script of one file has room for few explicit numbers."""
    if number_count(source.document.experiment) <= MOST_INSIDE:
        return None
    return Message("A script of this document needs a file of arrays beside it: use Export as Python.")


def _panel(source: Source, choice: Choice, check: Check) -> Made:
    """A panel with all of its content, as the window paints it."""
    panel = source.panels[choice.text("panel")]
    data = widget_bytes(framed(panel), active_theme(), choice.format)
    shown = data if choice.format == "png" else widget_bytes(framed(panel), active_theme(), "png")
    return Made(carrying(data, f".{choice.format}", record_of(source.document)), shown)


def _why_no_panel(source: Source) -> Message | None:
    return None if source.panels else Message("No panel is in sight.")


_AROUND = ("width", "font_size", "theme", "title", "formula", "caption", "dpi")


def _of_kind(kind: Kind) -> Export:
    return Export(
        kind.id,
        kind.title,
        PICTURES,
        (*kind.options, *_AROUND),
        partial(_figure, kind.id),
        partial(_why_not_figure, kind),
    )


def _of_libraries(suffix: str) -> tuple[FileKind, ...]:
    return tuple(FileKind(row.id, row.title, suffix) for row in LIBRARIES)


EXPORTS: tuple[Export, ...] = (
    *map(_of_kind, KINDS),
    Export(
        "table",
        N_("Table of numbers"),
        tuple(FileKind(row.id, row.title, row.suffix) for row in TABLES),
        ("site", "stage", "head", "digits"),
        _table,
    ),
    Export("page", N_("Page for a browser"), (FileKind("html", "HTML", ".html"),), (), _page),
    Export("script", N_("Python script"), _of_libraries(".py"), (), _script, _why_no_script),
    Export("notebook", N_("Notebook"), _of_libraries(".ipynb"), (), _notebook, _why_no_script),
    Export("panel", N_("Panel as shown"), PICTURES, ("panel",), _panel, _why_no_panel, in_window=True),
)
EXPORT_BY_ID = {row.id: row for row in EXPORTS}
