"""`EXPORTS`: everything that the window exports, one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from attnviz.checkpoints.stories import record_of
from attnviz.compute.execute import execute
from attnviz.core.progress import Check
from attnviz.errors import Message
from attnviz.explain.scripts.files import NOTEBOOK, SCRIPT
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.figures.figure import kind_of
from attnviz.figures.files import FORMATS
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS, Kind
from attnviz.figures.sequences.frames import NO_RUN, ONE_LAYER, SUM, TRAINING, alike
from attnviz.figures.sequences.outputs import OUTPUTS
from attnviz.figures.subject import Subject
from attnviz.gui.export.choices import DECODE, LAYERS, STILL
from attnviz.gui.export.kinds.circuits import circuits, why_no_circuits
from attnviz.gui.export.kinds.figure import CSV, figure, why_no_figure
from attnviz.gui.export.kinds.lesson import lesson, why_no_lesson
from attnviz.gui.export.kinds.program import as_python
from attnviz.gui.export.kinds.sequence import SWEEP, idle_options, idle_pace, look, sequence
from attnviz.gui.export.kinds.table import table
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.gui.export.widget import framed, widget_bytes
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_, _
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.tables import TABLES


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its id, its title and its suffix; `in_folder`: several files, in one of the name.

    `file` is the name of the file where the title names something in it, such as a library.
    """

    id: str
    title: str
    suffix: str
    in_folder: bool = False
    file: str = ""

    @property
    def of_file(self) -> str:
        """The name of the file, a message."""
        return self.file or self.title

    def placed(self, path: Path) -> Path:
        """The written place of a file of this kind: itself, or the folder."""
        return path.with_suffix("") if self.in_folder else path


SEQUENCES = tuple(FileKind(row.suffix[1:], row.title, row.suffix, row.in_folder) for row in OUTPUTS)
PICTURES = tuple(FileKind(row.id, row.title, f".{row.id}") for row in FORMATS)


PIXELS = ("png", "gif", "mp4")
"""Formats whose size is in pixels."""


def _none_idle(value: Callable[[str], str]) -> set[str]:
    return set()


def _always(source: Source) -> Message | None:
    return None


@dataclass(frozen=True)
class Group:
    """A group of rows: its id and its title; `is_alike`: what is chosen for one suits the others."""

    id: str
    title: str
    is_alike: bool = False


GROUPS = (
    Group("figure", N_("Figure"), is_alike=True),
    Group("animation", N_("Animation"), is_alike=True),
    Group("page", N_("Page and notebook")),
    Group("data", N_("Data and code")),
)
GROUP_BY_ID = {row.id: row for row in GROUPS}


@dataclass(frozen=True)
class Export:
    """One row: its group, its formats, the options that it has, and what makes the file.

    `make` runs in the worker, or with `in_window` where it may paint; it raises `ValueError` for an option
    that is no value. `why_not` says why a state has none. `idle` names the options that do nothing beside the
    chosen values of others and the format. `words` are those of the command that makes the same file, and
    `format_flag` is its option for the format, where the suffix does not tell it.
    `fixed` are options with the one value that makes this row.
    `look` makes the preview of a file that takes long, with the picture of a number first.
    """

    id: str
    title: str
    formats: tuple[FileKind, ...]
    options: tuple[str, ...]
    make: Callable[[Source, Choice, Check], Made]
    why_not: Callable[[Source], Message | None] = _always
    in_window: bool = False
    idle: Callable[[Callable[[str], str]], set[str]] = _none_idle
    look: Callable[[Source, Choice, Check, int], Made] | None = None
    group: str = field(kw_only=True)
    words: tuple[str, ...] = field(kw_only=True)
    format_flag: str = ""
    fixed: tuple[tuple[str, str], ...] = ()

    def format(self, id_: str) -> FileKind:
        """The format of that id, or the first one."""
        return next((row for row in self.formats if row.id == id_), self.formats[0])

    def format_of(self, path: Path, id_: str) -> FileKind:
        """The format of a file by its suffix; that of the id, where it has this suffix or no format has."""
        chosen, suffix = self.format(id_), path.suffix.lower()
        return next((row for row in (chosen, *self.formats) if row.suffix == suffix), chosen)


def _page(source: Source, choice: Choice, check: Check) -> Made:
    """The page of the document, with the steps of its generation."""
    from attnviz.pages.page import page_bytes

    document = source.document
    trace, decoding = source.trace, None
    if document.experiment.writing is not None:
        decoding = source.decode(check)
        # The picture grows with the steps: it needs the numbers of the tokens that were generated.
        trace = execute(decoding.experiment, trace.engine, trace.device, check, reserve=GUI_CORES)
    data = page_bytes(document, trace, decoding, record_of(document))
    stages = sum(len(trace.site(name).stages) for name in trace.sites)
    said = _("One HTML file of {size} kB with {n} stages. It opens in any browser, without a network.")
    return Made((data,), said.format(size=f"{len(data) / 1000:,.0f}", n=stages))


