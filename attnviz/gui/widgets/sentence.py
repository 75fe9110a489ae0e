"""Room for controls between the words of a text: a run of no-break spaces, over which a control stands."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QWidget

from attnviz.model.controls import Control

SPACE = "\u00a0"
RADIUS = 5.0
"""Corner radius of a control."""
ABOVE = 9
"""Pixels by which a control is higher than the text."""

MakeControl = Callable[[Control, str, int], QWidget]
"""Makes the widget of a control, with its words, for a text of some pixels."""


def room_of(width: float, font: QFont) -> str:
    """Spaces as wide as a control."""
    return SPACE * math.ceil(width / QFontMetricsF(font).horizontalAdvance(SPACE))
