"""A lesson as a page or as PDF, one step to a page: text and figures laid out by Qt, without a window."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QBuffer, QEventLoop, QIODevice, QMarginsF, QRectF, QSizeF, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QPageLayout, QPageSize, QPainter, QPdfWriter, QTextDocument

from attnviz.checkpoints.presets import load_preset
from attnviz.checkpoints.stories import record_of
from attnviz.compute.execute import execute
from attnviz.core.progress import Check
from attnviz.errors import Message
from attnviz.figures.lesson import Sheet, first_document, lesson_page, section, sheets, slide
from attnviz.gui.export.source import Choice, Leaves, Made, Source
from attnviz.gui.look.fonts import ui_font
from attnviz.i18n import current_language
from attnviz.model.io.carriers.table import carrying
from attnviz.pages.fonts import font_rules
from attnviz.study.lessons.lesson import Lesson

_A4 = QPageSize(QPageSize.PageSizeId.A4)
_WIDE = QPageSize(QSizeF(320, 180), QPageSize.Unit.Millimeter)
_MARGIN_MM = 18.0
_DPI = 96
TEXT_PX = 15
FILLED = 0.92
"""Share of a slide that its text may take."""
SLIDE_PX = (22, 20, 18, 16, 15)
"""Sizes of the letters of a slide, the one that fits best first."""
_SHEET = """
h1 { font-size: 30px } h2 { font-size: 24px } p, li { line-height: 140% } .strong, b { font-weight: 600 }
.query { color: #2562c4 } .key { color: #a3560c } .cell, .step { color: #2a67c9 } .task { color: #2a67c9 }
"""
_SLIDE_SHEET = """
h1 { font-size: 46px } h2 { font-size: 32px } .about { font-size: 24px } table.slide { margin-top: 14px }
"""


@dataclass(frozen=True)
class Paper:
    """A lesson as PDF, and its pages as PNG."""

    pdf: bytes
    pages: tuple[bytes, ...]


def lesson(source: Source, choice: Choice, check: Check) -> Made:
    """The open lesson, with the numbers of every step, in the language of the window."""
    one, language, is_slides = source.lesson, current_language(), choice.text("slides") == "on"
    assert one is not None
    steps = sheets(one, language, load_preset, execute, check)
    paper = lesson_paper(one, language, steps, is_slides=is_slides)
    data = paper.pdf
    if choice.format == "html":
        data = lesson_page(one, language, steps, font_rules, is_slides=is_slides).encode("utf-8")
    record = record_of(first_document(one, language, steps))
    return Made((carrying(data, f".{choice.format}", record),), Leaves.of(paper.pages))


def why_no_lesson(source: Source) -> Message | None:
    """The reason for which no lesson can be written, or None."""
    return None if source.lesson is not None else Message("Open a lesson in Learn first.")


def lesson_paper(
    lesson: Lesson, language: str, steps: tuple[Sheet, ...], *, is_slides: bool = False
) -> Paper:
    """A lesson on paper: A4, or slides of 16:9."""
    if QGuiApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        _KEPT.append(QGuiApplication([]))
    # The layout of a text starts timers. The worker is no thread of Qt, and has no dispatcher of their events
    # until it makes its first loop; that need not run.
    QEventLoop()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setCreator("attnviz")
    writer.setTitle(lesson.title(language))
    writer.setResolution(_DPI)
    margins = QMarginsF(*(4 * [_MARGIN_MM]))
    across = QPageLayout.Orientation.Portrait
    size = _WIDE if is_slides else _A4
    writer.setPageLayout(QPageLayout(size, across, margins, QPageLayout.Unit.Millimeter))
    document = _document(lesson, language, steps, writer, is_slides)
    document.print_(writer)
    buffer.close()
    return Paper(bytes(buffer.data().data()), _pictures(document, writer.pageLayout()))


def _pictures(document: QTextDocument, layout: QPageLayout) -> tuple[bytes, ...]:
    """The pages as they are printed."""
    whole, room = layout.fullRectPixels(_DPI), layout.paintRectPixels(_DPI)
    pages = []
    for page in range(document.pageCount()):
        image = QImage(whole.size(), QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.white)
        painter = QPainter(image)
        painter.translate(room.left(), room.top() - page * room.height())
        document.drawContents(painter, QRectF(0, page * room.height(), room.width(), room.height()))
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        pages.append(bytes(buffer.data().data()))
    return tuple(pages)


def _document(
    lesson: Lesson, language: str, steps: tuple[Sheet, ...], writer: QPdfWriter, is_slides: bool
) -> QTextDocument:
    room = QSizeF(writer.pageLayout().paintRectPixels(_DPI).size())
    document = _empty(TEXT_PX, is_slides)
    document.setPageSize(room)
    high, wide = (0.8, 0.52) if is_slides else (0.42, 0.9)

    def picture(sheet: Sheet) -> str:
        image = QImage.fromData(sheet.figure("png"))
        name = f"figure:{sheet.step.id}"
        document.addResource(QTextDocument.ResourceType.ImageResource, QUrl(name), image)
        scale = min(high * room.height() / image.height(), wide * room.width() / image.width())
        return (
            f'<div align="center"><img src="{name}" width="{round(image.width() * scale)}" '
            f'height="{round(image.height() * scale)}"></div>'
        )

    title, about = escape(lesson.title(language)), escape(lesson.about(language))
    head = f'<h1>{title}</h1><p class="about">{about}</p>'
    pages = []
    for number, sheet in enumerate(steps, 1):
        page = (slide if is_slides else section)(sheet, number, picture, is_folded=False)
        px = _fitting(page, room) if is_slides else TEXT_PX
        style = f"{_break(number, is_slides)}; font-size: {px}px"
        pages.append(page.replace("<section>", f'<div style="{style}">').replace("</section>", "</div>"))
    document.setHtml(head + "".join(pages))
    return document


def _empty(px: int, is_slides: bool = True) -> QTextDocument:
    """A document without text, whose letters have `px` pixels."""
    document = QTextDocument()
    document.setDefaultFont(ui_font(px))
    document.setDefaultStyleSheet(_SHEET + (_SLIDE_SHEET if is_slides else ""))
    return document


def _fitting(page: str, room: QSizeF) -> int:
    """Pixels of the largest letters with which a step fits on its slide."""
    for px in SLIDE_PX:
        tried = _empty(px)
        tried.setTextWidth(room.width())
        tried.setHtml(page)
        if tried.size().height() <= FILLED * room.height():
            return px
    return SLIDE_PX[-1]


def _break(number: int, is_slides: bool) -> str:
    """Each step begins on a page; the first one of a sheaf stands below the title."""
    return "page-break-before: always" if number > 1 or is_slides else ""


_KEPT: list[QGuiApplication] = []
"""The application of a process that has no window."""
