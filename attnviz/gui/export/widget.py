"""A widget as a file, with all of its scrolled content: PNG at twice its size, SVG and PDF with
searchable text.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QPoint, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QPageLayout, QPageSize, QPainter, QPdfWriter, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.export.images import with_sharp_images
from attnviz.gui.export.outlines import with_outlines
from attnviz.gui.export.strokes import with_plain_strokes
from attnviz.gui.export.whole import scroll_areas, shown_whole
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.panel_dock import PanelDock

SCALE = 2.0
"""Pixels of a picture for each pixel of the widget."""
PDF_DPI = 96
"""Pixels per inch of a widget's size."""


def framed(panel: QWidget) -> QWidget:
    """The card or dock around a panel, with its title; the panel itself if it has none."""
    around = panel.parentWidget()
    while around is not None and not isinstance(around, Card | PanelDock):
        around = around.parentWidget()
    return panel if around is None else around


def widget_bytes(widget: QWidget, theme: Theme, format_id: str) -> bytes:
    """The file's content for `format_id` svg, pdf or png. Raises `OSError` if painting fails."""
    _size(widget)
    with shown_whole(widget):
        return _bytes(widget, theme, format_id)


def _bytes(widget: QWidget, theme: Theme, format_id: str) -> bytes:
    size = _size(widget)
    if format_id == "svg":
        drawn = with_sharp_images(with_plain_strokes(_svg(widget, theme, size)))
        return with_outlines(drawn, _wide_texts(widget))
    if format_id == "pdf":
        return _pdf(widget, theme, size)
    buffer = _buffer()
    if not picture(widget, theme).save(buffer, "PNG"):
        raise OSError("the picture could not be made")
    return _content(buffer)


def picture(widget: QWidget, theme: Theme) -> QPixmap:
    """The widget at `SCALE`, on the background of a panel."""
    size = _size(widget)
    pixels = QPixmap(size * SCALE)
    if pixels.isNull():
        raise OSError(f"a picture of {size.width()} × {size.height()} points could not be made")
    pixels.setDevicePixelRatio(SCALE)
    pixels.fill(QColor(theme.panel))
    painter = QPainter(pixels)
    _paint(widget, painter)
    painter.end()
    return pixels


def _svg(widget: QWidget, theme: Theme, size: QSize) -> bytes:
    """Paint the widget with scrolled content clipped, which `QSvgGenerator` cannot do: it drops every clip.

    So the viewport of each scroll area is painted separately and inserted behind a `clipPath`.
    """
    views = _viewports(widget)
    for view in views:
        view.setAttribute(Qt.WidgetAttribute.WA_WState_Hidden, True)  # for `render` only: no events
    try:
        whole = _svg_without_clips(widget, theme, size)
    finally:
        for view in views:
            view.setAttribute(Qt.WidgetAttribute.WA_WState_Hidden, False)
    parts = [
        _clipped(_svg(view, theme, view.size()), view.mapTo(widget, QPoint()), view.size(), f"view{number}")
        for number, view in enumerate(views)
    ]
    return whole.replace(b"</svg>", b"".join(parts) + b"</svg>")


def _wide_texts(widget: QWidget) -> dict[str, float]:
    """The letter-spaced labels, in pixels: `QSvgGenerator` does not write the spacing."""
    return {label.text(): label.font().letterSpacing() for label in widget.findChildren(QLabel)}


def _viewports(widget: QWidget) -> list[QWidget]:
    """The viewports of the outermost visible scroll areas in `widget`."""
    areas = scroll_areas(widget)
    outer = [area for area in areas if not any(o is not area and o.isAncestorOf(area) for o in areas)]
    return [area.viewport() for area in outer]


def _clipped(svg: bytes, corner: QPoint, size: QSize, name: str) -> bytes:
    """The drawing in `svg` as a group at `corner` that ends where `size` ends."""
    text = svg.decode("utf-8")
    body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    body = re.sub(r"<(title|desc)>.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"""(\bid=["']|url\(#|href=["']#)""", rf"\g<1>{name}_", body)
    edge = f'<rect width="{size.width()}" height="{size.height()}"/>'
    return (
        f'<defs><clipPath id="{name}">{edge}</clipPath></defs>\n'
        f'<g transform="translate({corner.x()},{corner.y()})" clip-path="url(#{name})">{body}</g>\n'
    ).encode()


def _svg_without_clips(widget: QWidget, theme: Theme, size: QSize) -> bytes:
    buffer = _buffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setResolution(widget.logicalDpiX())
    generator.setSize(size)
    generator.setViewBox(widget.rect())
    generator.setTitle("attnviz")
    painter = QPainter(generator)
    painter.fillRect(widget.rect(), QColor(theme.panel))
    _paint(widget, painter)
    painter.end()
    return _content(buffer)


def _pdf(widget: QWidget, theme: Theme, size: QSize) -> bytes:
    buffer = _buffer()
    writer = QPdfWriter(buffer)
    writer.setResolution(PDF_DPI)
    writer.setCreator("attnviz")
    points = QSizeF(size) * (72 / PDF_DPI)
    page = QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF()))
    painter = QPainter(writer)
    # Else Qt stores images as JPEG, which changes the colours of cells.
    painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
    painter.fillRect(widget.rect(), QColor(theme.panel))
    _paint(widget, painter)
    painter.end()
    return _content(buffer)


def _paint(widget: QWidget, painter: QPainter) -> None:
    flags = QWidget.RenderFlag.DrawChildren | QWidget.RenderFlag.IgnoreMask
    widget.render(painter, QPoint(), widget.rect(), flags)


def _size(widget: QWidget) -> QSize:
    """The widget's size; one that was never shown has its size hint."""
    widget.ensurePolished()
    if not widget.isVisible() and not widget.testAttribute(Qt.WidgetAttribute.WA_Resized):
        widget.resize(widget.sizeHint().expandedTo(widget.minimumSizeHint()))
    return widget.size()


def _buffer() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


def _content(buffer: QBuffer) -> bytes:
    data: QByteArray = buffer.data()
    return bytes(data.data())
