"""A widget as a file, with all of its scrolled content: PNG at twice its size, SVG and PDF with
searchable text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QEvent, QIODevice, QMarginsF, QPoint, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPainterPath,
    QPdfWriter,
    QPixmap,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QGraphicsView,
    QGraphicsWidget,
    QLabel,
    QPushButton,
    QToolBar,
    QToolButton,
    QWidget,
)

from attnviz.core.text import exposed
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.resources import FONT_MONO

_IMAGE = re.compile(
    r'(<image x="[^"]*" y="[^"]*" width="([\d.]+)" height="([\d.]+)"[^>]*image-rendering="optimizeSpeed"[^>]*'
    r'xlink:href="data:image/png;base64,)([^"]*)"'
)
SHARP = 4
"""Pixels for each point of the drawing."""
MOST_PIXELS = 2**24


def with_sharp_images(svg: bytes) -> bytes:
    """`svg` with images of cells at a multiple of their size.

    Qt marks them with `image-rendering`, which librsvg ignores: it smooths a small image that it enlarges.
    """
    return _IMAGE.sub(_enlarged, svg.decode("utf-8")).encode("utf-8")


def _enlarged(found: re.Match[str]) -> str:
    image = QImage.fromData(QByteArray.fromBase64(found[4].encode("ascii")))
    if image.isNull():
        return found[0]
    wanted = max(SHARP * float(found[2]) / image.width(), SHARP * float(found[3]) / image.height())
    most = math.isqrt(MOST_PIXELS // (image.width() * image.height()))
    times = min(math.ceil(wanted), most)
    if times < 2:
        return found[0]
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    fast = Qt.TransformationMode.FastTransformation
    ratio = Qt.AspectRatioMode.IgnoreAspectRatio
    image.scaled(image.size() * times, ratio, fast).save(buffer, "PNG")  # type: ignore[call-overload]
    return f'{found[1]}{bytes(buffer.data().toBase64().data()).decode("ascii")}"'


_GROUP = re.compile(r"<g\b[^>]*\btransform=\"matrix\(([^)]*)\)\"[^>]*>(.*?)</g>", re.DOTALL)
_LINE = re.compile(r'<(polyline|path)\b([^>]*?) vector-effect="non-scaling-stroke"([^>]*)>')
_POINT = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?),(-?[\d.]+(?:e[+-]?\d+)?)")


def with_plain_strokes(svg: bytes) -> bytes:
    """`svg` with the lines of scaled groups in the units of the page.

    Qt marks lines of one width with `vector-effect`, which librsvg ignores: the curves of a plot, whose axes
    have different scales, would become areas.
    """
    return _GROUP.sub(_unscaled, svg.decode("utf-8")).encode("utf-8")


def _unscaled(found: re.Match[str]) -> str:
    """A group whose lines undo its scale, after it was applied to their points."""
    a, b, c, d, e, f = (float(number) for number in found[1].split(","))
    matrix = np.array([[a, c, e], [b, d, f], [0.0, 0.0, 1.0]])
    if (a, b, c, d) == (1.0, 0.0, 0.0, 1.0) or abs(np.linalg.det(matrix)) < 1e-12:
        return found[0]
    back = np.linalg.inv(matrix)
    undone = ",".join(f"{number:.12g}" for number in back[:2].T.ravel())

    def moved(point: re.Match[str]) -> str:
        x, y, _one = matrix @ [float(point[1]), float(point[2]), 1.0]
        return f"{x:.6g},{y:.6g}"

    def line(one: re.Match[str]) -> str:
        return f'<{one[1]} transform="matrix({undone})"{_POINT.sub(moved, one[2] + one[3])}>'

    start = found.start(2) - found.start()
    return found[0][:start] + _LINE.sub(line, found[2]) + "</g>"


_TEXT = re.compile(r"<text\b([^>]*)>(.*?)</text>", re.DOTALL)
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters of no XML file (XML 1.0, production 2), which Qt copies from a line that is edited."""
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')


def with_outlines(svg: bytes, spacing: Mapping[str, float]) -> bytes:
    """`svg` with outlines for its text; `spacing` maps letter-spaced texts to pixels per letter.

    Programs other than browsers ignore embedded fonts, so the letters would come from another face at the old
    positions. The transparent text can still be searched, selected and read aloud.
    """

    def outlined(found: re.Match[str]) -> str:
        attributes = dict(_ATTRIBUTE.findall(found[1]))
        words = unescape(found[2])
        path = _outline(attributes, words, spacing.get(words, 0.0))
        color = f'fill="{attributes["fill"]}" fill-opacity="{attributes["fill-opacity"]}"'
        drawn = f'<path {color} stroke="none" fill-rule="nonzero" d="{path}"/>' if path else ""
        return f'{drawn}<text{found[1]} opacity="0">{_NO_XML.sub(_glyph, found[2])}</text>'

    return _TEXT.sub(outlined, svg.decode("utf-8")).encode("utf-8")


def _glyph(found: re.Match[str]) -> str:
    return exposed(found[0])


