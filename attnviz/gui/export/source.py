"""The state that is exported, what was chosen of it, and the file that is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from attnviz.core.progress import Check
from attnviz.errors import FieldError, Message, whole_number
from attnviz.figures.options import OPTIONS
from attnviz.figures.report import Remark
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.io.files import replace_file
from attnviz.model.io.titles import as_shown
from attnviz.model.ranges import shown_range
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding
    from attnviz.figures.sequences.frames import Engines
    from attnviz.gui.panels.compare.requests import Pinned
    from attnviz.gui.panels.panel import Panel
    from attnviz.study.lessons.lesson import Lesson
    from attnviz.training.run import Run

ALL = "all"


@dataclass(frozen=True, eq=False)
class Source:
    """A document and its trace; what computes its decoding and other experiments, and the state A of a
    comparison.

    `pinned` names that state A. `panels` are the panels in sight, with their `sizes` in pixels, `lesson` is
    the open one; `drawn` are the gradients that pictures show in place of the trace. `file` is the document's
    file, or the one that is proposed for it; `is_saved`: it has the document as it is. `run` computes its
    training run.
    """

    document: Document
    trace: Trace
    decode: Callable[[Check], Decoding]
    engines: Engines
    theme: str = "light"
    other: Callable[[Check], Subject] | None = None
    panels: Mapping[str, Panel] = field(default_factory=dict)
    drawn: Trace | None = None
    lesson: Lesson | None = None
    file: Path = Path("attention.json")
    is_saved: bool = False
    pinned: Pinned | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    run: Callable[[], Run] | None = None
    kept: dict[object, object] = field(default_factory=dict)
    """Computed frames, by the choices that they depend on."""


@dataclass(frozen=True)
class Choice:
    """A chosen format, and the texts of the options by name. Equal choices make equal files."""

    format: str
    texts: tuple[tuple[str, str], ...]

    def text(self, name: str) -> str:
        """The text of an option; empty where it was not offered."""
        return dict(self.texts).get(name, "")

    @property
    def style(self) -> Style:
        """The style. Raises `ValueError` for an option that is no value."""
        fields: dict[str, Any] = {}
        for row in OPTIONS:
            text = self.text(row.field)
            if row.control == "switch" and not (row.is_by_width and not text):
                fields[row.field] = text == "on"
            elif text:
                fields[row.field] = row.read(text)
        return Style(**fields)

    def number(self, name: str, least: int = 0, most: int | None = None) -> int | None:
        """A whole number; None where the option is empty. Raises `ValueError` for another text."""
        text = self.text(name)
        if not text:
            return None
        is_whole = text.isascii() and text.isdigit()
        if not is_whole or int(text) < least or (most is not None and int(text) > most):
            raise FieldError(name, text, whole_number(least, most))
        return int(text)

    @property
    def step(self) -> int | None:
        """The decoding step, counted from 0; its text counts from 1, as the player does."""
        shown = self.number("step", least=1)
        return None if shown is None else shown - 1

    def view(self, view: View) -> View:
        """A view with what was chosen, but for the range of colours, which depends on the numbers."""
        fields: dict[str, object] = {}
        if self.text("orientation"):
            fields["orientation"] = self.text("orientation")
        if self.text("query") == ALL:
            fields["lines"] = replace(view.lines, queries="all")
        elif (query := self.number("query")) is not None:
            fields |= {"query": query, "lines": replace(view.lines, queries="one")}
            fields["locked"] = None if query != view.query else view.locked
        if (step := self.step) is not None:
            fields["step"] = step
        return replace(view, **fields)

    def subject(self, source: Source, check: Check) -> Subject:
        """The subject of a figure. Raises `ValueError` for an option that is no value."""
        head = self.text("head")
        subject = Subject(
            source.drawn or source.trace,
            self.view(source.document.view),
            self.text("stage") or None,
            "all" if head == ALL else self.number("head"),
            self.text("site") or None,
            title=as_shown(source.document.title),
            caption=as_shown(source.document.caption),
            decoding=lambda: source.decode(check),
            part=float(self.text("part") or 1),
            run=source.run,
        )
        return with_fields(subject, view=self._ranged(subject))

    def _ranged(self, subject: Subject) -> View:
        """The view with the chosen range: the present one was not chosen, and each head keeps its own."""
        view, site, stage = subject.view, subject.shown_site, subject.shown_stage
        text = self.text("range")
        is_present = stage in site.stages and text == shown_range(site, subject.shown_view, stage)
        return view if not text or is_present else view.ranged(text)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Pictures (PNG) that the dialog shows in turn: `fps` a second, or by hand where that is 0.

    `drawn` are those that exist, by their number; `draw` makes another one.
    """

    count: int
    draw: Callable[[int, Check], bytes]
    fps: float = 0.0
    drawn: dict[int, bytes] = field(default_factory=dict)

    @staticmethod
    def of(pictures: tuple[bytes, ...]) -> Leaves:
        """Pictures that exist."""
        return Leaves(len(pictures), lambda index, check: pictures[index], drawn=dict(enumerate(pictures)))


Shown = bytes | str | Leaves
"""A picture (PNG), a text, or several pictures: the preview of a file."""


def _write(files: tuple[bytes, ...], path: Path) -> tuple[Path, ...]:
    replace_file(path, files[0])
    return (path,)


@dataclass(frozen=True, eq=False)
class Made:
    """The bytes of the file or of several, how the dialog shows them, and how they are written.

    Without files, only the preview is made. `copied` is the text for the clipboard in place of the shown one.
    `write` returns the written paths. `beside` is the suffix of a second file of the same name, if one is
    written. `said` tells what had no room, `checks` how the file fits its place.
    `caption` is one for the text around it.
    """

    files: tuple[bytes, ...]
    shown: Shown
    copied: str = ""
    write: Callable[[tuple[bytes, ...], Path], tuple[Path, ...]] = _write
    beside: str = ""
    said: tuple[Message, ...] = ()
    checks: tuple[Remark, ...] = ()
    caption: str = ""

    @property
    def data(self) -> bytes:
        """The file, or the first of several."""
        return self.files[0]

    def save(self, path: Path) -> tuple[Path, ...]:
        """Write the files, completely or not at all. Raises `OSError` and `ValueError`."""
        return self.write(self.files, path)
