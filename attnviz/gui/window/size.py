"""The size of the window: at first, and at least."""

from __future__ import annotations

from PySide6.QtCore import QSize

FIRST_SIZE = QSize(1280, 800)
SMALLEST_SIZE = QSize(1000, 600)
SHARE = 0.8
"""Share of a large screen, in each direction, that the window has at first."""
TITLE_BAR = 28
"""Height that the desktop's own title bar takes, about; known only once the window is shown."""


def first_size(room: QSize) -> QSize:
    """The window's size at first: most of a large screen, and of a smaller one all but a title bar.

    A screen smaller than the smallest window gets that: what does not fit is dragged into sight.
    """
    usual = QSize(round(room.width() * SHARE), round(room.height() * SHARE)).expandedTo(FIRST_SIZE)
    return usual.boundedTo(QSize(room.width(), room.height() - TITLE_BAR)).expandedTo(SMALLEST_SIZE)
