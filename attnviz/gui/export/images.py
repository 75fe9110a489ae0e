"""Cells of an SVG from Qt that stay cells: programs smooth a small image where they enlarge it.

Qt marks images of cells with `image-rendering`, which librsvg ignores. Each is embedded enlarged.
"""

from __future__ import annotations

import math
import re

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage

_IMAGE = re.compile(
    r'(<image x="[^"]*" y="[^"]*" width="([\d.]+)" height="([\d.]+)"[^>]*image-rendering="optimizeSpeed"[^>]*'
    r'xlink:href="data:image/png;base64,)([^"]*)"'
)
SHARP = 4
"""Pixels for each point of the drawing."""
MOST_PIXELS = 2**24


def with_sharp_images(svg: bytes) -> bytes:
    """`svg` with images of cells at a multiple of their size."""
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
