"""`EXPORTS`: everything that the window exports, one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from attnviz.checkpoints.stories import record_of
from attnviz.compute.execute import execute
from attnviz.core.progress import Check
from attnviz.errors import Message
from attnviz.explain.scripts.files import NOTEBOOK, SCRIPT
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.figures.files import FORMATS
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS, Kind
from attnviz.figures.sequences.frames import SUM
from attnviz.figures.sequences.outputs import OUTPUTS
from attnviz.gui.export.choices import STILL
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
    """A kind of file: its id, its title and its suffix."""

    id: str
    title: str
    suffix: str


SEQUENCES = tuple(FileKind(row.suffix[1:], row.title, row.suffix) for row in OUTPUTS)
PICTURES = tuple(FileKind(row.id, row.title, f".{row.id}") for row in FORMATS)


PIXELS = ("png", "gif", "mp4")
"""Formats whose size is in pixels."""


def _none_idle(value: Callable[[str], str]) -> set[str]:
    return set()


def _always(source: Source) -> Message | None:
    return None


@dataclass(frozen=True)
class Group:
    """A group of rows: its id and its title."""

    id: str
    title: str


GROUPS = (
    Group("figure", N_("Figure")),
    Group("animation", N_("Animation")),
    Group("page", N_("Page and notebook")),
    Group("data", N_("Data and code")),
)


@dataclass(frozen=True)
class Export:
    """One row: its group, its formats, the options that it has, and what makes the file.

    `make` runs in the worker, or with `in_window` where it may paint; it raises `ValueError` for an option
    that is no value. `why_not` says why a state has none. `idle` names the options that do nothing beside the
    chosen values of others and the format. `words` are those of the command that makes the same file, and
    `format_flag` is its option for the format, where the suffix does not tell it.
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

    def format(self, id_: str) -> FileKind:
        """The format of that id, or the first one."""
        return next((row for row in self.formats if row.id == id_), self.formats[0])


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
    formats = tuple(FileKind(row.id, row.title, suffix) for row in LIBRARIES)
    words = ("script", "--notebook") if suffix == NOTEBOOK else ("script",)
    group = "page" if suffix == NOTEBOOK else "data"
    make = partial(as_python, suffix)
    return Export(id_, title, formats, (), make, group=group, words=words, format_flag="--with")


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
        "sequence",
        N_("Sequence of pictures"),
        SEQUENCES,
        (
            *("over", "path", *SWEEP, "fps", "picture"),
            *dict.fromkeys(name for row in KINDS if row.id not in STILL for name in row.options),
            *_AROUND,
        ),
        sequence,
        idle=idle_options,
        look=look,
        group="animation",
        words=("animate",),
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