def _panel(source: Source, choice: Choice, check: Check) -> Made:
    """A panel with all of its content, as the window paints it."""
    panel = source.panels[choice.text("panel")]
    data = widget_bytes(framed(panel), active_theme(), choice.format)
    shown = data if choice.format == "png" else widget_bytes(framed(panel), active_theme(), "png")
    return Made((carrying(data, f".{choice.format}", record_of(source.document)),), shown)


def _why_no_panel(source: Source) -> Message | None:
    return None if source.panels else Message("No panel is visible.")


_AROUND = ("width", "font_size", "theme", "title", "formula", "caption", "dpi")


def _of_kind(kind: Kind) -> Export:
    is_pair = kind.id == "comparison"
    return Export(
        kind.id,
        kind.title,
        (*PICTURES, FileKind(CSV, N_("CSV"), ".csv")) if is_pair else PICTURES,
        (*kind.options, *(("alignment", "of_a") if is_pair else ()), *_AROUND),
        partial(figure, kind.id),
        partial(why_no_figure, kind),
        group="figure",
        words=("render",) if kind.id == "stage" else ("render", "--kind", kind.id),
    )


def _as_python(id_: str, title: str, suffix: str) -> Export:
    formats = tuple(FileKind(row.id, row.title, suffix, file=title) for row in LIBRARIES)
    words = ("script", "--notebook") if suffix == NOTEBOOK else ("script",)
    group = "page" if suffix == NOTEBOOK else "data"
    make = partial(as_python, suffix)
    return Export(id_, title, formats, (), make, group=group, words=words, format_flag="--with")


def _film(
    id_: str,
    title: str,
    options: tuple[str, ...] = (),
    over: str = "",
    why_not: Callable[[Source], Message | None] = _always,
) -> Export:
    """A sequence of pictures of one kind; `over` is what changes in it, unless it is chosen."""
    drawn = dict.fromkeys(name for row in KINDS if row.id not in STILL for name in row.options)
    return Export(
        id_,
        title,
        SEQUENCES,
        (*options, "fps", "picture", *drawn, *_AROUND),
        sequence,
        why_not,
        idle=idle_options,
        look=look,
        group="animation",
        words=("animate",),
        fixed=(("over", over),) if over else (),
    )


def _why_no_layers(source: Source) -> Message | None:
    return ONE_LAYER if len(alike(Subject(source.trace, source.document.view))) < 2 else None


def _why_no_training(source: Source) -> Message | None:
    return NO_RUN if source.run is None else None


EXPORTS: tuple[Export, ...] = (
    *map(_of_kind, KINDS),
    Export(
        "circuits",
        N_("Circuits of a head"),
        (*PICTURES, FileKind(CSV, N_("CSV"), ".csv")),
        ("site", "head", "circuit", "grey", *_AROUND),
        circuits,
        why_no_circuits,
        group="figure",
        words=("circuits",),
    ),
    Export(
        "panel",
        N_("Panel as shown"),
        PICTURES,
        ("panel",),
        _panel,
        _why_no_panel,
        in_window=True,
        group="figure",
        words=("panel",),
    ),
    Export(
        "pull",
        N_("Σ w·v, pulled"),
        SEQUENCES,
        ("fps", *(name for name in KIND_BY_ID[SUM].options if name != "part"), *_AROUND),
        sequence,
        partial(why_no_figure, KIND_BY_ID[SUM]),
        idle=idle_pace,
        look=look,
        group="animation",
        words=("animate", "--over", SUM),
    ),
    _film("generation", N_("Generation"), over=DECODE),
    _film("sequence", N_("A setting slides"), options=("over", "path", *SWEEP)),
    _film("layer_by_layer", N_("Layer by layer"), over=LAYERS, why_not=_why_no_layers),
    _film("training", N_("Heads over the training"), over=TRAINING, why_not=_why_no_training),
    Export(
        "page",
        N_("Web page"),
        (FileKind("html", "HTML", ".html"),),
        (),
        _page,
        group="page",
        words=("page",),
    ),
    _as_python("notebook", N_("Notebook"), NOTEBOOK),
    Export(
        "lesson",
        N_("Lesson pages"),
        (FileKind("pdf", "PDF", ".pdf"), FileKind("html", "HTML", ".html")),
        ("slides",),
        lesson,
        why_no_lesson,
        group="page",
        words=("lesson", "export"),
    ),
    Export(
        "table",
        N_("Table of numbers"),
        tuple(FileKind(row.id, row.title, row.suffix) for row in TABLES),
        ("site", "stage", "head", "digits"),
        table,
        group="data",
        words=("table",),
        format_flag="--format",
    ),
    _as_python("script", N_("Python script"), SCRIPT),
)
EXPORT_BY_ID = {row.id: row for row in EXPORTS}


def first_row(source: Source, last: Sequence[str], group: str = "") -> str:
    """Id of the row with which the dialog opens: the last one of a group, or of all, that the state has.

    `last` are the rows of earlier files, the newest first. Without one it is the picture in sight, or the
    first row of the group.
    """
    shown = kind_of(Subject(source.trace, source.document.view))
    rows = (EXPORT_BY_ID[id_] for id_ in (*last, shown, *EXPORT_BY_ID) if id_ in EXPORT_BY_ID)
    return next(row.id for row in rows if group in ("", row.group) and row.why_not(source) is None)
