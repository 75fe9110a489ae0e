"""The window's icons: one-colour line drawings in `resources/icons`, painted in the ink of the theme.

The files are drawn in black, which stands for the ink. Desktop themes lack icons on some systems, so every
icon ships.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from attnviz.gui.look.theme import Theme
from attnviz.resources import path

ICONS = (
    "undo",
    "redo",
    "play",
    "pause",
    "step_forward",
    "step_back",
    "first",
    "last",
    "open",
    "save",
    "new",
    "export",
    "copy",
    "randomise",
    "paint",
    "link",
    "transpose",
    "theme",
    "language",
    "help",
    "edit",
    "model",
    "learn",
    "search",
    "settings",
    "close",
    "side",
)
"""Names for `icon`; each is a file of that name."""

_PLACEHOLDER = b"#000000"
_SIDES_PX = (16, 32, 48)
"""Painted sizes: those of buttons at one, two and three pixels per unit."""


def icon(name: str, theme: Theme) -> QIcon:
    """The icon `name` of `ICONS` in the theme's ink; accent when switched on, faint when disabled.

    Raises:
        ValueError: the icon does not exist.
    """
    if name not in ICONS:
        raise ValueError(f"icon: {name!r} is not one of {', '.join(ICONS)}")
    return _icon(name, theme)


@cache
def _icon(name: str, theme: Theme) -> QIcon:
    drawing = path("icons", f"{name}.svg").read_bytes()
    drawn = QIcon()
    for color, opacity, mode, states in (
        (theme.ink, 1.0, QIcon.Mode.Normal, (QIcon.State.Off,)),
        (theme.accent, 1.0, QIcon.Mode.Normal, (QIcon.State.On,)),
        (theme.muted, 0.5, QIcon.Mode.Disabled, (QIcon.State.Off, QIcon.State.On)),
    ):
        renderer = QSvgRenderer(QByteArray(drawing.replace(_PLACEHOLDER, color.encode("ascii"))))
        for side in _SIDES_PX:
            pixmap = _painted(renderer, side, opacity)
            for state in states:
                drawn.addPixmap(pixmap, mode, state)
    return drawn


@cache
def app_icon() -> QIcon:
    """The program's own icon, in its own colours, for the window and the task bar."""
    renderer = QSvgRenderer(str(path("icons", "attnviz.svg")))
    drawn = QIcon()
    for side in (16, 24, 32, 48, 64, 128, 256):
        drawn.addPixmap(_painted(renderer, side))
    return drawn


def _painted(renderer: QSvgRenderer, side: int, opacity: float = 1.0) -> QPixmap:
    image = QImage(QSize(side, side), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setOpacity(opacity)
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    return QPixmap.fromImage(image)