def _outline(attributes: Mapping[str, str], words: str, spacing: float) -> str:
    """The letters of `words` as path data, at their position."""
    size = float(attributes["font-size"])
    font = _font(attributes, max(1, round(size)))
    if spacing:
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, spacing)
    path = QPainterPath()
    path.addText(0, 0, font, words)
    x, y, scale = float(attributes["x"]), float(attributes["y"]), size / font.pixelSize()
    return _path_data(path, x, y, scale)


def _font(attributes: Mapping[str, str], px: int) -> QFont:
    weight = QFont.Weight(int(attributes["font-weight"]))
    font = (number_font if attributes["font-family"] == FONT_MONO else ui_font)(px, weight)
    font.setItalic(attributes["font-style"] == "italic")
    return font


def _path_data(path: QPainterPath, x: float, y: float, scale: float) -> str:
    """SVG path data of `path`, scaled about its origin and moved to (x, y)."""
    kinds = QPainterPath.ElementType
    letters = {kinds.MoveToElement: "M", kinds.LineToElement: "L", kinds.CurveToElement: "C"}
    parts = []
    for index in range(path.elementCount()):
        element = path.elementAt(index)
        letter = letters.get(element.type, "")  # the other points of a curve have none
        parts.append(f"{letter}{x + scale * element.x:.2f} {y + scale * element.y:.2f}")
    return " ".join(parts)


LARGEST = 8192
"""Largest side of a picture in pixels; larger content shows the part scrolled to."""

TOOLS = (QToolBar, QComboBox, QToolButton, QPushButton)
"""Widgets that no picture of a panel has."""

_ROUNDS = 4
"""Enlarging one scroll area may reveal that another one needs more room."""


@contextmanager
def shown_whole(widget: QWidget) -> Iterator[None]:
    """Hide scroll bars, the focus ring, the mark of the current panel, buttons and parts for the mouse, and
    enlarge until all content is visible.
    """
    areas = [area for area in scroll_areas(widget) if not isinstance(area, QGraphicsView)]
    bars = [(area, area.horizontalScrollBarPolicy(), area.verticalScrollBarPolicy()) for area in areas]
    places = [(area.horizontalScrollBar().value(), area.verticalScrollBar().value()) for area in areas]
    parts = widget.findChildren(QWidget)
    marked = [part for part in parts if part.property(MOUSE_ONLY) or isinstance(part, TOOLS)]
    hidden = [part for part in marked if not part.isHidden()]
    size, focus = widget.size(), QApplication.focusWidget()
    is_inside = focus is not None and widget.isAncestorOf(focus)
    current = widget if isinstance(widget, PanelDock) and widget.is_current else None
    try:
        if focus is not None and is_inside:
            focus.clearFocus()
        for part in hidden:
            part.hide()
        if current is not None:
            current.set_current(False)
        for area in areas:
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        _lay_out(widget)
        if widget.isVisible():
            _grow(widget, areas)
        _measure_axes(widget)
        yield
    finally:
        for area, across, down in bars:
            area.setHorizontalScrollBarPolicy(across)
            area.setVerticalScrollBarPolicy(down)
        for part in hidden:
            part.show()
        if current is not None:
            current.set_current(True)
        if widget.size() != size:
            widget.resize(size)
        for area, (x, y) in zip(areas, places, strict=True):
            area.horizontalScrollBar().setValue(x)
            area.verticalScrollBar().setValue(y)
        if focus is not None and is_inside:
            focus.setFocus(Qt.FocusReason.OtherFocusReason)


def scroll_areas(widget: QWidget) -> list[QAbstractScrollArea]:
    """The visible scroll areas in `widget`."""
    return [area for area in widget.findChildren(QAbstractScrollArea) if area.isVisibleTo(widget)]


def _lay_out(widget: QWidget) -> None:
    """Share out the room of what was hidden, inside `widget` alone: the window would give it another size."""
    inside = [*reversed(widget.findChildren(QWidget)), widget]
    for _round in range(_ROUNDS):
        for part in inside:
            QApplication.sendPostedEvents(part, QEvent.Type.LayoutRequest)


def _measure_axes(widget: QWidget) -> None:
    """Paint plots once: the axes of a plot take the width of their labels after they were painted."""
    for view in widget.findChildren(QGraphicsView):
        view.grab()
        for item in view.items():
            if isinstance(item, QGraphicsWidget):
                QApplication.sendPostedEvents(item, QEvent.Type.LayoutRequest)


def _grow(widget: QWidget, areas: list[QAbstractScrollArea]) -> None:
    """Enlarge `widget` until nothing in `areas` is scrolled, or enlarging it does not help."""
    for _round in range(_ROUNDS):
        size, lacking = widget.size(), _lacking(areas)
        for across, down in ((lacking.width(), 0), (0, lacking.height())):
            wanted = widget.size() + QSize(across, down)
            widget.resize(wanted.boundedTo(QSize(LARGEST, LARGEST).expandedTo(size)))
        if widget.size() == size or _lacking(areas) == lacking:
            return


def _lacking(areas: list[QAbstractScrollArea]) -> QSize:
    """The hidden pixels of the area that lacks most."""
    across = max((area.horizontalScrollBar().maximum() for area in areas), default=0)
    down = max((area.verticalScrollBar().maximum() for area in areas), default=0)
    return QSize(across, down)


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
