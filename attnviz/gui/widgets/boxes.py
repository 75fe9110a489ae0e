"""Rows and columns of widgets, without margins of their own."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

_Box = TypeVar("_Box", bound=QBoxLayout)


def in_row(owner: QWidget | None, *parts: QWidget, spacing: int) -> QHBoxLayout:
    """`parts` from left to right in `owner`, or in a layout that has none yet; `spacing` in pixels."""
    return _filled(QHBoxLayout() if owner is None else QHBoxLayout(owner), parts, spacing)


def in_column(owner: QWidget | None, *parts: QWidget, spacing: int) -> QVBoxLayout:
    """`parts` one below the other; see `in_row`."""
    return _filled(QVBoxLayout() if owner is None else QVBoxLayout(owner), parts, spacing)


def _filled(box: _Box, parts: tuple[QWidget, ...], spacing: int) -> _Box:
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(spacing)
    for part in parts:
        box.addWidget(part)
    return box
