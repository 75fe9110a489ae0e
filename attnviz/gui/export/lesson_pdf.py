"""A lesson as PDF, one step to a page: text and figures laid out by Qt, without a window."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QSizeF, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QPageLayout, QPageSize, QPdfWriter, QTextDocument

from attnviz.figures.lesson import Sheet, section
from attnviz.gui.look.fonts import ui_font
from attnviz.model.io.files import replace_file
from attnviz.model.lessons.lesson import Lesson

_A4 = QPageSize(QPageSize.PageSizeId.A4)
_WIDE = QPageSize(QSizeF(320, 180), QPageSize.Unit.Millimeter)
_MARGIN_MM = 18.0
_DPI = 96
_SHEET = """
h1 { font-size: 26px } h2 { font-size: 20px } p, li { line-height: 140% } .strong { font-weight: 600 }
.query { color: #2562c4 } .key { color: #a3560c } .cell, .step { color: #2a67c9 } .task { color: #2a67c9 }
"""


def save_lesson_pdf(
    lesson: Lesson, language: str, sheets: tuple[Sheet, ...], path: Path, *, is_slides: bool = False
) -> None:
    """Write the file completely or not at all. Raises `OSError`."""
    if QGuiApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        _KEPT.append(QGuiApplication([]))
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
    _document(lesson, language, sheets, writer, is_slides).print_(writer)
    buffer.close()
    replace_file(path, bytes(buffer.data().data()))


def _document(
    lesson: Lesson, language: str, sheets: tuple[Sheet, ...], writer: QPdfWriter, is_slides: bool
) -> QTextDocument:
    document = QTextDocument()
    document.setDefaultFont(ui_font(15))
    document.setDefaultStyleSheet(_SHEET)
    room = writer.pageLayout().paintRectPixels(_DPI)
    document.setPageSize(QSizeF(room.size()))
    height = round(room.height() * (0.5 if is_slides else 0.42))

    def picture(sheet: Sheet) -> str:
        image = QImage.fromData(sheet.figure("png"))
        name = f"figure:{sheet.step.id}"
        document.addResource(QTextDocument.ResourceType.ImageResource, QUrl(name), image)
        scale = min(height / image.height(), 0.9 * room.width() / image.width())
        return (
            f'<div align="center"><img src="{name}" width="{round(image.width() * scale)}" '
            f'height="{round(image.height() * scale)}"></div>'
        )

    head = f"<h1>{escape(lesson.title(language))}</h1><p>{escape(lesson.about(language))}</p>"
    pages = [
        section(sheet, number, picture, is_folded=False)
        .replace("<section>", f'<div style="{_break(number, is_slides)}">')
        .replace("</section>", "</div>")
        for number, sheet in enumerate(sheets, 1)
    ]
    document.setHtml(head + "".join(pages))
    return document


def _break(number: int, is_slides: bool) -> str:
    """Each step begins on a page; the first one of a sheaf stands below the title."""
    return "page-break-before: always" if number > 1 or is_slides else ""


_KEPT: list[QGuiApplication] = []
"""The application of a process that has no window."""
