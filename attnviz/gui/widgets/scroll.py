"""Scroll areas that show the card behind them."""

from __future__ import annotations

from PySide6.QtCore import Qt
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
