"""Figures of every kind, and the numbers of a comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import Message
from attnviz.figures.figure import reported
from attnviz.figures.files import figure_bytes
from attnviz.figures.kinds.comparison import contrast_of
from attnviz.figures.kinds.table import KIND_BY_ID, Kind
from attnviz.figures.report import Remark
from attnviz.figures.style import LEAST_DPI
from attnviz.figures.subject import Subject
from attnviz.gui.export.kinds.table import as_text
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.model.io.carriers.table import carrying
from attnviz.study.contrast.contrast import contrast_csv

_FONT_FILE = re.compile(rb"/FontFile[23]? ")
PREVIEW_DPI = 130
CSV = "csv"


def figure(kind: str, source: Source, choice: Choice, check: Check) -> Made:
    """A figure that carries its document; the preview is the same drawing as pixels."""
    style, subject = choice.style, _subject(kind, source, choice, check)
    if choice.format == CSV:
        text = contrast_csv(contrast_of(subject), check).encode("utf-8-sig", "backslashreplace")
        return as_text(text, f".{CSV}", record_of(subject.document(source.document)))
    drawing, report = reported(kind, subject, style)
    check()
    plain = figure_bytes(drawing, choice.format, dpi=style.dpi)
    check()
    is_png = choice.format == "png"
    shown = plain if is_png else figure_bytes(drawing, "png", dpi=max(LEAST_DPI, PREVIEW_DPI))
    record = record_of(subject.document(source.document))
    return Made(
        (carrying(plain, f".{choice.format}", record),),
        shown,
        said=() if report.without is None else (report.without,),
        checks=(*report.checks, *_letters(plain, choice.format)),
        caption=report.caption,
    )


def _letters(data: bytes, format_id: str) -> tuple[Remark, ...]:
    """The check that a vector file brings its letters: as fonts, each embedded, or as outlines."""
    if format_id == "svg":
        return (Remark(Message("letters as outlines")),)
    if format_id != "pdf":
        return ()
    is_whole = data.count(b"/Type /FontDescriptor") == len(_FONT_FILE.findall(data))
    return (Remark(Message("fonts embedded") if is_whole else Message("fonts not embedded"), is_whole),)


def _subject(kind: str, source: Source, choice: Choice, check: Check) -> Subject:
    """The subject of a kind of picture, beside the state A where the kind compares."""
    subject = choice.subject(source, check)
    if KIND_BY_ID[kind].of_values:
        subject = replace(subject, trace=source.trace)
    if kind != "comparison" or source.other is None:
        return subject
    first = source.other(check)
    if choice.text("of_a") == "same":
        first = replace(first, site=None, head=None)
    return replace(subject, other=first, alignment=choice.text("alignment") or subject.alignment)


def why_no_figure(kind: Kind, source: Source) -> Message | None:
    """The reason for which a state has no picture of a kind, or None."""
    decoding = partial(source.decode, never_cancelled)
    shown = source.drawn or source.trace
    subject = Subject(shown, source.document.view, decoding=decoding, run=source.run)
    return kind.why_not(subject if source.other is None else replace(subject, other=subject))
