"""Scroll areas that show the card behind them."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QScrollArea, QWidget


def clear_scroll(content: QWidget, *, sideways: bool) -> QScrollArea:
    """A transparent scroll area around `content` that scrolls in one direction only."""
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setWidget(content)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its content has the Tab stops
    scroll.viewport().setAutoFillBackground(False)
    content.setAutoFillBackground(False)
    off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    if sideways:
        scroll.setVerticalScrollBarPolicy(off)
    else:
        scroll.setHorizontalScrollBarPolicy(off)
        scroll.setMinimumWidth(content.minimumSizeHint().width())
    return scroll


def is_cut(part: QWidget, rect: QRect) -> bool:
    """True if the scroll area around a widget shows a part of a rectangle of it that it could show whole.

    Rows are whole or not there. What paints by it must be painted again when the bar moves or has another
    range.
    """
    area = part.parentWidget()
    while area is not None and not isinstance(area.parentWidget(), QScrollArea):
        area = area.parentWidget()
    if area is None or rect.height() > area.height():
        return False
    top = part.mapTo(area, QPoint(0, rect.top())).y()
    return top < 0 or top + rect.height() > area.height()
